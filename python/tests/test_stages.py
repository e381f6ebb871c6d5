"""A model that is divided between processes: the answers of one process, also if a stage is killed."""

import asyncio
import gc
import subprocess
import sys
import time

import inferno
import pytest

KEY = "a secret of the tests"
# Serves a stage until its standard input is closed.
PROGRAM = """
import sys, inferno
first, end = map(int, sys.argv[1:3])
stage = inferno.Stage(None, range(first, end), key=sys.argv[3], threads=1)
print(stage.address, flush=True)
sys.stdin.read()
"""
OPTIONS = {"max_tokens": 40, "temperature": 0.8, "logprobs": 2}


def start(layers: range) -> tuple[subprocess.Popen, str]:
    command = [sys.executable, "-c", PROGRAM, str(layers.start), str(layers.stop), KEY]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("num_stages", [2, 4])
def test_a_killed_stage_is_replaced(num_stages: int) -> None:
    layers = inferno.divide(None, num_stages)
    started = [start(of_stage) for of_stage in layers]
    processes = [process for process, _ in started]
    addresses = inferno.StageAddresses([address for _, address in started], key=KEY)
    prompts = [f"Once upon a time there was {animal}" for animal in ["a cat", "a dog", "an owl", "a fox"] * 4]
    whole = inferno.Model(threads=1)
    expected = [whole.generate(prompt, seed=seed, **OPTIONS) for seed, prompt in enumerate(prompts)]
    model = inferno.Model.from_stages(None, addresses, num_lanes=2, speculate=3)

    async def generate(kills: bool) -> list[inferno.Completion]:
        engine = inferno.Engine(model)
        requests = [engine.generate(prompt, seed=seed, **OPTIONS) for seed, prompt in enumerate(prompts)]
        tasks = [asyncio.ensure_future(request) for request in requests]
        if kills:
            while engine.metrics()["generation_tokens"] < 50:
                await asyncio.sleep(0.001)
            processes[1].kill()
            processes[1], address = start(layers[1])
            addresses.set(1, address)
        return await asyncio.gather(*tasks)

    try:
        for kills in [True, False]:
            found = asyncio.run(generate(kills))
            for one, other in zip(found, expected):
                assert (one.text, one.tokens, one.finish_reason) == (other.text, other.tokens, other.finish_reason)
                assert [(it.token, it.logprob) for it in one.logprobs] == [(it.token, it.logprob) for it in other.logprobs]
        assert model.metrics()["failed_steps"] > 0
        assert "at 127.0.0.1:" in model.devices[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def test_requests_that_wait_for_a_lost_stage_fail_when_the_addresses_are_closed() -> None:
    stages = [inferno.Stage(None, layers, key=KEY, threads=1) for layers in inferno.divide(None, 2)]
    addresses = inferno.StageAddresses([stage.address for stage in stages], key=KEY)
    assert not addresses.is_used
    model = inferno.Model.from_stages(None, addresses)
    assert addresses.is_used
    stages[1].close()

    async def generate() -> list[object]:
        engine = inferno.Engine(model)
        requests = [engine.generate("Once"), engine.chat("Hello."), engine.embed("A story.")]
        requests.append(asyncio.to_thread(model.session().generate, "Once"))
        tasks = [asyncio.ensure_future(request) for request in requests]
        await asyncio.sleep(1)
        assert not any(task.done() for task in tasks)
        addresses.close()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)

    found = asyncio.run(generate())
    assert [type(each) for each in found] == [inferno.EngineStoppedError] * 4
    for later in (model.generate, model.chat, model.embed):
        with pytest.raises(inferno.EngineStoppedError):
            later("Once")
    del model, later, found
    gc.collect()
    deadline = time.monotonic() + 60
    while addresses.is_used:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_errors() -> None:
    stage = inferno.Stage(None, range(0, 3), key=KEY)
    other_key = inferno.StageAddresses([stage.address], key="another secret")
    with pytest.raises(inferno.InfernoError, match="another key"):
        inferno.Model.from_stages(None, other_key)
    addresses = inferno.StageAddresses([stage.address], key=KEY)
    with pytest.raises(inferno.InfernoError, match="the stages end with layer 3"):
        inferno.Model.from_stages(None, addresses)
    with pytest.raises(IndexError):
        addresses.set(1, stage.address)
    assert not stage.has_stopped
    stage.close()
    assert stage.has_stopped and stage.address == ""
    with pytest.raises(inferno.InfernoError, match="lost the stage"):
        inferno.Model.from_stages(None, addresses)
    with pytest.raises(inferno.InfernoError, match="there are no layers 7..99"):
        inferno.Stage(None, range(7, 99), key=KEY)
    with pytest.raises(inferno.InfernoError, match=r"can be divided into 1 to \d+ stages, not 99"):
        inferno.divide(None, 99)
    with pytest.raises(inferno.InvalidRequestError, match="key must not be empty"):
        inferno.Stage(None, range(0, 3), key="")
    with pytest.raises(inferno.InvalidRequestError, match="a range without gaps"):
        inferno.Stage(None, range(0, 4, 2), key=KEY)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 2}, "threads cannot be set"),
        ({"gpu_layers": 2}, "gpu_layers cannot be set"),
        ({"device": "cpu"}, "device cannot be set"),
        ({"num_lanes": 0}, "num_lanes must be between 1 and 256, but is 0"),
        ({"num_lanes": 257}, "num_lanes must be between 1 and 256, but is 257"),
    ],
)
def test_options_of_the_stages_and_numbers_of_lanes_out_of_range_are_rejected(options, message) -> None:
    addresses = inferno.StageAddresses(["127.0.0.1:1"], key=KEY)
    with pytest.raises(inferno.InvalidRequestError, match=message):
        inferno.Model.from_stages(None, addresses, **options)


def test_a_stage_accepts_the_largest_number_of_lanes() -> None:
    stages = [inferno.Stage(None, layers, key=KEY, threads=1) for layers in inferno.divide(None, 1)]
    addresses = inferno.StageAddresses([stage.address for stage in stages], key=KEY)
    model = inferno.Model.from_stages(None, addresses, num_lanes=256, context=64)
    assert model.generate("Once", max_tokens=2).usage.completion_tokens == 2
