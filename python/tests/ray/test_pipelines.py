"""A model whose stages are actors: the answers of one process, also if an actor's process is killed."""

import asyncio
import gc
import os
import signal
import threading
import time

import inferno
import pytest
import ray
from inferno.errors import EngineStoppedError
from inferno.ray import pipelines
from inferno.ray.pipelines import Pipeline, pipeline
from ray.util import placement_group_table

OPTIONS = {"max_tokens": 40, "temperature": 0.8, "logprobs": 2}
PROMPTS = [f"Once upon a time there was {animal}" for animal in ["a cat", "a dog", "an owl", "a fox"] * 4]


@pytest.fixture(scope="module")
def engine(cluster):
    engine = pipeline(num_stages=2, num_cpus_per_stage=0.25, speculate=3)
    yield engine
    engine.shut_down()


@pytest.fixture(scope="module")
def expected() -> list[inferno.Completion]:
    model = inferno.Model(threads=1)
    return [model.generate(prompt, seed=seed, **OPTIONS) for seed, prompt in enumerate(PROMPTS)]


def contents(completion: inferno.Completion) -> tuple:
    logprobs = [(it.token, it.logprob) for it in completion.logprobs or []]
    return completion.text, completion.tokens, completion.finish_reason, logprobs


async def generate(engine: Pipeline, kills: bool) -> list[inferno.Completion]:
    requests = [engine.generate(prompt, seed=seed, **OPTIONS) for seed, prompt in enumerate(PROMPTS)]
    tasks = [asyncio.ensure_future(request) for request in requests]
    if kills:
        before = engine.metrics()["generation_tokens"]
        while engine.metrics()["generation_tokens"] < before + 50:
            await asyncio.sleep(0.001)
        os.kill(ray.get(engine.stages[1].pid.remote()), signal.SIGKILL)
    return await asyncio.gather(*tasks)


def test_requests_generate_what_one_process_does(engine, expected) -> None:
    # On a busy machine, the second requests may have ended before the loss, which the third ones then notice.
    for kills in [False, True, False]:
        found = asyncio.run(generate(engine, kills))
        assert [contents(one) for one in found] == [contents(other) for other in expected]
    assert engine.metrics()["failed_steps"] > 0


def test_each_stage_is_a_process(engine) -> None:
    assert len({ray.get(stage.pid.remote()) for stage in engine.stages}) == 2
    assert len(engine.model.devices) == 2


def test_open_and_later_requests_fail_when_it_is_shut_down(engine) -> None:
    async def shut_down(stopped: Pipeline) -> list[object]:
        requests = [stopped.generate(prompt) for prompt in PROMPTS]
        requests += [stopped.chat("Tell me a story."), stopped.embed("A story.")]
        requests += [asyncio.to_thread(stopped.model.generate, "Once"), respond(app)]
        tasks = [asyncio.ensure_future(request) for request in requests]
        await asyncio.sleep(2)
        assert not any(task.done() for task in tasks)
        await asyncio.to_thread(stopped.shut_down)
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)

    with pipeline(num_stages=2, num_cpus_per_stage=0.25, context=512) as stopped:
        app = inferno.asgi_app(stopped.model)
        for stage in stopped.stages:
            ray.kill(stage)
        found = asyncio.run(shut_down(stopped))
    assert found.pop() == 503
    assert [type(each) for each in found] == [EngineStoppedError] * len(found)
    for later in (stopped.model.generate, stopped.model.chat, stopped.model.embed):
        with pytest.raises(EngineStoppedError):
            later("Once")
    assert asyncio.run(respond(app)) == 503
    assert stopped.model.name == "ember"
    assert engine.model.generate("Once", max_tokens=1).text


async def respond(app) -> int:
    """Returns the status of a response."""
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": headers}
    messages = [{"type": "http.request", "body": b'{"prompt": "Once"}'}]

    async def receive():
        return messages.pop() if messages else await asyncio.sleep(600)

    sent = []

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"gpu_layers": 2}, inferno.InvalidRequestError, "gpu_layers cannot be set"),
        ({"num_lanes": 0}, inferno.InvalidRequestError, "num_lanes must be between 1 and 256, but is 0"),
        ({"num_lanes": 257}, inferno.InvalidRequestError, "num_lanes must be between 1 and 256, but is 257"),
        ({"contxt": 512}, TypeError, "unknown argument"),
    ],
)
def test_invalid_options_are_rejected_before_actors_are_started(cluster, options, error, message) -> None:
    groups = len(placement_group_table())
    with pytest.raises(error, match=message):
        pipeline(num_cpus_per_stage=0.25, **options)
    assert len(placement_group_table()) == groups


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_actors_of_a_pipeline_that_is_no_longer_used_end(engine) -> None:
    unused = pipeline(num_stages=2, num_cpus_per_stage=0.25, context=512)
    processes = [ray.get(stage.pid.remote()) for stage in unused.stages]
    model = unused.model
    del unused
    gc.collect()
    time.sleep(2)
    assert model.generate("Once", max_tokens=1).text
    del model
    gc.collect()
    deadline = time.monotonic() + 60
    while any(is_running(process) for process in processes):
        assert time.monotonic() < deadline, "the actors were not ended"
        time.sleep(0.1)


def test_a_cluster_without_room_causes_a_warning_and_the_wait_can_be_interrupted(engine, monkeypatch) -> None:
    monkeypatch.setattr(pipelines, "_ROOM_WARNING_DELAY", 0.2)
    # A shell starts programs in the background without this handler.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    message = r"no room for 3 stages .* reserves 64 CPU \(\S+ available\)"
    with pytest.warns(RuntimeWarning, match=message) as warned, pytest.raises(KeyboardInterrupt):
        pipeline(num_stages=3, num_cpus_per_stage=64)
    signal.signal(signal.SIGINT, previous)
    assert warned[0].filename == __file__
    groups = [group for group in placement_group_table().values() if len(group["bundles"]) == 3]
    assert [group["state"] for group in groups] == ["REMOVED"]
