#!/usr/bin/env python3
"""Perplexity and KL divergence of a model's quantizations, with and without an importance matrix, as Markdown tables.

    quantizations.py MODEL.gguf [--formats q4_k_m iq2_m ...] [--stories 240] [--context 256] [--inferno PATH]
                     [--llama-quantize PATH] [--work FOLDER]

The model writes stories with its recommended sampling, with other openings for calibration and for measuring. Its weights are converted to F32 first, which
all others are compared with. With --llama-quantize, files that llama.cpp's program wrote with the same matrix are measured as well.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import tempfile

FORMATS = ["q4_k_m", "q3_k_m", "iq3_xxs", "iq2_m", "iq2_xs", "iq2_xxs"]

# Formats that llama.cpp does not write without an importance matrix.
NEED_MATRIX = {"iq2_xxs", "iq2_xs", "iq2_s", "iq2_m", "iq1_s", "iq1_m"}

SUBJECTS = ["The baker", "A girl named Mara", "Old Mr. Hale", "The smallest dog", "A boat", "My brother", "The teacher", "A robot",
            "Two friends", "The last bus", "A young fox", "The lighthouse keeper", "Grandma", "A shy boy", "The gardener", "A painter"]
BEGINNINGS = ["had a plan.", "woke up early.", "lost the key.", "found a letter in the rain.", "was late again.",
              "heard a strange noise.", "wanted to learn to swim.", "lived near the sea.", "did not like Mondays.",
              "built something new.", "was afraid of the dark.", "waited at the station.", "made soup for everyone.",
              "could not sleep.", "had never seen snow.", "kept a secret."]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--formats", nargs="+", default=FORMATS)
    parser.add_argument("--stories", type=int, default=240, help="stories that are written, up to 256")
    parser.add_argument("--context", type=int, default=64, help="tokens of a window: not much longer than stories")
    parser.add_argument("--inferno", default="target/release/inferno")
    parser.add_argument("--llama-quantize", help="path of llama.cpp's llama-quantize")
    parser.add_argument("--work", type=pathlib.Path, help="folder for the files [default: a temporary one]")
    return parser.parse_args()


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(done.args)}: {done.stderr.strip()}")
    return done.stdout


def write_stories(args, folder):
    """Has the model write stories, a third of them for calibration."""
    openings = [f"{subject} {beginning}" for beginning, subject in itertools.product(BEGINNINGS, SUBJECTS)]
    openings = openings[:args.stories]
    requests = folder / "requests.jsonl"
    bodies = ({"prompt": opening, "max_tokens": 300, "seed": seed} for seed, opening in enumerate(openings))
    requests.write_text("".join(
        json.dumps({"custom_id": str(at), "method": "POST", "url": "/v1/completions", "body": body}) + "\n"
        for at, body in enumerate(bodies)
    ))
    answers = folder / "answers.jsonl"
    answers.unlink(missing_ok=True)
    run(args.inferno, "batch", requests, answers, "-m", args.model)
    texts = {}
    for line in answers.read_text().splitlines():
        answer = json.loads(line)
        texts[int(answer["custom_id"])] = answer["response"]["body"]["choices"][0]["text"]
    stories = [openings[at] + texts[at] for at in range(len(openings))]
    calibration, test = folder / "calibration.txt", folder / "test.txt"
    calibration.write_text("\n".join(story for at, story in enumerate(stories) if at % 3 == 0))
    test.write_text("\n".join(story for at, story in enumerate(stories) if at % 3))
    return calibration, test


class Measurement:
    """Compares files with the model in F32."""

    def __init__(self, args, folder, base, text):
        self.args, self.stored = args, folder / "base.kld"
        report = run(args.inferno, "perplexity", "-m", base, "--kl-divergence-base", self.stored, text, "-c", args.context,
                     "--force", "-o", "json")
        self.base = json.loads(report)

    def cells(self, path):
        report = json.loads(run(self.args.inferno, "perplexity", "-m", path, "--kl-divergence", self.stored, "-o", "json"))
        return f"{report['perplexity']:.3f} | {report['kl_divergence']['mean']:.4f}"


def main():
    args = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.work or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        base, matrix, output = folder / "f32.gguf", folder / "imatrix.gguf", folder / "quantized.gguf"
        run(args.inferno, "quantize", args.model, base, "f32", "--allow-requantize", "--force")
        calibration, test = write_stories(args, folder)
        run(args.inferno, "imatrix", "-m", base, "-f", calibration, "-c", args.context, "-o", matrix, "--force")
        measurement = Measurement(args, folder, base, test)
        print(f"F32: perplexity {measurement.base['perplexity']:.3f} of {measurement.base['tokens']} tokens\n")
        peer = " llama.cpp: perplexity | divergence |" if args.llama_quantize else ""
        print(f"| | perplexity | divergence |{peer}\n|---|---:|---:|{'---:|---:|' if peer else ''}")
        for name, with_matrix in itertools.product(args.formats, [False, True]):
            if not with_matrix and name in NEED_MATRIX:
                continue
            option = ["--imatrix", matrix] if with_matrix else []
            run(args.inferno, "quantize", *option, base, output, name, "--force")
            row = f"| {name.upper()}{'' if with_matrix else ' without a matrix'} | {measurement.cells(output)} |"
            if args.llama_quantize:
                run(args.llama_quantize, *option, base, output, name)
                row += f" {measurement.cells(output)} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
