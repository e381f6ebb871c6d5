"""Starts servers and routers, and reads the metrics of servers."""

import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

STARTUP_SECONDS = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_ready(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


class Process:
    """A program that answers HTTP requests, with its log in a file."""

    def __init__(self, command, port, log):
        self.url = f"http://127.0.0.1:{port}"
        self.port = port
        self.log = Path(log)
        with open(log, "w") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def wait_until_ready(self, path="/health"):
        deadline = time.monotonic() + STARTUP_SECONDS
        while not is_ready(self.url + path):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{self.log} is not the log of a running server:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.05)
        return self

    def send(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Stops the program; returns its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Server(Process):
    """`inferno serve` with the embedded model, which publishes the events of its cache."""

    def __init__(self, binary, folder, name):
        port, self.events, self.replays = free_port(), free_port(), free_port()
        config = {
            "enable_kv_cache_events": True,
            "endpoint": f"tcp://127.0.0.1:{self.events}",
            "replay_endpoint": f"tcp://127.0.0.1:{self.replays}",
        }
        command = [binary, "serve", "--port", str(port), "--threads", "1", "--max-num-seqs", "8"]
        # Room for the prefixes of all groups of requests.
        command += ["--kv-cache-tokens", "16384", "--kv-events-config", json.dumps(config)]
        super().__init__(command, port, folder / f"{name}.log")

    def cache_counts(self):
        """Prompt tokens looked up in the prefix cache, and those found."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as response:
            text = response.read().decode()
        names = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total")
        return tuple(float(re.search(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)[1]) for name in names)


def start_servers(binary, folder, names):
    servers = [Server(binary, folder, name) for name in names]
    return [server.wait_until_ready() for server in servers]


def start_router(command, port, log):
    """Starts a router, and waits until it answers a completion."""
    router = Process(command, port, log)
    router.wait_until_ready("/v1/models")
    return router


def kill(server):
    server.send(signal.SIGKILL)


def drain(server):
    server.send(signal.SIGTERM)
