"""How long a model stays in memory: as long as it is referenced, and until its requests have ended."""

import asyncio
import gc
import json
import os
import threading
import time
from pathlib import Path

import pytest

import inferno
from inferno.chat import PATH, headers, read_completion
from inferno.streams import read

PROMPT = "Once upon a time"
QUESTION = "Tell me a story."
OPTIONS = {"temperature": 0, "max_tokens": 100}


def loaded() -> inferno.Model:
    return inferno.Model(device="cpu", context=512)


def test_streams_are_complete_without_another_reference_to_their_model(model):
    expected = model.generate(PROMPT, **OPTIONS)
    chunks = list(loaded().stream(PROMPT, **OPTIONS))
    assert [chunk.token for chunk in chunks if chunk.token is not None] == expected.tokens
    assert chunks[-1].finish_reason == "length"
    chunks = list(loaded().session().stream(PROMPT, **OPTIONS))
    assert [chunk.token for chunk in chunks if chunk.token is not None] == expected.tokens
    chat = model.chat(QUESTION, **OPTIONS)
    chunks = list(loaded().stream_chat(QUESTION, **OPTIONS))
    assert "".join(chunk.text for chunk in chunks) == chat.text
    values = loaded()._model.submit_embedding(model.tokenize(PROMPT, add_special=True))
    assert b"".join(read(values)) == bytes(model.embed(PROMPT))


def test_streams_that_were_opened_before_a_model_was_closed_are_complete(model):
    expected = model.chat(QUESTION, **OPTIONS).text
    with loaded() as closed:
        chunks = closed.stream_chat(QUESTION, **OPTIONS)
        events = closed.cache_events()
    assert "".join(chunk.text for chunk in chunks) == expected
    assert next(events)[0].kind == "stored"


def test_cache_events_end_with_their_model():
    closed = loaded()
    read_events = []
    thread = threading.Thread(target=lambda events: read_events.extend(events), args=[closed.cache_events()], daemon=True)
    thread.start()
    closed.generate(PROMPT * 16, max_tokens=1)
    closed.close()
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert read_events[0][0].kind == "stored"


def test_a_response_is_complete_without_another_reference_to_its_server(model):
    body = json.dumps({"messages": [{"role": "user", "content": QUESTION}], **OPTIONS}).encode()
    response = loaded()._model.server().request("POST", PATH, headers(body), body)
    assert read_completion(response).text == model.chat(QUESTION, **OPTIONS).text


def test_a_model_that_another_thread_closes_completes_its_requests(model):
    closed = loaded()
    results = []
    thread = threading.Thread(target=lambda: results.append(closed.generate(PROMPT, **OPTIONS, ignore_eos=True)))
    thread.start()
    while closed.metrics()["generation_tokens"] < 3:
        time.sleep(0.001)
    closed.close()
    thread.join()
    assert results[0].finish_reason == "length"
    assert results[0].tokens == model.generate(PROMPT, **OPTIONS, ignore_eos=True).tokens


def test_requests_on_the_event_loop_are_complete_without_another_reference_to_their_engine(model):
    async def main():
        assert (await inferno.Engine(loaded()).chat(QUESTION, **OPTIONS)).text == model.chat(QUESTION, **OPTIONS).text
        chunks = inferno.Engine(loaded()).stream(PROMPT, **OPTIONS)
        return [chunk.token async for chunk in chunks if chunk.token is not None]

    assert asyncio.run(main()) == model.generate(PROMPT, **OPTIONS).tokens


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted on Linux")
@pytest.mark.parametrize("ends", [list, lambda chunks: chunks.close()])
def test_the_end_of_the_last_stream_releases_the_model(ends):
    def threads():
        return set(os.listdir("/proc/self/task"))

    # Threads of earlier tests may still be ending.
    before = threads()
    chunks = loaded().stream(PROMPT, **OPTIONS)
    next(chunks)
    gc.collect()
    started = threads() - before
    assert started
    ends(chunks)
    # Threads for blocking calls end when they were idle for some seconds.
    deadline = time.monotonic() + 30
    while started & threads():
        assert time.monotonic() < deadline
        time.sleep(0.01)
