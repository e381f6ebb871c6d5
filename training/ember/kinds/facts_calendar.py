"""Days, months and seasons: what comes before and after, how long a month is, each with claims that hold and claims that do not."""

import re
from dataclasses import dataclass

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, number_word, verdict
from .facts_asking import also, asked

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()


@dataclass(frozen=True)
class Cycle:
    """Names that follow each other in a circle: the days of a week, the months or seasons of a year."""

    noun: str
    names: tuple[str, ...]

    def step(self, name: str, by: int) -> str:
        """Returns the name that is so many steps after `name`, or before it."""
        return self.names[(self.names.index(name) + by) % len(self.names)]


def _cycle(noun: str) -> Cycle:
    return Cycle(noun, tuple(row["name"] for row in seeds.facts({"day": "days", "month": "months", "season": "seasons"}[noun])))


_AFTER = [
    "what {n} comes after {x}", "What {n} comes after {x}?", "which {n} is after {x}", "{n} after {x}?", "what comes after {x}", "which {n} follows {x}",
    "what follows {x}", "what is the {n} after {x}", "the {n} after {x} is", "the next {n} after {x}", "after {x} comes what", "after {x}?",
    "{x} is followed by which {n}", "name the {n} after {x}", "which is the next {n} after {x}?", "tell me what comes after {x}", "what's after {x}",
    "{x}, and then?", "whats the {n} after {x}", "when {x} is over, which {n} begins?", "what {n} is right after {x}",
]
_BEFORE = [
    "what {n} comes before {x}", "What {n} comes before {x}?", "which {n} is before {x}", "{n} before {x}?", "what comes before {x}",
    "which {n} precedes {x}", "what is the {n} before {x}", "the {n} before {x} is", "the {n} right before {x}", "before {x} comes what", "before {x}?",
    "name the {n} before {x}", "which is the last {n} before {x}?", "tell me what comes before {x}", "what's before {x}", "{x} comes after which {n}",
    "whats the {n} before {x}", "which {n} ends when {x} begins?", "what {n} is right before {x}", "{x} follows which {n}",
]
_CLAIMED = ["does {c} come {w} {x}", "is {c} the {n} {w} {x}?", "{c} comes {w} {x}, right?", "is it true that {c} comes {w} {x}", "i think {c} is {w} {x}",
    "so {c} comes {w} {x}?", "Does {c} come right {w} {x}?", "is {c} right {w} {x}", "{c} is the {n} {w} {x}, correct?", "true or false: {c} comes right {w} {x}"]

#: The wordings that ask for the next one alone: June does come after April, but it is not the month after April.
_CLAIMED_NEXT = [wording for wording in _CLAIMED if "right {w}" in wording or "the {n}" in wording]


def _said(cycle: Cycle, name: str, by: int) -> str:
    """`Friday comes after Thursday`, or before it."""
    return f"{cycle.step(name, by)} comes {'after' if by > 0 else 'before'} {name}"


def _neighbor(draw: Draw, cycle: Cycle) -> list[Turn]:
    """What comes after or before, asked again for the other side, for the next one, or for another name."""
    name = draw.choice(cycle.names)
    by = draw.choice((1, -1))
    turns = [Turn(asked(draw, _AFTER if by > 0 else _BEFORE, x=name, n=cycle.noun), capitalized(f"{_said(cycle, name, by)}."))]
    while draw.chance(0.45) and len(turns) < 5:
        form = draw.number(0, 3)
        if form == 0:
            by = -by
            wordings = ["and after it?", "and after {x}?", "what comes after {x}"] if by > 0 else ["and before it?", "and before {x}?", "what comes before {x}"]
            turns.append(Turn(asked(draw, wordings, x=name), capitalized(f"{_said(cycle, name, by)}.")))
        elif form == 1:
            name = cycle.step(name, by)
            wordings = ["and then?", "and after that", "and the next one?", "what comes next", "then?"] if by > 0 else ["and before that?", "what was before that",
                "and the one before?"]
            turns.append(Turn(asked(draw, wordings), capitalized(f"{_said(cycle, name, by)}.")))
        else:
            name = draw.choice([other for other in cycle.names if other != name])
            wordings = ["and {w} {x}", "and {w} {x}?", "{w} {x}?", "what about {w} {x}"]
            turns.append(Turn(asked(draw, wordings, w="after" if by > 0 else "before", x=name), capitalized(f"{_said(cycle, name, by)}.")))
    return turns


