"""The thread that watches the stages of a pipeline. No pipeline runs meanwhile, since its thread would see the replaced Ray."""

import threading
from types import SimpleNamespace

import ray
from inferno.ray import pipelines


def test_the_monitor_survives_errors_of_ray_and_ends_with_it(monkeypatch) -> None:
    states = iter([True, True, False, False])
    calls = []

    def wait(*_, **__):
        calls.append(1)
        raise RuntimeError("the cluster is busy")

    # It has nothing that ends actors, and would start no cluster.
    fake = SimpleNamespace(is_initialized=lambda: next(states), wait=wait, exceptions=ray.exceptions)
    monkeypatch.setattr(pipelines, "ray", fake)
    monkeypatch.setattr(pipelines, "_MONITOR_INTERVAL", 0.01)
    addresses = SimpleNamespace(is_used=True)
    pipelines._monitor([], None, addresses, threading.Event())
    assert len(calls) == 2
