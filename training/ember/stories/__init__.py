"""Short simple stories from a grammar of characters, things, places, wishes and turns."""

from ember.stories.maker import SUBJECTS, opening, story

__all__ = ["SUBJECTS", "opening", "story"]
