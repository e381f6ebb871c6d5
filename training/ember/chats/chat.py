"""One question to the model and how its answer is judged: the form that every kind of chat is generated in."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Check:
    """How an answer is judged. Every condition that is given must hold.

    The answer that is judged is the text after `</think>`, if there is such a mark.
    """

    #: Each of these stands in the answer, letter case aside, with no letter or digit directly before or after it.
    contains: tuple[str, ...] = ()
    #: None of these stands in the answer, in the same sense.
    lacks: tuple[str, ...] = ()
    #: The answer is one JSON value equal to this one (a fence around it is allowed).
    json: object = None
    #: The answer holds exactly these calls in Qwen's form, in this order: `{"name": …, "arguments": {…}}`.
    tool_calls: tuple[dict, ...] = ()
    #: The answer has at least this many words, ends a sentence, and never repeats eight words in a row.
    min_words: int = 0


@dataclass(frozen=True)
class Chat:
    """A conversation up to the point where the assistant speaks, and what it should say there."""

    #: The kind of the chat: the name of the module that makes it.
    kind: str
    #: Messages in OpenAI's form, the last of them a user's or a tool's.
    messages: list[dict]
    #: One or two short sentences of reasoning, which stand between `<think>` and `</think>` when thinking is on.
    thought: str
    #: What the assistant says, tool calls written out as `<tool_call>\n{json}\n</tool_call>`.
    answer: str
    #: How an answer is judged.
    check: Check
    #: Tools on offer, in OpenAI's form.
    tools: list[dict] = field(default_factory=list)
