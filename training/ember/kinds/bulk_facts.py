"""Drills on lists of facts: the same question about several things, answered line by line.

One such chat repeats as many facts as ten questions would, and most of its tokens are predicted.
"""

from collections.abc import Callable

from .. import grammar, seeds
from ..chat import Turn
from ..draw import Draw
from . import facts_classes, facts_compared
from .facts_asking import asked
from .facts_living import classed
from .facts_things import opposites

#: Things with their answers, of which a chat draws some.
Table = dict[str, str]


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns a list of things with one question, and sometimes the same for other things."""
    name = draw.choice(list(_MAKERS))
    wordings, table = _MAKERS[name](draw)
    things = draw.some(list(table), min(len(table), draw.number(3, 12)))
    turns = [_turn(draw, asked(draw, wordings, t=", ".join(things)), things, table)]
    if draw.chance(0.25):
        others = draw.some(list(table), min(len(table), draw.number(1, 4)))
        follow_up = draw.wording(["and {t}?", "and of these: {t}", "now {t}", "what about {t}"])
        turns.append(_turn(draw, follow_up.format(t=", ".join(others)), others, table))
    return f"bulk facts/{name}", turns


def _turn(draw: Draw, question: str, things: list[str], table: Table) -> Turn:
    lines = [f"{thing}: {table[thing]}" for thing in things]
    return Turn(question, "\n".join(lines), tuple(things))


Made = tuple[list[str], Table]


def _column(rows: tuple[seeds.Row, ...], key: str, value: str) -> Table:
    return {row[key]: row[value] for row in rows if row[value] not in ("-", "")}


def _of_capitals(draw: Draw) -> Made:
    form = draw.choice(("capital", "continent"))
    table = _column(seeds.facts("capitals"), "country", form)
    if form == "capital" and draw.chance(0.25):
        return ["the countries of these capitals: {t}", "which countries have these capitals: {t}"], {city: country for country, city in table.items()}
    return [f"the {form} of each: {{t}}", f"{form}s: {{t}}", f"which {form} for each of these countries: {{t}}"], table


def _of_verbs(draw: Draw) -> Made:
    form, key = draw.choice((("past tense", "past"), ("past tense", "past"), ("past participle", "participle"), ("form with he", "third person")))
    return [f"the {form} of each: {{t}}", f"{form}: {{t}}", f"put each in the {form}: {{t}}"], _column(seeds.words("verbs"), "verb", key)


def _of_adjectives(draw: Draw) -> Made:
    form = draw.choice(("comparative", "superlative"))
    return [f"the {form} of each: {{t}}", f"{form}s: {{t}}"], _column(seeds.words("adjectives"), "adjective", form)


def _of_opposites(_: Draw) -> Made:
    return ["the opposite of each: {t}", "opposites: {t}", "which word is the opposite of each of these: {t}"], opposites()


def _of_plurals(draw: Draw) -> Made:
    nouns = [*grammar.irregular_nouns(), *draw.words("animal", 10), *draw.words("object", 10), *draw.words("job", 8)]
    return ["the plural of each: {t}", "plurals: {t}", "more than one of each: {t}"], {noun: grammar.plural(noun) for noun in nouns}


def _of_classes(_: Draw) -> Made:
    return ["what kind of animal is each: {t}", "the class of these animals: {t}", "mammal, bird, fish or what: {t}"], dict(classed())


def _of_claims(draw: Draw) -> Made:
    """Whether animals belong to a class, about half of which do."""
    classes = dict(classed())
    claim = draw.choice([name for name in sorted(set(classes.values())) if list(classes.values()).count(name) > 3])
    right = [animal for animal, kind in classes.items() if kind == claim]
    wrong = [animal for animal, kind in classes.items() if kind != claim]
    size = min(8, len(right))
    table = {animal: f"{grammar.with_article(claim)}, so yes" for animal in draw.some(right, size)}
    table |= {animal: f"{grammar.with_article(classes[animal])}, so no" for animal in draw.some(wrong, size)}
    claimed = grammar.with_article(claim)
    return [f"which of these is {claimed}: {{t}}", f"{claimed} or not: {{t}}", f"is it {claimed}: {{t}}"], table


def _of_colors(draw: Draw) -> Made:
    """The colors of things, or whether they have a color."""
    known = _column(seeds.facts("colors"), "thing", "color")
    if draw.chance(0.5):
        return ["the color of each: {t}", "colors: {t}", "which color does each have: {t}"], known
    claim = draw.choice(("red", "green", "white", "yellow", "black", "blue", "orange"))
    table = {thing: f"{color}, so {'yes' if color == claim else 'no'}" for thing, color in known.items()}
    wrong = draw.some([thing for thing, color in known.items() if color != claim], 8)
    kept = [thing for thing in table if known[thing] == claim or thing in wrong]
    return [f"which of these are {claim}: {{t}}", f"{claim} or not: {{t}}"], {thing: table[thing] for thing in kept}


def _of_tools(_: Draw) -> Made:
    return ["what is each of these for: {t}", "the use of each: {t}", "what do we use these for: {t}"], _column(seeds.facts("tools"), "tool", "use")


def _of_bodies(_: Draw) -> Made:
    return ["what are these for: {t}", "what do we do with each: {t}"], _column(seeds.facts("body"), "part", "use")


def _of_sounds(draw: Draw) -> Made:
    form = draw.choice(("sound", "baby"))
    wordings = ["the sound of each: {t}", "what does each say: {t}"] if form == "sound" else ["the young of each: {t}",
        "what is the baby of each called: {t}"]
    return wordings, _column(seeds.facts("sounds"), "animal", form)


def _of_comparisons(draw: Draw) -> Made:
    """The bigger or the smaller, or another comparative, of each of several pairs."""
    scale = draw.choice([scale for scale in facts_compared.scales() if len(scale.levels) > 4])
    upward = draw.chance(0.6)
    table: Table = {}
    while len(table) < 12:
        low, high = sorted(draw.some(range(len(scale.levels)), 2))
        if high - low >= scale.gap:
            less, more = draw.choice(scale.levels[low]), draw.choice(scale.levels[high])
            first, second = draw.some((less, more), 2)
            table[f"{first} or {second}"] = more if upward else less
    word = scale.comparative if upward else scale.opposite
    return [f"which one is {word} in each pair: {{t}}", f"what is {word}: {{t}}", f"the {word} one of each pair: {{t}}"], table


def _of_bigger_numbers(draw: Draw) -> Made:
    """The bigger or smaller of two numbers, several times."""
    word, pick = draw.choice((("bigger", max), ("bigger", max), ("smaller", min)))
    pairs = [draw.some(range(0, draw.choice((20, 100, 100, 1000))), 2) for _ in range(12)]
    return [f"the {word} number of each pair: {{t}}", f"which is {word}: {{t}}", f"{word} number: {{t}}"], {f"{one} or {other}": str(pick(one, other))
        for one, other in pairs}


def _of_even(draw: Draw) -> Made:
    """Whether numbers are even or odd."""
    return ["even or odd: {t}", "which are even and which are odd: {t}", "is each of these even or odd: {t}"], {
        str(number): "even" if number % 2 == 0 else "odd" for number in draw.some(range(0, 200), 14)}


def _of_kinds(draw: Draw) -> Made:
    """What kind of thing each of several things is."""
    known = list(facts_classes.kinds().values())
    drawn = [(draw.choice(kind.things), kind.name) for kind in draw.some(known, 14)]
    return ["what kind of thing is each: {t}", "what is each of these: {t}", "say what these are: {t}"], {thing: grammar.with_article(name) for thing, name in drawn}


def _of_units(draw: Draw) -> Made:
    """How many of a thing are in each of several others."""
    rows = seeds.facts("units")
    small = draw.choice(sorted({row["small"] for row in rows if sum(other["small"] == row["small"] for other in rows) > 3}))
    table = {row["large"]: row["number"] for row in rows if row["small"] == small}
    return [f"how many {small} has each: {{t}}", f"the number of {small} of each: {{t}}", f"{small} of these: {{t}}"], table


def _of_neighbors(draw: Draw) -> Made:
    """The day, month or letter after or before each."""
    by, word = draw.choice(((1, "after"), (-1, "before")))
    kind = draw.choice(("day", "month", "letter"))
    names = [chr(code) for code in range(ord("A"), ord("Z") + 1)] if kind == "letter" else [row["name"] for row in seeds.facts(f"{kind}s")]
    table = {name: names[(at + by) % len(names)] for at, name in enumerate(names)}
    if kind == "letter":
        table = dict(list(table.items())[1:-1])
    return [f"the {kind} {word} each: {{t}}", f"which {kind} comes {word} each of these: {{t}}", f"{kind} {word}: {{t}}"], table


def _of_legs(_: Draw) -> Made:
    return ["how many legs has each: {t}", "the number of legs of each: {t}"], _column(seeds.facts("animals"), "animal", "legs")


def _of_months(_: Draw) -> Made:
    months = [row["name"] for row in seeds.facts("months")]
    days = dict(zip(months, (31, "28, in leap years 29", 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)))
    return ["how many days has each: {t}", "the days of these months: {t}"], {month: str(number) for month, number in days.items()}


_MAKERS: dict[str, Callable[[Draw], Made]] = {
    "capitals": _of_capitals, "verbs": _of_verbs, "adjectives": _of_adjectives, "opposites": _of_opposites, "plurals": _of_plurals,
    "classes": _of_classes, "claims": _of_claims, "colors": _of_colors, "tools": _of_tools, "bodies": _of_bodies, "sounds": _of_sounds,
    "comparisons": _of_comparisons, "numbers": _of_bigger_numbers, "even": _of_even, "kinds": _of_kinds, "units": _of_units, "neighbors": _of_neighbors, "legs": _of_legs, "months": _of_months,
}
