"""Rewriting: politer, shorter, corrected, in another tense; and short notes."""

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from .facts_asking import asked


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("rewriting", _MAKERS)
    return kind, maker(draw)


def _row(draw: Draw, name: str) -> seeds.Row:
    """A row of a table, its slots filled alike in all columns, each text with a capital where its row has one."""
    row = draw.choice(seeds.rewriting(name))
    values: dict[str, str] = {}
    return {key: fill(draw, text, values) for key, text in row.items()}


_QUOTES = ("{t}", "{t}", '"{t}"')


def _given(draw: Draw, text: str) -> str:
    return draw.choice(_QUOTES).format(t=text)


def polite(draw: Draw) -> list[Turn]:
    """A blunt sentence rewritten politely, and another."""
    turns: list[Turn] = []
    for number in range(1 + draw.chance(0.3)):
        row = _imperative(draw) if draw.chance(0.5) else _row(draw, "polite")
        wordings = ["make this polite: {t}", "make it polite: {t}", "say this politely: {t}", "how do i say {t} politely",
            "a polite way to say {t}", "polite version: {t}", "Please make this sound polite: {t}", "make this nicer: {t}",
            "say it in a friendly way: {t}", "rewrite politely: {t}",
            "rephrase this more politely: {t}"] if number == 0 else ["and this: {t}", "and {t}", "now {t}", "and how about {t}"]
        turns.append(Turn(asked(draw, wordings, t=_given(draw, row["blunt"])), row["polite"]))
    return turns


def _imperative(draw: Draw) -> seeds.Row:
    """An order that anybody could give, and the same as a question."""
    order = fill(draw, draw.choice(_ORDERS), {})
    asked_nicely = draw.choice(("Could you please {t}?", "Could you please {t}?", "Would you please {t}?"))
    start = draw.choice(("{t}", "{t}", "{t} now", "{t}!"))
    return {"blunt": start.format(t=order), "polite": asked_nicely.format(t=order)}


_ORDERS = [
    "bring me the {object}", "send me the {object}", "clean the {object}", "move the {object}", "put the {object} away",
    "find my {object}", "give {name} the {object}", "buy some {foods}", "cook {food} tonight", "call {name}", "write to {name}",
    "wait {where}", "meet me {where}", "feed the {animal}", "paint the {object} {color}",
    "carry my {object}", "look at my {object}", "tell {name} the truth", "come back on {day}", "finish this by {day}",
    "open the {object}", "take the {animal} outside", "eat your {foods}", "turn off the light", "read this page", "sit down",
    "stand up", "listen to me", "answer the phone", "park the car somewhere else", "lend {name} your {object}",
    "wash the {object}", "explain this to {name}", "be on time on {day}",
]


def shorten(draw: Draw) -> list[Turn]:
    """A long sentence, shorter, and shorter still."""
    row = _row(draw, "shorten")
    turns = [Turn(asked(draw, ["make this shorter: {t}", "shorten this: {t}", "Make it shorter: {t}", "shorter please: {t}",
        "say this in fewer words: {t}", "{t} make that shorter", "Please shorten: {t}", "summarize: {t}", "cut this down: {t}",
        "sum this up: {t}"], t=row["long"]), row["short"])]
    if draw.chance(0.4):
        turns.append(Turn(asked(draw, ["even shorter", "shorter", "make it shorter", "still shorter please", "shorter still",
            "as short as you can"]), row["shorter"]))
    if draw.chance(0.15):
        turns.append(Turn(asked(draw, ["in upper case", "now in capitals", "in all caps please"]), turns[-1].answer.upper()))
    return turns


def fix(draw: Draw) -> list[Turn]:
    """A sentence with mistakes, corrected."""
    row = _row(draw, "fix")
    turns = [Turn(asked(draw, ["fix this sentence: {t}", "correct this: {t}", "fix the grammar: {t}", "Please correct: {t}",
        "correct my sentence: {t}", "what is wrong with: {t}", "is this right: {t}", "fix the mistakes: {t}", "proofread: {t}",
        "fix the spelling and grammar: {t}", "correct my english: {t}"], t=row["wrong"]), row["right"], (row["wrong"],))]
    if draw.chance(0.3):
        row = _row(draw, "fix")
        turns.append(Turn(asked(draw, ["and this: {t}", "now this one: {t}", "and {t}"], t=row["wrong"]), row["right"],
            (row["wrong"],)))
    return turns


def _tense(draw: Draw, form: str) -> list[Turn]:
    row = _row(draw, "tenses")
    turns = [Turn(asked(draw, _TENSES[form], t=row["present"]), row[form])]
    if form in ("past", "future") and draw.chance(0.35):
        other = "future" if form == "past" else "past"
        turns.append(Turn(asked(draw, _TENSES_NEXT[other]), row[other]))
    return turns


_TENSES = {
    "past": ["put this in the past: {t}", "past tense: {t}", "make it past tense: {t}", "change to the past: {t}",
    "write this in the past tense: {t}", "{t}, but yesterday"],
    "future": ["put this in the future: {t}", "future tense: {t}", "make it future tense: {t}",
    "write this in the future tense: {t}", "{t}, but tomorrow"],
    "question": ["turn this into a question: {t}", "make it a question: {t}", "as a question: {t}"],
    "negative": ["make this negative: {t}", "say the opposite with not: {t}", "negate this: {t}", "make it negative: {t}"],
}
_TENSES_NEXT = {"past": ["now in the past", "and in the past tense?", "past tense"],
    "future": ["now in the future", "and in the future?", "future tense"]}


def tense(draw: Draw) -> list[Turn]:
    """A sentence in the past or the future, or with a not."""
    return _tense(draw, draw.choice(("past", "past", "future", "negative")))


def question(draw: Draw) -> list[Turn]:
    """A sentence as a question: a held-out kind."""
    return _tense(draw, "question")


def note(draw: Draw) -> list[Turn]:
    """A short note, and a shorter one."""
    row = _row(draw, "notes")
    turns = [Turn(asked(draw, ["write {t}", "Please write {t}.", "can you write {t}", "help me write {t}", "i need {t}",
        "compose {t}", "draft {t}", "write me {t}"], t=row["request"]), row["text"])]
    if draw.chance(0.4):
        turns.append(Turn(asked(draw, ["make it shorter", "shorter please", "too long, shorter", "a shorter one", "in one line"]),
            row["shorter"]))
    return turns


_MAKERS = {"polite": (polite, 16), "shorten": (shorten, 14), "fix": (fix, 14), "tense": (tense, 12), "question": (question, 4),
    "note": (note, 14)}
