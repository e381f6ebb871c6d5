"""Requests on asyncio's event loop."""

import asyncio
import threading
import time

import pytest

import inferno

PROMPT = "Once upon a time"


async def wait_until_idle(engine):
    async def wait():
        while engine.metrics()["num_running"] > 0 or engine.metrics()["num_waiting"] > 0:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(wait(), 20)


def test_concurrent_requests_generate_what_they_would_alone(model):
    async def main():
        engine = inferno.Engine(model)
        options = [{"seed": seed, "max_tokens": 15, "temperature": 1.0} for seed in range(20)]
        together = await asyncio.gather(*(engine.generate(PROMPT, **each) for each in options))
        for completion, each in zip(together[::7], options[::7]):
            assert completion.tokens == model.generate(PROMPT, **each).tokens
        chunks = [chunk async for chunk in engine.stream(PROMPT, **options[3])]
        assert [chunk.token for chunk in chunks[:-1]] == together[3].tokens

    asyncio.run(main())


def test_closing_an_iterator_cancels_its_request(model):
    async def main():
        engine = inferno.Engine(model)
        chunks = engine.stream(PROMPT, ignore_eos=True)
        async for _ in chunks:
            break
        await chunks.aclose()
        await wait_until_idle(engine)

    asyncio.run(main())


def test_cancelling_a_task_cancels_its_request(model):
    async def main():
        engine = inferno.Engine(model)
        tasks = [asyncio.create_task(engine.generate(PROMPT, ignore_eos=True)) for _ in range(4)]
        tasks.append(asyncio.create_task(engine.chat("Hello", ignore_eos=True)))
        while engine.metrics()["num_running"] == 0:
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        await wait_until_idle(engine)

    asyncio.run(main())


def test_cancelling_a_task_cancels_its_embeddings(model):
    async def main():
        engine = inferno.Engine(model)
        texts = [f"{number} birds" + " and the sea" * 100 for number in range(1000)]
        task = asyncio.create_task(engine.embed(texts))
        while engine.metrics()["num_running"] == 0:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until_idle(engine)

    started = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - started < 10


def test_the_event_loop_runs_while_a_prompt_is_encoded(model, monkeypatch):
    submit = inferno.Model._submit
    monkeypatch.setattr(inferno.Model, "_submit", lambda *arguments: time.sleep(0.3) or submit(*arguments))

    async def main():
        engine, num_ticks = inferno.Engine(model), 0
        task = asyncio.create_task(engine.generate(PROMPT, max_tokens=1))
        chunks = engine.stream(PROMPT, max_tokens=1)
        tasks = {task, asyncio.ensure_future(chunks.__anext__())}
        for _ in range(20):
            await asyncio.sleep(0.01)
            num_ticks += not any(task.done() for task in tasks)
        assert num_ticks > 10
        await asyncio.gather(*tasks)
        await chunks.aclose()

    asyncio.run(main())


def test_cancelling_a_task_cancels_a_request_that_is_being_encoded(model, monkeypatch):
    submit, may_submit, streams = inferno.Model._submit, threading.Event(), []

    def submit_later(*arguments):
        may_submit.wait(10)
        streams.append(submit(*arguments))
        return streams[0]

    monkeypatch.setattr(inferno.Model, "_submit", submit_later)

    async def main():
        task = asyncio.create_task(inferno.Engine(model).generate(PROMPT, ignore_eos=True))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_submit.set()
        while not streams:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        # A closed stream has no more chunks.
        assert streams[0].next() is None

    asyncio.run(main())


def test_the_event_loop_runs_while_the_model_computes(model):
    async def main():
        engine = inferno.Engine(model)
        task = asyncio.create_task(engine.generate(PROMPT, max_tokens=300, ignore_eos=True))
        num_ticks = 0
        while not task.done():
            await asyncio.sleep(0.001)
            num_ticks += 1
        assert num_ticks > 20

    asyncio.run(main())


def test_priority_decides_which_waiting_request_runs_first():
    model = inferno.Model(device="cpu", max_num_seqs=1, prefix_cache=False)

    async def main():
        engine = inferno.Engine(model)
        finished = []

        async def request(name, priority, max_tokens=30):
            await engine.generate(PROMPT, max_tokens=max_tokens, ignore_eos=True, priority=priority)
            finished.append(name)

        # Long enough to run until the others wait.
        first = asyncio.create_task(request("first", 0, max_tokens=600))
        while engine.metrics()["num_running"] == 0:
            await asyncio.sleep(0.001)
        await asyncio.gather(first, request("late", 5), request("early", -5))
        assert finished == ["first", "early", "late"]

    asyncio.run(main())


def test_a_full_queue_rejects_requests():
    model = inferno.Model(device="cpu", max_num_seqs=1, max_num_waiting=1)

    async def main():
        engine = inferno.Engine(model)
        # Long enough to run, on any machine, until the requests below were sent.
        running = asyncio.create_task(engine.generate(PROMPT, ignore_eos=True))
        while engine.metrics()["num_running"] == 0:
            await asyncio.sleep(0.001)
        waiting = asyncio.create_task(engine.generate(PROMPT, max_tokens=20))
        while engine.metrics()["num_waiting"] == 0:
            await asyncio.sleep(0.001)
        with pytest.raises(inferno.QueueFullError) as error:
            await engine.generate(PROMPT, max_tokens=20)
        assert error.value.fields == {"limit": 1}
        running.cancel()
        assert isinstance(await waiting, inferno.Completion)

    asyncio.run(main())


def test_a_timeout_ends_a_generation(model):
    completion = asyncio.run(inferno.Engine(model).generate(PROMPT, ignore_eos=True, timeout=0.05))
    assert completion.finish_reason == "deadline_exceeded"


def test_conversations_and_embeddings(model):
    async def main():
        engine = inferno.Engine(model)
        answer = await engine.chat("Who are you?", temperature=0, max_tokens=10)
        chunks = [chunk async for chunk in engine.stream_chat("Who are you?", temperature=0, max_tokens=10)]
        assert "".join(chunk.text for chunk in chunks) == answer.text
        assert (await engine.embed("the sea")).tolist() == model.embed("the sea").tolist()
        texts = [f"{number} birds" for number in range(20)]
        assert (await engine.embed(texts)).tolist() == model.embed(texts).tolist()
        assert (await engine.embed([])).shape == (0, model.embedding_size)
        with pytest.raises(inferno.InvalidRequestError):
            await engine.chat("Hello", temperature=-1)
        with pytest.raises(inferno.InvalidRequestError):
            await engine.generate(PROMPT, temperature=-1)

    asyncio.run(main())
