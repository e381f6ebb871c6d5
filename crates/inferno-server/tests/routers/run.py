"""Tests cache-aware routers in front of four servers. See `.ci/routers`.

usage: run.py INFERNO BIN_FOLDER LOG_FOLDER [ROUTER...]
"""

import sys
import time
from pathlib import Path

import events
import workload
from processes import drain, free_port, kill, start_router, start_servers

NUM_SERVERS = 4
# Of the hit rate of one server.
LOWEST_RATIO = 0.9


def vllm_router(bin_folder, port, servers, policy):
    urls = [server.url for server in servers]
    # A server that failed is tried again after two seconds, instead of a minute.
    command = [bin_folder / "vllm-router", "--host", "127.0.0.1", "--port", str(port), "--policy", policy]
    command += ["--cb-timeout-duration-secs", "2", "--prometheus-port", str(free_port()), "--worker-urls", *urls]
    return command


def vllm_cache_aware(bin_folder, port, servers):
    return vllm_router(bin_folder, port, servers, "cache_aware")


def vllm_kv_aware(bin_folder, port, servers):
    command = vllm_router(bin_folder, port, servers, "kv_aware")
    command += ["--kv-event-model", "ember", "--kv-event-block-size", "16"]
    for server in servers:
        command += ["--kv-event-source", f"{server.url}=tcp://127.0.0.1:{server.events}"]
        command += ["--kv-event-replay-source", f"{server.url}=tcp://127.0.0.1:{server.replays}"]
    return command


def smg_cache_aware(bin_folder, port, servers):
    urls = [server.url for server in servers]
    command = [bin_folder / "smg", "launch", "--host", "127.0.0.1", "--port", str(port), "--backend", "vllm"]
    command += ["--policy", "cache_aware", "--prometheus-port", str(free_port()), "--worker-urls", *urls]
    return command


ROUTERS = {
    "vllm-router cache_aware": vllm_cache_aware,
    "vllm-router kv_aware": vllm_kv_aware,
    "smg cache_aware": smg_cache_aware,
}


def ensure_all_succeeded(outcomes):
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if errors:
        raise SystemExit(f"{len(errors)} of {len(outcomes)} requests failed, the first with: {errors[0]}")


def hit_rate(servers, port, seed):
    """The share of prompt tokens that are found in the caches, over all servers."""
    before = [server.cache_counts() for server in servers]
    ensure_all_succeeded(workload.run(port, workload.prompts(seed)))
    after = [server.cache_counts() for server in servers]
    queries, hits = (
        sum(now[counter] - then[counter] for now, then in zip(after, before)) for counter in (0, 1)
    )
    return hits / queries


def one_server(binary, folder):
    """Checks the events of one server, and returns its hit rate."""
    (server,) = start_servers(binary, folder, ["alone"])
    try:
        rates = []
        received, cached = events.check(server, lambda: rates.append(hit_rate([server], server.port, seed=1)))
        print(f"events: {received} messages received and replayed, {cached} blocks cached", flush=True)
    finally:
        status = server.stop()
    if status != 0:
        raise SystemExit(f"the server exited with {status}")
    print(f"one server: hit rate {rates[0]:.3f}", flush=True)
    return rates[0]


def survive_failures(servers, port):
    """Kills one server and drains another while requests arrive; returns the number of lost streams."""
    times = {}

    def on_progress(done):
        if done == 40:
            times["killed"] = time.monotonic()
            kill(servers[0])
        elif done == 80:
            drain(servers[1])

    outcomes = workload.run(port, workload.prompts(seed=2), max_tokens=40, streams=True, on_progress=on_progress)
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        if not (outcome.is_stream and outcome.started <= times["killed"] <= outcome.ended):
            when = outcome.started - times["killed"]
            raise SystemExit(f"a request that began {when:+.2f} s after the kill was lost: {outcome.error}")
    if (status := servers[1].process.wait(timeout=40)) != 0:
        raise SystemExit(f"the drained server exited with {status}")
    return len(failed), len(outcomes)


def check_router(name, binary, bin_folder, folder, lowest_rate):
    label = name.replace(" ", "-")
    servers = start_servers(binary, folder, [f"{label}-{number}" for number in range(NUM_SERVERS)])
    started, router = list(servers), None
    try:
        port = free_port()
        command = [str(word) for word in ROUTERS[name](bin_folder, port, servers)]
        router = start_router(command, port, folder / f"{label}.log")
        started.append(router)
        rate = hit_rate(servers, port, seed=1)
        print(f"{name}: hit rate {rate:.3f}", flush=True)
        if rate < lowest_rate:
            raise SystemExit(f"{name}: the hit rate of {rate:.3f} is below {lowest_rate:.3f}")
        lost, total = survive_failures(servers, port)
        print(f"{name}: {total} requests during a kill and a drain, {lost} streams of the killed server lost", flush=True)
    finally:
        for process in reversed(started):
            process.stop()


def main():
    binary, bin_folder, folder = (Path(argument).absolute() for argument in sys.argv[1:4])
    names = sys.argv[4:] or list(ROUTERS)
    lowest_rate = LOWEST_RATIO * one_server(binary, folder)
    for name in names:
        check_router(name, binary, bin_folder, folder, lowest_rate)


if __name__ == "__main__":
    main()
