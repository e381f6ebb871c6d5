"""A model whose stages are actors: the answers of one process, also if an actor's process is killed."""

import asyncio
import os
import signal

import inferno
import pytest
import ray
from inferno.ray.pipelines import Pipeline, pipeline

OPTIONS = {"max_tokens": 40, "temperature": 0.8, "logprobs": 2}
PROMPTS = [f"Once upon a time there was {animal}" for animal in ["a cat", "a dog", "an owl", "a fox"] * 4]


@pytest.fixture(scope="module")
def engine():
    if not ray.is_initialized():
        ray.init(num_cpus=2, object_store_memory=200 << 20, include_dashboard=False, log_to_driver=False)
    engine = pipeline(num_stages=2, num_cpus_per_stage=0.5, speculate=3)
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
