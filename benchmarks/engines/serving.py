#!/usr/bin/env python3
"""Measure `inferno serve` under load next to llama.cpp's batch of as many sequences, and its latency while a long prompt arrives.

    serving.py MODEL.gguf [--clients 16] [--prompt-tokens 60] [--max-tokens 128] [--long-prompt 4000] [--rounds 3]
               [--requests 128] [--llama-cpp-python PYTHON]

Each round measures the server, then llama.cpp alone: its batch has neither prompts nor requests. The prefix cache is off. The
load generator is `inferno bench serve`; its share of the processor is in the table. Then, `--streams` clients read tokens while one
request with a long prompt arrives, and the times between their tokens are compared with those before it. Requires an idle machine.
"""
import argparse
import http.client
import json
import os
import random
import resource
import subprocess
import sys
import threading
import time

import compare

PORT = 8390
VOCABULARY = 50_000


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--requests", type=int, default=128)
    parser.add_argument("--prompt-tokens", type=int, default=60)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--long-prompt", type=int, default=4000, help="tokens of the long prompt")
    parser.add_argument("--streams", type=int, default=4, help="running streams while the long prompt arrives")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inferno", default="target/release/inferno", help="path of the inferno binary")
    parser.add_argument("--llama-cpp-python", metavar="PYTHON", help="Python interpreter with llama_cpp")
    return parser.parse_args()


def start_server(args):
    command = [args.inferno, "serve", "-m", args.model, "--port", str(PORT), "--no-prefix-cache", "--threads", str(args.threads)]
    command += ["--context", str(args.long_prompt + 512)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PORT)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return server
        except OSError:
            pass
        if server.poll() is not None:
            break
        time.sleep(0.2)
    sys.exit("the server did not start")


def load(args):
    """Returns the report of one round, and the load generator's share of one core."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    command = [args.inferno, "bench", "serve", "--url", f"http://127.0.0.1:{PORT}", "--concurrency", args.clients, "--requests", args.requests]
    command += ["--prompt-tokens", args.prompt_tokens, "--max-tokens", args.max_tokens, "-o", "json"]
    report = compare.run_json([str(word) for word in command])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return report, used / (time.monotonic() - started)


def batch_rate(args):
    """Returns the tokens per second of llama.cpp's batch, at the mean depth of the requests."""
    steps = 24
    depth = args.prompt_tokens + args.max_tokens // 2 - steps // 2
    command = [args.llama_cpp_python, os.path.join(compare.FOLDER, "peer_llama_cpp.py"), args.model, "-p", 0, "-n", steps, "-d", depth]
    command += ["--batch", args.clients, "--threads", args.threads, "-r", 2]
    return compare.run_json([str(word) for word in command])["batch"][str(args.clients)]


def stream(prompt_tokens, max_tokens, seed, times):
    """Appends the time of each token of one request to `times`."""
    ids = random.Random(seed).choices(range(1000, VOCABULARY), k=prompt_tokens)
    body = {"prompt": ids, "max_tokens": max_tokens, "ignore_eos": True, "stream": True, "temperature": 0}
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    connection.request("POST", "/v1/completions", json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(response.read().decode())
    for line in response:
        if line.startswith(b"data: {"):
            times.append(time.monotonic())


def latencies(args):
    """Returns the times between tokens of running streams before and while a long prompt is processed, in seconds."""
    running = [[] for _ in range(args.streams)]
    threads = [threading.Thread(target=stream, args=(args.prompt_tokens, 400, seed, times)) for seed, times in enumerate(running)]
    for thread in threads:
        thread.start()
    while min(len(times) for times in running) < 40:
        if not all(thread.is_alive() for thread in threads):
            sys.exit("a stream ended early")
        time.sleep(0.05)
    begin, first = time.monotonic(), []
    stream(args.long_prompt, 1, 1000, first)
    for thread in threads:
        thread.join()
    gaps = [(a, b - a) for times in running for a, b in zip(times, times[1:])]
    # All of them have begun, and the long prompt has not.
    together = max(times[0] for times in running)
    before = [gap for start, gap in gaps if together <= start and start + gap <= begin]
    during = [gap for start, gap in gaps if begin <= start < first[0]]
    return before, during, first[0] - begin


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main():
    args = parse_arguments()
    rounds = []
    for _ in range(args.rounds):
        server = start_server(args)
        try:
            report, share = load(args)
            before, during, seconds = latencies(args)
        finally:
            server.terminate()
            server.wait()
        rounds.append((report, share, batch_rate(args) if args.llama_cpp_python else None, before, during, seconds))
    print(f"{args.clients} clients, {args.prompt_tokens} prompt tokens, {args.max_tokens} new tokens, {args.threads} threads\n")
    print("| round | tokens/s | first token p50, s | p99 | llama.cpp's batch, tokens/s | ratio | load generator, cores |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for number, (report, share, peer, *_) in enumerate(rounds, 1):
        found = report["rounds"][0]
        rate, first = found["output_tps"], found["times_seconds"]["time_to_first_token"]
        ratio = f"{peer:.1f} | {rate / peer:.2f}" if peer else " | "
        print(f"| {number} | {rate:.1f} | {first['p50']:.2f} | {first['p99']:.2f} | {ratio} | {share:.2f} |")
    print(f"\n{args.streams} streams, and a prompt of {args.long_prompt} tokens\n")
    print("| round | between tokens p50 before, ms | p99 before | p50 during | p99 during | p99 during / median during | p99 during / median before | prompt, s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for number, (*_, before, during, seconds) in enumerate(rounds, 1):
        cells = [percentile(gaps, share) * 1e3 for gaps in (before, during) for share in (0.5, 0.99)]
        print(f"| {number} | {' | '.join(f'{cell:.1f}' for cell in cells)} | {cells[3] / cells[2]:.2f} | {cells[3] / cells[0]:.1f} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
