"""Text generation with the interface of Hugging Face's pipelines."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import InvalidRequestError
from .model import Model

if TYPE_CHECKING:
    from .completion import Completion
    from .options import AnyPath

_TASK = "text-generation"
_GREEDY_TEMPERATURES = (None, 0, 1)
"""Temperatures that cause no warning with ``do_sample=False``: none, that of greedy sampling, and transformers' default."""


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
        conversation with the answer as its last message. `options` are those of `Model.generate` and `Model.chat`;
        `max_new_tokens` is another name of `max_tokens`, and ``do_sample=False`` selects ``temperature=0``: another temperature
        has no effect then, and causes a warning.
        """
        if not do_sample:
            if options.get("temperature") not in _GREEDY_TEMPERATURES:
                message = f"do_sample=False selects the most probable tokens; temperature={options['temperature']} has no effect"
                warnings.warn(message, RuntimeWarning, stacklevel=2)
            options["temperature"] = 0
        if max_new_tokens is not None:
            if options.get("max_tokens") not in (None, max_new_tokens):
                raise TypeError("pass max_new_tokens or max_tokens, not both")
            options["max_tokens"] = max_new_tokens
        full = True if return_full_text is None else return_full_text
        if isinstance(text_inputs, str):
            return [_continued(text_inputs, self.model.generate(text_inputs, **options), full)]
        if text_inputs and isinstance(text_inputs[0], Mapping):
            return [self._answer(text_inputs, full, options)]
        texts = [each for each in text_inputs if isinstance(each, str)]
        completions = iter(self.model.generate(texts, **options))
        return [
            [_continued(each, next(completions), full) if isinstance(each, str) else self._answer(each, full, options)]
            for each in text_inputs
        ]

    def _answer(self, messages: Sequence[Any], full: bool, options: dict[str, Any]) -> dict[str, Any]:
        answer = self.model.chat(messages, **options)
        message = {"role": "assistant", "content": answer.text}
        return {"generated_text": [*messages, message] if full else answer.text}


def _continued(text: str, completion: Completion, full: bool) -> dict[str, Any]:
    return {"generated_text": (text if full else "") + completion.text}


def pipeline(
    task: str = _TASK, model: Model | AnyPath | None = None, **options: Any
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
