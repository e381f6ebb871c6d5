"""What is trained on and what is held out.

Three things are held out, and all three are decided by the material alone, so that no run or seed can leak them:

- whole kinds, by name: `HELD_OUT_KINDS`. No training chat is of such a kind;
- of the words (names, animals, objects and so on), one in twelve, apart from the familiar ones;
- of the wordings of a question, one in forty-eight, where a question has several: few, since they are
  often the plainest ones.

Facts themselves are not held out: a small model cannot know a capital that it never read.
"""

import hashlib
from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

Item = TypeVar("Item")


class Split(Enum):
    """The part of the data that a piece of material belongs to."""

    TRAIN = "train"
    HELD_OUT = "held_out"


#: One in this many words and stories is held out.
HELD_OUT_ONE_IN = 12
#: One in this many wordings is held out.
HELD_OUT_WORDING_ONE_IN = 48

#: Kinds that are never trained on: each is a new form of something that is trained on in other forms.
HELD_OUT_KINDS = frozenset(
    {
        # A number of things changes hands: the same sums in another form of words.
        "sums/given away",
        # Facts asked in a form of their own.
        "facts/vehicles",
        "facts/material of a thing",
        # Tasks on words that are put together of trained ones.
        "words/upper and reverse",
        "words/two words swapped",
        # Shapes of JSON.
        "json/list of objects",
        "json/two names in one sentence",
        # Things to remember.
        "memory/meeting",
        # Groups of tools, whole.
        "tools/library",
        "tools/garden",
        "tools/ship",
        # Sorts of lists.
        "lists/things for a trip",
        # Ways to rewrite.
        "rewriting/question",
        # Stories.
        "stories/radio",
        "stories/phone call",
    }
)


def split_of(material: str, one_in: int = HELD_OUT_ONE_IN) -> Split:
    """Returns the split that `material` belongs to, on every machine and in every run."""
    digest = hashlib.blake2b(material.encode(), digest_size=8).digest()
    held_out = int.from_bytes(digest, "big") % one_in == 0
    return Split.HELD_OUT if held_out else Split.TRAIN


def of_split(items: Sequence[Item], split: Split, one_in: int = HELD_OUT_ONE_IN) -> list[Item]:
    """Returns the `items` that belong to `split` by their text, or all of them if none does."""
    return [item for item in items if split_of(str(item), one_in) is split] or list(items)
