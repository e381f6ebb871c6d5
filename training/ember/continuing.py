"""Openings of any kind, and continuations that keep the names and things mentioned in them."""

import re
from dataclasses import dataclass
from functools import cache

from . import seeds, stories, vocabulary
from .draw import Draw
from .fill import fill, keys
from .split import Split
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
    if draw.chance(0.35):
        template = draw.choice(seeds.lines("continuing/openings.txt"))
        values = people(draw, {})
        named = set(keys(template))
        opening = fill(draw, template, values)
    else:
        opening = draw.choice(seeds.lines("openings.txt")) if draw.chance(0.5) else _any_opening(draw)
        found = named_in(opening)
        named = set(found)
        values = people(draw, found)
    fitting = [body for body in bodies() if body.needs == _need(named, opening)]
    body = draw.choice(fitting)
    rest = stories.told_in_parts(draw, body.frame, values)
    words = opening.split(" ")
    if len(words) > 4 and draw.chance(0.15):
        at = draw.number(2, len(words) - 1)
        return " ".join(words[:at]), f"{' '.join(words[at:])} {rest}", Told(f"continued/{body.needs}", f"{opening} {rest}", values)
    return opening, rest, Told(f"continued/{body.needs}", f"{opening} {rest}", values)


def _any_opening(draw: Draw) -> str:
    """Returns a sentence from the middle of a story, an answer, a question or a heading, some of them in capitals."""
    form = draw.number(0, 9)
    if form < 5:
        opening = draw.choice(_sentences())
    elif form < 7:
        opening = fill(draw, draw.choice(seeds.lines("continuing/headings.txt")), {})
    elif form < 9:
        opening = re.split(r"(?<=[.!?]) ", draw.choice(seeds.facts(draw.choice(("explain", "questions"))))["answer"])[0]
    else:
        opening = draw.choice(draw.choice(seeds.intents()).wordings)
    return opening.upper() if draw.chance(0.06) else opening


@cache
def _sentences() -> tuple[str, ...]:
    """Returns the sentences of the stories that are trained on, apart from very short and long ones."""
    found = [sentence.strip() for one in stories.known(Split.TRAIN) for sentence in re.split(r"(?<=[.!?:])[\"']? |\n", one.text)]
    return tuple(dict.fromkeys(one for one in found if 8 < len(one) < 90 and one[0].isupper() and one.count('"') % 2 == 0))


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
