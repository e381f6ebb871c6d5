"""Claims with one word that may be wrong: the same question with the right and with a wrong word, and questions that assume a wrong one."""

import re

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, verdict
from .facts_asking import asked

#: Verbs of the claims in the third person, and those that stand after a plural.
_SINGULAR = {"has": "have", "goes": "go", "flies": "fly", "carries": "carry"} | {verb: verb[:-1] for verb in (
    "rises sets points flows falls shines turns makes gives lays comes grows tastes pulls needs pumps floats sinks says means treats works bakes "
    "prepares shows sells repairs looks puts brings travels stores drinks hunts wags boils keeps sucks toasts measures stops runs slides lends cuts writes eats "
    "takes swims").split()} | {"washes": "wash", "catches": "catch"}
_PLURAL = set("grow turn hunt see eat fall build breathe give lay make need live are see hear smell taste chew walk think come sleep stop learn have collect catch swim speak build fly sleep open harvest".split())
#: Verbs that are nouns in other claims, where the plural in front of them tells them apart.
_AFTER_A_PLURAL = {"land": "planes"}


def question_of(claim: str) -> str:
    """Returns the question for a claim: `does the sun rise in the east`."""
    words = claim.split()
    for at, word in enumerate(words[1:], 1):
        before, after = " ".join(words[:at]), " ".join(words[at + 1 :])
        if word in ("is", "are", "can"):
            return f"{word} {before} {after}"
        if word in _SINGULAR:
            return f"does {before} {_SINGULAR[word]} {after}".strip()
        if word in _PLURAL or _AFTER_A_PLURAL.get(word) == before:
            return f"do {before} {word} {after}".strip()
    raise ValueError(f"no verb is known in {claim!r}")


_WHETHER = ["{q}", "{Q}?", "{q}?", "is it true that {c}", "{c}, right?", "i think {c}, true?", "{C}, right?",
    "so {c}?", "true or false: {c}", "my friend says {c}, is that so", "{c}: yes or no?", "tell me, {q}", "hey, {q}?", "is it right that {c}?",
    "{c}, correct?", "do you think {c}", "can you confirm that {c}", "for a quiz: {q}?", "i say {c}", "Am I right that {c}?", "i read that {c}, true?",
    "surely {c}?", "my grandma says {c}. is she right?", "check this: {c}", "i am sure that {c}", "{c}", "{C}.", "{c}", "well, {c}", "everybody knows that {c}", "you know that {c}", "please tell me: {q}?"]


def _whether(draw: Draw, row: seeds.Row, word: str) -> Turn:
    claim = row["claim"].format(x=word)
    question = question_of(claim)
    return Turn(asked(draw, _WHETHER, c=claim, C=capitalized(claim), q=question, Q=capitalized(question)), _answer(row, word))


def _answer(row: seeds.Row, word: str) -> str:
    return verdict(row["claim"].format(x=row["right"]), word == row["right"])


def premise(draw: Draw) -> list[Turn]:
    """Does the sun rise in the west? Where does it rise? Why does it rise in the west?"""
    row = draw.choice(seeds.facts("premises"))
    wrong = draw.choice(row["wrong"].split("; "))
    right_said = row["claim"].format(x=row["right"])
    form = draw.number(0, 9)
    if form <= 2:
        question = draw.choice(row["questions"].split(" / "))
        turns = [Turn(asked(draw, ["{q}", "{q}?", "{Q}?", "hey, {q}?", "tell me, {q}", "do you know {q}", "{q} please", "i want to know: {q}",
            "for my homework: {q}?", "quick question: {q}"], q=question, Q=capitalized(question)), f"{capitalized(right_said)}.")]
        if draw.chance(0.35):
            turns.append(Turn(asked(draw, ["i thought {w}", "isn't it {w}?", "{w}?", "could it be {w}?", "is it {w}?", "maybe {w}?"], w=wrong), _answer(row, wrong)))
        return turns
    if form == 3:
        claim = row["claim"].format(x=wrong)
        return [Turn(asked(draw, ["why {q}", "why {q}?", "Why {q}?", "explain why {c}", "tell me why {c}", "how come {c}?", "what is the reason that {c}"],
            q=question_of(claim), c=claim), draw.choice((f"That is not so: {right_said}.", f"{capitalized(right_said)}, so that is not true.")))]
    if form == 4:
        pair = draw.some((row["right"], wrong), 2)
        claim = row["claim"].format(x=f"{pair[0]} or {_tail(pair[0], pair[1])}")
        question = question_of(claim)
        return [Turn(asked(draw, ["{q}", "{Q}?", "{q}?", "tell me: {q}", "which is right: {q}", "what is true, {q}?"], q=question, Q=capitalized(question)),
            f"{capitalized(right_said)}.")]
    word = row["right"] if draw.chance(0.45) else wrong
    turns = [_whether(draw, row, word)]
    if draw.chance(0.35):
        other = row["right"] if word != row["right"] or draw.chance(0.3) else wrong
        turns.append(Turn(asked(draw, ["and {w}?", "{w}?", "what about {w}", "{w} then?", "then {w}?", "maybe {w}?"], w=other), _answer(row, other)))
    return turns


def _tail(first: str, second: str) -> str:
    """`second` without a preposition that it shares with `first`."""
    shared = re.match(r"(in the|in|at|the|a|an) ", first)
    return second.removeprefix(shared.group()) if shared and shared[1] in ("in the", "in", "at") else second
