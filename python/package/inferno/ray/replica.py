"""A replica: one engine with all routes of the server."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from array import array
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from ray import serve

from ..asgi import Headers, ResponsePart
from ..model import Model
from ..streams import read_async
from .cache_index import Change
from .metrics import EngineMetrics

if TYPE_CHECKING:
    from .._inferno import CacheEventStream

logger = logging.getLogger("ray.serve")

_RENDER_PATHS = {
    path: f"/v1{path.removeprefix('/v1')}/render"
    for path in (
        "/v1/chat/completions",
        "/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/responses",
        "/v1/messages",
    )
}
# Between updates of the ingress, in seconds: while blocks change, and while they do not, so that a new ingress is noticed.
_CHANGE_INTERVAL = 0.1
_IDLE_INTERVAL = 2.0
_METRICS_INTERVAL = 1.0
# For an ingress to apply an update, and until the next one after a failure, in seconds.
_UPDATE_TIMEOUT = 10.0
_RETRY_INTERVAL = 1.0


def has_prompt(method: str, target: str) -> bool:
    """Returns whether requests to a target have a prompt by which they can be routed."""
    return method == "POST" and target.partition("?")[0] in _RENDER_PATHS


class Replica:
    """One engine. Serve creates it on a node with room for it, checks its health, and replaces it if it fails."""

    async def __init__(
        self,
        source: str | None,
        load_options: Mapping[str, Any],
        server_options: Mapping[str, Any],
        ingress: str | None,
    ) -> None:
        """Loads a model. The changes of its prefix cache are sent to the deployment `ingress`."""
        self._model = await asyncio.to_thread(Model, source, **{"warm_up": True, **load_options})
        self._server = self._model._model.server(**server_options)
        context = serve.get_replica_context()
        self._id: str = context.replica_id.unique_id
        self._tasks = [asyncio.create_task(self._export_metrics())]
        if ingress is not None:
            self._tasks.append(asyncio.create_task(self._publish_cache(ingress, context.app_name)))

    async def check_health(self) -> None:
        """Raises an error if the engine accepts no more requests. Serve then replaces the replica."""
        status, body = await self._answer("GET", "/health", [("host", b"localhost")], b"")
        if status != 200:
            raise RuntimeError(f"the engine accepts no more requests: {body.decode()}")

    async def max_body_bytes(self) -> int:
        """Returns the maximum size of a request's body in bytes."""
        return self._server.max_body_bytes

    async def respond(
        self, method: str, target: str, headers: Headers, body: bytes, **routing: Any
    ) -> AsyncIterator[ResponsePart]:
        """Passes a request to its route, and yields the parts of the response. `routing` is for the router."""
        parts = read_async(self._server.request(method, target, headers, body))
        try:
            async for part in parts:
                yield part
        finally:
            await parts.aclose()  # type: ignore[attr-defined]

    async def prefix(self, target: str, headers: Headers, body: bytes) -> bytes:
        """Returns the hashes of the whole blocks of a request's prompt, 8 bytes each; none for an invalid request."""
        status, response = await self._answer("POST", _RENDER_PATHS[target.partition("?")[0]], headers, body)
        if status != 200:
            return b""
        rendered = json.loads(response)
        # A completion may have several prompts.
        first = rendered[0] if isinstance(rendered, list) else rendered
        return array("Q", self._model._model.block_hashes(first["token_ids"])).tobytes()

    async def id_if_stored(self, response: str, headers: Headers) -> str | None:
        """Returns the id of this replica if it stores a response."""
        status, _ = await self._answer("GET", f"/v1/responses/{response}", headers, b"")
        return self._id if status == 200 else None

    async def _answer(self, method: str, target: str, headers: Headers, body: bytes) -> tuple[int, bytes]:
        """Returns the status and the body of a response."""
        response = read_async(self._server.request(method, target, headers, body))
        (status, _), *parts = [part async for part in response]
        return status, b"".join(parts)

    async def _export_metrics(self) -> None:
        metrics = EngineMetrics(self._model.name)
        while True:
            metrics.update(self._model.metrics())
            await asyncio.sleep(_METRICS_INTERVAL)

    async def _publish_cache(self, ingress: str, application: str) -> None:
        """Sends the changes of the prefix cache to all replicas of the ingress; all blocks again when one missed some."""
        while True:
            try:
                handle = await asyncio.to_thread(serve.get_deployment_handle, ingress, application)
                await self._publish_until_missed(handle, self._model._model.cache_events())
            except Exception as error:
                logger.warning("The prefix cache is not used for routing for a moment: %r", error)
            await asyncio.sleep(_RETRY_INTERVAL)

    async def _publish_until_missed(self, handle: Any, events: CacheEventStream) -> None:
        number, last = 0, 0.0
        while True:
            changes, now = _changes(events), time.monotonic()
            if changes or now - last >= _IDLE_INTERVAL:
                update = handle.broadcast("update_cache", self._id, number, changes)
                replies = await update.results_async(timeout_s=_UPDATE_TIMEOUT, return_exceptions=True)
                if not all(reply is True for reply in replies):
                    return
                number, last = number + 1, now
            await asyncio.sleep(_CHANGE_INTERVAL)


def _changes(stream: CacheEventStream) -> list[Change]:
    """Returns the changes of a prefix cache since the last call."""
    changes: list[Change] = []
    # The next call asks again, so nothing is to be called.
    while steps := stream.poll(lambda: None):
        changes += [(event.kind, array("Q", event.blocks).tobytes()) for events in steps for event in events]
    return changes
