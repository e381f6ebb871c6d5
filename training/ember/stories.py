"""Stories: seeds with other names and things, and frames, whose parts have alternatives."""

import re
from dataclasses import dataclass
from functools import cache

from . import seeds, vocabulary
from .draw import Draw
from .fill import fill
from .grammar import capitalized
from .split import HELD_OUT_KINDS, Split, split_of
from .swapping import swapped


@dataclass(frozen=True)
class Told:
    """A generated story: its kind, its text, and the words chosen for its slots or names."""

    kind: str
    text: str
    values: dict[str, str]
    #: Whether it was written as a completion of its first words.
    completion: bool = False


@dataclass(frozen=True)
class Frame:
    """A story in parts, each with alternatives."""

    kind: str
    parts: tuple[tuple[str, ...], ...]


def story(draw: Draw) -> Told:
    """Returns a story from a seed or a frame."""
    return from_seed(draw) if draw.chance(0.3) else from_frame(draw)


def short_kind(kind: str) -> str:
    """Returns a kind without its voice: `mystery` for `mystery, first person`."""
    return kind.split(",")[0].strip()


@cache
def known(split: Split) -> list[seeds.Story]:
    """Returns the seeds of a split: some kinds are held out, and one in twelve of the others."""
    return _of_split(seeds.stories(), split)


@cache
def known_short(split: Split) -> list[seeds.Story]:
    """Returns the short stories of a split."""
    return _of_split(seeds.short_stories(), split)


def _of_split(found: tuple[seeds.Story, ...], split: Split) -> list[seeds.Story]:
    def held_out(one: seeds.Story) -> bool:
        return f"stories/{short_kind(one.kind)}" in HELD_OUT_KINDS or split_of(one.text[:60]) is Split.HELD_OUT

    return [one for one in found if held_out(one) is (split is Split.HELD_OUT)]


def from_seed(draw: Draw) -> Told:
    """Returns a hand-written story with other names and things."""
    return _retold(draw, "stories", known(draw.split))


def short_story(draw: Draw) -> Told:
    """Returns a short story with other names and things."""
    return _retold(draw, "short stories", known_short(draw.split))


def _retold(draw: Draw, family: str, found: list[seeds.Story]) -> Told:
    one = draw.choice(found)
    text, names = swapped(draw, one)
    return Told(f"{family}/{short_kind(one.kind)}", text, names, one.completion)


@cache
def frames() -> tuple[Frame, ...]:
    """Returns all frames."""
    found = []
    for path in sorted((seeds.FOLDER / "frames").glob("*.txt")):
        for block in re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            tag, *lines = block.strip().splitlines()
            parts = tuple(tuple(way.strip() for way in line.split(":", 1)[1].split("||")) for line in lines)
            found.append(Frame(tag.removeprefix("# kind:").strip(), parts))
    return tuple(found)


_PRONOUNS = {
    "f": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
    "m": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
}


def people(draw: Draw, values: dict[str, str]) -> dict[str, str]:
    """Adds names and pronouns of the two people of a frame to `values`, and things and animals."""
    for slot, end in (("a", ""), ("b", "2")):
        mark = draw.choice(("f", "m"))
        if slot in values:
            known_mark = vocabulary.mark_of(values[slot])
            mark = known_mark if known_mark in "fm" else mark
        else:
            name = draw.word("woman" if mark == "f" else "man")
            while name in values.values() or name[0] == values.get("a", " ")[0]:
                name = draw.word("woman" if mark == "f" else "man")
            values[slot] = name
        for pronoun, word in _PRONOUNS[mark].items():
            values[pronoun + end] = word
    for slot, kind in (("animal", "critter"), ("animal2", "critter"), ("food", "dish"), ("object", "trinket"),
        ("object2", "trinket"), ("foods", "crops")):
        while values.get(slot) is None or (slot[-1] == "2" and values[slot] == values[slot[:-1]]):
            values[slot] = draw.word(kind)
    values.setdefault("n", draw.choice(_SMALL_NAMES))
    values.setdefault("b2", draw.word("woman"))
    return values


_SMALL_NAMES = "Button Pip Dot Fern Nutmeg Pebble Tilly Hob Moss Bean Crumb Twig Poppy Rusty Juniper Clover Acorn Patch Snip Thimble".split()


