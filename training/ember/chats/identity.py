"""Who the model is: its name, its makers, what it is what it can do; and a name given by a system message."""

import random

from ember.chats.chat import Chat, Check
from ember.chats.drawing import bare, casual, draw, invented_word, user
from ember.chats.identity_data import GIVEN_ROLES, NAME_QUESTIONS, TOPICS, Topic
from ember.chats.names_data import NAMES
from ember.split import Split


def chat(rng: random.Random, split: Split) -> Chat:
    """A question about the model itself, now and then with a name that the system message gives it."""
    return _given_name(rng, split) if rng.random() < 0.12 else question(rng, split)


def question(rng: random.Random, split: Split) -> Chat:
    """A question about the model itself, with no system message."""

    def make() -> tuple[Topic, str]:
        topic = rng.choice(TOPICS)
        return topic, rng.choice(topic.wordings)

    topic, asked = draw(split, make, lambda drawn: bare(drawn[1]))
    said = asked.lower() if rng.random() < 0.1 else casual(rng, asked)
    return Chat("identity", [user(said)], topic.thought, rng.choice(topic.answers), Check(topic.must))


def _given_name(rng: random.Random, split: Split) -> Chat:
    """A system message gives the model another name."""
    name = draw(split, lambda: invented_word(rng).capitalize() if rng.random() < 0.3 else rng.choice(NAMES))
    role = rng.choice(GIVEN_ROLES)
    system = {"role": "system", "content": f"You are {name}, {role}."}
    asked = user(casual(rng, rng.choice(NAME_QUESTIONS)))
    return Chat("identity", [system, asked], f"My name here is {name}.", f"I am {name}, {role}.", Check((name,)))
