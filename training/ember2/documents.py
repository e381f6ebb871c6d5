"""What training reads: chats and texts as pieces, each with whether it is predicted.

A document is closed by `<|endoftext|>`, which whoever packs documents into rows adds, and which is predicted after a text.
"""

from dataclasses import dataclass

from . import texts
from .chat import Chat
from .chat_text import Segment, segments
from .draw import Draw
from .kinds import chats

#: The share of chats among documents, by the stage of training: stories come first, then chats.
CHAT_SHARES = {"language": 0.25, "conversation": 0.75}
#: The share of chats whose last answer follows an empty thought, as where thinking is switched off.
EMPTY_THOUGHT_SHARE = 0.5


@dataclass(frozen=True)
class Document:
    """One chat or text: its kind, and its pieces."""

    kind: str
    segments: list[Segment]


def document(draw: Draw, chat_share: float = 0.6) -> Document:
    """A chat or a text."""
    return chat_document(draw) if draw.chance(chat_share) else text_document(draw)


def chat_document(draw: Draw) -> Document:
    """A chat with all of Ember's turns predicted, or one up to any of her turns, which follows an empty thought."""
    made = chats.chat(draw)
    if not draw.chance(EMPTY_THOUGHT_SHARE):
        return Document(made.kind, segments(made))
    turns = [index for index, message in enumerate(made.messages) if message["role"] == "assistant"]
    cut = Chat(made.kind, made.messages[: draw.choice(turns) + 1], made.tools)
    return Document(made.kind, segments(cut, empty_thought=True))


def text_document(draw: Draw) -> Document:
    """A text whose opening is given, or which is predicted from its first word on."""
    made = texts.text(draw)
    opening = [Segment(made.opening, False)] if made.opening else []
    return Document(made.kind, [*opening, Segment(made.rest, True)])
