"""Reading streams of the engine: in plain threads, and on asyncio's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
S = TypeVar("S", bound="Stream[Any]")


class Stream(Protocol[T]):
    """A stream of the extension module."""

    def next(self) -> T | None: ...
    def poll(self, callback: Callable[[], object]) -> list[T] | None: ...
    def close(self) -> None: ...


def read(stream: Stream[T]) -> Iterator[T]:
    """Yields the items of a stream. Closing the iterator cancels the request."""
    try:
        while (item := stream.next()) is not None:
            yield item
    finally:
        stream.close()


async def submitted(submit: Callable[[], S]) -> S:
    """Submits a request from another thread: encoding its prompt and compiling its grammar take time.

    Cancelling the task cancels the request.
    """
    submitting = asyncio.get_running_loop().run_in_executor(None, submit)
    try:
        return await asyncio.shield(submitting)
    except asyncio.CancelledError:
        submitting.add_done_callback(_close)
        raise


def _close(submitting: asyncio.Future[S]) -> None:
    if not submitting.cancelled() and submitting.exception() is None:
        submitting.result().close()


async def read_async(stream: Stream[T]) -> AsyncIterator[T]:
    """Yields the items of a stream. Closing the iterator or cancelling its task cancels the request."""
    loop = asyncio.get_running_loop()
    try:
        while True:
            ready: asyncio.Future[None] = loop.create_future()
            items = stream.poll(lambda ready=ready: loop.call_soon_threadsafe(_set, ready))  # type: ignore[misc]
            if items is None:
                return
            for item in items:
                yield item
            if not items:
                await ready
    finally:
        stream.close()


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
