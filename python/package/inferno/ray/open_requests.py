"""The open requests of a model whose stages are about to end, so that they fail instead of waiting for the stages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from ..errors import EngineStoppedError

# Methods of the extension module's classes that start a request and return its stream.
_STREAMS = ("submit", "submit_embedding", "request", "cache_events")
# Methods that return an object with such methods.
_PARTS = ("server", "session")
# Methods that compute and return no stream: once called, they cannot be interrupted.
_OTHER_REQUESTS = ("logits", "extend")


class OpenRequests:
    """The requests that have not ended. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: WeakSet[_FailingStream] = WeakSet()
        self._is_stopped = False

    def check(self) -> None:
        """Raises `EngineStoppedError` after `fail`."""
        if self._is_stopped:
            raise EngineStoppedError("the pipeline was shut down", "Stopped")

    def opened(self, stream: Any) -> _FailingStream:
        """Returns a stream that fails when `fail` is called."""
        failing = _FailingStream(stream, self)
        with self._lock:
            self._streams.add(failing)
        # `fail` may have been called after the request was submitted.
        if self._is_stopped:
            stream.close()
        return failing

    def fail(self) -> None:
        """Ends all requests with `EngineStoppedError`, and later ones."""
        with self._lock:
            self._is_stopped = True
            streams = list(self._streams)
        for stream in streams:
            stream.wake()


class FailingModel:
    """A `LoadedModel`, or a server or a session of one, whose requests fail when `OpenRequests.fail` is called."""

    def __init__(self, target: Any, requests: OpenRequests) -> None:
        self._target = target
        self._requests = requests

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        wrap: Callable[[Any], Any] | None = None
        if name in _STREAMS:
            wrap = self._requests.opened
        elif name in _PARTS:
            wrap = self._part
        elif name not in _OTHER_REQUESTS:
            return value

        def call(*arguments: Any, **options: Any) -> Any:
            self._requests.check()
            result = value(*arguments, **options)
            return result if wrap is None else wrap(result)

        return call

    def _part(self, part: Any) -> FailingModel:
        return FailingModel(part, self._requests)


class _FailingStream:
    """A stream of the extension module that ends with an error when `OpenRequests.fail` is called."""

    def __init__(self, stream: Any, requests: OpenRequests) -> None:
        self._stream = stream
        self._requests = requests
        self._callback: Callable[[], object] | None = None

    @property
    def seed(self) -> int:
        seed: int = self._stream.seed
        return seed

    def next(self) -> Any:
        return self._checked(self._stream.next())

    def rest(self) -> Any:
        return self._checked(self._stream.rest())

    def poll(self, callback: Callable[[], object]) -> Any:
        self._callback = callback
        return self._checked(self._stream.poll(callback))

    def close(self) -> None:
        self._stream.close()

    def wake(self) -> None:
        """Wakes the reader, who then receives the error."""
        self._stream.close()
        if self._callback is not None:
            # The reader's event loop may have been closed.
            with contextlib.suppress(RuntimeError):
                self._callback()

    def _checked(self, items: Any) -> Any:
        self._requests.check()
        return items
