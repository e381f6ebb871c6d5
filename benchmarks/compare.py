#!/usr/bin/env python3
"""Alternate runs of `inferno bench` and llama.cpp on one model, and print the ratio of their speeds.

    compare.py MODEL.gguf [-p 512] [-n 64] [-d 0] [--batch 16] [--threads 2] [--rounds 3] [--json FILE]

Requires llama-cpp-python: run this script with a Python that has it, or specify one with --peer-python. The
programs alternate, so that a slowdown of the machine affects both. Each round yields one ratio from two adjacent
runs; the table shows the median over the rounds. Both use the same number of threads and start with a loaded,
warmed-up model. llama.cpp stores the KV cache in float16, inferno in its default format of the same size.

The table is Markdown, for the dated records in this folder. --json writes all results to a file.
"""
import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time

PEER_UBATCH = 512
WARM_UP_TOKENS = 32
FLOAT16 = 1  # GGML_TYPE_F16


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file that both can read")
    parser.add_argument("-p", "--prompt-tokens", type=int, default=512)
    parser.add_argument("-n", "--decode-tokens", type=int, default=64)
    parser.add_argument("-d", "--depth", type=int, default=0)
    parser.add_argument("--batch", default="", help="batch sizes, such as 4,16")
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    parser.add_argument("-r", "--repetitions", type=int, default=2, help="repetitions per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isa", help="instruction set for inferno")
    parser.add_argument("--inferno", default="target/release/inferno", help="path of the inferno binary")
    parser.add_argument("--peer-python", default=sys.executable, help="Python interpreter with llama_cpp")
    parser.add_argument("--json", help="write all results to this file")
    parser.add_argument("--only-peer", action="store_true", help="run one round of llama.cpp alone and print JSON")
    return parser.parse_args()


