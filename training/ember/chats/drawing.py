"""Small tools that every kind of chat is drawn with."""

import random
from collections.abc import Callable
from typing import TypeVar

from ember.split import Split, split_of

Item = TypeVar("Item")

_STARTS = "b d f g k l m n p r s t v z br dr fl gr kr pl st tr sh th".split()
_VOWELS = "a e i o u".split()
_ENDS = "n r l m x b ck nd rt s lin mer ver dle rin ton by la no ri".split()
_VOWEL_LETTERS = tuple("aeiou")
_SOUNDED_CONSONANT = ("uni", "use", "one", "eu", "uk")


def user(text: str) -> dict:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> dict:
    """A message of the assistant."""
    return {"role": "assistant", "content": text}


def draw(split: Split, make: Callable[[], Item], material: Callable[[Item], str] = str) -> Item:
    """The first item from `make` whose material belongs to `split`."""
    while True:
        item = make()
        if split_of(material(item)) is split:
            return item


def bare(text: str) -> str:
    """`text` in small letters and without its last mark: what `casual` leaves the same."""
    return text.lower().rstrip(".?!")


def casual(rng: random.Random, text: str) -> str:
    """`text` as people type it: mostly as it is, now and then with a small first letter or without its last mark."""
    if rng.random() < 0.75:
        return text
    if rng.random() < 0.6 and text[-1] in ".?!":
        text = text[:-1]
    if rng.random() < 0.7 and not text.startswith("I "):
        text = text[0].lower() + text[1:]
    return text


def capitalized(text: str) -> str:
    """`text` with a capital first letter and the rest as it is."""
    return text[0].upper() + text[1:]


def with_article(noun: str) -> str:
    """`noun` after "a" or "an"."""
    vowel = noun.lower().startswith(_VOWEL_LETTERS) and not noun.lower().startswith(_SOUNDED_CONSONANT)
    return f"{'an' if vowel else 'a'} {noun}"


def invented_word(rng: random.Random) -> str:
    """A word that is in no dictionary, of two or three syllables."""
    syllables = [rng.choice(_STARTS) + rng.choice(_VOWELS) for _ in range(rng.randint(1, 2))]
    return "".join(syllables) + rng.choice(_STARTS[:14]) + rng.choice(_VOWELS) + rng.choice(_ENDS)