def _claimed(draw: Draw, cycle: Cycle) -> list[Turn]:
    """Does May come after June? The answer says what comes there."""
    name, by = draw.choice(cycle.names), draw.choice((1, -1))
    turns = []
    for number in range(draw.rng.choices((1, 2), (3, 1))[0]):
        right = cycle.step(name, by)
        claim = draw.choice((right, cycle.step(name, -by), draw.choice([other for other in cycle.names if other != name])))
        word = "after" if by > 0 else "before"
        wordings = _CLAIMED if claim == right else _CLAIMED_NEXT
        if number:
            wordings = ["and is it {c}?", "and {c}?", "then {c}?"]
            claim = right if turns[0].answer.endswith("no.") else cycle.step(name, -by)
        turns.append(Turn(asked(draw, wordings, c=claim, x=name, w=word, n=cycle.noun), verdict(_said(cycle, name, by), claim == right)))
    return turns


def _between(draw: Draw, cycle: Cycle) -> list[Turn]:
    """What lies between two, and two steps away."""
    name = draw.choice(cycle.names)
    if draw.chance(0.5):
        middle, last = cycle.step(name, 1), cycle.step(name, 2)
        return [Turn(asked(draw, ["what {n} is between {x} and {y}", "which {n} comes between {x} and {y}?", "between {x} and {y} is what", "the {n} between {x} and {y}"],
            n=cycle.noun, x=name, y=last), f"{capitalized(middle)} is between {name} and {last}.")]
    by = draw.choice((2, 3, -2, -3)) if cycle.noun != "season" else 2
    steps = [cycle.step(name, at if by > 0 else -at) for at in range(1, abs(by) + 1)]
    word = "after" if by > 0 else "before"
    wordings = ["what {n} is {k} {n}s {w} {x}", "which {n} is {k} {n}s {w} {x}?", "{k} {n}s {w} {x} is what {n}", "{k} {n}s {w} {x}?"]
    return [Turn(asked(draw, wordings, n=cycle.noun, k=number_word(abs(by)), w=word, x=name),
        f"{capitalized(listed(steps))} come {word} {name}, so it is {steps[-1]}.")]


def days(draw: Draw) -> list[Turn]:
    """What day comes after Friday, what is tomorrow, which days there are."""
    cycle = _cycle("day")
    form = draw.number(0, 11)
    if form <= 3:
        return _neighbor(draw, cycle)
    if form <= 5:
        return _claimed(draw, cycle)
    if form == 6:
        return _between(draw, cycle)
    if form <= 8:
        return _tomorrow(draw, cycle)
    rows = seeds.facts("days")
    row = draw.choice(rows)
    if form == 9:
        return _weekend(draw, row)
    if form == 10:
        at = draw.number(0, 6)
        if draw.chance(0.5):
            return [Turn(asked(draw, ["what is the {o} day of the week", "which day is the {o} of the week?", "{o} day of the week", "name the {o} day of a week"],
                o=_ORDINALS[at]), f"Counting from Monday, the {_ORDINALS[at]} day is {cycle.names[at]}.")]
        return [Turn(asked(draw, ["what is {x}", "{x} is what", "is {x} a day or a month", "what kind of word is {x}, a day or a month?"], x=cycle.names[at]),
            f"{cycle.names[at]} is a day of the week.")]
    return [Turn(asked(draw, ["list the days of the week", "what are the days of the week", "name all days", "which days are there?", "tell me the seven days",
        "say the days of the week in order", "days of the week?", "Name the days of the week.", "all seven days please"]), f"{listed(list(cycle.names))}.")]


def _weekend(draw: Draw, row: seeds.Row) -> list[Turn]:
    """Is Monday a weekday?"""
    claim = draw.choice(("weekday", "weekend"))
    said = f"{row['name']} is {'a weekday' if row['kind'] == 'weekday' else 'part of the weekend'}."
    wordings = ["is {d} a weekday", "Is {d} a weekday?", "{d} is a weekday, right?", "does {d} count as a weekday"] if claim == "weekday" else [
        "is {d} part of the weekend", "is {d} on the weekend?", "is {d} a weekend day", "{d} is part of the weekend, right?", "does {d} belong to the weekend"]
    return [Turn(asked(draw, wordings, d=row["name"]), verdict(said, claim == row["kind"]))]


#: What a day is called from today: its name, the steps, and the verb.
_FROM_TODAY = (("tomorrow", 1, "is"), ("yesterday", -1, "was"), ("the day after tomorrow", 2, "is"), ("the day before yesterday", -2, "was"))


