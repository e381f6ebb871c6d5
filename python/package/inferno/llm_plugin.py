"""A plugin for the `llm` command: `llm -m inferno "Hello"`, or `llm -m inferno -o model hf:OWNER/REPO "Hello"`.

Requires `llm`. The model of option `model`, of the environment variable INFERNO_MODEL or, without them, the built-in
Ember answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Optional

import llm
from pydantic import Field

from .model import Model


@lru_cache(maxsize=1)
def _load(source: Optional[str]) -> Model:
    return Model(source)


@llm.hookimpl
def register_models(register: Any) -> None:
    """Registers the model `inferno`."""
    register(Inferno())


class Inferno(llm.Model):
    """A GGUF model in this process."""

    model_id = "inferno"
    can_stream = True

    class Options(llm.Options):
        """The options of a prompt."""

        model: Optional[str] = Field(default=None, description="GGUF file or hf:OWNER/REPO (default: INFERNO_MODEL)")
        temperature: Optional[float] = Field(default=None, ge=0, description="Sampling temperature")
        max_tokens: Optional[int] = Field(default=None, ge=1, description="Maximum number of tokens to generate")
        seed: Optional[int] = Field(default=None, description="Seed that reproduces the answer")

    def execute(
        self,
        prompt: llm.Prompt,
        stream: bool,
        response: llm.Response,
        conversation: Optional[llm.Conversation],
    ) -> Iterator[str]:
        """Answers a prompt, after the previous ones of the conversation."""
        options = prompt.options.model_dump(exclude_none=True)
        model = _load(options.pop("model", None) or os.environ.get("INFERNO_MODEL"))
        for chunk in model.stream_chat(_messages(prompt, conversation), **options):
            yield chunk.text
            if chunk.usage:
                response.set_usage(input=chunk.usage.prompt_tokens, output=chunk.usage.completion_tokens)


def _messages(prompt: llm.Prompt, conversation: Optional[llm.Conversation]) -> list[dict[str, str]]:
    messages = []
    earlier = conversation.responses if conversation else []
    system = prompt.system or next((each.prompt.system for each in earlier if each.prompt.system), None)
    if system:
        messages.append({"role": "system", "content": system})
    for response in earlier:
        messages.append({"role": "user", "content": response.prompt.prompt})
        messages.append({"role": "assistant", "content": response.text_or_raise()})
    return [*messages, {"role": "user", "content": prompt.prompt}]
