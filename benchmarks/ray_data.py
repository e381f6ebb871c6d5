#!/usr/bin/env python3
"""Measure offline inference with Ray Data against the engine alone.

    ray_data.py [MODEL.gguf] [--rows 1024] [-p 32] [-n 64] [--sequences 64] [--threads 1] [--rounds 3]

Requires the package inferno-llm with the extra `ray`, built with `maturin build --release`, and an idle machine. The engine
computes the same prompts in a process of its own, with the same threads, through `inferno.Model.generate`. Both alternate.
Rates are those of the last three quarters of the rows: the difference between the times of all rows and of a quarter of them,
which contain the same start and the same loading of the model.

The table is Markdown, for the dated records in this folder.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import ray

import inferno
import inferno.ray

ENGINE = """
import json, sys, time, inferno
path, load, prompts, options = json.loads(sys.stdin.read())
model = inferno.Model(path, **load)
model.generate(prompts[: load["max_num_seqs"]], **options)
seconds = []
for part in prompts[: len(prompts) // 4], prompts:
    start = time.perf_counter()
    texts = [each.text for each in model.generate(part, **options)]
    seconds.append(time.perf_counter() - start)
print(json.dumps([seconds, texts]))
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="GGUF file (default: the built-in Ember)")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("-p", "--prompt-words", type=int, default=32)
    parser.add_argument("-n", "--decode-tokens", type=int, default=64)
    parser.add_argument("--sequences", type=int, default=64, help="sequences in a batch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def load_options(arguments):
    return {"context": 1024, "max_num_seqs": arguments.sequences, "threads": arguments.threads}


def engine_rate(arguments, prompts, options):
    request = json.dumps([arguments.model, load_options(arguments), prompts, options])
    output = subprocess.run([sys.executable, "-c", ENGINE], input=request, capture_output=True, text=True, check=True)
    (part_seconds, seconds), texts = json.loads(output.stdout.splitlines()[-1])
    return (len(prompts) - len(prompts) // 4) / (seconds - part_seconds), texts


def ray_run(arguments, prompts, options):
    """Returns the seconds of a run, with the start of its actor, and its texts."""
    start = time.perf_counter()
    rows = ray.data.from_items([{"prompt": prompt} for prompt in prompts])
    load = load_options(arguments)
    result = inferno.ray.generate(rows, arguments.model, num_cpus=arguments.threads, load=load, **options)
    texts = [row["text"] for row in result.iter_rows()]
    return time.perf_counter() - start, texts


def ray_rate(arguments, prompts, options):
    quarter = len(prompts) // 4
    part_seconds, _ = ray_run(arguments, prompts[:quarter], options)
    seconds, texts = ray_run(arguments, prompts, options)
    return (len(prompts) - quarter) / (seconds - part_seconds), texts


def main():
    arguments = parse_arguments()
    words = "one two three four five six seven eight nine ten".split()
    prompts = [
        " ".join(words[(row * 7 + at * (1 + row % 3)) % len(words)] for at in range(arguments.prompt_words))
        for row in range(arguments.rows)
    ]
    options = {"max_tokens": arguments.decode_tokens, "temperature": 0, "ignore_eos": True}
    ray.init(num_cpus=arguments.threads + 1, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    rates = {"engine alone": [], "Ray Data": []}
    for _ in range(arguments.rounds):
        rate, expected = engine_rate(arguments, prompts, options)
        rates["engine alone"].append(rate)
        rate, texts = ray_rate(arguments, prompts, options)
        rates["Ray Data"].append(rate)
        assert texts == expected, "the texts differ"
    engine = statistics.median(rates["engine alone"])
    print("| | rows/s, median | all runs | ratio |\n|---|---|---|---|")
    for name, each in rates.items():
        runs = ", ".join(f"{rate:.1f}" for rate in each)
        print(f"| {name} | {statistics.median(each):.1f} | {runs} | {statistics.median(each) / engine:.3f} |")


if __name__ == "__main__":
    main()
