"""Judges a model file through inferno itself: chats, stories and what 8 bits cost.

    cargo build --release --manifest-path ../Cargo.toml
    python -m ember.evaluate --inferno ../target/release/inferno --model out/ember.gguf --f16 out/ember-f16.gguf

Chats and openings are held out: their names, numbers, subjects or wordings were never trained on. The report is
markdown on standard output.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .chats import chat as make_chat
from .chats.chat import Chat
from .chats.judge import judge
from .split import Split
from .stories import opening, story

NUM_CHATS = 200
NUM_OPENINGS = 20
#: A story is long enough to be judged from this many words on.
STORY_WORDS = 100
#: Words in a row that no story says twice, unless it loops.
LOOP_WORDS = 12


class Inferno:
    """The program, with the model that is judged."""

    def __init__(self, program: Path, model: Path):
        self.program = program
        self.model = model

    def run(self, *arguments: str) -> str:
        """What the program prints; anything but success is an error."""
        command, *rest = arguments
        done = subprocess.run(
            [str(self.program), command, "-m", str(self.model), *rest],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"inferno {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def answer(self, chat: Chat, thinking: bool) -> str:
        """What the model says next, always the most probable token."""
        request = {"messages": chat.messages, "enable_thinking": thinking}
        if chat.tools:
            request["tools"] = chat.tools
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(request, file)
            file.flush()
            return self.run("generate", "--greedy", "--chat", "--input", file.name)

    def perplexity(self, text: Path) -> float:
        """The perplexity of a text."""
        return json.loads(self.run("perplexity", str(text)))["perplexity"]


def loops(text: str) -> bool:
    """Whether `LOOP_WORDS` words in a row come twice, or a word runs on in one letter."""
    if re.search(r"(\w)\1{5}", text):
        return True
    words = text.lower().split()
    runs = [tuple(words[i : i + LOOP_WORDS]) for i in range(len(words) - LOOP_WORDS + 1)]
    return len(set(runs)) < len(runs)


def judge_chats(inferno: Inferno, seed: int, failures: int) -> None:
    """Prints how many held-out chats are answered right, by kind and by whether the model thinks first."""
    rng = random.Random(f"evaluation {seed}")
    asked, right = Counter(), Counter()
    for number in range(NUM_CHATS):
        chat = make_chat(rng, Split.HELD_OUT)
        thinking = number % 2 == 0
        answer = inferno.answer(chat, thinking)
        reason = judge(chat.check, answer)
        for group in (chat.kind, "thinking" if thinking else "not thinking", "all"):
            asked[group] += 1
            right[group] += reason is None
        if reason is not None and failures > 0:
            failures -= 1
            print(f"{chat.kind}: {chat.messages[-1]['content']!r} -> {answer!r}: {reason}", file=sys.stderr)
    print("| held-out chats | asked | right |\n|---|---|---|")
    for group in sorted(asked, key=lambda group: (group == "all", group)):
        print(f"| {group} | {asked[group]} | {right[group]} ({right[group] / asked[group]:.0%}) |")


def continue_openings(inferno: Inferno) -> None:
    """Prints how stories go on from held-out openings, greedily, and as the model's file says to sample, by the seed of
    the same number."""
    for way in ("greedy", "sampled"):
        print(f"\n{way}:\n")
        for seed in range(NUM_OPENINGS):
            begin = opening(random.Random(f"opening {seed}"), Split.HELD_OUT)
            flags = ["--greedy"] if way == "greedy" else ["--seed", str(seed)]
            text = inferno.run("generate", *flags, "--max-tokens", "360", begin).rstrip("\n")
            words = len(text.split())
            marks = [f"{words} words", *(["short"] if words < STORY_WORDS else []), *(["loops"] if loops(text) else [])]
            told = text.replace("\n\n", "\n>\n> ")
            print(f"{seed}. ({', '.join(marks)})\n> **{begin}**{told}\n")


def compare_precisions(quantized: Inferno, full: Inferno) -> None:
    """Prints the perplexity of held-out stories in Q8_0 and in F16."""
    rng = random.Random("perplexity")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("<|endoftext|>".join(story(rng, Split.HELD_OUT) for _ in range(40)))
        file.flush()
        of_quantized, of_full = (inferno.perplexity(Path(file.name)) for inferno in (quantized, full))
    change = of_quantized / of_full - 1
    print(f"\nperplexity of held-out stories: Q8_0 {of_quantized:.4f}, F16 {of_full:.4f} ({change:+.2%})")


def main() -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inferno", type=Path, required=True, help="the program")
    parser.add_argument("--model", type=Path, required=True, help="the model as it ships, Q8_0")
    parser.add_argument("--f16", type=Path, help="the same model in F16, to compare with")
    parser.add_argument("--seed", type=int, default=0, help="another 200 chats")
    parser.add_argument("--failures", type=int, default=40, help="wrong answers to show on standard error")
    parser.add_argument("--chats-only", action="store_true")
    arguments = parser.parse_args()
    inferno = Inferno(arguments.inferno, arguments.model)
    judge_chats(inferno, arguments.seed, arguments.failures)
    if arguments.chats_only:
        return
    if arguments.f16:
        compare_precisions(inferno, Inferno(arguments.inferno, arguments.f16))
    continue_openings(inferno)


if __name__ == "__main__":
    main()
