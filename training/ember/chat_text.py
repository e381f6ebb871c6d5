"""Chats as the model reads and writes them: the prompt by the chat template, the answer as the model says it."""

import json
from functools import cache
from pathlib import Path

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .chats.chat import Chat

TEMPLATE_PATH = Path(__file__).with_name("chat_template.jinja")


@cache
def _template():
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE_PATH.read_text())


def prompt_text(chat: Chat, thinking: bool) -> str:
    """The rendered conversation, up to where the assistant speaks."""
    return _template().render(
        messages=chat.messages,
        tools=chat.tools or None,
        enable_thinking=thinking,
        add_generation_prompt=True,
    )


def answer_text(chat: Chat, thinking: bool) -> str:
    """What the assistant then says, its thought first when `thinking`, without the mark that ends the turn."""
    return f"<think>\n{chat.thought}\n</think>\n\n{chat.answer}" if thinking else chat.answer
