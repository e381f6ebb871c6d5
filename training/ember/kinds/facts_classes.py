"""What a thing is, with the same question for things that are and for things that are not of the kind."""

from dataclasses import dataclass
from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import bare, capitalized, verdict, with_article
from .facts_asking import also, asked
from .facts_living import classed


@dataclass(frozen=True)
class Kind:
    """A kind of things: its name, the kind that all of them belong to, kinds that none of them belongs to, and the things."""

    name: str
    plural: str
    over: str
    never: tuple[str, ...]
    meaning: str
    things: tuple[str, ...]


@cache
def kinds() -> dict[str, Kind]:
    """Returns all kinds by name."""
    found = {}
    for row in seeds.facts("classes_of_things"):
        things = _things(row["class"], row["items"])
        found[row["class"]] = Kind(row["class"], row["plural"], row["over"], tuple(row["not"].split(", ")), row["meaning"], things)
    return found


#: Animals whose names mean a food, too.
_FOODS_TOO = {"kiwi"}


def _things(kind: str, listed: str) -> tuple[str, ...]:
    """The things of a row: those that it lists, or those of another table."""
    match listed:
        case "@animals":
            return tuple(with_article(animal) for animal, known in classed() if known == kind and animal not in _FOODS_TOO)
        case "@cities":
            return tuple(row["capital"] for row in seeds.facts("capitals") if row["capital"] not in row["country"] and "Singapore" not in row["capital"])
        case "@countries":
            return tuple(row["country"] for row in seeds.facts("capitals") if row["capital"] not in row["country"])
        case "@jobs":
            return tuple(with_article(row["job"]) for row in seeds.words("jobs"))
        case _:
            return tuple(listed.split("; "))


#: Names of kinds that stand without an article.
_WITHOUT_ARTICLE = {"food"}


def _named(kind: str) -> str:
    return kind if kind in _WITHOUT_ARTICLE else with_article(kind)


def _said(thing: str, kind: Kind) -> str:
    return f"{thing} is {_named(kind.name)}"


#: Kinds that are asked about most.
_WEIGHTS = {"mammal": 5, "bird": 5, "fish": 3, "insect": 3, "reptile": 3, "amphibian": 2, "fruit": 4, "vegetable": 3, "tool": 3,
    "vehicle": 3, "musical instrument": 3, "city": 3, "country": 3, "planet": 2, "flower": 2, "tree": 2, "job": 2}


def _drawn(draw: Draw) -> tuple[str, Kind]:
    """A thing and its kind."""
    known = list(kinds().values())
    kind = draw.rng.choices(known, [_WEIGHTS.get(one.name, 1) for one in known])[0]
    return draw.familiar(kind.things, 2), kind


_IS = [
    "is {x} {y}", "Is {x} {y}?", "is {x} {y} or not", "would you call {x} {y}", "{x} is {y}, right?", "i think {x} is {y}, true?",
    "is it true that {x} is {y}", "so {x} is {y}?", "do you think {x} is {y}", "tell me, is {x} {y}", "does {x} count as {y}",
    "can we say that {x} is {y}?", "{x} is {y}: true or false?", "true or false: {x} is {y}", "isn't {x} {y}?", "my brother says {x} is {y}, is that right",
    "hey, is {x} {y}?", "is {x} really {y}", "{x} is {y}, isn't it?", "{x} is {y}, correct?", "Would you say that {x} is {y}?",
    "is {x} a kind of {y0}", "does {x} belong to the {ys}?", "i say {x} is {y}", "surely {x} is {y}?", "quick check: is {x} {y}?",
    "Am I right that {x} is {y}?", "for a quiz: is {x} {y}?", "{x} is {y}", "{X} is {y}.", "i am sure that {x} is {y}", "{x} is {y}, or not?",
]
_IS_BARE = ["is {x0} {y0}", "{x0} {y0}?", "{x0} is {y0} right", "{x0}: {y0} yes or no", "is {x0} {y0} or no", "{x0} is {y}?"]


