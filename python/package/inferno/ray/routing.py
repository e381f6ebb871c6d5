"""Routing to the replica whose prefix cache has the longest part of a prompt."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

PREFIX = "prefix"
"""Keyword argument of a request: the hashes of the whole blocks of its prompt, 8 bytes each."""
REPLICA = "replica"
"""Keyword argument of a request: the replica that it must be routed to, because it stores what the request refers to."""

# How long blocks are expected that a replica is about to compute; then its events report them, or it is not going to.
_EXPECTED_SECONDS = 30.0

Change = tuple[str, bytes]
"""A change of a prefix cache: `stored` or `removed`, and the hashes of the blocks, 8 bytes each."""


class CacheIndex:
    """The blocks in the prefix caches of all replicas, by their events, and by the requests that were routed to them.

    Its methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._stored: dict[str, set[int]] = {}
        # By replica and block, until when it is expected, the oldest first.
        self._expected: dict[str, dict[int, float]] = {}
        self._next_numbers: dict[str, int] = {}

    @property
    def num_replicas(self) -> int:
        """The number of replicas that have sent updates."""
        return len(self._stored)

    def update(self, replica: str, number: int, changes: Iterable[Change]) -> bool:
        """Applies the update with this number from a replica; number 0 replaces what is known of it.

        Returns false if updates are missing. The replica then starts again from 0.
        """
        with self._lock:
            if number == 0:
                self._stored[replica] = set()
            elif number != self._next_numbers.get(replica):
                return False
            self._next_numbers[replica] = number + 1
            stored, expected = self._stored[replica], self._expected.get(replica, {})
            for kind, blocks in changes:
                hashes = block_hashes(blocks)
                if kind == "stored":
                    stored.update(hashes)
                else:
                    stored.difference_update(hashes)
                for each in hashes:
                    expected.pop(each, None)
            return True

    def expect(self, replica: str, hashes: Sequence[int]) -> None:
        """Records that a replica is about to compute these blocks, so that the next request with them follows."""
        now = time.monotonic()
        with self._lock:
            stored, expected = self._stored.get(replica, set()), self._expected.setdefault(replica, {})
            while expected and next(iter(expected.values())) < now:
                del expected[next(iter(expected))]
            for each in hashes:
                if each not in stored:
                    # Inserted last, as its time is the latest.
                    expected.pop(each, None)
                    expected[each] = now + _EXPECTED_SECONDS

    def num_cached(self, replica: str, hashes: Sequence[int]) -> int:
        """Returns the number of blocks at the beginning of a prompt that a replica has."""
        now = time.monotonic()
        with self._lock:
            stored, expected = self._stored.get(replica, set()), self._expected.get(replica, {})
            for index, each in enumerate(hashes):
                if each not in stored and expected.get(each, 0) < now:
                    return index
            return len(hashes)

    def forget(self, replica: str) -> None:
        """Removes a replica that is gone."""
        with self._lock:
            for table in (self._stored, self._expected, self._next_numbers):
                table.pop(replica, None)  # type: ignore[attr-defined]


_INDEXES: dict[str, CacheIndex] = {}


def cache_index(application: str) -> CacheIndex:
    """Returns the index of an application in this process, which the ingress updates and its router reads."""
    return _INDEXES.setdefault(application, CacheIndex())


def block_hashes(packed: bytes) -> array[int]:
    """Returns the hashes of blocks, 8 bytes each."""
    return array("Q", packed)


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
        self._index.forget(replica_id.unique_id)

    def update_replicas(self, replicas: list[RunningReplica]) -> None:
        """Replaces the replicas that can be chosen."""
        gone = set(self.curr_replicas) - {each.replica_id for each in replicas}
        super().update_replicas(replicas)
        for replica_id in gone:
            self._index.forget(replica_id.unique_id)
