"""The blocks in the prefix caches of all replicas, as an ingress knows them.

Serve gives each router a copy of the router's module. The indexes are in a module of their own, so that a router and the
ingress in its process share them.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

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
        # A replica that is removed still sends updates until its last request has ended.
        self._replicas: set[str] = set()
        self._stored: dict[str, set[int]] = {}
        # By replica and block, until when it is expected, the oldest first.
        self._expected: dict[str, dict[int, float]] = {}
        self._next_numbers: dict[str, int] = {}

    @property
    def num_replicas(self) -> int:
        """The number of replicas that have sent updates."""
        return len(self._stored)

    def set_replicas(self, replicas: Iterable[str]) -> None:
        """Sets the replicas that can be chosen, and removes all others."""
        with self._lock:
            self._replicas = set(replicas)
            tables: tuple[dict[str, Any], ...] = (self._stored, self._expected, self._next_numbers)
            for table in tables:
                for gone in table.keys() - self._replicas:
                    del table[gone]

    def update(self, replica: str, number: int, changes: Iterable[Change]) -> bool:
        """Applies the update with this number from a replica; number 0 replaces what is known of it.

        Returns false if updates are missing, or if the replica cannot be chosen (yet). It then starts again from 0.
        """
        with self._lock:
            if replica not in self._replicas:
                return False
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
            if replica not in self._replicas:
                return
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


_INDEXES: dict[str, CacheIndex] = {}


def cache_index(application: str) -> CacheIndex:
    """Returns the index of an application in this process, which the ingress updates and its router reads."""
    return _INDEXES.setdefault(application, CacheIndex())


def block_hashes(packed: bytes) -> array[int]:
    """Returns the hashes of blocks, 8 bytes each."""
    return array("Q", packed)
