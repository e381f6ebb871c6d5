"""A generated chat: messages, the last of them an answer, and the available tools."""

from dataclasses import dataclass, field

Message = dict[str, object]


@dataclass(frozen=True)
class Turn:
    """A message of the user and its answer.

    Noise leaves `protected` parts unchanged and may remove only the capitals of `names`.
    """

    user: str
    answer: str
    protected: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chat:
    """A conversation in OpenAI's format. Training predicts the messages of the assistant."""

    kind: str
    messages: list[Message]
    tools: list[dict] = field(default_factory=list)


def user(text: str) -> Message:
    """Returns a message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """Returns a message of the assistant. Tool calls are part of its text, as the model writes them."""
    return {"role": "assistant", "content": text}


def tool(text: str) -> Message:
    """Returns the response of a tool."""
    return {"role": "tool", "content": text}


def system(text: str) -> Message:
    """Returns a system message."""
    return {"role": "system", "content": text}
