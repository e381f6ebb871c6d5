#!/usr/bin/env python3
"""Compares the outputs of converted models with those of transformers.

    reference.py --inferno PROGRAM [--convert EXAMPLE] FOLDER [NAME...]

FOLDER is that of `compare.py --keep`, which stores what transformers computes in single precision: hidden states of
encoders, outputs of classifiers, logits of the decoders that llama.cpp's converter cannot convert. PROGRAM is `inferno`.
"""
import argparse, json, pathlib, subprocess, sys

BAR = 1e-4


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip()[:300])
    return result.stdout


def compute(inferno, model, reference):
    """The outputs of `inferno`, as a list of rows."""
    if "logits" in reference and "text" not in reference:
        lines = run([inferno, "logits", "-m", model, "--tokens", json.dumps(reference["ids"]), "--kv-dtype", "f32"])
        return [json.loads(line) for line in lines.splitlines()]
    ids = json.loads(run([inferno, "tokenize", "-m", model, reference["text"]]))
    if ids != reference["ids"]:
        raise RuntimeError(f"token ids {ids}, expected {reference['ids']}")
    kind = "rank" if "logits" in reference else "none"
    output = run([inferno, "embed", "-m", model, "--pooling", kind, "--no-normalize", "--kv-dtype", "f32", reference["text"]])
    found = json.loads(output.splitlines()[0])["embedding"]
    return found if kind == "none" else [found]


def difference(found, expected):
    """The largest difference, relative to the largest value."""
    import numpy
    found, expected = numpy.array(found), numpy.array(expected)
    found, expected = found.reshape(expected.shape), expected
    return float(abs(found - expected).max() / max(1, abs(expected).max()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inferno", required=True)
    parser.add_argument("--convert", help="the example of this crate, to convert with it instead of PROGRAM")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    failed = 0
    print("| model | largest difference |\n|---|---|")
    for path in sorted(options.folder.glob("*/reference.json")):
        name = path.parent.name
        if options.names and name not in options.names:
            continue
        model = options.folder / f"{name}.f32.gguf"
        try:
            files = [str(path.parent), str(model)]
            run([options.convert, *files, "f32"] if options.convert else [options.inferno, "convert", *files, "--type", "f32", "--force"])
            reference = json.loads(path.read_text())
            expected = reference["logits"] if "logits" in reference else reference["last_hidden_state"]
            largest = difference(compute(options.inferno, str(model), reference), expected)
            failed += not largest < BAR
            print(f"| {name} | {largest:.1e}{'' if largest < BAR else ' FAILED'} |", flush=True)
        except Exception as error:
            failed += 1
            print(f"| {name} | FAILED: {error} |", flush=True)
        model.unlink(missing_ok=True)
    sys.exit(failed > 0)


main()
