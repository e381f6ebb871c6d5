"""Processes that are forked: they cannot use the model of their parent, and they can load their own."""

import asyncio
import os
import time
from pathlib import Path

import pytest

import inferno

PROMPT = "Once upon a time"
QWEN3 = Path(__file__).parents[2] / "crates/inferno/tests/fixtures/qwen3.gguf"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is not available")


def in_child(call) -> str:
    """Returns what `call` returns in a forked process, or its exception."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            result = str(call())
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(writer, result.encode())
        os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + 30
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(process, 9)
        time.sleep(0.01)
    with os.fdopen(reader) as pipe:
        return pipe.read()


def test_every_call_of_a_model_that_was_loaded_before_a_fork_fails(model):
    session, chunks, server = model.session(), model._model.submit([1], {}), model._model.server()
    events, stage = model._model.cache_events(), inferno.Stage(None, range(0, 3), key="key")
    calls = [
        lambda: model.generate(PROMPT),
        lambda: model.chat("Hello"),
        lambda: model.embed(PROMPT),
        lambda: model.logits(PROMPT),
        lambda: model.name,
        lambda: model.metrics(),
        lambda: model.session(),
        lambda: session.generate(PROMPT),
        lambda: session.extend(PROMPT),
        lambda: session.tokens,
        lambda: chunks.next(),
        lambda: chunks.poll(print),
        lambda: events.next(),
        lambda: server.request("GET", "/health", [("host", b"localhost")], b""),
        lambda: inferno.asgi_app(model),
        lambda: stage.close(),
    ]
    for call in calls:
        assert in_child(call).startswith("RuntimeError: the model was loaded before this process was forked")
    # The parent continues.
    assert chunks.next().token is not None
    chunks.close()


def test_a_forked_process_drops_the_model_of_its_parent_without_waiting():
    models = [inferno.Model(device="cpu", context=256)]
    running = [models[0].stream(PROMPT, ignore_eos=True)]
    next(running[0])

    def drop():
        running[0].close()
        running.clear()
        models.clear()
        return "dropped"

    assert in_child(drop) == "dropped"
    assert next(running[0]).token is not None


def test_a_forked_process_can_load_a_model(model):
    # Quantizing while loading uses threads that a fork does not copy.
    options = {"device": "cpu", "requantize": "q8_0"}
    expected = inferno.Model(QWEN3, **options).generate(PROMPT, max_tokens=4, temperature=0).tokens

    async def generate(source, **options):
        return (await inferno.Engine(source, **options).generate(PROMPT, max_tokens=4, temperature=0)).tokens

    # The parent has called its event loop from a thread, which a fork does not copy either.
    assert asyncio.run(generate(model)) == model.generate(PROMPT, max_tokens=4, temperature=0).tokens
    assert in_child(lambda: asyncio.run(generate(QWEN3, **options))) == str(expected)
