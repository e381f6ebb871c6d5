#!/usr/bin/env python3
"""Compares a program that depends on the crates, built with Cargo's default release profile, with the same program built
with this repository's (thin LTO).

    python3 benchmarks/library_user/compare.py [--model MODEL.gguf] [--rounds N]

First, functions that kernels call instead of containing are listed, by disassembling the default build: kernels consist
of one function per instruction set (`enter`, see crates/inferno-cpu/src/isa.rs), and what is not inlined there is compiled for
a generic processor. Generic functions of `core` that take closures, such as `array::from_fn`, `<[T; N]>::map` and `Option::map_or`, are
in other codegen units than kernels, so that only LTO inlines them. Calls of panics and of memory copies are not listed. With
--model, both builds are then run in turn; the exit status is 1 if the default build reaches less than 95% in prefill or
decode, or if kernels call anything outside of EXPECTED. Requires objdump for x86-64.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BOUND = 0.95
# Once per task of a kernel, not per element.
EXPECTED = [
    r"^_Unwind_Resume", r"core::panicking", r"panic", r"slice_index_fail", r"unwrap_failed", r"expect_failed", r"mem(cpy|set|move)",
    # The flag of the matrix unit, which is local to each thread.
    r"^core::ops::function::FnOnce::call_once",
]


def build(name, settings):
    """Builds the program and returns its path."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / f"library-user-{name}"
    environment = os.environ | settings | {"CARGO_TARGET_DIR": str(target)}
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE, env=environment, check=True)
    return target / "release" / "library-user"


def calls(program):
    """What kernels with 512-bit registers call, and how often."""
    listing = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", program], check=True, capture_output=True, text=True).stdout
    found = collections.Counter()
    for function in listing.split("\n\n"):
        name = re.match(r"[0-9a-f]+ <(.*)>:", function)
        if not name or not name[1].startswith("inferno_cpu::isa::avx512::enter") or "%zmm" not in function:
            continue
        found.update(re.sub(r"\+0x[0-9a-f]+$", "", call) for call in re.findall(r"\tcall +\S+ <(.*)>$", function, re.MULTILINE))
    return {name: number for name, number in found.items() if not any(re.search(pattern, name) for pattern in EXPECTED)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    default = build("default", {})
    found = calls(default)
    for name, number in sorted(found.items()):
        print(f"kernels call {name} at {number} places")
    is_slow = False
    if arguments.model:
        programs = [default, build("lto", {"CARGO_PROFILE_RELEASE_LTO": "thin", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "4"})]
        best = [[0.0, 0.0], [0.0, 0.0]]
        for _ in range(arguments.rounds):
            for program, speeds in zip(programs, best):
                run = subprocess.run([program, arguments.model.resolve()], check=True, capture_output=True, text=True)
                speeds[:] = map(max, speeds, map(float, run.stdout.split()))
        print("| | default profile | thin LTO | share |\n|---|---:|---:|---:|")
        for name, own, other in zip(["prefill, tokens/s", "decode, tokens/s"], *best):
            is_slow |= own < BOUND * other
            print(f"| {name} | {own:.1f} | {other:.1f} | {own / other:.3f} |")
    sys.exit(1 if found or is_slow else 0)


if __name__ == "__main__":
    main()
