"""What generators draw with: a random source that knows its split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from . import vocabulary
from .split import HELD_OUT_KINDS, Split, of_split

Item = TypeVar("Item")

#: Of held-out chats, the share that is of a held-out kind, where the family has one.
HELD_OUT_KIND_SHARE = 0.5


@dataclass(frozen=True)
class Draw:
    """A random source and the split that it draws for."""

    rng: Random
    split: Split = Split.TRAIN

    def chance(self, share: float) -> bool:
        """True in this share of draws."""
        return self.rng.random() < share

    def choice(self, items: Sequence[Item]) -> Item:
        """One of `items`."""
        return self.rng.choice(items)

    def some(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different ones of `items`."""
        return self.rng.sample(list(items), count)

    def number(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both of them included."""
        return self.rng.randint(low, high)

    def wording(self, wordings: Sequence[str]) -> str:
        """One of several wordings of the same, some of which are held out."""
        return self.rng.choice(of_split(wordings, self.split))

    def word(self, kind: str) -> str:
        """A word of a kind of `vocabulary`."""
        return self.rng.choice(vocabulary.of_kind(kind, self.split))

    def words(self, kind: str, count: int) -> list[str]:
        """`count` different words of a kind."""
        return self.rng.sample(vocabulary.of_kind(kind, self.split), count)

    def kind(self, family: str, makers: Mapping[str, tuple[Item, int]]) -> tuple[str, Item]:
        """A kind of a family by weight, with its maker: none that is held out in training, often one of those else."""
        held_out = [name for name in makers if f"{family}/{name}" in HELD_OUT_KINDS]
        names = [name for name in makers if name not in held_out]
        if self.split is Split.HELD_OUT and held_out and self.chance(HELD_OUT_KIND_SHARE):
            names = held_out
        name = self.rng.choices(names, [makers[name][1] for name in names])[0]
        return f"{family}/{name}", makers[name][0]
