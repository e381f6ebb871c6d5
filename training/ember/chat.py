"""A chat as generators make it: messages, the last of them Ember's, and the tools on offer."""

from dataclasses import dataclass, field

Message = dict[str, object]


@dataclass(frozen=True)
class Turn:
    """What the user says and what Ember answers.

    What must be copied letter by letter is `protected` from noise; `names` may be written without their capitals.
    """

    user: str
    answer: str
    protected: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chat:
    """A conversation in OpenAI's form. Ember's messages are what training predicts."""

    kind: str
    messages: list[Message]
    tools: list[dict] = field(default_factory=list)


def user(text: str) -> Message:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """A message of Ember's; tool calls stand in it as text, as the model writes them."""
    return {"role": "assistant", "content": text}


def tool(text: str) -> Message:
    """What a tool has answered."""
    return {"role": "tool", "content": text}


def system(text: str) -> Message:
    """What the operator says first."""
    return {"role": "system", "content": text}
