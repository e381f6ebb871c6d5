"""Drills on lists of facts: the same question about several things, answered line by line.

One such chat repeats as many facts as ten questions would, and most of its tokens are predicted.
"""

from collections.abc import Callable

from .. import grammar, seeds
from ..chat import Turn
from ..draw import Draw
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
    """The bigger, or another comparative, of each of several pairs."""
    by_word: dict[tuple[str, str], Table] = {}
    for row in seeds.facts("comparisons"):
        table = by_word.setdefault((row["comparative"], row["opposite"]), {})
        first, second = draw.some((row["more"], row["less"]), 2)
        table[f"{first} or {second}"] = row["more"]
    (word, _), table = draw.choice([item for item in by_word.items() if len(item[1]) > 2])
    return [f"which one is {word} in each pair: {{t}}", f"what is {word}: {{t}}"], table


def _of_legs(_: Draw) -> Made:
    return ["how many legs has each: {t}", "the number of legs of each: {t}"], _column(seeds.facts("animals"), "animal", "legs")


def _of_months(_: Draw) -> Made:
    months = [row["name"] for row in seeds.facts("months")]
    days = dict(zip(months, (31, "28, in leap years 29", 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)))
    return ["how many days has each: {t}", "the days of these months: {t}"], {month: str(number) for month, number in days.items()}


_MAKERS: dict[str, Callable[[Draw], Made]] = {
    "capitals": _of_capitals, "verbs": _of_verbs, "adjectives": _of_adjectives, "opposites": _of_opposites, "plurals": _of_plurals,
    "classes": _of_classes, "claims": _of_claims, "colors": _of_colors, "tools": _of_tools, "bodies": _of_bodies, "sounds": _of_sounds,
    "comparisons": _of_comparisons, "legs": _of_legs, "months": _of_months,
}
