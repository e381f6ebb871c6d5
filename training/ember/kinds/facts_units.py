"""How many of a thing are in another: units, parts of shapes, legs and wheels; asked for the number, or with a claim."""

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, number_word, verdict
from .facts_asking import asked

_ASKED = ["how many {s} {has} {l}", "How many {s} {does} {l} have?", "how many {s} are in {l}", "number of {s} in {l}?", "{s} in {l}?", "{l} has how many {s}",
    "how many {s} {does} {l} have", "do you know how many {s} are in {l}", "tell me how many {s} {l} {has}", "{s} of {l}?", "how many {s}: {l}",
    "{l}: how many {s}?", "i need to know how many {s} {l} {has}", "count the {s} of {l}", "what is the number of {s} in {l}", "hey how many {s} in {l}",
    "Can you tell me how many {s} {l} {has}?", "how many {s} {does} {l} have, do you know?", "what number of {s} {does} {l} have"]
_CLAIMED = ["{does} {l} have {n} {s}", "{Does} {l} have {n} {s}?", "{l} {has} {n} {s}, right?", "is it true that {l} {has} {n} {s}", "i think {l} {has} {n} {s}",
    "so {l} {has} {n} {s}?", "are there {n} {s} in {l}?", "true or false: {l} {has} {n} {s}", "my son says {l} {has} {n} {s}, is that right",
    "{l} {has} {n} {s}, correct?", "{does} {l} really have {n} {s}?", "would you say {l} {has} {n} {s}"]


def _many(large: str) -> bool:
    return large.startswith(("two ", "most "))


def _shown(number: int, noun: str) -> str:
    """A number with its noun: small numbers as words, none as `no`."""
    shown = "no" if number == 0 else number_word(number) if number <= 12 else str(number)
    return f"{shown} {noun[:-1] if number == 1 and noun.endswith('s') else noun}"


def _said(row: seeds.Row) -> str:
    return f"{row['large']} {'have' if _many(row['large']) else 'has'} {_shown(int(row['number']), row['small'])}"


def _values(row: seeds.Row) -> dict[str, str]:
    does = "do" if _many(row["large"]) else "does"
    return {"s": row["small"], "l": row["large"], "has": "have" if does == "do" else "has", "does": does, "Does": capitalized(does)}


def _question(draw: Draw, row: seeds.Row) -> str:
    return asked(draw, _ASKED, **_values(row))


def units(draw: Draw) -> list[Turn]:
    """How many minutes has an hour? Does it have fifty?"""
    rows = seeds.facts("units")
    row = draw.choice(rows)
    if draw.chance(0.4):
        return _claimed(draw, row)
    turns = [Turn(_question(draw, row), capitalized(f"{_said(row)}."))]
    while draw.chance(0.45) and len(turns) < 5:
        others = [other for other in rows if other is not row and (other["small"] == row["small"] or other["large"] == row["large"])]
        same_unit = [other for other in others if other["small"] == row["small"]]
        if same_unit and draw.chance(0.7):
            row = draw.choice(same_unit)
            turns.append(Turn(asked(draw, ["and {l}?", "and {l}", "what about {l}", "and in {l}?", "how about {l}?"], l=row["large"]), capitalized(f"{_said(row)}.")))
        else:
            row = draw.choice(others or list(rows))
            turns.append(Turn(_question(draw, row), capitalized(f"{_said(row)}.")))
    return turns


def _claimed(draw: Draw, row: seeds.Row) -> list[Turn]:
    """A claimed number, right or near it, and then another one."""
    right = int(row["number"])
    turns = []
    for at in range(draw.rng.choices((1, 2), (3, 1))[0]):
        claim = right if draw.chance(0.48) else _wrong(draw, right)
        shown = _shown(claim, "").strip() if draw.chance(0.6) and claim else str(claim)
        wordings = _CLAIMED if at == 0 else ["and {n}?", "{n}?", "maybe {n}?", "then {n}?", "is it {n}?"]
        noun = row["small"][:-1] if claim == 1 and row["small"].endswith("s") else row["small"]
        turns.append(Turn(asked(draw, wordings, **_values(row) | {"s": noun}, n=shown), verdict(_said(row), claim == right)))
    return turns


def _wrong(draw: Draw, right: int) -> int:
    """A number that is not right: a near one, or one that is often confused with it."""
    near = [right + by for by in (-4, -2, -1, 1, 2, 4) if right + by >= 1]
    far = [number for number in (2, 4, 6, 8, 10, 12, 20, 24, 30, 50, 60, 100, 365, 1000) if right / 12 < number < right * 12]
    return draw.choice([number for number in (near if draw.chance(0.5) or not far else far) if number != right] or near)


