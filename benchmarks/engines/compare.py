#!/usr/bin/env python3
"""Alternate runs of `inferno bench`, llama.cpp and OpenVINO on the same files, and print the ratios of their speeds.

    compare.py MODEL.gguf... [-p 512] [-n 64] [-d 0] [--batch 16] [--threads 2] [--rounds 3] [--json FILE]
               [--llama-cpp-python PYTHON] [--openvino-python PYTHON] [--openvino-precision f32]

Each peer runs under a Python interpreter that has it: llama-cpp-python or openvino-genai. Peers that are not specified are left out.
The programs alternate, so that a slowdown of the machine affects all. Each round yields one ratio from adjacent runs; the
table shows the median over the rounds. All use the same number of threads and start with a loaded, warmed-up model, with their
own defaults otherwise, for OpenVINO except --openvino-precision.

The table is Markdown, for the dated records in the folder above. --json writes all results to a file.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

import workload

FOLDER = os.path.dirname(os.path.abspath(__file__))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="GGUF files that all can read")
    workload.add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isa", help="instruction set for inferno")
    parser.add_argument("--inferno", default="target/release/inferno", help="path of the inferno binary")
    parser.add_argument("--llama-cpp-python", metavar="PYTHON", help="Python interpreter with llama_cpp")
    parser.add_argument("--openvino-python", metavar="PYTHON", help="Python interpreter with openvino_genai")
    parser.add_argument("--openvino-precision", metavar="PRECISION", help="precision of OpenVINO's products [default: its own]")
    parser.add_argument("--json", help="write all results to this file")
    args = parser.parse_args()
    if args.openvino_python and args.depth:
        parser.error("OpenVINO is not measured at a depth")
    return args


def run_json(command):
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed with status {finished.returncode}:\n{finished.stderr}")
    return json.loads(finished.stdout)


def commands(args):
    """Returns the command of each engine, without the model."""
    isa = ["--isa", args.isa] if args.isa else []
    found = {"inferno": [args.inferno, "bench", "-o", "json", *isa, "-m"]}
    if args.llama_cpp_python:
        found["llama.cpp"] = [args.llama_cpp_python, os.path.join(FOLDER, "peer_llama_cpp.py")]
    if args.openvino_python:
        precision = ["--precision", args.openvino_precision] if args.openvino_precision else []
        found["OpenVINO"] = [args.openvino_python, os.path.join(FOLDER, "peer_openvino.py"), *precision]
    return found


def figures(args):
    """Yields the name of each figure, and what finds it in a report."""
    at_depth = f" at depth {args.depth}" if args.depth else ""
    if args.prompt_tokens:
        yield f"prompt of {args.prompt_tokens}", lambda report: report.get("prefill_tps")
    if args.decode_tokens:
        yield f"one sequence{at_depth}", lambda report: report.get("decode_tps")
        for size in workload.batch_sizes(args):
            yield f"{size} sequences{at_depth}", lambda report, size=size: report["batch"].get(str(size))


def row(name, figure, rounds):
    """Returns a row of the table: the median of each engine, with the ratio to it and its range."""
    if not all(figure(reports["inferno"]) for reports in rounds):
        return f"| {name} | not measured |"
    cells = []
    for engine in rounds[0]:
        rates = [figure(reports[engine]) for reports in rounds]
        if not all(rates):
            cells += [""] * (1 if engine == "inferno" else 2)
            continue
        cells.append(f"{statistics.median(rates):,.0f}" if statistics.median(rates) >= 100 else f"{statistics.median(rates):.1f}")
        if engine != "inferno":
            ratios = [figure(reports["inferno"]) / rate for reports, rate in zip(rounds, rates)]
            cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return f"| {name} | {' | '.join(cells)} |"


def main():
    args = parse_arguments()
    engines = commands(args)
    flags = workload.flags(args)
    results = {}
    for model in args.models:
        results[model] = []
        for _ in range(args.rounds):
            results[model].append({name: run_json([*command, model, *flags]) for name, command in engines.items()})
    ours = results[args.models[0]][0]["inferno"]
    peers = [report["engine"] for name, report in results[args.models[0]][0].items() if name != "inferno"]
    versions = [f"inferno {ours['version']} ({ours['isa']})", *peers]
    print(f"{args.threads} threads; {ours['processor'] or platform.processor()}; {', '.join(versions)}\n")
    columns = [column for name in engines for column in ([name] if name == "inferno" else [name, f"inferno / {name}"])]
    print(f"| tokens/s, median of {args.rounds} rounds | {' | '.join(columns)} |")
    print("|---" + "|---:" * len(columns) + "|")
    for model, rounds in results.items():
        for name, figure in figures(args):
            print(row(f"{os.path.basename(model)}, {name}", figure, rounds))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({os.path.basename(model): rounds for model, rounds in results.items()}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
