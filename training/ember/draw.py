"""The random source of the generators, which knows its split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from . import vocabulary
from .split import HELD_OUT_KINDS, HELD_OUT_WORDING_ONE_IN, Split, of_split

Item = TypeVar("Item")

#: The share of held-out kinds among held-out chats of a family that has such kinds.
HELD_OUT_KIND_SHARE = 0.5


@dataclass(frozen=True)
class Draw:
    """A random source and the split that it draws for."""

    rng: Random
    split: Split = Split.TRAIN

    def chance(self, share: float) -> bool:
        """Returns true with this probability."""
        return self.rng.random() < share

    def choice(self, items: Sequence[Item]) -> Item:
        """Returns one of `items`."""
        return self.rng.choice(items)

    def some(self, items: Sequence[Item], count: int) -> list[Item]:
        """Returns `count` distinct `items`."""
        return self.rng.sample(list(items), count)

    def number(self, low: int, high: int) -> int:
        """Returns a number from `low` to `high`, inclusive."""
        return self.rng.randint(low, high)

    def wording(self, wordings: Sequence[str]) -> str:
        """Returns one of several wordings with the same meaning, some of which are held out."""
        return self.rng.choice(of_split(wordings, self.split, HELD_OUT_WORDING_ONE_IN))

    def word(self, kind: str) -> str:
        """Returns a word of a kind of `vocabulary`, familiar ones more often."""
        return self.familiar(vocabulary.of_kind(kind, self.split), 2)

    def familiar(self, items: Sequence[Item], attempts: int = 3) -> Item:
        """Returns one of `items`, words or rows that begin with one: the first of several draws that most people know, or the
        last draw. Users ask about a dog more often than about a gerbil."""
        for _ in range(attempts):
            item = self.rng.choice(items)
            if vocabulary.is_familiar(item if isinstance(item, str) else next(iter(item.values()))):
                break
        return item

    def words(self, kind: str, count: int) -> list[str]:
        """Returns `count` distinct words of a kind, familiar ones more often."""
        known = vocabulary.of_kind(kind, self.split)
        if count > len(known):
            raise ValueError(f"{count} distinct words of the kind {kind!r}: there are {len(known)}")
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.word(kind)] = None
        return list(found)

    def kind(self, family: str, makers: Mapping[str, tuple[Item, int]]) -> tuple[str, Item]:
        """Returns a kind of a family and its generator, drawn by weight. Held-out kinds are never drawn for training."""
        held_out = [name for name in makers if f"{family}/{name}" in HELD_OUT_KINDS]
        names = [name for name in makers if name not in held_out]
        if self.split is Split.HELD_OUT and held_out and self.chance(HELD_OUT_KIND_SHARE):
            names = held_out
        name = self.rng.choices(names, [makers[name][1] for name in names])[0]
        return f"{family}/{name}", makers[name][0]
