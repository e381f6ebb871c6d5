"""Ember 2's training material: chats and stories, recombined from the seeds in `training/seeds`.

Only Python's standard library is used. `python -m ember.sample --kind K -n 20` prints samples of a kind.
"""