#: Units of one kind, the smallest first.
_LADDERS = (
    ("a second", "a minute", "an hour", "a day", "a week", "a month", "a year", "a decade", "a century", "a millennium"),
    ("a millimeter", "a centimeter", "a meter", "a kilometer"),
    ("an inch", "a foot", "a yard", "a mile"),
    ("a gram", "a kilogram", "a tonne"),
    ("an ounce", "a pound", "a tonne"),
    ("a milliliter", "a liter"),
    ("a cent", "a dollar", "a hundred dollars"),
    ("a bit", "a byte", "a kilobyte", "a megabyte", "a gigabyte", "a terabyte"),
    ("a centimeter", "an inch", "a foot", "a meter", "a kilometer", "a mile"),
    ("one", "ten", "a hundred", "a thousand", "a million", "a billion"),
)
_WORDS = (("longer", "shorter"), ("longer", "shorter"), ("longer", "shorter"), ("heavier", "lighter"), ("heavier", "lighter"), ("more", "less"),
    ("more", "less"), ("more", "less"), ("longer", "shorter"), ("more", "less"))


def longer_unit(draw: Draw) -> list[Turn]:
    """Which is longer, a week or a month? Each question in both orders and directions."""
    at = draw.rng.choices(range(len(_LADDERS)), [len(ladder) for ladder in _LADDERS])[0]
    ladder = _LADDERS[at]
    low, high = sorted(draw.some(range(len(ladder)), 2))
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (4, 2, 1))[0]):
        upward = draw.chance(0.5)
        word = _WORDS[at][0 if upward else 1]
        right, other = (ladder[high], ladder[low]) if upward else (ladder[low], ladder[high])
        first, second = draw.some((right, other), 2)
        if draw.chance(0.5):
            question = asked(draw, ["which is {w}, {a} or {c}", "what is {w}, {a} or {c}?", "is {a} or {c} {w}", "{w}: {a} or {c}?", "{a} or {c}, which is {w}",
                "tell me which is {w}, {a} or {c}", "which one is {w}: {a} or {c}"], w=word, a=first, c=second)
            turns.append(Turn(question, capitalized(f"{right} is {word} than {other}.")))
        else:
            said = word if first == right else _WORDS[at][1 if upward else 0]
            question = asked(draw, ["is {a} {w} than {c}", "Is {a} {w} than {c}?", "{a} is {w} than {c}, right?", "is it true that {a} is {w} than {c}",
                "i think {a} is {w} than {c}", "so {a} is {w} than {c}?"], w=word, a=first, c=second)
            turns.append(Turn(question, verdict(f"{first} is {said} than {second}", first == right)))
    return turns


def _number(row: seeds.Row) -> str:
    """The number of a row, without its noun."""
    return "none" if row["number"] == "0" else _shown(int(row["number"]), "").strip()


def more_of(draw: Draw) -> list[Turn]:
    """Which has more legs, a spider or an ant? The answer names both numbers first."""
    rows = seeds.facts("units")
    row = draw.choice([row for row in rows if row["small"] in ("legs", "wheels", "sides", "corners", "wings", "strings") and not _many(row["large"])])
    others = [other for other in rows if other["small"] == row["small"] and other["number"] != row["number"] and not _many(other["large"])]
    first, second = draw.some((row, draw.choice(others)), 2)
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (4, 3, 1))[0]):
        upward = draw.chance(0.6)
        pick = max if upward else min
        right = pick((first, second), key=lambda one: int(one["number"]))
        word, small = "more" if upward else "fewer", row["small"]
        numbers = f"{_said(first)} and {second['large']} has {_number(second)}"
        said = f"{capitalized(numbers)}, so {right['large']} has {word}."
        if draw.chance(0.35):
            question = asked(draw, ["does {a} have {w} {s} than {c}", "Does {a} have {w} {s} than {c}?", "{a} has {w} {s} than {c}, right?", "is it true that {a} has {w} {s} than {c}",
                "i think {a} has {w} {s} than {c}"], a=first["large"], c=second["large"], w=word, s=small)
            said = verdict(numbers, right is first)
        else:
            question = asked(draw, ["which has {w} {s}, {a} or {c}", "what has {w} {s}, {a} or {c}?", "{w} {s}: {a} or {c}?", "does {a} or {c} have {w} {s}", "who has {w} {s}, {a} or {c}",
                "{a} or {c}, which has {w} {s}", "Which has {w} {s}: {a} or {c}?"], a=first["large"], c=second["large"], w=word, s=small)
        turns.append(Turn(question, said))
        first, second = (second, first) if draw.chance(0.6) else (first, second)
    return turns
