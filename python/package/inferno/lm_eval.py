"""A model for lm-evaluation-harness: import this module, then pass ``model="inferno"`` to `lm_eval.simple_evaluate`.

Requires `lm-eval`. The model arguments are those of `Model`, with its first one as `pretrained`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

from .completion import Completion
from .engine import Engine
from .model import Model

T = TypeVar("T")

_NUM_CONCURRENT = 64


@register_model("inferno")
class InfernoLM(TemplateLM):
    """Scores and generates with a model in this process, many requests at a time."""

    def __init__(self, pretrained: Model | str | None = None, batch_size: Any = None, **options: Any) -> None:
        super().__init__()
        # The harness passes its own arguments as well; the engine forms its batches itself.
        for name in ("device", "max_batch_size"):
            if options.get(name) is None:
                options.pop(name, None)
        self.engine = Engine(pretrained, **options)
        self.model = self.engine.model

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
        """Splits a string into tokens."""
        return self.model.tokenize(string, add_special=bool(add_special_tokens))

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
        return self._run([self._score(context, continuation) for _, context, continuation in requests])

    async def _score(self, context: list[int], continuation: list[int]) -> tuple[float, bool]:
        # As in the harness's own models, the beginning of a context that does not fit is left out.
        tokens = (context + continuation)[1 - self.model.context_length :]
        completion = await self.engine.generate(tokens, max_tokens=0, prompt_logprobs=1)
        scored = (completion.prompt_logprobs or [])[-len(continuation) :]
        return sum(each.logprob for each in scored), all(each.token == each.top[0][0] for each in scored)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Generates a continuation of each context."""
        return [each.text for each in self._run([self._generate(*request.args) for request in requests])]

    async def _generate(self, context: str, arguments: dict[str, Any]) -> Completion:
        max_tokens = int(arguments.get("max_gen_toks") or arguments.get("max_new_tokens") or 256)
        tokens = self.tok_encode(context, add_special_tokens=True)
        tokens = tokens[-max(1, self.model.context_length - max_tokens) :]
        temperature = float(arguments.get("temperature") or 0) if arguments.get("do_sample", True) else 0.0
        until = arguments.get("until") or []
        stop = [until] if isinstance(until, str) else [each for each in until if each]
        return await self.engine.generate(tokens, max_tokens=max_tokens, stop=stop, temperature=temperature)

    def _run(self, calls: Sequence[Awaitable[T]]) -> list[T]:
        async def run() -> list[T]:
            running = asyncio.Semaphore(_NUM_CONCURRENT)

            async def limited(call: Awaitable[T]) -> T:
                async with running:
                    return await call

            return await asyncio.gather(*(limited(call) for call in calls))

        return asyncio.run(run())
