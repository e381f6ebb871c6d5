"""A model for lm-evaluation-harness: import this module, then pass ``model="inferno"`` to `lm_eval.simple_evaluate`.

Requires `lm-eval`. The model arguments are those of `Model`, with its first one as `pretrained`. `apply_chat_template`
applies the chat template of the model's file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

from ._inferno import ChunkStream
from .ahead import in_order
from .chat import TEMPLATE_PATH, headers, read_prompt
from .completion import Completion, completed
from .errors import ContextLengthError, InvalidRequestError
from .model import Model

_DEFAULT_MAX_TOKENS = 256
_MAX_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""The names of the maximum number of tokens; the first one that is set applies."""


@register_model("inferno")
class InfernoLM(TemplateLM):
    """Scores and generates with a model in this process, many requests at a time."""

    def __init__(self, pretrained: Model | str | None = None, batch_size: Any = None, **options: Any) -> None:
        super().__init__()
        # The harness passes its own arguments as well; the engine forms its batches itself.
        for name in ("device", "max_batch_size"):
            if options.get(name) is None:
                options.pop(name, None)
        # Nobody reads the tokens one by one, so prompts are computed in the largest chunks.
        options.setdefault("target_itl", 0)
        self.model = pretrained if isinstance(pretrained, Model) else Model(pretrained, **options)
        added = self.model.tokenize("", add_special=True)[:1]
        self._bos = added if added == [self.model.bos_token_id] else []
        self._prefix = self.model.detokenize([self.prefix_token_id])

    @property
    def eot_token_id(self) -> int:
        """The token at the end of a text."""
        token = self.model.eos_token_id if self.model.eos_token_id is not None else self.model.bos_token_id
        return 0 if token is None else token

    @property
    def prefix_token_id(self) -> int:
        """The token before a text without context."""
        return self.eot_token_id if self.model.bos_token_id is None else self.model.bos_token_id

    @property
    def tokenizer_name(self) -> str:
        """Identifies the tokenizer."""
        return self.model.name

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **kwargs: Any) -> list[int]:
        """Splits a string into tokens.

        By default, BOS precedes it if the vocabulary adds it, unless the string begins with it.
        """
        if add_special_tokens is None:
            has_prefix = bool(self._prefix) and string.startswith(self._prefix)
            return ([] if has_prefix else self._bos) + self.model.tokenize(string)
        return self.model.tokenize(string, add_special=add_special_tokens)

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """Renders a conversation with the model's chat template."""
        body = json.dumps(
            {
                "messages": chat_history,
                "add_generation_prompt": add_generation_prompt,
                "continue_final_message": not add_generation_prompt,
            }
        ).encode()
        return read_prompt(self.model._model.request("POST", TEMPLATE_PATH, headers(body), body))

    def chat_template(self, chat_template: bool | str = False) -> str:
        """Returns an empty string: the template is that of the model's file."""
        if isinstance(chat_template, str) and chat_template:
            raise InvalidRequestError(
                f"chat templates cannot be selected by name, but {chat_template!r} was requested",
                "ChatTemplate",
                {"chat_template": chat_template},
            )
        return ""

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        """Computes the log-likelihood of whole texts, in windows of the context length."""
        windows = [self._windows(request.args[0]) for request in requests]
        pairs = [(("", ""), context, continuation) for each in windows for context, continuation in each]
        scores = iter(self._loglikelihood_tokens(pairs))
        return [sum(next(scores)[0] for _ in each) for each in windows]

    def _windows(self, text: str) -> list[tuple[list[int], list[int]]]:
        windows = get_rolling_token_windows(
            token_list=self.tok_encode(text),
            prefix_token=self.prefix_token_id,
            max_seq_len=self.model.context_length - 2,
            context_len=1,
        )
        return [make_disjoint_window(window) for window in windows]

    def _loglikelihood_tokens(
        self, requests: Sequence[tuple[tuple[str, str], list[int], list[int]]], **kwargs: Any
    ) -> list[tuple[float, bool]]:
        completions = in_order(requests, self._submit_scoring, completed, self.model._model.max_num_ahead)
        return [_score(completion, len(continuation)) for (*_, continuation), completion in zip(requests, completions)]

    def _submit_scoring(self, request: tuple[tuple[str, str], list[int], list[int]]) -> ChunkStream:
        _, context, continuation = request
        # As in the harness's own models, the beginning of a context that does not fit is left out.
        tokens = (context + continuation)[1 - self.model.context_length :]
        if not 0 < len(continuation) < len(tokens):
            limit = self.model.context_length - 2
            raise InvalidRequestError(
                f"a continuation must have from 1 to {limit} tokens after at least one token of context, but has "
                f"{len(continuation)} after {len(context)}",
                "ContinuationLength",
                {"found": len(continuation), "limit": limit},
            )
        return self.model._submit(tokens, {"max_tokens": 0, "prompt_logprobs": 1})

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Generates a continuation of each context."""
        completions = in_order(requests, self._submit_generation, completed, self.model._model.max_num_ahead)
        return [completion.text for completion in completions]

    def _submit_generation(self, request: Instance) -> ChunkStream:
        context, arguments = request.args
        options = _generation_options(arguments)
        room = self.model.context_length - options["max_tokens"]
        if room < 1:
            raise ContextLengthError(
                f"max_gen_toks must be less than the context length, {self.model.context_length}, but is "
                f"{options['max_tokens']}",
                "NoRoomForContext",
                {"max_tokens": options["max_tokens"], "context_length": self.model.context_length},
            )
        return self.model._submit(self.tok_encode(context)[-room:], options)


def _score(completion: Completion, num_tokens: int) -> tuple[float, bool]:
    """Returns the log-likelihood of the last tokens of a prompt, and whether each is the most probable one."""
    scored = (completion.prompt_logprobs or [])[-num_tokens:]
    return sum(each.logprob for each in scored), all(each.token == each.top[0][0] for each in scored)


def _generation_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the harness's arguments of a generation to those of `Model.generate`, which rejects unknown ones."""
    options = dict(arguments)
    limits = [limit for name in _MAX_TOKENS if (limit := options.pop(name, None)) is not None]
    options["max_tokens"] = int(limits[0]) if limits else _DEFAULT_MAX_TOKENS
    is_greedy = options.pop("do_sample", None) is False
    options["temperature"] = 0.0 if is_greedy else float(options.get("temperature") or 0)
    until = options.pop("until", None) or []
    options["stop"] = [until] if isinstance(until, str) else [each for each in until if each]
    # Tasks set it explicitly to 1, which means no beam search.
    if options.get("num_beams") == 1:
        del options["num_beams"]
    return options
