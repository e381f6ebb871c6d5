"""Subscribes to the events of a server's prefix cache with the structures of vLLM, in vLLM's encoding."""

import time
from typing import Any

import msgspec
import zmq

END_OF_REPLAY = (-1).to_bytes(8, "big", signed=True)


class Event(msgspec.Struct, omit_defaults=True, gc=False, tag=True):
    """Base of the events."""


class BlockStored(Event):
    block_hashes: list[int]
    parent_block_hash: int | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None


class BlockRemoved(Event):
    block_hashes: list[int]
    medium: str | None


class AllBlocksCleared(Event):
    pass


class EventBatch(msgspec.Struct, array_like=True, omit_defaults=True, gc=False):
    ts: float
    events: list[BlockStored | BlockRemoved | AllBlocksCleared]
    data_parallel_rank: int | None = None


decoder = msgspec.msgpack.Decoder(type=EventBatch)


def replay(context, server, first):
    """All messages from a number on, as the server has stored them."""
    socket = context.socket(zmq.DEALER)
    socket.connect(f"tcp://127.0.0.1:{server.replays}")
    socket.send_multipart([b"", first.to_bytes(8, "big")])
    messages = []
    while socket.poll(10_000):
        _, number, payload = socket.recv_multipart()
        if number == END_OF_REPLAY:
            socket.close()
            return messages
        messages.append((int.from_bytes(number, "big"), decoder.decode(payload)))
    raise SystemExit("the replay has no end")


def receive_until_quiet(socket):
    """Messages until there is none for half a second."""
    messages: list[tuple[int, Any]] = []
    while socket.poll(500):
        topic, number, payload = socket.recv_multipart()
        assert topic == b"", topic
        messages.append((int.from_bytes(number, "big"), decoder.decode(payload)))
    return messages


def index(messages):
    """The blocks that are cached after these messages, each with its parent."""
    blocks: dict[int, int | None] = {}
    for _, batch in messages:
        assert abs(time.time() - batch.ts) < 600 and batch.data_parallel_rank == 0
        for event in batch.events:
            match event:
                case BlockStored():
                    assert len(event.token_ids) == len(event.block_hashes) * event.block_size
                    parent = event.parent_block_hash
                    assert parent is None or parent in blocks, "the parent of a block is not cached"
                    for block in event.block_hashes:
                        blocks[block] = parent
                        parent = block
                case BlockRemoved():
                    for block in event.block_hashes:
                        del blocks[block]
                case AllBlocksCleared():
                    blocks.clear()
    return blocks


def check(server, work):
    """Compares the events that a subscriber receives during `work` with a replay of all events."""
    context = zmq.Context()
    socket = context.socket(zmq.SUB)
    socket.connect(f"tcp://127.0.0.1:{server.events}")
    socket.setsockopt_string(zmq.SUBSCRIBE, "")
    # A subscription takes effect some time after the connection.
    time.sleep(0.5)
    work()
    received = receive_until_quiet(socket)
    replayed = replay(context, server, 0)
    socket.close()
    numbers = [number for number, _ in replayed]
    assert numbers == list(range(len(replayed))), "the numbers have gaps"
    assert isinstance(replayed[0][1].events[0], AllBlocksCleared)
    assert received and received == replayed[-len(received) :], "a subscriber and a replay differ"
    assert replay(context, server, numbers[-1]) == replayed[-1:]
    blocks = index(replayed)
    assert blocks, "nothing is cached"
    context.term()
    return len(received), len(blocks)
