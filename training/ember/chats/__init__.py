"""Chats of every kind, drawn by weight, some with a system message or with earlier turns before them."""

import random
from collections.abc import Callable
from dataclasses import replace

from ember.chats import (
    copying, facts, greetings, identity, instructions, json_answers, remember, story, sums, tools, unknown,
)
from ember.chats.chat import Chat, Check
from ember.chats.drawing import assistant
from ember.chats.judge import judge
from ember.split import Split

__all__ = ["KINDS", "Chat", "Check", "chat", "judge"]

Maker = Callable[[random.Random, Split], Chat]

#: By name of the kind: what makes a chat of it, its weight among all chats, and its weight where training refines what
#: is hard to learn.
KINDS: dict[str, tuple[Maker, int, int]] = {
    "sums": (sums.chat, 16, 18),
    "tools": (tools.chat, 18, 17),
    "facts": (facts.chat, 18, 16),
    "remember": (remember.chat, 10, 6),
    "json_answers": (json_answers.chat, 16, 26),
    "story": (story.chat, 12, 6),
    "instructions": (instructions.chat, 5, 20),
    "identity": (identity.chat, 4, 10),
    "greetings": (greetings.chat, 5, 8),
    "unknown": (unknown.chat, 3, 3),
    "copying": (copying.chat, 0, 24),
}
_MAKERS = [maker for maker, _, _ in KINDS.values()]
_WEIGHTS = [weight for _, weight, _ in KINDS.values()]
_REFINING_WEIGHTS = [weight for _, _, weight in KINDS.values()]

#: What can stand first, before another chat, with no change to its right answer; a name only where none is asked for.
_OPENINGS: list[Maker] = [greetings.opening, greetings.named]
_OPENINGS_WITHOUT_NAME: list[Maker] = [greetings.opening]
#: What can stand anywhere before another chat. Where there are tools, an earlier sum that was answered without them
#: would teach not to call them, so none of these goes there.
_FILLERS: list[Maker] = [facts.chat, facts.chat, sums.chat, instructions.chat, identity.question]
_WITHOUT_NAME = {"remember", "unknown"}
#: Kinds whose own first words belong at the start.
_STARTS = {"greetings"}
_OPENING_SHARE = 0.3
_EARLIER_SHARE = 0.15
_SYSTEM_SHARE = 0.15
#: Chats that stand at the end of a long conversation, while refining, and the exchanges before their last question.
_LONG_SHARE = 0.08
_LONG_EXCHANGES = (3, 12)

_SYSTEM_MESSAGES = [
    "You are a helpful assistant.", "You are a helpful assistant.", "You are Ember, a helpful assistant.",
    "You are Ember, a small language model.", "You are Ember, a small and friendly model.", "Help the user.",
    "You are a friendly assistant.", "You are an assistant that answers questions.", "Use simple words.",
    "You are a kind helper.", "You are a helpful AI assistant.", "You are Ember.", "Be kind and helpful.",
]
#: System messages that do not go with a story.
_BRIEF_SYSTEM_MESSAGES = [
    "Answer briefly.", "Be kind and brief.", "You are a helpful assistant. Answer in short sentences.",
    "Give short and clear answers.", "You are Ember. Answer truthfully.", "Keep your answers short.",
]


def chat(rng: random.Random, split: Split, refining: bool = False) -> Chat:
    """A chat of any kind, now and then with a system message and with unrelated turns before it.

    While `refining`, hard kinds come more often, and a few chats stand at the end of long conversations.
    """
    drawn = rng.choices(_MAKERS, _REFINING_WEIGHTS if refining else _WEIGHTS)[0](rng, split)
    system = [message for message in drawn.messages if message["role"] == "system"]
    turns = drawn.messages[len(system) :]
    if not system and rng.random() < _SYSTEM_SHARE:
        brief = drawn.kind != "story" and rng.random() < 0.3
        system = [{"role": "system", "content": rng.choice(_BRIEF_SYSTEM_MESSAGES if brief else _SYSTEM_MESSAGES)}]
    earlier = []
    if drawn.kind not in _STARTS and rng.random() < _EARLIER_SHARE:
        earlier = _earlier(rng, split, drawn)
    if refining and drawn.kind not in _STARTS and not drawn.tools and rng.random() < _LONG_SHARE:
        earlier += _long_history(rng, split)
    return replace(drawn, messages=system + earlier + turns)


def _earlier(rng: random.Random, split: Split, drawn: Chat) -> list[dict]:
    """One or two exchanges that have nothing to do with `drawn`."""
    openings = _OPENINGS_WITHOUT_NAME if drawn.kind in _WITHOUT_NAME else _OPENINGS
    opened = bool(drawn.tools) or rng.random() < _OPENING_SHARE
    makers = [rng.choice(openings)] if opened else [rng.choice(_FILLERS)]
    if not drawn.tools and rng.random() < 0.35:
        makers.append(rng.choice(_FILLERS))
    messages = []
    for maker in makers:
        filler = maker(rng, split)
        messages += [*filler.messages, assistant(filler.answer)]
    return messages


def _long_history(rng: random.Random, split: Split) -> list[dict]:
    """Many exchanges that have nothing to do with what follows, stories among them."""
    messages = []
    for _ in range(rng.randint(*_LONG_EXCHANGES)):
        filler = rng.choice([*_FILLERS, story.chat])(rng, split)
        messages += [*filler.messages, assistant(filler.answer)]
    return messages
