"""Routing to the replica whose prefix cache has the longest part of a prompt."""

from __future__ import annotations

import random
from typing import Any

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from .cache_index import block_hashes, cache_index

PREFIX = "prefix"
"""Keyword argument of a request: the hashes of the whole blocks of its prompt, 8 bytes each."""
REPLICA = "replica"
"""Keyword argument of a request: the replica that it must be routed to, because it stores what the request refers to."""


class PrefixRouter(RequestRouter):  # type: ignore[misc]
    """Chooses the replica that has the longest part of a prompt in its cache, unless it has too many more requests than others.

    Otherwise, and for requests without a prompt, the one of two random replicas with fewer requests is chosen.
    """

    def initialize_state(self, max_load_difference: int) -> None:
        """Sets by how many requests a replica's load may exceed the lowest."""
        self._max_load_difference = max_load_difference
        self._index = cache_index(self.app_name)

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        """Returns groups of replicas; the first that accepts the request receives it."""
        two = random.sample(candidate_replicas, min(2, len(candidate_replicas)))
        if pending_request is None:
            return [two]
        # If all replicas are full, wait before choosing again.
        pending_request.routing_context.should_backoff = True
        owner = pending_request.kwargs.get(REPLICA)
        owners = [each for each in candidate_replicas if each.replica_id.unique_id == owner]
        if owners:
            return [owners]
        best = self._best(candidate_replicas, pending_request)
        return [two] if best is None else [[best], two]

    def _best(self, candidates: list[RunningReplica], request: PendingRequest) -> RunningReplica | None:
        """Returns the candidate that has the longest part of a prompt, of several that with the fewest requests."""
        prefix = block_hashes(request.kwargs.get(PREFIX, b""))
        if not prefix:
            return None
        loads = [self.replica_queue_len_cache.get(each.replica_id) or 0 for each in candidates]
        cached = [self._index.num_cached(each.replica_id.unique_id, prefix) for each in candidates]
        best = max(range(len(candidates)), key=lambda index: (cached[index], -loads[index], random.random()))
        is_overloaded = loads[best] > min(loads) + self._max_load_difference
        return None if cached[best] == 0 or is_overloaded else candidates[best]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any) -> None:
        """Expects the prompt in the cache of the replica that has received it."""
        self._index.expect(replica_id.unique_id, block_hashes(pending_request.kwargs.get(PREFIX, b"")))

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        """Removes a replica."""
        super().on_replica_actor_died(replica_id)
        self._set_replicas()

    def update_replicas(self, replicas: list[RunningReplica]) -> None:
        """Replaces the replicas that can be chosen."""
        super().update_replicas(replicas)
        self._set_replicas()

    def _set_replicas(self) -> None:
        self._index.set_replicas(replica_id.unique_id for replica_id in self.curr_replicas)