def _values(thing: str, claim: str) -> dict[str, str]:
    known = kinds().get(claim)
    return {"x": thing, "X": capitalized(thing), "y": _named(claim), "x0": bare(thing), "y0": claim, "ys": known.plural if known else _PLURALS.get(claim, f"{claim}s")}


_PLURALS = {"food": "foods"}


def _whether(draw: Draw, thing: str, kind: Kind, claim: str) -> Turn:
    """Is a hammer an animal? The answer says what it is, then the verdict."""
    question = asked(draw, _IS_BARE if draw.chance(0.12) else _IS, **_values(thing, claim))
    return Turn(question, _whether_answer(thing, kind, claim))


def _whether_answer(thing: str, kind: Kind, claim: str) -> str:
    if claim == kind.over:
        return verdict(f"{_said(thing, kind)}, and every {kind.name} is {_named(claim)}" if claim != "food" else
            f"{_said(thing, kind)}, and {kind.plural} are food", True)
    return verdict(_said(thing, kind), claim == kind.name)


def _claim(draw: Draw, kind: Kind) -> str:
    """A kind that the things of `kind` belong to, or not, about half of each."""
    if draw.chance(0.47):
        return kind.over if kind.over != "-" and draw.chance(0.3) else kind.name
    if draw.chance(0.75):
        return draw.choice(kind.never)
    return draw.choice([name for name in kinds() if name != kind.name and not _overlap(kind, kinds()[name])])


#: Kinds of one thing that a person might defend.
_CLOSE = ({"tool", "toy", "musical instrument", "vehicle", "piece of clothing", "piece of furniture", "gem"}, {"sport", "game", "dance", "school subject",
    "language", "vehicle"}, {"fruit", "vegetable", "spice", "dessert", "drink", "flower", "tree", "color"}, {"city", "country", "ocean", "continent"},
    {"job", "member of the family", "mammal"}, {"gem", "color", "metal"}, {"star", "shape", "planet"}, {"spice", "color", "feeling", "flower"},
    {"part of the body", "tool"}, {"kind of weather", "season"}, {"metal", "planet"})


def _overlap(first: Kind, second: Kind) -> bool:
    return any({first.name, second.name} <= group for group in _CLOSE) or first.over == second.over != "-"


def is_it(draw: Draw) -> list[Turn]:
    """Is a hammer a tool? And the same thing with another kind, or another thing with the same kind."""
    thing, kind = _drawn(draw)
    claim = _claim(draw, kind)
    turns = [_whether(draw, thing, kind, claim)]
    asked_why = False
    while draw.chance(0.42) and len(turns) < 5:
        form = draw.number(0, 4)
        if form <= 1:
            # The same kind for another thing that is of it, or not.
            if (another := _other(draw, claim))[0] == thing:
                continue
            thing, kind = another
            turns.append(Turn(also(draw, thing), _whether_answer(thing, kind, claim)))
            asked_why = False
        elif form == 2 and not asked_why and claim in (kind.name, *kind.never):
            turns.append(Turn(asked(draw, ["why", "why?", "why is that", "how come?", "how do you know", "why so?", "explain"]), kind.meaning))
            asked_why = True
        elif form == 3:
            turns.append(Turn(asked(draw, ["what is it then", "so what is it?", "what is {x}, then?", "and what is {x}"], x=thing),
                f"{capitalized(_said(thing, kind))}."))
        else:
            if (new_claim := _claim(draw, kind)) == claim:
                continue
            claim = new_claim
            turns.append(Turn(asked(draw, ["is it {y}", "and is it {y}?", "is it {y}, then?", "then is {x} {y}", "and {y}?"], x=thing, y=_named(claim)),
                _whether_answer(thing, kind, claim)))
    return turns


def _other(draw: Draw, claim: str) -> tuple[str, Kind]:
    """A thing of the kind `claim`, or of a kind that is none of it."""
    if claim in kinds() and draw.chance(0.5):
        return draw.familiar(kinds()[claim].things, 2), kinds()[claim]
    fitting = [kind for kind in kinds().values() if claim in kind.never or claim == kind.over]
    kind = draw.choice(fitting or [kinds()[claim]])
    return draw.familiar(kind.things, 2), kind


