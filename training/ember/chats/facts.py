"""Simple facts: capitals, colors, animals, opposites, days and months, plurals, kinds of things, and common knowledge.

A fact cannot be guessed, so each is seen in training, and what is held out are wordings of its question.
"""

import random

from ember.chats.chat import Chat, Check
from ember.chats.drawing import bare, capitalized, casual, draw, user
from ember.chats.facts_wordings import KNOWLEDGE, OPENINGS, RELATIONS, Relation
from ember.split import Split

_WEIGHTS = [relation.weight for relation in RELATIONS]
_KNOWLEDGE_SHARE = 0.06


def chat(rng: random.Random, split: Split) -> Chat:
    """A question for one fact."""
    if rng.random() < _KNOWLEDGE_SHARE:
        return _knowledge(rng, split)
    relation, (thing, fact), wording = draw(split, lambda: _draw(rng), _material)
    words = {"x": thing, "X": capitalized(thing), "y": fact, "Y": capitalized(fact)}
    check = Check((relation.must.format(**words),))
    question = _asked(rng, capitalized(wording.format(**words)))
    return Chat("facts", [user(question)], relation.thought.format(**words), relation.answer.format(**words), check)


def _draw(rng: random.Random) -> tuple[Relation, tuple[str, str], str]:
    relation = rng.choices(RELATIONS, _WEIGHTS)[0]
    # The lists begin with what is asked for most.
    fact = relation.facts[int(len(relation.facts) * rng.random() ** 2)]
    return relation, fact, rng.choice(relation.wordings)


def _material(drawn: tuple[Relation, tuple[str, str], str]) -> str:
    _, (thing, _), wording = drawn
    return f"{bare(wording)}|{thing}"


def _knowledge(rng: random.Random, split: Split) -> Chat:
    def make() -> tuple[list[str], str, str, str]:
        wordings, answer, must = rng.choice(KNOWLEDGE)
        return wordings, answer, must, rng.choice(wordings)

    _, answer, must, wording = draw(split, make, lambda drawn: f"{bare(drawn[3])}|{drawn[1]}")
    return Chat("facts", [user(_asked(rng, wording))], f"I know this: {answer}", answer, Check((must,)))


def _asked(rng: random.Random, question: str) -> str:
    """`question` as it is, or after a few words that open it."""
    if rng.random() < 0.12:
        return f"{rng.choice(OPENINGS)} {question}"
    return casual(rng, question)
