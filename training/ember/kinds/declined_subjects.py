"""Requests that are declined by the name of what they are about: the answer repeats the thing and what such things are called."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, with_article
from . import explaining, lists, sums

REAL = "`inferno chat -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0`"
FILE = "`inferno chat -m FILE.gguf`"


@dataclass(frozen=True)
class Group:
    """What is declined for the same reason: requests, reasons, and what to do instead."""

    name: str
    asks: tuple[str, ...]
    reasons: tuple[str, ...]
    offers: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """What such things are called, who knows more about them, things of that sort, and requests of their own."""

    group: Group
    name: str
    expert: str
    things: tuple[str, ...]
    asks: tuple[str, ...]


@cache
def subjects() -> tuple[Subject, ...]:
    """All subjects of the seeds."""
    text = (seeds.FOLDER / "chats" / "declining" / "subjects.txt").read_text(encoding="utf-8")
    found: list[Subject] = []
    for block in re.split(r"^\[", text, flags=re.MULTILINE)[1:]:
        name, *lines = block.strip().splitlines()
        fields = {line.partition(":")[0]: _bars(line.partition(":")[2]) for line in lines[:3]}
        group = Group(name.rstrip("]"), fields["ask"], fields["no"], fields["offer"])
        found += [_subject(group, line) for line in lines[3:]]
    return tuple(found)


def _bars(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(" | "))


def _subject(group: Group, line: str) -> Subject:
    """A line of the seeds as a subject: `name = expert // things // requests`."""
    head, things, asks = (part.strip() for part in line.split(" // "))
    name, _, expert = (part.strip() for part in head.partition(" = "))
    return Subject(group, name, expert, _bars(things), _bars(asks))


def declined(draw: Draw) -> tuple[str, list[Turn]]:
    """A declined request, and perhaps another one of the same group or one that Ember can answer."""
    subject = draw.choice(subjects())
    turns = [_turn(draw, subject)]
    form = draw.rng.random()
    if form < 0.15:
        near = [other for other in subjects() if other.group is subject.group and other is not subject]
        turns.append(_turn(draw, draw.choice(near)))
    elif form < 0.25:
        turns.append(_possible(draw))
    elif form < 0.31:
        turns.insert(0, _possible(draw))
    return f"declining/{subject.name.strip('{}')}", turns


def _possible(draw: Draw) -> Turn:
    """A request that Ember can answer."""
    form = draw.number(0, 2)
    return (lists.plain(draw) if form == 0 else sums.chat(draw)[1] if form == 1 else explaining.haiku(draw))[0]


def _turn(draw: Draw, subject: Subject) -> Turn:
    """A request and an answer that says what was asked for."""
    values: dict[str, str] = {}
    name = fill(draw, subject.name, values)
    thing = fill(draw, draw.choice(subject.things), values)
    asks = subject.asks if draw.chance(0.15) else subject.group.asks
    template = draw.wording(asks)
    reasons, offers = subject.group.reasons, subject.group.offers
    if "<x>" not in template:
        reasons, offers = ([one for one in of if "<x>" not in one.lower()] for of in (reasons, offers))
    answer = _reply(draw, reasons, offers)
    for _ in range(3):
        if "<x>" not in template or "<x>" in answer.lower():
            break
        answer = _reply(draw, reasons, offers)
    asked = fill(draw, template.replace("<x>", thing).replace("<t>", name), values)
    said = _placed(answer, _from_you(thing), name, subject.expert)
    return Turn(asked, capitalized(said), (thing, name), tuple(values.values()))


def _reply(draw: Draw, reasons: Sequence[str], offers: Sequence[str]) -> str:
    """A reason and nearly always what to do instead."""
    reason = draw.choice(reasons)
    return reason if draw.chance(0.06) else f"{reason} {draw.choice(offers)}"


def _from_you(thing: str) -> str:
    """The thing as Ember speaks of it: `your cat`."""
    return re.sub(r"\b(?:my|our)\b", "your", re.sub(r"\b(?:i|we)\b", "you", thing))


def _placed(text: str, thing: str, name: str, expert: str) -> str:
    """An answer with its words in place."""
    found = {"<x>": thing, "<X>": capitalized(thing), "<t>": name, "<T>": capitalized(name), "<w>": expert, "<W>": capitalized(expert), "[file]": FILE, "[real]": REAL}
    return re.sub(r"<[xXtTwW]>|\[file\]|\[real\]", lambda match: found[match[0]], text)