def _tomorrow(draw: Draw, cycle: Cycle) -> list[Turn]:
    """If today is Monday, what is tomorrow?"""
    day = draw.choice(cycle.names)
    kind, by, verb = draw.rng.choices(_FROM_TODAY, (5, 5, 2, 2))[0]
    turns = [Turn(asked(draw, ["today is {d}, what day {v} {k}", "if today is {d}, what {v} {k}?", "it is {d} today. what day {v} {k}",
        "when today is {d}, {k} {v}?", "If today is {d}, which day {v} {k}?", "today {d}, {k}?", "its {d} today, so what {v} {k}", "suppose today is {d}. {k} {v} what?",
        "what day {v} {k} if today is {d}", "{k}, if today is {d}?"], d=day, k=kind, v=verb), f"If today is {day}, {kind} {verb} {cycle.step(day, by)}.")]
    if draw.chance(0.4):
        kind, by, verb = draw.choice([other for other in _FROM_TODAY if other[0] != kind])
        turns.append(Turn(asked(draw, ["and {k}?", "and what {v} {k}", "what {v} {k}?"], k=kind, v=verb), f"If today is {day}, {kind} {verb} {cycle.step(day, by)}."))
    return turns


def months(draw: Draw) -> list[Turn]:
    """Months: their order, their numbers, their season."""
    cycle = _cycle("month")
    form = draw.number(0, 12)
    if form <= 4:
        return _neighbor(draw, cycle)
    if form <= 7:
        return _claimed(draw, cycle)
    if form == 8:
        return _between(draw, cycle)
    row = draw.choice(seeds.facts("months"))
    month = row["name"]
    if form == 9:
        return [Turn(asked(draw, ["what is the {o} month", "which month is the {o}?", "{o} month of the year", "name the {o} month of the year", "month number {k}?",
            "which month is number {k}", "the {o} month is called what"], o=row["ordinal"], k=row["number"]), f"The {row['ordinal']} month is {month}.")]
    if form == 10:
        return [Turn(asked(draw, ["which number is {m}", "what number month is {m}", "is {m} month number what?", "{m} is which month of the year",
            "the number of {m} in the year?", "{m} is month number what"], m=month), f"{month} is the {row['ordinal']} month.")]
    if form == 11:
        turns = [Turn(asked(draw, ["in which season is {m}", "what season is {m} in?", "which season is {m}", "is {m} in summer or winter", "season of {m}?",
            "{m} is in what season"], m=month), f"In the north, {month} is in {row['season']}.")]
        if draw.chance(0.4):
            row = draw.choice(seeds.facts("months"))
            turns.append(Turn(also(draw, row["name"]), f"In the north, {row['name']} is in {row['season']}."))
        return turns
    return [Turn(asked(draw, ["list the months", "name all months", "what are the months of the year", "the twelve months please", "say the months in order",
        "which months are there?", "Name the months of the year."]), f"{listed(list(cycle.names))}.")]


def _length(row: seeds.Row) -> str:
    return f"{row['name']} has {row['days']} days" if row["name"] != "February" else "February has 28 days, and 29 in a leap year"


def lengths(draw: Draw) -> list[Turn]:
    """How many days has April? Does it have 31? Which of two months is longer?"""
    rows = seeds.facts("months")
    row = draw.choice(rows)
    form = draw.number(0, 7)
    if form <= 3:
        turns = [Turn(asked(draw, ["how many days does {m} have", "How many days are in {m}?", "days in {m}?", "how long is {m}", "number of days in {m}",
            "how many days has {m}", "{m} has how many days", "{m} how many days", "how many days are there in {m}", "the days of {m}, how many?",
            "tell me the number of days in {m}", "does {m} have 30 or 31 days" if row["name"] != "February" else "does {m} have 28 or 30 days",
            "what is the last day of {m}, the 28th, 30th or 31st?", "how many days in the month of {m}", "i need the number of days of {m}", "days {m}"],
            m=row["name"]), f"{_length(row)}.")]
        while draw.chance(0.45) and len(turns) < 5:
            row = draw.choice([other for other in rows if other is not row])
            turns.append(Turn(also(draw, row["name"]), f"{_length(row)}."))
        return turns
    if form <= 6:
        claim = row["days"] if draw.chance(0.5) else draw.choice([number for number in ("28", "29", "30", "31", "32") if number != row["days"]
            and (row["name"] != "February" or number not in ("28", "29"))])
        turns = [Turn(asked(draw, ["does {m} have {n} days", "Does {m} have {n} days?", "{m} has {n} days, right?", "is it true that {m} has {n} days",
            "are there {n} days in {m}?", "i think {m} has {n} days", "so {m} has {n} days?", "true or false: {m} has {n} days", "is there a {m} {n}",
            "has {m} got {n} days"] if claim == "31" or claim == "32" else ["does {m} have {n} days", "Does {m} have {n} days?", "{m} has {n} days, right?",
            "is it true that {m} has {n} days", "are there {n} days in {m}?", "i think {m} has {n} days", "so {m} has {n} days?", "true or false: {m} has {n} days",
            "has {m} got {n} days"], m=row["name"], n=claim), verdict(f"{_length(row)}", claim == row["days"]))]
        if draw.chance(0.4):
            row = draw.choice([other for other in rows if other["name"] not in (row["name"], "February")])
            turns.append(Turn(also(draw, row["name"]), verdict(f"{_length(row)}", claim == row["days"])))
        return turns
    others = [other for other in rows if other["days"] != row["days"]]
    other = draw.choice(others)
    longer, shorter = (row, other) if int(row["days"]) > int(other["days"]) else (other, row)
    word, first, second = ("longer", longer, shorter) if draw.chance(0.6) else ("shorter", shorter, longer)
    said = f"{longer['name']} has {longer['days']} days and {shorter['name']} has {shorter['days']}, so {first['name']} is {word}."
    return [Turn(asked(draw, ["which is {w}, {a} or {c}", "which month is {w}, {a} or {c}?", "is {a} or {c} {w}", "{w} month: {a} or {c}?",
        "does {a} or {c} have {m} days"], w=word, a=row["name"], c=other["name"], m="more" if word == "longer" else "fewer"), said)]


