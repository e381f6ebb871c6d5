"""What all engines are measured with: a prompt, and tokens one at a time for one sequence and for several."""
import argparse
import os
import statistics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a workload."""
    parser.add_argument("-p", "--prompt-tokens", type=int, default=512)
    parser.add_argument("-n", "--decode-tokens", type=int, default=64)
    parser.add_argument("-d", "--depth", type=int, default=0, help="tokens before the first one that is decoded")
    parser.add_argument("--batch", default="", help="numbers of sequences, such as 4,16")
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    parser.add_argument("-r", "--repetitions", type=int, default=2, help="repetitions per round")


def flags(arguments: argparse.Namespace) -> list[str]:
    """Returns the options that repeat a workload, also for `inferno bench`."""
    values = {
        "-p": arguments.prompt_tokens,
        "-n": arguments.decode_tokens,
        "-d": arguments.depth,
        "--threads": arguments.threads,
        "-r": arguments.repetitions,
    }
    batch = ["--batch", arguments.batch] if arguments.batch else []
    return [str(word) for pair in values.items() for word in pair] + batch


def batch_sizes(arguments: argparse.Namespace) -> list[int]:
    """Returns the numbers of sequences that decode together."""
    return [int(size) for size in arguments.batch.split(",") if size]


def report(arguments: argparse.Namespace, engine: str, prefill_rate, decode_rates) -> dict:
    """Returns the fields of `inferno bench -o json` that are compared: medians, in tokens per second.

    `prefill_rate()` processes the prompt once, and `decode_rates(sequences)` yields the rate of each repetition.
    """
    found = {"engine": engine, "batch": {}}
    if arguments.prompt_tokens:
        found["prefill_tps"] = statistics.median(prefill_rate() for _ in range(arguments.repetitions))
    if arguments.decode_tokens:
        for sequences in [1, *batch_sizes(arguments)]:
            found["batch"][str(sequences)] = statistics.median(decode_rates(sequences))
        found["decode_tps"] = found["batch"]["1"]
    return found
