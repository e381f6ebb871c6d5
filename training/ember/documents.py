"""Documents to train on: chats and texts in pieces, each with whether it is predicted.

Packing adds `<|endoftext|>` after each document, which is predicted after a text only: a chat ends with `<|im_end|>`.
"""

from dataclasses import dataclass

from . import texts
from .chat_text import Segment, segments
from .draw import Draw
from .kinds import chats
from .thoughts import thought_about

#: The share of chats among documents, by stage of training: mostly stories at first, then mostly chats.
CHAT_SHARES = {"language": 0.35, "conversation": 0.65}
#: The share of chats with reasoning before the last answer.
THOUGHT_SHARE = 0.06


@dataclass(frozen=True)
class Document:
    """One chat or text: its kind, and its pieces."""

    kind: str
    segments: list[Segment]


def document(draw: Draw, chat_share: float = 0.6) -> Document:
    """Returns a chat or a text."""
    return chat_document(draw) if draw.chance(chat_share) else text_document(draw)


def chat_document(draw: Draw) -> Document:
    """Returns a chat with all answers predicted, sometimes with reasoning before the last one."""
    made = chats.chat(draw)
    thought = thought_about(draw, made.kind) if draw.chance(THOUGHT_SHARE) else None
    return Document(made.kind, segments(made, thought))


def text_document(draw: Draw, family: str | None = None) -> Document:
    """Returns a text of any family or of one, of which the opening, if it has one, is not predicted."""
    made = texts.text(draw, family)
    opening = [Segment(made.opening, False)] if made.opening else []
    return Document(made.kind, [*opening, Segment(made.rest, True)])
