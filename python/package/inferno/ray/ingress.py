"""The ingress: receives HTTP requests and passes each to a replica."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from ray import serve
from ray.exceptions import RayActorError, RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from ..asgi import AsgiApp, Headers, ResponsePart
from .cache_index import Change, cache_index
from .replica import has_prompt
from .routing import PREFIX, REPLICA

logger = logging.getLogger("ray.serve")

# Replicas that a request is passed to, one after another, if they fail before they respond.
_MAX_ATTEMPTS = 3
_RESPONSES_PATHS = ("/v1/responses", "/responses")
# Paths to which a request may be sent that continues a stored response.
_CONTINUING_PATHS = {path + end for path in _RESPONSES_PATHS for end in ("", "/render", "/input_tokens")}
_FORWARDED_TO_FIND = ("host", "authorization", "x-api-key")


@serve.ingress()
class Ingress:
    """The routes of all replicas under one address."""

    async def __init__(self, replicas: DeploymentHandle) -> None:
        self._replicas = replicas
        self._index = cache_index(serve.get_replica_context().app_name)
        self._max_body_bytes: int = await replicas.max_body_bytes.remote()

    def __serve_build_asgi_app__(self) -> AsgiApp:
        """Returns the application that Serve runs."""
        return AsgiApp(self._respond, self._max_body_bytes)

    async def update_cache(self, replica: str, number: int, changes: list[Change]) -> bool:
        """Applies changes of a replica's prefix cache; false if it must send all blocks again."""
        return self._index.update(replica, number, changes)

    async def _respond(
        self, method: str, target: str, headers: Headers, body: bytes
    ) -> AsyncIterator[ResponsePart]:
        routing = await self._routing(method, target, headers, body)
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            parts = self._replicas.options(stream=True).respond.remote(method, target, headers, body, **routing)
            has_begun = False
            try:
                async for part in parts:
                    has_begun = True
                    yield part
                return
            except RayActorError as error:
                # What was sent cannot be taken back. The connection is closed, so that the client notices.
                if has_begun:
                    raise
                logger.warning("Attempt %d: a replica failed before it responded: %r", attempt, error)
            finally:
                parts.cancel()
        yield 503, [("content-type", b"application/json"), ("retry-after", b"1")]
        message = f"{_MAX_ATTEMPTS} replicas failed one after another; retry later"
        yield json.dumps({"error": {"message": message, "type": "server_error", "code": 503}}).encode()

    async def _routing(self, method: str, target: str, headers: Headers, body: bytes) -> dict[str, Any]:
        """Returns the arguments by which the router chooses a replica."""
        try:
            if response := _stored_response(method, target, body):
                return {REPLICA: await self._replica_that_stores(response, headers)}
            if has_prompt(method, target) and self._index.num_replicas > 1:
                return {PREFIX: await self._replicas.prefix.remote(target, headers, body)}
        except (RayError, RayServeException) as error:
            logger.warning("A request is routed by load only: %r", error)
        return {}

    async def _replica_that_stores(self, response: str, headers: Headers) -> str | None:
        forwarded = [header for header in headers if header[0].lower() in _FORWARDED_TO_FIND]
        found = self._replicas.broadcast("id_if_stored", response, forwarded)
        replicas = await found.results_async(timeout_s=10, return_exceptions=True)
        return next((replica for replica in replicas if isinstance(replica, str)), None)


def _stored_response(method: str, target: str, body: bytes) -> str | None:
    """Returns the id of the stored response that a request refers to, which only one replica has."""
    path = target.partition("?")[0]
    if method == "POST" and path in _CONTINUING_PATHS:
        try:
            request = json.loads(body)
        # Values that are nested too deeply; the replica rejects them as well.
        except (ValueError, RecursionError):
            return None
        previous = request.get("previous_response_id") if isinstance(request, dict) else None
    else:
        base = next((base for base in _RESPONSES_PATHS if path.startswith(f"{base}/") and method != "POST"), None)
        previous = path[len(base) + 1 :].partition("/")[0] if base else None
    return previous if isinstance(previous, str) and previous.isidentifier() else None
