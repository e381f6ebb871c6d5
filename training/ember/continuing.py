"""Openings of any kind, and continuations that keep the names and things mentioned in them."""

import re
from dataclasses import dataclass
from functools import cache

from . import seeds, stories, vocabulary
from .draw import Draw
from .fill import fill, keys
from .stories import Frame, Told, people


@dataclass(frozen=True)
class Body:
    """The continuation of a story whose opening mentions what the body `needs`."""

    needs: str
    frame: Frame


@cache
def bodies() -> tuple[Body, ...]:
    """Returns all bodies."""
    found = []
    text = (seeds.FOLDER / "continuing" / "bodies.txt").read_text(encoding="utf-8")
    for block in re.split(r"^---$", text, flags=re.MULTILINE):
        tag, *lines = block.strip().splitlines()
        needs = tag.removeprefix("# needs:").strip()
        found.append(Body(needs, Frame(needs, tuple(tuple(way.strip() for way in line.split(":",
            1)[1].split("||")) for line in lines))))
    return tuple(found)


def continued(draw: Draw) -> tuple[str, str, Told]:
    """Returns an opening, its continuation, and both as a story."""
    values: dict[str, str]
    if draw.chance(0.6) or not seeds.lines("openings.txt"):
        template = draw.choice(seeds.lines("continuing/openings.txt"))
        values = people(draw, {})
        named = set(keys(template))
        opening = fill(draw, template, values)
    else:
        opening = draw.choice(seeds.lines("openings.txt"))
        found = named_in(opening)
        named = set(found)
        values = people(draw, found)
    fitting = [body for body in bodies() if body.needs == _need(named, opening)]
    body = draw.choice(fitting)
    rest = stories.told_in_parts(draw, body.frame, values)
    return opening, rest, Told(f"continued/{body.needs}", f"{opening} {rest}", values)


def _need(named: set[str], opening: str) -> str:
    """Returns what the continuation is about: a thing or an animal if mentioned, then a person; `none` for neither."""
    if opening.startswith(("My name", "Dear", "I ", "We ")):
        return "none"
    for slot in ("object", "animal"):
        if slot in named:
            return slot
    # The bodies that need a person introduce the second one themselves.
    return "a" if "a" in named and "b" not in named else "none"


@cache
def _animals() -> frozenset[str]:
    return frozenset(row["animal"] for row in seeds.words("animals"))


@cache
def _objects() -> frozenset[str]:
    return frozenset(row["object"] for row in seeds.words("objects") if row["article"] in ("a", "an"))


def named_in(opening: str) -> dict[str, str]:
    """Returns the names, the thing and the animal that an opening mentions."""
    found: dict[str, str] = {}
    people_named = [word for word in re.findall(r"\b[A-Z][a-z]+\b", opening) if vocabulary.is_name(word)]
    if people_named:
        found["a"] = people_named[0]
        if len(people_named) > 1 and people_named[1] != people_named[0]:
            found["b"] = people_named[1]
    # Only singular nouns with an article: `a cat`, `the old letter`.
    for noun in re.findall(r"\b(?:[Aa]n?|[Tt]he)(?: \w+)? (\w+)\b", opening) + re.findall(r"\b(?:[Aa]n?|[Tt]he) (\w+)\b",
        opening):
        if noun in _animals():
            found.setdefault("animal", noun)
        elif noun in _objects():
            found.setdefault("object", noun)
    return found
