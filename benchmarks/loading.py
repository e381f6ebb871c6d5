#!/usr/bin/env python3
"""Measure how fast files are loaded from the disk and from memory, and the memory and the decode rate of the loaded models.

    loading.py MODEL.gguf... [-p 480] [-n 32] [--threads 2] [--rounds 3] [--inferno PATH]

Requires root, to remove files from the system's page cache, and an idle machine. Reads of the file alone, by a program that
does nothing else, are the limit of loading. Memory is the largest resident size of the process, with the part of the mapped file
that was read in place. The estimate is that of `--dry-run`, and "file and cache" the size of the file and of the KV cache.

The table is Markdown, for the dated records in this folder.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

READ_BYTES = 1 << 22
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("-p", "--prompt-tokens", type=int, default=480)
    parser.add_argument("-n", "--decode-tokens", type=int, default=32)
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inferno", default="target/release/inferno", help="path of the inferno binary")
    return parser.parse_args()


def drop_page_cache():
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def read_seconds(model):
    started = time.perf_counter()
    with open(model, "rb", buffering=0) as file:
        while file.read(READ_BYTES):
            pass
    return time.perf_counter() - started


def bench(args, model):
    """Returns the report of `inferno bench`, and the largest resident size in bytes."""
    command = [args.inferno, "bench", "-m", model, "-p", args.prompt_tokens, "-n", args.decode_tokens, "-r", 1, "-o", "json"]
    command += ["--threads", args.threads]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"inferno bench {model} failed")
    return json.loads(output), usage.ru_maxrss * 1024


def estimate(args, model):
    """Returns the memory that `--dry-run` predicts, and the KV cache in it, in bytes."""
    command = [args.inferno, "bench", "-m", model, "--dry-run", "--threads", str(args.threads)]
    command += ["-p", str(args.prompt_tokens), "-n", str(args.decode_tokens)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    sizes = dict(re.findall(r"^(.+?) {2,}([\d.]+ [KMG]iB)", finished.stdout + finished.stderr, re.MULTILINE))

    def size(name):
        number, unit = sizes.get(name, "0 KiB").split()
        return float(number) * UNITS[unit]

    return size("total"), size("KV cache")


def main():
    args = parse_arguments()
    columns = [
        "size, GB", "reads from disk, GB/s", "loading from disk", "reads from page cache, GB/s", "loading from page cache",
        "memory, GB", "memory / estimate", "memory / (file + KV cache)", "decode, tokens/s", "share of bandwidth limit",
    ]
    print(f"| | {' | '.join(columns)} |")
    print("|---" + "|---:" * len(columns) + "|")
    for model in args.models:
        size = os.path.getsize(model)
        columns = [[] for _ in range(7)]
        for _ in range(args.rounds):
            drop_page_cache()
            columns[0].append(size / read_seconds(model))
            drop_page_cache()
            columns[1].append(size / bench(args, model)[0]["load_seconds"])
            read_seconds(model)
            columns[2].append(size / read_seconds(model))
            report, resident = bench(args, model)
            columns[3].append(size / report["load_seconds"])
            columns[4].append(resident)
            columns[5].append(report["decode_tps"])
            columns[6].append(report["roof"]["decode"]["share"])
        rates = [statistics.median(column) / 1e9 for column in columns[:4]]
        resident, decode = (statistics.median(column) for column in columns[4:6])
        total, cache = estimate(args, model)
        cells = [os.path.basename(model), f"{size / 1e9:.2f}", *[f"{rate:.2f}" for rate in rates], f"{resident / 1e9:.2f}"]
        cells += [f"{resident / total:.3f}", f"{resident / (size + cache):.3f}"]
        cells += [f"{decode:.2f}", f"{statistics.median(columns[6]):.0%}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