def what_is_it(draw: Draw) -> list[Turn]:
    """What kind of thing it is, which of two kinds, and which of several things is of a kind."""
    thing, kind = _drawn(draw)
    form = draw.number(0, 3)
    if form == 0:
        turns = [Turn(asked(draw, ["what is {x}", "What is {x}?", "what kind of thing is {x}", "{x}, what is that?", "what sort of thing is {x}?",
            "whats {x0}", "do you know what {x} is", "tell me what {x} is", "{x}?", "what would you call {x}", "{x} is a kind of what",
            "say what {x} is"], x=thing, x0=bare(thing)), f"{capitalized(_said(thing, kind))}.")]
        if draw.chance(0.35):
            turns.append(Turn(asked(draw, ["and what is {y}?", "what is {y}", "what does {y0} mean", "explain what {y} is"], y=_named(kind.name), y0=kind.name),
                kind.meaning))
        return turns
    other = draw.choice(kind.never)
    if form == 1:
        pair = draw.some([kind.name, other], 2)
        wordings = ["is {x} {y} or {z}", "Is {x} {y} or {z}?", "what is {x}, {y} or {z}?", "{x}: {y} or {z}?", "which is it, is {x} {y} or {z}",
            "{y} or {z}: what is {x}?", "would you call {x} {y} or {z}", "{x0} {y0} or {z0}", "do we call {x} {y} or {z}?", "tell me if {x} is {y} or {z}"]
        return [Turn(asked(draw, wordings, x=thing, y=_named(pair[0]), z=_named(pair[1]), x0=bare(thing), y0=pair[0], z0=pair[1]),
            f"{capitalized(_said(thing, kind))}.")]
    others = _distinct(draw, kind)
    if form == 2:
        strange, stranger = others[0]
        group = draw.some(kind.things, draw.number(2, 4))
        shown = draw.some([*group, strange], len(group) + 1)
        wordings = ["which is not {y}: {t}", "which of these is not {y}: {t}", "find the one that is no {y0}: {t}", "which one does not belong: {t}",
            "odd one out: {t}", "what does not fit: {t}", "one of these is not {y}, which: {t}", "Which one is different: {t}?"]
        return [Turn(asked(draw, wordings, y=_named(kind.name), y0=kind.name, t=", ".join(shown)),
            f"{capitalized(_said(strange, stranger))}, and the others are {kind.plural}.")]
    shown = draw.some([thing, *(name for name, _ in others)], 1 + len(others))
    wordings = ["which of these is {y}: {t}", "which is {y}, {t}?", "which one is {y}: {t}", "find the {y0}: {t}", "pick the {y0}: {t}",
        "{t}: which of them is {y}", "Which of these is {y}: {t}?", "what here is {y}: {t}", "only one is {y}: {t}"]
    return [Turn(asked(draw, wordings, y=_named(kind.name), y0=kind.name, t=", ".join(shown)), f"{capitalized(_said(thing, kind))}.")]


def _distinct(draw: Draw, kind: Kind) -> list[tuple[str, Kind]]:
    """One to three things of other kinds, each with its kind."""
    others = [other for other in kinds().values() if other.name != kind.name and other.name not in (kind.over,) and not _overlap(kind, other)]
    return [(draw.familiar(other.things, 2), other) for other in draw.some(others, draw.number(1, 3))]


def example(draw: Draw) -> list[Turn]:
    """Name a tool, and another one."""
    kind = draw.choice(list(kinds().values()))
    things = draw.some(kind.things, min(3, len(kind.things)))
    turns = [Turn(asked(draw, ["name {y}", "Name {y}.", "give me an example of {y}", "an example of {y}?", "tell me the name of {y}", "which {ys} do you know, name one",
        "say the name of {y}", "example of {y} please", "i need {y} as an example", "name one of the {ys}"], y=_named(kind.name), ys=kind.plural),
        f"{capitalized(_said(things[0], kind))}.")]
    for thing in things[1:]:
        if not draw.chance(0.4):
            break
        turns.append(Turn(asked(draw, ["another one", "one more", "and another?", "another", "a different one", "more"]),
            f"{capitalized(_said(thing, kind))}, too."))
    return turns
