"""The server as an ASGI application, without a socket of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Union
from urllib.parse import quote

from . import _inferno
from .model import Model
from .streams import read_async

if TYPE_CHECKING:
    from .options import AnyPath

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[str, bytes]]
ResponsePart = Union[bytes, tuple[int, Headers]]
"""A part of a response: first the status and the headers, then the bytes of the body."""
Respond = Callable[[str, str, Headers, bytes], AsyncIterator[ResponsePart]]
"""Responds to a method, a target, headers and a body. Closing the iterator cancels the request."""


class AsgiApp:
    """An ASGI application with all routes of `inferno serve`; see `asgi_app`."""

    def __init__(self, respond: Respond, max_body_bytes: int) -> None:
        self._respond = respond
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self._body(receive)
        if body is None:
            return
        headers = [(name.decode("latin-1"), value) for name, value in scope["headers"]]
        response = self._respond(scope["method"], _target(scope), headers, body)
        answering = asyncio.ensure_future(_send_response(response, send))
        disconnecting = asyncio.ensure_future(_disconnect(receive))
        try:
            await asyncio.wait({answering, disconnecting}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
        finally:
            # A client that disconnects cancels its request.
            for task in (answering, disconnecting):
                task.cancel()
            await asyncio.gather(answering, disconnecting, return_exceptions=True)

    async def _body(self, receive: Receive) -> bytes | None:
        """Returns the body, cut off after the first byte that the server rejects; `None` if the client disconnected."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            room = self._max_body_bytes + 1 - len(body)
            part: bytes = message.get("body", b"")
            body += part[:room]
            if not message.get("more_body", False):
                return bytes(body)


def asgi_app(
    model: Model | AnyPath | None = None,
    *,
    api_keys: Sequence[str] = (),
    allowed_hosts: Sequence[str] = ("*",),
    allowed_origins: Sequence[str] = (),
    strict_fields: bool = False,
    allow_priority: bool = False,
    max_body_bytes: int | None = None,
) -> AsgiApp:
    """Returns an ASGI application with the routes of `inferno serve`, such as `/v1/chat/completions` and `/metrics`.

    `model` is a `Model`, or what one is created from. Any ASGI server can run it, and any framework can mount it. A client
    that disconnects cancels its request. Warnings and errors are logged by Python's logger `inferno`.
    `allowed_hosts` are the accepted values of the `Host` header, `allowed_origins` the web origins that may call from a
    browser, in addition to those on this machine. With `allow_priority`, requests are scheduled by their field `priority`,
    which is ignored otherwise. A request with a body of more than `max_body_bytes` (default: 16 MiB) is rejected.

    >>> import inferno
    >>> app = inferno.asgi_app(inferno.Model(), api_keys=["secret"])  # uvicorn module:app
    """
    options = server_options(
        api_keys=api_keys,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        strict_fields=strict_fields,
        allow_priority=allow_priority,
        max_body_bytes=max_body_bytes,
    )
    if not isinstance(model, Model):
        model = Model(model, warm_up=True)
    server = model._model.server(**options)
    return AsgiApp(lambda *request: read_async(server.request(*request)), server.max_body_bytes)


def server_options(**options: Any) -> dict[str, Any]:
    """Checks the options of a server before its model is loaded, and returns them."""
    for name in ("api_keys", "allowed_hosts", "allowed_origins"):
        # The letters of one string would be strings, too.
        if isinstance(options[name], str):
            raise TypeError(f"{name} must be a list of strings, not one string")
        options[name] = list(options[name])
    _inferno.check_server(**options)
    return options


def _target(scope: Scope) -> str:
    """Returns the path below the application and the query."""
    path: str = scope["path"]
    below = path.removeprefix(scope.get("root_path", "").rstrip("/"))
    # "/v" contains "/v/models", but not "/v1/models".
    if not below or below.startswith("/"):
        path = below or "/"
    query = scope.get("query_string", b"").decode("latin-1")
    return quote(path, safe="/:@!$&'()*+,;=~", errors="surrogateescape") + (f"?{query}" if query else "")


async def _send_response(response: AsyncIterator[ResponsePart], send: Send) -> None:
    try:
        async for part in response:
            if isinstance(part, bytes):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            else:
                status, headers = part
                pairs = [(name.encode("latin-1"), value) for name, value in headers]
                await send({"type": "http.response.start", "status": status, "headers": pairs})
    finally:
        await response.aclose()  # type: ignore[attr-defined]
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
