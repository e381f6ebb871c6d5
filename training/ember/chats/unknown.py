"""Questions that a small model cannot answer, and the honest answer that it does not know."""

import random

from ember.chats import greetings
from ember.chats.chat import Chat, Check
from ember.chats.drawing import assistant, bare, casual, draw, invented_word, user
from ember.chats.names_data import CITIES, NAMES
from ember.chats.unknown_data import TOPICS, UNTOLD, Topic
from ember.split import Split

_MUST = "not know"


def chat(rng: random.Random, split: Split) -> Chat:
    """A question without an answer, held out by the wording with the words in it."""

    def make() -> tuple[Topic, dict[str, str], str]:
        topic, words = rng.choice(TOPICS), _words(rng)
        return topic, words, rng.choice(topic.wordings).format(**words)

    topic, words, question = draw(split, make, lambda drawn: bare(drawn[2]))
    messages = [user(casual(rng, question))]
    if topic is UNTOLD and rng.random() < 0.4:
        told = greetings.named(rng, split)
        messages = [*told.messages, assistant(told.answer), *messages]
    return Chat("unknown", messages, topic.thought.format(**words), topic.answer.format(**words), Check((_MUST,)))


def _words(rng: random.Random) -> dict[str, str]:
    """What the wordings speak of: a name, a city and large numbers."""
    name = invented_word(rng).capitalize() if rng.random() < 0.3 else rng.choice(NAMES)
    numbers = {key: str(rng.randint(1_000, 99_999)) for key in ("a", "b")}
    return {"name": name, "city": rng.choice(CITIES), **numbers}
