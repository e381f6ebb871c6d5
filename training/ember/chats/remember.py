"""Things that the user tells first and asks for later, after a turn or two about something else."""

import random
from dataclasses import dataclass

from ember.chats import facts, greetings, identity, instructions, sums
from ember.chats.chat import Chat, Check
from ember.chats.drawing import assistant, capitalized, casual, draw, invented_word, user
from ember.chats.remember_data import SECRETS, Secret
from ember.split import Split

_BETWEEN = (facts.chat, sums.chat, instructions.chat, identity.question, greetings.opening)
_WEIGHTS = [secret.weight for secret in SECRETS]


@dataclass(frozen=True)
class Told:
    """A secret with its value and with the other words that its wordings need."""

    secret: Secret
    value: str
    words: dict[str, str]

    @property
    def material(self) -> str:
        """What decides the split: the value, with more around it where there are few values."""
        return self.value if self.secret.open else "|".join([self.value, *self.words.values()])

    def fill(self, rng: random.Random, wordings: list[str]) -> str:
        """One of `wordings` with the value and the words put in."""
        return rng.choice(wordings).format(value=self.value, **self.words)

    def reply(self, rng: random.Random) -> str:
        """What the assistant says when it is told."""
        return capitalized(self.fill(rng, self.secret.replies))


def chat(rng: random.Random, split: Split) -> Chat:
    """A thing or two told, up to two other turns, and the question for one of the things."""
    told = _tell(rng, split)
    kept = [told]
    if rng.random() < 0.35:
        other = _tell(rng, split)
        if other.secret is not told.secret and other.value != told.value:
            kept.append(other)
            rng.shuffle(kept)
    question = told.fill(rng, told.secret.questions)
    said = [item.fill(rng, item.secret.tellings) for item in kept]
    turns = rng.choices((0, 1, 2), (2, 5, 4))[0]
    messages = _telling(rng, kept, said)
    for _ in range(turns):
        small = rng.choices(_BETWEEN, (5, 3, 2, 1, 1))[0](rng, split)
        messages += small.messages + [assistant(small.answer)]
    if turns == 0 and len(kept) == 1 and rng.random() < 0.5:
        messages = [user(f"{said[0]} {question}")]
    else:
        messages.append(user(casual(rng, question)))
    thought = f"The user said that {told.fill(rng, [told.secret.kept])}."
    return Chat("remember", messages, thought, told.fill(rng, told.secret.answers), Check((told.value,)))


def _telling(rng: random.Random, kept: list[Told], said: list[str]) -> list[dict]:
    """The turns in which the things are told: together, or one after the other."""
    if len(kept) == 2 and rng.random() < 0.5:
        return [user(" ".join(said)), assistant(kept[-1].reply(rng))]
    messages = []
    for item, text in zip(kept, said):
        messages += [user(text), assistant(item.reply(rng))]
    return messages


def _tell(rng: random.Random, split: Split) -> Told:
    def make() -> Told:
        secret = rng.choices(SECRETS, _WEIGHTS)[0]
        value = rng.choice(secret.values)
        if secret.open and rng.random() < 0.1:
            value = invented_word(rng)
            value = value.capitalize() if secret.values[0][0].isupper() else value
        return Told(secret, value, {key: rng.choice(words) for key, words in secret.words.items()})

    return draw(split, make, lambda told: told.material)