def from_frame(draw: Draw, values: dict[str, str] | None = None, needs: str | None = None) -> Told:
    """Returns a story from a frame with `values` in its slots, which uses the slot `needs` if given."""
    values = people(draw, dict(values or {}))
    frame, ways = _drawn(draw, needs)
    paragraphs = _filled(draw, ways, values)
    if frame.kind == "letter":
        text = "\n\n".join([paragraphs[0], " ".join(paragraphs[1:-1]), paragraphs[-1]])
    else:
        text = _in_paragraphs(draw, paragraphs)
    return Told(f"frames/{frame.kind}", text, values)


def told_in_parts(draw: Draw, frame: Frame, values: dict[str, str]) -> str:
    """Returns the text of a frame with `values` in its slots, to which missing ones are added."""
    return _in_paragraphs(draw, _filled(draw, _ways(draw, frame), values))


def _filled(draw: Draw, ways: list[str], values: dict[str, str]) -> list[str]:
    """Returns the parts with their slots filled and their sentences capitalized."""
    for name, end in (("A", ""), ("B", "2")):
        ways = _named_first(ways, name, end)
    paragraphs = [fill(draw, way, values) for way in ways]
    return [capitalized(re.sub(r"([.!?] )([a-z])", lambda match: match[1] + match[2].upper(), part)) for part in paragraphs]


def _named_first(ways: list[str], name: str, end: str) -> list[str]:
    """Returns the parts with a person's name in place of a pronoun that would precede it."""
    pattern = re.compile(rf"\{{({name}|[Hh]e{end}|him{end}|[Hh]is{end})\}}")
    for index, way in enumerate(ways):
        if match := pattern.search(way):
            if match[1] != name:
                mine = "'s" if match[1].lower().startswith("his") else ""
                way = f"{way[: match.start()]}{{{name}}}{mine}{way[match.end() :]}"
            return [*ways[:index], way, *ways[index + 1 :]]
    return ways


def _drawn(draw: Draw, needs: str | None) -> tuple[Frame, list[str]]:
    """Returns a frame and an alternative of each part."""
    while True:
        frame = draw.choice(frames())
        ways = _ways(draw, frame)
        if needs is None or (any(f"{{{needs}}}" in way.lower() for way in ways[:3]) and sum(way.lower().count(f"{{{needs}}}")
            for way in ways) > 1):
            return frame, ways


def _ways(draw: Draw, frame: Frame) -> list[str]:
    """Returns an alternative of each part. One with marks such as `(12)` fits only after one that shares a mark."""
    marks = None
    ways = []
    for part in frame.parts:
        fitting = [way for way in part if marks is None or not way.startswith("(") or set(_marks(way)) & set(marks)]
        way = draw.choice(fitting or part)
        if way.startswith("("):
            marks = "".join(mark for mark in _marks(way) if marks is None or mark in marks)
            way = way.split(")", 1)[1].strip()
        ways.append(way)
    return ways


def _marks(way: str) -> str:
    return way[1:].split(")", 1)[0]


def _in_paragraphs(draw: Draw, parts: list[str]) -> str:
    """Returns the parts joined, some of them as paragraphs."""
    text = parts[0]
    for part in parts[1:]:
        text += ("\n" if draw.chance(0.4) else " ") + part
    return text


#: How often a text is cut within its first sentence, and a text that was written as a completion of its first words.
_CUT_WITHIN, _CUT_WITHIN_COMPLETION = 0.3, 0.9


def cut(draw: Draw, text: str, completion: bool = False) -> tuple[str, str]:
    """Divides a text into an opening and the rest: after one or two sentences, or within the first."""
    sentences = re.split(r"(?<=[.!?]['\"]) (?=[A-Z\"'])|(?<=[.!?]) (?=[A-Z\"'])|\n", text)
    first = sentences[0]
    count = 2 if len(first.split()) < 5 and len(sentences) > 2 and draw.chance(0.6) else 1
    if draw.chance(_CUT_WITHIN_COMPLETION if completion else _CUT_WITHIN) and len(first.split()) > (4 if completion else 6):
        words = first.split(" ")
        at = draw.number(2, len(words) - 2)
        opening = " ".join(words[:at])
    else:
        opening = text[: _end_of(text, sentences[:count])]
    return opening, text[len(opening) :].lstrip()


def _end_of(text: str, sentences: list[str]) -> int:
    """Returns the end of the last of the first `sentences` in `text`."""
    at = 0
    for sentence in sentences:
        at = text.index(sentence, at) + len(sentence)
    return at
