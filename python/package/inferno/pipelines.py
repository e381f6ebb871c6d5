"""Text generation with the interface of Hugging Face's pipelines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InvalidRequestError
from .model import Model

_TASK = "text-generation"


class TextGenerationPipeline:
    """Generates text like transformers' pipeline of the same name; see `pipeline`."""

    task = _TASK

    def __init__(self, model: Model) -> None:
        self.model = model

    def __call__(
        self,
        text_inputs: str | Sequence[Any],
        *,
        return_full_text: bool | None = None,
        do_sample: bool = True,
        max_new_tokens: int | None = None,
        **options: Any,
    ) -> Any:
        """Continues a text or answers a conversation, or each of a list.

        Returns ``[{"generated_text": …}]``: the text with the prompt (without it if `return_full_text` is false), or the
        conversation with the answer as its last message. `options` are those of `Model.generate` and `Model.chat`.
        """
        if not do_sample:
            options["temperature"] = 0
        if max_new_tokens is not None:
            options["max_tokens"] = max_new_tokens
        full = True if return_full_text is None else return_full_text
        if isinstance(text_inputs, str):
            return [self._continue(text_inputs, full, options)]
        if text_inputs and isinstance(text_inputs[0], Mapping):
            return [self._answer(text_inputs, full, options)]
        if all(isinstance(text, str) for text in text_inputs):
            texts: list[str] = list(text_inputs)
            completions = self.model.generate(texts, **options)
            return [
                [{"generated_text": (text if full else "") + completion.text}]
                for text, completion in zip(texts, completions)
            ]
        return [[self._answer(messages, full, options)] for messages in text_inputs]

    def _continue(self, text: str, full: bool, options: dict[str, Any]) -> dict[str, Any]:
        completion = self.model.generate(text, **options)
        return {"generated_text": (text if full else "") + completion.text}

    def _answer(self, messages: Sequence[Any], full: bool, options: dict[str, Any]) -> dict[str, Any]:
        answer = self.model.chat(messages, **options)
        message = {"role": "assistant", "content": answer.text}
        return {"generated_text": [*messages, message] if full else answer.text}


def pipeline(
    task: str = _TASK, model: Model | str | os.PathLike[str] | None = None, **options: Any
) -> TextGenerationPipeline:
    """Creates a pipeline that is called like one of Hugging Face transformers. `options` are those of `Model`.

    >>> import inferno
    >>> generate = inferno.pipeline("text-generation")
    >>> generate("Once upon a time", max_new_tokens=3, do_sample=False)  # doctest: +ELLIPSIS
    [{'generated_text': 'Once upon a time...'}]
    """
    if task != _TASK:
        raise InvalidRequestError(f"unknown task {task!r}; expected {_TASK!r}", "Task", {"task": task})
    return TextGenerationPipeline(model if isinstance(model, Model) else Model(model, **options))
