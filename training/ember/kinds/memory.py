"""Facts that users mention about themselves and ask for later, with other topics in between, and facts never mentioned."""

from collections.abc import Callable
from dataclasses import dataclass

from ..chat import Turn
from ..draw import Draw
from ..split import HELD_OUT_KINDS, Split
from . import memory_profile
from .facts_asking import asked
from .memory_data import NEVER_TOLD, SORTS, Sort
from .talking import chosen, filled, others, protected


@dataclass(frozen=True)
class Told:
    """A fact mentioned by the user: its kind and its words."""

    sort: Sort
    values: dict[str, str]


def chat(draw: Draw, between: Callable[[Draw], list[Turn]]) -> tuple[str, list[Turn]]:
    """Facts mentioned and asked for; `between` generates turns of other kinds in between."""
    if draw.split is Split.TRAIN or draw.chance(0.3):
        form = draw.rng.random()
        for name, maker, share in _PROFILES:
            if form < share:
                return f"memory/{name}", maker(draw, between)
            form -= share
    name, sort = draw.kind("memory", {sort.name: (sort, sort.weight) for sort in SORTS})
    others = [other for other in SORTS if other is not sort and f"memory/{other.name}" in _trained()]
    told: list[Told] = []
    turns: list[Turn] = []
    for one in _apart([sort, *draw.some(others, draw.rng.choices((0, 1, 2), (5, 4, 2))[0])]):
        values = _values(draw, one)
        told.append(Told(one, values))
        turns.append(_telling(draw, one, values))
    for _ in range(draw.rng.choices((0, 1, 2, 3), (5, 4, 3, 1))[0]):
        turns += between(draw)
    if draw.chance(0.2):
        turns.append(_never_told(draw, told))
    for one in draw.some(told, draw.number(1, len(told))):
        turns.append(_asking(draw, one))
    return name, turns


#: Chats about a whole life, with their shares.
_PROFILES = (("profile", memory_profile.chat, 0.4), ("tastes of two", memory_profile.tastes_of_two, 0.08), ("changed", memory_profile.changed, 0.08))

#: Facts that are asked for in the same words.
_ALIKE = ({"fear", "fear of animals"}, {"thing", "present"}, {"trip", "order"}, {"hobby", "liking"}, {"number", "price", "count"}, {"friend", "two people"},
    {"favorite food", "liking"}, {"sister", "brother", "two people"})


def _apart(sorts: list[Sort]) -> list[Sort]:
    """Returns `sorts` without those that are asked for in the words of an earlier one."""
    kept: list[Sort] = []
    for sort in sorts:
        if not any({sort.name, other.name} <= alike for alike in _ALIKE for other in kept):
            kept.append(sort)
    return kept


def _trained() -> set[str]:
    return {f"memory/{sort.name}" for sort in SORTS} - HELD_OUT_KINDS


def never_told(draw: Draw) -> list[Turn]:
    """A question about the user that cannot be answered."""
    return [_never_told(draw, [])]


def _values(draw: Draw, sort: Sort) -> dict[str, str]:
    values: dict[str, str] = {}
    for key in sort.numbers:
        values[key] = str(draw.number(*sort.numbers[key]))
    if "age" in values:
        values["next"] = str(int(values["age"]) + 1)
    for template in sort.telling + sort.asking:
        filled(draw, _keep(template, values), values)
    return values


def _keep(template: str, values: dict[str, str]) -> str:
    """`template` with its numbers in place."""
    for key, value in values.items():
        if value.lstrip("-").isdigit():
            template = template.replace(f"{{{key}}}", value)
    return template


def _said(draw: Draw, template: str, values: dict[str, str]) -> str:
    return filled(draw, chosen(draw, _keep(template, values)), values)


def _telling(draw: Draw, sort: Sort, values: dict[str, str]) -> Turn:
    return Turn(_said(draw, draw.wording(sort.telling), values), _said(draw, draw.choice(sort.replies), values),
        protected(values), others(values))


def _asking(draw: Draw, told: Told) -> Turn:
    at = draw.number(0, len(told.sort.asking) - 1)
    # Wordings and answers correspond by index; several wordings of one answer are separated by slashes.
    question = draw.wording(told.sort.asking[at].split(" / "))
    return Turn(_said(draw, question, told.values), _said(draw, told.sort.answers[at], told.values), (),
        tuple(told.values.values()))


def _never_told(draw: Draw, told: list[Told]) -> Turn:
    known = {one.sort.name for one in told}
    known |= {name for alike in _ALIKE if alike & known for name in alike}
    name = draw.choice([name for name in NEVER_TOLD if name not in known])
    questions, answers = NEVER_TOLD[name]
    return Turn(asked(draw, questions), draw.choice(answers))
