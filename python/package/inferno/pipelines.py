"""Text generation with the interface of Hugging Face's pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import InvalidRequestError
from .model import Model

if TYPE_CHECKING:
    from .completion import Completion
    from .options import AnyPath

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
        conversation with the answer as its last message. `options` are those of `Model.generate` and `Model.chat`;
        `max_new_tokens` is another name of `max_tokens`, and ``do_sample=False`` of ``temperature=0``.
        """
        if not do_sample:
            _set(options, "temperature", 0, "do_sample=False")
        if max_new_tokens is not None:
            _set(options, "max_tokens", max_new_tokens, "max_new_tokens")
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


def _set(options: dict[str, Any], name: str, value: Any, argument: str) -> None:
    """Sets an option that another argument stands for."""
    if name in options:
        raise TypeError(f"pass {argument} or {name}, not both")
    options[name] = value


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
