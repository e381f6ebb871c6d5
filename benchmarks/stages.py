#!/usr/bin/env python3
"""Measure a model that is divided into stages in separate processes against the same model in one process.

    stages.py MODEL.gguf [--stages 1 2 4] [--threads 2] [--sequences 16] [-p 32] [-n 64] [--rounds 3] [--limit-mib 3000]

Requires the package inferno-llm, built with `maturin build --release`. Every configuration uses the same cores in total. Either
the stages divide them (--threads is that of one process, of which each stage has its part, at least one; several lanes keep
all stages busy), or they take turns (one lane; every stage has all threads). The configurations alternate, so
that a slowdown of the machine affects all. Outputs are compared token by token.

With one sequence, the difference in the time per token divided by the number of stages is the overhead of a hop. --limit-mib
limits the private memory of each process (RLIMIT_DATA), and reports which configurations cannot load the model.

The tables are Markdown, for the dated records in this folder.
"""
import argparse
import asyncio
import os
import resource
import secrets
import statistics
import subprocess
import sys
import time

import inferno

STAGE = """
import sys, inferno
path, first, end, key, threads = sys.argv[1:]
stage = inferno.Stage(path, range(int(first), int(end)), key=key, threads=int(threads))
print(stage.address, flush=True)
sys.stdin.read()
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--stages", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--lanes", type=int, help="lanes of stages that divide the cores; default: one more than there are stages")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("-p", "--prompt-tokens", type=int, default=32)
    parser.add_argument("-n", "--decode-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-mib", type=int, help="limit of the private memory of each process")
    return parser.parse_args()


def limit_memory(mib):
    if mib:
        resource.setrlimit(resource.RLIMIT_DATA, (mib << 20, mib << 20))


class Divided:
    """A model on stages in processes of their own, which divide the cores or take turns."""

    def __init__(self, arguments, num_stages, takes_turns):
        key = secrets.token_hex()
        threads = arguments.threads if takes_turns else max(1, arguments.threads // num_stages)
        num_lanes = 1 if takes_turns else arguments.lanes
        self.processes = []
        for layers in inferno.divide(arguments.model, num_stages):
            values = [arguments.model, layers.start, layers.stop, key, threads]
            process = subprocess.Popen(
                [sys.executable, "-c", STAGE, *map(str, values)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: limit_memory(arguments.limit_mib),
            )
            self.processes.append(process)
        addresses = [process.stdout.readline().strip() for process in self.processes]
        if not all(addresses):
            self.close()
            raise MemoryError(f"{num_stages} stages do not fit in {arguments.limit_mib} MiB each")
        stages = inferno.StageAddresses(addresses, key=key)
        self.model = inferno.Model.from_stages(
            arguments.model, stages, num_lanes=num_lanes, **load_options(arguments)
        )

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def load_options(arguments):
    context = arguments.prompt_tokens + arguments.decode_tokens
    tokens = (context + 16) * arguments.sequences
    return {"context": context, "kv_cache_tokens": tokens, "max_num_seqs": arguments.sequences}


def measure(model, arguments, num_sequences):
    """Returns the generated tokens, and the seconds from the first token of the last request to the end, per step."""
    prompts = [
        [(7 + 31 * sequence + 13 * at) % 250 + 3 for at in range(arguments.prompt_tokens)]
        for sequence in range(num_sequences)
    ]
    options = {"max_tokens": arguments.decode_tokens, "temperature": 0, "ignore_eos": True}
    firsts, lasts = [], []

    async def generate(engine, prompt):
        tokens = []
        async for chunk in engine.stream(prompt, **options):
            if chunk.token is not None:
                tokens.append(chunk.token)
                if len(tokens) == 1:
                    firsts.append(time.perf_counter())
        lasts.append(time.perf_counter())
        return tokens

    async def generate_all():
        engine = inferno.Engine(model)
        return await asyncio.gather(*(generate(engine, prompt) for prompt in prompts))

    tokens = asyncio.run(generate_all())
    return tokens, (max(lasts) - max(firsts)) / (arguments.decode_tokens - 1)


def one_process(arguments):
    """Loads the whole model, unless a process with the limit cannot."""
    if arguments.limit_mib:
        program = f"import inferno; inferno.Model({arguments.model!r}, context=64, threads=1)"
        limited = subprocess.run(
            [sys.executable, "-c", program],
            preexec_fn=lambda: limit_memory(arguments.limit_mib),
            stderr=subprocess.PIPE,
            text=True,
        )
        reason = limited.stderr.strip().splitlines()[-1] if limited.returncode else "it fits"
        print(f"One process with {arguments.limit_mib} MiB: {reason}\n")
        if limited.returncode:
            return None
    return inferno.Model(arguments.model, threads=arguments.threads, **load_options(arguments))


def main():
    arguments = parse_arguments()
    whole = one_process(arguments)
    divided = {
        (number, takes_turns): Divided(arguments, number, takes_turns)
        for number in arguments.stages
        for takes_turns in (False, True)
    }
    models = {"one process": (0, whole)} if whole else {}
    for (number, takes_turns), of in divided.items():
        models[f"{number} stages, {'in turns' if takes_turns else 'divided cores'}"] = (number, of.model)
    times, expected = {}, {}
    for _ in range(arguments.rounds):
        for name, (_, model) in models.items():
            for sequences in (1, arguments.sequences):
                tokens, step = measure(model, arguments, sequences)
                times.setdefault((name, sequences), []).append(step)
                assert expected.setdefault(sequences, tokens) == tokens, f"{name}: other tokens"
    base = [statistics.median(times["one process", count]) for count in (1, arguments.sequences)] if whole else None
    print(f"| | ms per token, 1 sequence | overhead per hop, ms | tokens/s, {arguments.sequences} sequences | ratio |")
    print("|---|---|---|---|---|")
    for name, (number, _) in models.items():
        single, many = (statistics.median(times[name, count]) for count in (1, arguments.sequences))
        hop = f"{1e3 * (single - base[0]) / number:.2f}" if base and number else ""
        ratio = f"{base[1] / many:.2f}" if base else ""
        print(f"| {name} | {1e3 * single:.2f} | {hop} | {arguments.sequences / many:.1f} | {ratio} |")
    for of in divided.values():
        of.close()


if __name__ == "__main__":
    main()