def seasons(draw: Draw) -> list[Turn]:
    """The order of the seasons, their months, what they are like; fall is also called autumn."""
    turns = _seasons(draw)
    if draw.chance(0.6):
        return turns
    return [Turn(_with_autumn(turn.user), _with_autumn(turn.answer)) for turn in turns]


def _with_autumn(text: str) -> str:
    return re.sub(r"\bfall\b", "autumn", text).replace("Fall ", "Autumn ")


def _seasons(draw: Draw) -> list[Turn]:
    """The order of the seasons, their months, what they are like: questions and answers that call the third one fall."""
    cycle = _cycle("season")
    form = draw.number(0, 6)
    if form <= 2:
        return _neighbor(draw, cycle)
    if form == 3:
        return _claimed(draw, cycle)
    season = draw.choice(seeds.facts("seasons"))
    if form == 4:
        return [Turn(asked(draw, ["which months are in {s}", "what months belong to {s}", "months of {s}?", "when is {s}", "which months are {s}", "name the months of {s}"],
            s=season["name"]), f"{capitalized(season['name'])} is in {season['months']} in the north.")]
    if form == 5:
        return [Turn(asked(draw, ["name the four seasons", "what are the seasons", "which seasons are there?", "list the seasons", "seasons of the year?"]),
            "The four seasons are spring, summer, fall and winter.")]
    return [Turn(asked(draw, ["tell me about {s}", "what is {s} like", "what happens in {s}", "describe {s}", "how is {s}?"], s=season["name"]), season["about"])]


def alphabet(draw: Draw) -> list[Turn]:
    """Which letter comes after F or before it, and which number a letter has."""
    letters = [chr(code) for code in range(ord("A"), ord("Z") + 1)]
    turns = []
    by = draw.choice((1, -1))
    for number in range(draw.rng.choices((1, 2, 3, 4), (4, 3, 2, 1))[0]):
        at = draw.number(1, 24)
        letter = letters[at]
        shown = letter if draw.chance(0.7) else letter.lower()
        word = "after" if by > 0 else "before"
        if number:
            wordings = ["and {w} {x}?", "and {x}?", "{w} {x}", "and {w} {x}", "what about {x}"]
        else:
            wordings = _AFTER if by > 0 else _BEFORE
            wordings = [one for one in wordings if "is over" not in one and "begins" not in one]
        turns.append(Turn(asked(draw, wordings, x=shown, n="letter", w=word), f"{letters[at + by]} comes {word} {letter}.", (shown,)))
    if draw.chance(0.25):
        at = draw.number(0, 25)
        if draw.chance(0.5) and at < 12:
            return [Turn(asked(draw, ["what is the {o} letter of the alphabet", "which letter is the {o}?", "{o} letter of the alphabet", "name the {o} letter"], o=_ORDINALS[at]),
                f"The {_ORDINALS[at]} letter is {letters[at]}.")]
        claim = draw.choice("AEIOU") if draw.chance(0.5) else letters[at]
        kind, other = ("a vowel", "a consonant") if claim in "AEIOU" else ("a consonant", "a vowel")
        if claim == "Y":
            return turns
        asked_kind = draw.choice((kind, other))
        return [Turn(asked(draw, ["is {x} {k}", "Is {x} {k}?", "is the letter {x} {k}", "{x} is {k}, right?", "is it true that {x} is {k}"], x=claim, k=asked_kind),
            verdict(f"{claim} is {kind}", asked_kind == kind), (claim,))]
    return turns
