#!/usr/bin/env python3
"""Compare `inferno batch` with the forward passes that it runs, as `inferno bench` measures them.

    batch.py INFERNO [MODEL.gguf] [--requests 1024] [-p 32] [-n 64] [--threads 1] [--rounds 3]

Requires the program in the release profile and an idle machine. All requests are in progress 64 at a time, so the passes take
as long as prefill of all prompts at the rate of `bench -p 256`, and decode of all tokens at the rate of `bench --batch 64`. Both
programs alternate. Loading the model is not counted.

The table is Markdown, for the dated records in this folder.
"""
import argparse
import json
import pathlib
import random
import re
import statistics
import subprocess
import tempfile

BATCH = 64
PASS_TOKENS = 256


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inferno", help="path of the program")
    parser.add_argument("model", nargs="?", help="GGUF file (default: the built-in Ember)")
    parser.add_argument("--requests", type=int, default=1024)
    parser.add_argument("-p", "--prompt-tokens", type=int, default=32)
    parser.add_argument("-n", "--decode-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def run(arguments, command, *options):
    model = ["--model", arguments.model] if arguments.model else []
    words = [arguments.inferno, command, *model, "--threads", str(arguments.threads), *map(str, options)]
    return subprocess.run(words, capture_output=True, text=True, check=True)


def seconds_of_passes(arguments):
    """Returns how long the forward passes of all requests take."""
    options = ["-p", PASS_TOKENS, "-n", arguments.decode_tokens, "-d", arguments.prompt_tokens, "--batch", BATCH]
    report = json.loads(run(arguments, "bench", *options, "-r", 2, "-o", "json").stdout)
    passes = report["passes"]
    prefill = statistics.median(passes["prefill"]["seconds"]) / PASS_TOKENS
    decode = statistics.median(passes["batch"][str(BATCH)]["seconds"]) / BATCH
    return arguments.requests * (arguments.prompt_tokens * prefill + arguments.decode_tokens * decode)


def seconds_of_batch(arguments, folder):
    """Answers all requests and returns how long that took."""
    random.seed(0)
    with (folder / "requests.jsonl").open("w") as requests:
        for index in range(arguments.requests):
            prompt = [random.randrange(300, 1000) for _ in range(arguments.prompt_tokens)]
            body = {"prompt": prompt, "max_tokens": arguments.decode_tokens, "ignore_eos": True, "temperature": 0}
            request = {"custom_id": str(index), "method": "POST", "url": "/v1/completions", "body": body}
            requests.write(json.dumps(request) + "\n")
    answers = folder / "answers.jsonl"
    answers.unlink(missing_ok=True)
    context = arguments.prompt_tokens + arguments.decode_tokens
    options = ["--context", context, "--kv-cache-tokens", 2 * BATCH * context]
    summary = run(arguments, "batch", folder / "requests.jsonl", answers, *options).stderr
    tokens, rate = re.search(r"and (\d+) generated tokens in .* s: ([\d.]+) generated tokens/s", summary).groups()
    assert len(answers.read_text().splitlines()) == arguments.requests, "answers are missing"
    return int(tokens) / float(rate)


def main():
    arguments = parse_arguments()
    seconds = {"passes alone": [], "inferno batch": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            seconds["passes alone"].append(seconds_of_passes(arguments))
            seconds["inferno batch"].append(seconds_of_batch(arguments, pathlib.Path(folder)))
    least = statistics.median(seconds["passes alone"])
    print("| | seconds, median | all runs | rate |\n|---|---|---|---|")
    for name, runs in seconds.items():
        each = ", ".join(f"{run:.2f}" for run in runs)
        print(f"| {name} | {statistics.median(runs):.2f} | {each} | {least / statistics.median(runs):.3f} |")


if __name__ == "__main__":
    main()