class Peer:
    """llama.cpp on the CPU, through its C API."""

    def __init__(self, model, context_tokens, threads, sequences):
        import llama_cpp

        self.api = llama_cpp
        self.log = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.log, None)
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(
            os.fsencode(model), llama_cpp.llama_model_default_params())
        if not self.model:
            sys.exit(f"llama.cpp cannot load {model}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = context_tokens
        params.n_batch = max(PEER_UBATCH, sequences)
        params.n_ubatch = PEER_UBATCH
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = FLOAT16
        if hasattr(params, "kv_unified"):
            params.kv_unified = True
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            sys.exit("llama.cpp failed to create a context")
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(params.n_batch, 0, 1)
        self.random = random.Random(0)

    def run(self, rows):
        """Run one pass over rows of (position, sequence, whether logits are needed) with random tokens."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for index, (position, sequence, wants_logits) in enumerate(rows):
            batch.token[index] = self.random.randrange(self.vocab_size)
            batch.pos[index] = position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = sequence
            batch.logits[index] = wants_logits
        status = self.api.llama_decode(self.context, batch)
        if status != 0:
            sys.exit(f"llama.cpp failed with status {status}")
        self.api.llama_synchronize(self.context)

    def prefill(self, tokens, sequence=0):
        """Process a prompt of `tokens` tokens."""
        for start in range(0, tokens, PEER_UBATCH):
            end = min(tokens, start + PEER_UBATCH)
            self.run([(position, sequence, position == tokens - 1) for position in range(start, end)])

    def truncate(self, start=0):
        """Remove everything from position `start` on from every sequence."""
        memory = self.api.llama_get_memory(self.context)
        if start == 0:
            self.api.llama_memory_clear(memory, True)
        elif not self.api.llama_memory_seq_rm(memory, -1, start, -1):
            sys.exit("llama.cpp failed to truncate its cache")

    def prefill_rate(self, tokens):
        self.truncate()
        started = time.perf_counter()
        self.prefill(tokens)
        return tokens / (time.perf_counter() - started)

    def decode_rates(self, steps, depth, sequences, repetitions):
        self.truncate()
        for sequence in range(sequences):
            self.prefill(depth, sequence)
        for _ in range(repetitions):
            self.truncate(depth)
            started = time.perf_counter()
            for step in range(steps):
                self.run([(depth + step, sequence, True) for sequence in range(sequences)])
            yield sequences * steps / (time.perf_counter() - started)


def measure_peer(args):
    """Measure llama.cpp and return the compared fields of `inferno bench -o json`."""
    batches = batch_sizes(args)
    sequence_tokens = args.depth + args.decode_tokens
    # llama.cpp pads the cache of each sequence.
    context_tokens = max(args.prompt_tokens, max([1, *batches]) * (sequence_tokens + 32)) + 64
    peer = Peer(args.model, context_tokens, args.threads, max([1, *batches]))
    peer.prefill(WARM_UP_TOKENS)
    report = {"batch": {}}
    if args.prompt_tokens:
        rates = [peer.prefill_rate(args.prompt_tokens) for _ in range(args.repetitions)]
        report["prefill_tps"] = statistics.median(rates)
    if args.decode_tokens:
        for sequences in [1, *batches]:
            rates = peer.decode_rates(args.decode_tokens, args.depth, sequences, args.repetitions)
            rate = statistics.median(rates)
            report["batch"][str(sequences)] = rate
        report["decode_tps"] = report["batch"].pop("1") if 1 not in batches else report["batch"]["1"]
    return report


def batch_sizes(args):
    return [int(size) for size in args.batch.split(",") if size]


def run_json(command):
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"{command[0]} failed with status {finished.returncode}")
    return json.loads(finished.stdout)


def workload_flags(args):
    flags = ["-p", args.prompt_tokens, "-n", args.decode_tokens, "-d", args.depth]
    flags += ["--threads", args.threads, "-r", args.repetitions]
    flags += ["--batch", args.batch] if args.batch else []
    return [str(flag) for flag in flags]


def measure_ours(args):
    command = [args.inferno, "bench", "-o", "json", "-m", args.model, *workload_flags(args)]
    return run_json(command + (["--isa", args.isa] if args.isa else []))


def run_peer(args):
    script = os.path.abspath(__file__)
    return run_json([args.peer_python, script, args.model, "--only-peer", *workload_flags(args)])


def comparisons(rounds, args):
    """Yield, for each figure that both report, its name, both medians and the ratios of the rounds."""
    at_depth = f" at depth {args.depth}" if args.depth else ""
    figures = [(f"prefill {args.prompt_tokens}", lambda report: report.get("prefill_tps"))]
    figures.append((f"decode {args.decode_tokens}{at_depth}", lambda report: report.get("decode_tps")))
    for size in batch_sizes(args):
        name = f"decode {size} x {args.decode_tokens}{at_depth}"
        figures.append((name, lambda report, size=size: report["batch"].get(str(size))))
    for name, figure in figures:
        pairs = [(figure(ours), figure(theirs)) for ours, theirs in rounds]
        if all(ours and theirs for ours, theirs in pairs):
            ratios = [ours / theirs for ours, theirs in pairs]
            yield {
                "name": name,
                "inferno_tps": statistics.median(ours for ours, _ in pairs),
                "peer_tps": statistics.median(theirs for _, theirs in pairs),
                "ratio": statistics.median(ratios),
                "least_ratio": min(ratios),
                "greatest_ratio": max(ratios),
            }


def peer_version(args):
    code = "import llama_cpp; print(llama_cpp.__version__)"
    return subprocess.run([args.peer_python, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main():
    args = parse_arguments()
    if args.only_peer:
        print(json.dumps(measure_peer(args)))
        return
    version = peer_version(args)
    rounds = [(measure_ours(args), run_peer(args)) for _ in range(args.rounds)]
    ours = rounds[0][0]
    results = list(comparisons(rounds, args))
    print(f"{os.path.basename(args.model)}, {args.threads} threads; {ours['processor'] or platform.processor()}; "
          f"inferno {ours['version']} ({ours['isa']}), llama-cpp-python {version}\n")
    print(f"| tokens/s, median of {args.rounds} rounds | inferno | llama.cpp | ratio | least | greatest |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in results:
        print("| {name} | {inferno_tps:.1f} | {peer_tps:.1f} | {ratio:.2f} | {least_ratio:.2f} | "
              "{greatest_ratio:.2f} |".format(**row))
    if args.json:
        record = {"model": os.path.basename(args.model), "peer": f"llama-cpp-python {version}", "results": results,
                  "rounds": [{"inferno": ours, "peer": theirs} for ours, theirs in rounds]}
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
