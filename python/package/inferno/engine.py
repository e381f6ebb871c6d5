"""Models on asyncio's event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._inferno import CacheEvent, Chunk, ChunkStream, ValueStream
from .ahead import in_order_async
from .arrays import array
from .chat import (
    PATH,
    ChatChunk,
    ChatCompletion,
    Messages,
    headers,
    read_chunks_async,
    read_completion_async,
    request_body,
)
from .completion import Completion, complete
from .model import Model
from .prompt import is_prompt
from .streams import read_async, submitted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import AnyPath, GenerationOptions, LoadOptions, Prompt


class Engine:
    """Serves many requests at once on asyncio's event loop, with continuous batching.

    `model` is a loaded `Model`, which may be in use elsewhere, or what `Model` loads. Each request generates what it would
    alone. A request ends when its iterator is closed or its task is cancelled.

    >>> import asyncio, inferno
    >>> async def main():
    ...     engine = inferno.Engine()
    ...     async for chunk in engine.stream("Once upon a time", max_tokens=3, temperature=0):
    ...         print(chunk.finish_reason)
    ...     stories = await asyncio.gather(*(engine.generate("Hello", max_tokens=4, seed=seed) for seed in range(8)))
    ...     print(len(stories))
    >>> asyncio.run(main())
    None
    None
    None
    length
    8
    """

    def __init__(
        self,
        model: Model | AnyPath | None = None,
        *,
        device: str | int | None = None,
        **options: Unpack[LoadOptions],
    ) -> None:
        self.model = model if isinstance(model, Model) else Model(model, device=device, **options)

    async def stream(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> AsyncIterator[Chunk]:
        """Generates a continuation of a prompt, and yields each token with its text.

        Closing the iterator or cancelling its task cancels the request. Lower values of `priority` are scheduled first.
        """
        chunks = read_async(await self._submit(prompt, options))
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()  # type: ignore[attr-defined]

    async def generate(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> Completion:
        """Generates a continuation of a prompt."""
        stream = await self._submit(prompt, options)
        return complete([chunk async for chunk in read_async(stream)], stream.seed)

    async def _submit(self, prompt: Prompt, options: Mapping[str, Any]) -> ChunkStream:
        return await submitted(lambda: self.model._submit(prompt, options))

    async def chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        json_schema: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ChatCompletion:
        """Answers a conversation; see `Model.chat`."""
        body = request_body(messages, tools, json_schema, False, options)
        return await read_completion_async(self.model._model.request("POST", PATH, headers(body), body))

    async def stream_chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        json_schema: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> AsyncIterator[ChatChunk]:
        """Answers a conversation, and yields the answer in parts; see `Model.stream_chat`."""
        body = request_body(messages, tools, json_schema, True, options)
        chunks = read_chunks_async(self.model._model.request("POST", PATH, headers(body), body))
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()  # type: ignore[attr-defined]

    async def embed(self, text: Prompt | Sequence[str]) -> Any:
        """Computes embeddings; see `Model.embed`."""
        if is_prompt(text):
            return array(await _values(await self._submit_embedding(text)), self.model.embedding_size)
        rows = in_order_async(text, self._submit_embedding, _values, self.model._model.max_num_ahead)
        try:
            values = [row async for row in rows]
        finally:
            await rows.aclose()  # type: ignore[attr-defined]
        return array(b"".join(values), len(values), self.model.embedding_size)

    async def _submit_embedding(self, text: Any) -> ValueStream:
        return await submitted(lambda: self.model._submit_embedding(text))

    def cache_events(self) -> AsyncIterator[list[CacheEvent]]:
        """Yields the changes of the prefix cache; see `Model.cache_events`."""
        return read_async(self.model._model.cache_events())

    def metrics(self) -> dict[str, int | float]:
        """Returns the state and the counters of the engine, such as `num_running` and `generation_tokens`."""
        return self.model.metrics()


async def _values(stream: ValueStream) -> bytes:
    """Waits for the values of a request on the event loop."""
    return b"".join([values async for values in read_async(stream)])
