"""Small talk: hello, how are you, thank you, goodbye, a name with the greeting, and how the user feels."""

import random

from ember.chats import facts, sums
from ember.chats.chat import Chat, Check
from ember.chats.drawing import assistant, bare, casual, draw, invented_word, user
from ember.chats.greetings_data import CLOSINGS, FEELINGS, NAMED, NAMED_ANSWERS, OPENINGS, Talk
from ember.chats.names_data import NAMES
from ember.split import Split


def chat(rng: random.Random, split: Split) -> Chat:
    """Any small talk; thanks and goodbyes stand after an exchange half of the time."""
    groups = rng.choices((OPENINGS, CLOSINGS, FEELINGS, None), (45, 30, 10, 15))[0]
    if groups is None:
        return named(rng, split)
    earlier = []
    if groups is CLOSINGS and rng.random() < 0.5:
        before = rng.choice((facts, sums)).chat(rng, split)
        earlier = before.messages + [assistant(before.answer)]
    return _talk(rng, split, groups, earlier)


def opening(rng: random.Random, split: Split) -> Chat:
    """Small talk that a conversation can begin with."""
    return _talk(rng, split, OPENINGS, [])


def _talk(rng: random.Random, split: Split, groups: list[Talk], earlier: list[dict]) -> Chat:
    def make() -> tuple[Talk, str]:
        talk = rng.choice(groups)
        return talk, rng.choice(talk.wordings)

    talk, said = draw(split, make, lambda drawn: bare(drawn[1]))
    messages = [*earlier, user(_typed(rng, said))]
    return Chat("greetings", messages, talk.thought, rng.choice(talk.answers), Check((talk.must,)))


def _typed(rng: random.Random, text: str) -> str:
    """`text`, now and then all in small letters."""
    return text.lower() if rng.random() < 0.15 else casual(rng, text)


def named(rng: random.Random, split: Split) -> Chat:
    """A greeting in which the user tells a name."""
    name = draw(split, lambda: invented_word(rng).capitalize() if rng.random() < 0.3 else rng.choice(NAMES))
    said = rng.choice(NAMED).format(name=name)
    answer = rng.choice(NAMED_ANSWERS).format(name=name)
    return Chat("greetings", [user(said)], f"The user is {name} and greets me. I greet {name}.", answer, Check((name,)))
