"""Renders chats as the model reads and writes them, divided into the parts that are given and the parts that it writes.

The text equals what `chat_template.jinja` renders, without requiring Jinja; `tests/test_data.py` compares the two if Jinja is
installed. Every answer follows reasoning, which is empty unless a thought is given for the last answer.
"""

import json
from dataclasses import dataclass

from .chat import Chat

EMPTY_THOUGHT = "<think>\n\n</think>\n\n"

_TOOLS_BEFORE = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_AFTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)


@dataclass(frozen=True)
class Segment:
    """A piece of a chat's text, and whether training predicts it."""

    text: str
    predicted: bool


def segments(chat: Chat, thought: str | None = None) -> list[Segment]:
    """Returns the text of a chat in pieces. Each answer is predicted, up to the token that ends the turn.

    `thought` is the reasoning before the last answer and is predicted too; without it, all reasoning is empty and given.
    """
    found = [Segment(_head(chat), False)] if _head(chat) else []
    messages = [message for message in chat.messages if message["role"] != "system"]
    for index, message in enumerate(messages):
        content = str(message["content"])
        match message["role"]:
            case "user":
                found.append(Segment(f"<|im_start|>user\n{content}<|im_end|>\n", False))
            case "tool":
                found.append(Segment(_tool(messages, index), False))
            case _:
                last = index == len(messages) - 1
                found.append(Segment("<|im_start|>assistant\n", False))
                if last and thought is not None:
                    found.append(Segment(f"<think>\n{thought}\n</think>\n\n{content}<|im_end|>", True))
                else:
                    found += [Segment(EMPTY_THOUGHT, False), Segment(f"{content}<|im_end|>", True)]
                if not last:
                    found.append(Segment("\n", False))
    return _joined(found)


def text(chat: Chat, thought: str | None = None) -> str:
    """Returns the whole text of a chat."""
    return "".join(segment.text for segment in segments(chat, thought))


def _head(chat: Chat) -> str:
    """The system message and the tools."""
    said = str(chat.messages[0]["content"]) if chat.messages[0]["role"] == "system" else None
    if chat.tools:
        signatures = "".join("\n" + json.dumps(tool, ensure_ascii=False) for tool in chat.tools)
        before = f"{said}\n\n" if said is not None else ""
        return f"<|im_start|>system\n{before}{_TOOLS_BEFORE}{signatures}{_TOOLS_AFTER}<|im_end|>\n"
    return f"<|im_start|>system\n{said}<|im_end|>\n" if said is not None else ""


def _tool(messages: list[dict], index: int) -> str:
    """What a tool answered; several answers in a row stand in one turn of the user's."""
    before = "" if messages[index - 1]["role"] == "tool" else "<|im_start|>user"
    after = "" if index + 1 < len(messages) and messages[index + 1]["role"] == "tool" else "<|im_end|>\n"
    return f"{before}\n<tool_response>\n{messages[index]['content']}\n</tool_response>{after}"


def _joined(found: list[Segment]) -> list[Segment]:
    """Neighbors that are predicted alike, joined."""
    joined: list[Segment] = []
    for segment in found:
        if joined and joined[-1].predicted == segment.predicted:
            joined[-1] = Segment(joined[-1].text + segment.text, segment.predicted)
        else:
            joined.append(segment)
    return joined
