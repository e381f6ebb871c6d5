"""The index of the blocks in the replicas' caches."""

from array import array

from inferno.ray.cache_index import CacheIndex


def index_of(*replicas: str) -> CacheIndex:
    index = CacheIndex()
    index.set_replicas(replicas)
    return index


def packed(*hashes: int) -> bytes:
    return array("Q", hashes).tobytes()


def test_the_longest_part_that_a_replica_has_is_counted():
    index = index_of("a", "b")
    assert index.update("a", 0, [("stored", packed(1, 2, 3))])
    assert index.update("b", 0, [("stored", packed(1))])
    assert index.num_replicas == 2
    assert [index.num_cached(replica, [1, 2, 3, 4]) for replica in "abc"] == [3, 1, 0]
    assert index.update("a", 1, [("removed", packed(3)), ("stored", packed(9)), ("removed", packed(2))])
    assert index.num_cached("a", [1, 2, 3]) == 1


def test_a_replica_that_was_removed_stays_removed():
    index = index_of("a", "b")
    assert index.update("a", 0, [("stored", packed(1))]) and index.update("b", 0, [("stored", packed(1))])
    index.set_replicas(["b"])
    # While it completes its requests, it starts again.
    assert not index.update("a", 1, []) and not index.update("a", 0, [("stored", packed(1))])
    index.expect("a", [1])
    assert index.num_replicas == 1
    assert [index.num_cached(replica, [1]) for replica in "ab"] == [0, 1]


def test_missing_updates_are_noticed():
    index = index_of("a")
    assert not index.update("a", 5, [])
    assert index.update("a", 0, [("stored", packed(1))])
    assert not index.update("a", 2, [("stored", packed(2))])
    assert index.num_cached("a", [1, 2]) == 1
    # A new beginning replaces what was known.
    assert index.update("a", 0, [("stored", packed(7))])
    assert index.num_cached("a", [1]) == 0 and index.num_cached("a", [7]) == 1


def test_blocks_are_expected_where_a_request_was_sent(monkeypatch):
    now = 100.0
    monkeypatch.setattr("inferno.ray.cache_index.time.monotonic", lambda: now)
    index = index_of("a")
    index.update("a", 0, [("stored", packed(1))])
    index.expect("a", [1, 2, 3])
    assert index.num_cached("a", [1, 2, 3, 4]) == 3
    # An event decides: this one was stored and evicted.
    index.update("a", 1, [("stored", packed(3)), ("removed", packed(3))])
    assert index.num_cached("a", [1, 2, 3]) == 2
    now += 60
    assert index.num_cached("a", [1, 2]) == 1
