"""Models: generation, chat, embeddings and logits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

from . import _inferno
from ._inferno import CacheEvent, Chunk
from .ahead import in_order
from .arrays import array
from .chat import PATH, ChatChunk, ChatCompletion, Messages, headers, read_chunks, read_completion, request_body
from .completion import Completion, completed
from .errors import EngineStoppedError, InvalidRequestError
from .prompt import is_prompt, token_ids
from .session import Session
from .streams import read

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import AnyPath, GenerationOptions, LoadOptions, Prompt
    from .stages import StageAddresses


class Model:
    """A model in memory. All of its requests, from any thread, are computed together.

    `source` is a GGUF file, ``"hf:OWNER/REPO:QUANTIZATION"`` or a short name such as ``"qwen3:0.6b"``; without one, the
    built-in Ember is loaded. `device` is ``"auto"`` (a discrete or Apple GPU if the model fits in its memory, otherwise
    the processor), ``"cpu"``, ``"gpu"``, or the index or a part of the name of a GPU that `inferno.devices` lists. With
    `threads`, ``"auto"`` is the processor. A model that is loaded differently than requested causes a `RuntimeWarning`.

    A forked process cannot use a model of its parent: load it after the fork, or start processes by ``"spawn"``.

    >>> import inferno
    >>> model = inferno.Model(context=512)
    >>> model.name, model.context_length
    ('ember', 512)
    """

    def __init__(
        self,
        source: AnyPath | None = None,
        *,
        device: str | int | None = None,
        **options: Unpack[LoadOptions],
    ) -> None:
        device = None if device is None else str(device)
        self._model = _inferno.LoadedModel.load(source, device=device, **options)
        self._warn()

    @classmethod
    def from_stages(
        cls,
        source: AnyPath | None,
        stages: StageAddresses,
        *,
        num_lanes: int | None = None,
        **options: Unpack[LoadOptions],
    ) -> Model:
        """Uses a model whose weights are in other processes, each of which is a `Stage` of it.

        Only the header of `source` is read. Requests are divided between `num_lanes` caches of each stage, so that stages
        compute different requests at the same time (default: one more than there are stages; at most 256). `threads` and
        `gpu_layers` are not accepted: each stage computes its layers on its own device.
        """
        model = cls.__new__(cls)
        num_lanes = len(stages) + 1 if num_lanes is None else num_lanes
        model._model = _inferno.LoadedModel.load_from_stages(source, stages._addresses, num_lanes, **options)
        model._warn()
        return model

    def _warn(self) -> None:
        """Warns the caller of the caller of the options that have no effect."""
        for note in self._model.notes:
            warnings.warn(note, RuntimeWarning, stacklevel=3)

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def context_length(self) -> int:
        """The maximum number of tokens of a prompt and its continuation."""
        return self._model.context_length

    @property
    def vocab_size(self) -> int:
        """The number of tokens that can be generated."""
        return self._model.vocab_size

    @property
    def hidden_size(self) -> int:
        """The number of values in a hidden state."""
        return self._model.hidden_size

    @property
    def embedding_size(self) -> int:
        """The number of values in an embedding."""
        return self._model.embedding_size

    @property
    def devices(self) -> list[str]:
        """Descriptions of the devices that compute."""
        return self._model.devices

    @property
    def kv_dtype(self) -> str:
        """The number format of the KV cache."""
        return self._model.kv_dtype

    @property
    def bos_token_id(self) -> int | None:
        """The token at the beginning of a text."""
        return self._model.bos_token_id

    @property
    def eos_token_id(self) -> int | None:
        """The token at the end of a text."""
        return self._model.eos_token_id

    @property
    def has_chat_template(self) -> bool:
        """Whether the model has a chat template, which `chat` requires: that of its file, or the option `chat_template`."""
        return self._model.has_chat_template

    def close(self) -> None:
        """Releases the model. Its memory is freed when nothing else uses it: requests in progress, streams that are not closed,
        sessions, an application.

        Every later use is an `EngineStoppedError`. A model that is not closed is released with its last reference.

        >>> import inferno
        >>> with inferno.Model() as model:
        ...     answer = model.generate("Once", max_tokens=1)
        >>> model
        <inferno.Model, closed>
        """
        self._model = cast(_inferno.LoadedModel, _Closed())

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if isinstance(self._model, _Closed):
            return "<inferno.Model, closed>"
        return f"<inferno.Model {self.name!r} on {', '.join(self.devices)}>"

    def tokenize(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Splits a text into tokens.

        `add_special` adds the tokens that the model requires around a text, such as BOS; `parse_special` parses control
        tokens that are spelled out, such as ``<|im_end|>``.

        >>> import inferno
        >>> model = inferno.Model()
        >>> model.detokenize(model.tokenize("Once upon a time"))
        'Once upon a time'
        """
        return self._model.tokenize(text, add_special, parse_special)

    def detokenize(self, tokens: Sequence[int], *, skip_special: bool = False) -> str:
        """Converts tokens to text."""
        return self._model.detokenize(tokens, skip_special)

    @overload
    def generate(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> Completion: ...
    @overload
    def generate(
        self, prompt: list[str] | tuple[str, ...], **options: Unpack[GenerationOptions]
    ) -> list[Completion]: ...
    def generate(self, prompt: Any, **options: Any) -> Any:
        """Generates a continuation of a prompt, or of each prompt in a list of strings.

        A prompt is a text or a list of token ids. The prompts of a list are computed together; they wait for room in the
        engine's queue. Ctrl-C cancels the request.

        >>> import inferno
        >>> model = inferno.Model()
        >>> completion = model.generate("Once upon a time", max_tokens=5, temperature=0)
        >>> completion.finish_reason, completion.usage.completion_tokens
        ('length', 5)
        >>> answer = model.generate("Is the sky blue? ", choice=["yes", "no"], temperature=0)
        >>> answer.text in ["yes", "no"]
        True
        >>> [completion.text for completion in model.generate(["One", "Two"], max_tokens=1, temperature=0)] == [
        ...     model.generate(prompt, max_tokens=1, temperature=0).text for prompt in ["One", "Two"]
        ... ]
        True
        """
        if is_prompt(prompt):
            return completed(self._submit(prompt, options))
        return list(self._generate_all(prompt, options))

    def _generate_all(self, prompts: Iterable[Prompt], options: Mapping[str, Any]) -> Iterator[Completion]:
        return in_order(
            prompts, lambda prompt: self._submit(prompt, options), completed, self._model.max_num_ahead
        )

    def stream(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> Iterator[Chunk]:
        """Generates a continuation of a prompt, and yields each token with its text. Closing the iterator cancels it.

        >>> import inferno
        >>> model = inferno.Model()
        >>> chunks = list(model.stream("Once upon a time", max_tokens=3, temperature=0))
        >>> [chunk.finish_reason for chunk in chunks]
        [None, None, None, 'length']
        """
        return read(self._submit(prompt, options))

    def _submit(self, prompt: Prompt, options: Mapping[str, Any]) -> _inferno.ChunkStream:
        return self._model.submit(self._prompt(prompt), dict(options))

    def _prompt(self, prompt: Prompt) -> list[int]:
        return self._model.tokenize_prompt(prompt) if isinstance(prompt, str) else token_ids(prompt)

    def chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        json_schema: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ChatCompletion:
        """Answers a conversation with the model's chat template.

        `messages` and `tools` have OpenAI's format; a string is a message of the user. With `json_schema`, the answer is a
        JSON value that matches it. `options` are the fields of OpenAI's and vLLM's chat completions, such as
        `max_tokens`, `temperature`, `tool_choice` and `enable_thinking`. An unknown field is an error.

        >>> import inferno
        >>> model = inferno.Model()
        >>> answer = model.chat("Name three animals.", temperature=0)
        >>> answer.finish_reason
        'stop'
        """
        body = request_body(messages, tools, json_schema, False, options)
        return read_completion(self._model.request("POST", PATH, headers(body), body))

    def stream_chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        json_schema: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Iterator[ChatChunk]:
        """Answers a conversation as `chat` does, and yields the answer in parts. Closing the iterator cancels it.

        >>> import inferno
        >>> model = inferno.Model()
        >>> text = "".join(chunk.text for chunk in model.stream_chat("Name three animals.", temperature=0))
        >>> text == model.chat("Name three animals.", temperature=0).text
        True
        """
        body = request_body(messages, tools, json_schema, True, options)
        return read_chunks(self._model.request("POST", PATH, headers(body), body))

    def embed(self, text: Prompt | Sequence[str]) -> Any:
        """Computes the embedding of a text, or one row for each text in a list, normalized to unit length.

        Returns a NumPy array in single precision or, without NumPy, a memory view with the same shape. Hidden states are
        pooled as in `/v1/embeddings`. A reranker or another classifier has no embeddings: `InvalidRequestError`.

        >>> import inferno
        >>> model = inferno.Model()
        >>> model.embed(["a small boy", "a small girl"]).shape == (2, model.embedding_size)
        True
        """
        if is_prompt(text):
            return array(_values(self._submit_embedding(text)), self.embedding_size)
        rows = list(in_order(text, self._submit_embedding, _values, self._model.max_num_ahead))
        return array(b"".join(rows), len(rows), self.embedding_size)

    def _submit_embedding(self, text: Any) -> _inferno.ValueStream:
        return self._model.submit_embedding(self._prompt(text))

    def logits(self, prompt: Prompt, *, last: bool = False) -> Any:
        """Computes the logits after each token of a prompt, or only after its `last` one.

        Returns a NumPy array of shape (tokens, `vocab_size`), or (`vocab_size`,) for the last token, in single precision
        or, without NumPy, a memory view with the same shape.

        >>> import inferno
        >>> model = inferno.Model()
        >>> model.logits([1, 2, 3]).shape == (3, model.vocab_size)
        True
        """
        tokens = self._prompt(prompt)
        shape = (self.vocab_size,) if last else (len(tokens), self.vocab_size)
        return array(self._model.logits(tokens, not last), *shape)

    def perplexity(self, text: Prompt, *, window: int | None = None, stride: int | None = None) -> float:
        """Computes the perplexity of the model on a text; lower is better.

        The text is split into windows of `window` tokens (default: 512, or the maximum, the context length less one), each
        `stride` tokens after the previous one (default: `window`). The second half of each window is scored, so that every
        scored token has at least half a window of context. Of a string, BOS replaces the first token of each window if the
        vocabulary adds one, as in llama.cpp; tokens are scored unchanged.

        >>> import inferno
        >>> inferno.Model().perplexity("Once upon a time there was a little girl. " * 10, window=32) < 100
        True
        """
        if isinstance(text, str):
            tokens = self.tokenize(text, add_special=True, parse_special=False)
            bos = [token for token in self.tokenize("", add_special=True)[:1] if token == self.bos_token_id]
        else:
            tokens, bos = token_ids(text), []
        limit = self.context_length - 1
        window = min(512, limit) if window is None else window
        stride = window if stride is None else stride
        if not 3 <= window <= limit or stride < 1:
            raise InvalidRequestError(
                f"window must be from 3 to {limit} tokens and stride at least 1, but they are "
                f"{window} and {stride}",
                "Window",
                {"window": window, "stride": stride, "context_length": self.context_length},
            )
        if len(tokens) < window:
            raise InvalidRequestError(
                f"the text has {len(tokens)} tokens, but a window requires {window}; use a longer text or a smaller "
                "window",
                "TextTooShort",
                {"found": len(tokens), "window": window},
            )
        starts = range(0, len(tokens) - window + 1, stride)
        windows = (bos + tokens[start + len(bos) : start + window] for start in starts)
        scores = [score for each in windows for score in self._scores(each)]
        return math.exp(-math.fsum(scores) / len(scores))

    def _scores(self, window: list[int]) -> list[float]:
        """The log-probabilities of the second half of a window."""
        stream = self._model.submit(window, {"max_tokens": 0, "prompt_logprobs": 0})
        logprobs = completed(stream).prompt_logprobs or []
        # The first token of the window has none.
        return [each.logprob for each in logprobs[len(window) // 2 :]]

    def session(self) -> Session:
        """Creates a session: one conversation that prompts and generations extend, and that can be saved."""
        return Session(self._model.session())

    def cache_events(self) -> Iterator[list[CacheEvent]]:
        """Yields the changes of the prefix cache, starting with its blocks: a list of events for each step of the engine.

        There is one such iterator per model: opening another one or closing the model ends it.

        >>> import inferno
        >>> model = inferno.Model()
        >>> events = model.cache_events()
        >>> completion = model.generate("Once upon a time, " * 16, max_tokens=1)
        >>> next(events)[0].kind
        'stored'
        """
        return read(self._model.cache_events())

    def metrics(self) -> dict[str, int | float]:
        """Returns the state and the counters of the engine, such as `num_running` and `generation_tokens`."""
        return self._model.metrics()


class _Closed:
    """What remains of a closed model."""

    def __getattr__(self, name: str) -> Any:
        raise EngineStoppedError("the model is closed", "EngineStopped")


def _values(stream: _inferno.ValueStream) -> bytes:
    """Waits for the values of a request."""
    values: Iterator[bytes] = read(stream)
    return b"".join(values)
