"""Requests that are submitted ahead, so that the engine computes them together."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from .errors import QueueFullError


class Closable(Protocol):
    """A stream of the extension module."""

    def close(self) -> None: ...


T = TypeVar("T")
S = TypeVar("S", bound=Closable)
R = TypeVar("R")

_RETRY_SECONDS = 0.02


def in_order(
    inputs: Iterable[T], submit: Callable[[T], S], finish: Callable[[S], R], max_num_ahead: int
) -> Iterator[R]:
    """Submits a request for each input, and yields their results in order.

    The queue of the engine is limited: at most `max_num_ahead` requests are submitted before the first is finished. If
    other threads fill it, the requests wait for room.
    """
    running: deque[S] = deque()
    try:
        for each in inputs:
            while (stream := _submitted(submit, each)) is None:
                if running:
                    yield finish(running.popleft())
                else:
                    time.sleep(_RETRY_SECONDS)
            running.append(stream)
            if len(running) > max_num_ahead:
                yield finish(running.popleft())
        while running:
            yield finish(running.popleft())
    finally:
        for stream in running:
            stream.close()


def _submitted(submit: Callable[[T], S], each: T) -> S | None:
    """Returns `None` if the queue is full."""
    try:
        return submit(each)
    except QueueFullError:
        return None


async def in_order_async(
    inputs: Iterable[T],
    submit: Callable[[T], Awaitable[S]],
    finish: Callable[[S], Awaitable[R]],
    max_num_ahead: int,
) -> AsyncIterator[R]:
    """Submits requests as `in_order` does, on the event loop."""
    running: deque[S] = deque()
    try:
        for each in inputs:
            while (stream := await _submitted_async(submit, each)) is None:
                if running:
                    yield await finish(running.popleft())
                else:
                    await asyncio.sleep(_RETRY_SECONDS)
            running.append(stream)
            if len(running) > max_num_ahead:
                yield await finish(running.popleft())
        while running:
            yield await finish(running.popleft())
    finally:
        for stream in running:
            stream.close()


async def _submitted_async(submit: Callable[[T], Awaitable[S]], each: T) -> S | None:
    """Returns `None` if the queue is full."""
    try:
        return await submit(each)
    except QueueFullError:
        return None
