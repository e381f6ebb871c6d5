"""Calls from several threads: none holds the interpreter's lock while it waits, and lists share the engine's queue."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import inferno

PROMPT = "Once upon a time"
TOKENS = [5] * 1000


def longest_pause(work):
    """Returns the longest time for which another thread did not run while `work` did, and the time that `work` took."""
    ticks, stop = [time.monotonic()], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.monotonic()
    work()
    took = time.monotonic() - started
    ticks.append(time.monotonic())
    stop.set()
    thread.join()
    return max(after - before for before, after in zip(ticks, ticks[1:])), took


def create_session(model):
    return model.session


def drop_session(model):
    return [model.session()].clear


def read_cache_events(model):
    return model.cache_events


@pytest.mark.parametrize("prepare", [create_session, drop_session, read_cache_events])
def test_other_threads_run_while_a_call_waits_for_a_step(prepare):
    model = inferno.Model(device="cpu", max_num_batched_tokens=4096, prefix_cache=False)
    call = prepare(model)
    thread = threading.Thread(target=lambda: model.generate([TOKENS] * 8, max_tokens=1))
    thread.start()
    while model.metrics()["num_running"] + model.metrics()["num_waiting"] == 0:
        time.sleep(0.001)
    pause, took = longest_pause(call)
    thread.join()
    assert pause < max(0.1, took / 2)


def test_other_threads_run_while_a_dropped_model_finishes_its_step():
    models = [inferno.Model(device="cpu", max_num_batched_tokens=4096, prefix_cache=False)]
    running = [models[0].stream(TOKENS, max_tokens=1) for _ in range(8)]
    while models[0].metrics()["num_running"] + models[0].metrics()["num_waiting"] == 0:
        time.sleep(0.001)

    def drop():
        models.clear()
        # Streams keep their model.
        running.clear()

    pause, took = longest_pause(drop)
    assert pause < max(0.1, took / 2)


def test_lists_from_several_threads_wait_for_room_in_the_queue():
    model = inferno.Model(device="cpu", max_num_seqs=1, max_num_waiting=2)
    prompts = [f"{number} birds" for number in range(12)]
    with ThreadPoolExecutor(8) as threads:
        lists = [threads.submit(model.generate, prompts, max_tokens=4, temperature=0) for _ in range(4)]
        rows = [threads.submit(model.embed, prompts) for _ in range(4)]
        lists, rows = ([each.result() for each in calls] for calls in (lists, rows))
    assert all([each.tokens for each in completions] == [each.tokens for each in lists[0]] for completions in lists)
    assert len(lists[0]) == 12 and all(np.array_equal(each, rows[0]) for each in rows)
