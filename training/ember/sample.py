"""Prints samples: `python -m ember.sample --kind facts -n 20`.

A kind is a family of chats (`facts`), a family of texts (`text/frames`), or `chats` or `texts` for the mixture of all.
"""

import argparse
import json
from random import Random

from . import texts
from .chat import Chat
from .chat_text import text as chat_as_text
from .draw import Draw
from .kinds import chats
from .split import Split

KINDS = ["chats", "texts", *chats.FAMILIES, "tools", *(f"text/{name}" for name in texts.FAMILIES)]


def made(draw: Draw, kind: str) -> Chat | texts.Text:
    """One sample of a kind."""
    if kind == "chats":
        return chats.chat(draw)
    if kind == "texts":
        return texts.text(draw)
    if kind.startswith("text/"):
        return texts.text(draw, kind.removeprefix("text/"))
    return chats.chat(draw, kind)


def shown(sample: Chat | texts.Text) -> str:
    """A sample for reading."""
    if isinstance(sample, texts.Text):
        mark = " | " if sample.opening else ""
        return f"# {sample.kind}\n{sample.opening}{mark}{sample.rest}"
    lines = [f"# {sample.kind}"]
    for tool in sample.tools:
        function = tool["function"]
        parameters = ", ".join(f"{name}: {entry['type']}" for name, entry in function["parameters"]["properties"].items())
        lines.append(f"  tool {function['name']}({parameters}): {function['description']}")
    for message in sample.messages:
        lines.append(f"{message['role']}: {message['content']}")
    return "\n".join(lines)


def main() -> None:
    """Prints samples of a kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, default="chats")
    parser.add_argument("-n", "--number", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", choices=[split.value for split in Split], default=Split.TRAIN.value)
    parser.add_argument("--raw", action="store_true", help="as the model reads it")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    draw = Draw(Random(f"{arguments.kind} {arguments.seed}"), Split(arguments.split))
    for _ in range(arguments.number):
        sample = made(draw, arguments.kind)
        if arguments.json:
            print(json.dumps(sample.__dict__, ensure_ascii=False))
        elif arguments.raw and isinstance(sample, Chat):
            print(chat_as_text(sample))
        else:
            print(shown(sample), end="\n\n")


if __name__ == "__main__":
    main()
