"""Data, training and export of Ember. The data are chats and stories recombined from the seeds in `training/seeds`.

The data require only Python's standard library. `python -m ember.sample --kind K -n 20` prints samples of a kind.
"""
