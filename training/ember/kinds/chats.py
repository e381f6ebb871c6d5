"""All families of chats with their shares."""

from collections.abc import Callable

from ..chat import Chat, Message, Turn, assistant, system, user
from ..draw import Draw
from ..noise import noisy
from ..split import HELD_OUT_KINDS
from . import bulk, bulk_facts, conversation, copying, declining, explaining, facts, introductions, json_chats, languages, lists, memory, plain, rewriting, story_chats, sums, tool_chats, word_tasks, written

Maker = Callable[[Draw], tuple[str, list[Turn]]]

#: Generators and shares by name of the family.
FAMILIES: dict[str, tuple[Maker, int]] = {
    "written": (written.dialogue, 300),
    "intents": (written.intent_turns, 80),
    "declining": (declining.chat, 12),
    "languages": (lambda draw: ("languages", languages.foreign(draw)), 10),
    "introductions": (introductions.chat, 20),
    "sums": (sums.chat, 44),
    "facts": (facts.chat, 84),
    "explaining": (explaining.chat, 24),
    "lists": (lists.chat, 30),
    "words": (word_tasks.chat, 58),
    "rewriting": (rewriting.chat, 44),
    "json": (json_chats.chat, 42),
    "memory": (lambda draw: memory.chat(draw, conversation.part), 20),
    "never told": (lambda draw: ("memory/never told", memory.never_told(draw)), 1),
    "story chats": (story_chats.chat, 36),
    "conversation": (conversation.chat, 24),
    "copying": (copying.chat, 26),
    "plain": (plain.chat, 52),
    "bulk": (bulk.chat, 16),
    "bulk facts": (bulk_facts.chat, 24),
}
#: The share of chats with tools.
TOOLS_WEIGHT = 36

_SYSTEMS = [
    "You are a helpful assistant.", "You are a helpful assistant.", "You are Ember, a helpful assistant.", "You are Ember.",
    "You are a friendly assistant.", "Help the user.", "You are a kind helper.", "Be kind and helpful.",
    "You are Ember, a small model. Answer truthfully.", "Answer in short sentences.", "Use simple words.",
    "You are a helpful AI assistant.", "Answer briefly.", "You answer questions.",
]
_SYSTEM_SHARE = 0.12
#: Kinds of hand-written dialogues whose answers copy nothing from the questions.
_MAY_BE_NOISY = {"greetings", "small talk", "feelings", "thanks and farewells", "identity", "inferno", "declining",
    "jokes and poems", "odd input", "explaining", "facts"}


def chat(draw: Draw, family: str | None = None) -> Chat:
    """Returns a chat of any kind, or of one family."""
    if family is None:
        names = [*FAMILIES, "tools"]
        family = draw.rng.choices(names, [*(share for _, share in FAMILIES.values()), TOOLS_WEIGHT])[0]
    made = tool_chats.chat(draw) if family == "tools" else _of_turns(draw, *FAMILIES[family][0](draw))
    if draw.chance(_SYSTEM_SHARE):
        return Chat(made.kind, [system(draw.choice(_SYSTEMS)), *made.messages], made.tools)
    return made


def _of_turns(draw: Draw, kind: str, turns: list[Turn]) -> Chat:
    messages: list[Message] = []
    # Hand-written messages look typed already, and some answers copy from them.
    as_written = kind.startswith("plain/") and draw.chance(0.6) or kind.startswith("written/") and (kind.removeprefix("written/") not in _MAY_BE_NOISY or draw.chance(0.6))
    for turn in turns:
        text = turn.user if as_written else noisy(draw, turn.user, turn.protected, turn.names)
        messages += [user(text), assistant(turn.answer)]
    return Chat(kind, messages)


def is_held_out(kind: str) -> bool:
    """Returns whether a kind is held out as a whole."""
    return kind in HELD_OUT_KINDS
