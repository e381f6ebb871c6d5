"""A cluster of this machine alone, with two cores, that all tests share."""

import os
import socket

import pytest
import ray
from ray import serve

# The processes of the cluster inherit these.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_DEDUP_LOGS"] = "0"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="session")
def metrics_port() -> int:
    return free_port()


@pytest.fixture(scope="session")
def cluster(metrics_port):
    context = ray.init(
        num_cpus=2,
        object_store_memory=200 << 20,
        include_dashboard=False,
        _metrics_export_port=metrics_port,
        log_to_driver=False,
    )
    yield context
    ray.shutdown()


@pytest.fixture(scope="session")
def address(cluster) -> str:
    port = free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    yield f"http://127.0.0.1:{port}"
    serve.shutdown()
