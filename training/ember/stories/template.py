"""Text with choices: `[this|that]` becomes one of its alternatives, `{field}` the value of a field."""

import random
import re

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SENTENCE_START = re.compile(r'((?:^|[.!?] |\." |\n)"?)([a-z])')
_SPACES = re.compile(r" {2,}")
_SPACE_BEFORE_MARK = re.compile(r" ([.,!?])")


def choose(rng: random.Random, text: str) -> str:
    """`text` with every `[a|b|c]`, the innermost first, replaced by one of its alternatives."""
    found = 1
    while found:
        text, found = _CHOICE.subn(lambda match: rng.choice(match[1].split("|")), text)
    return text


def fill(text: str, fields: dict) -> str:
    """`text` with its fields filled in; a value may itself hold fields."""
    while "{" in text:
        text = text.format_map(fields)
    return text


def join_lines(text: str) -> str:
    """`text` with the line breaks inside its paragraphs made spaces."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def tidy(text: str) -> str:
    """`text` with single spaces, no empty paragraphs, and a capital letter at the start of each sentence."""
    paragraphs = [_SPACES.sub(" ", paragraph).strip() for paragraph in text.split("\n\n")]
    text = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    text = _SPACE_BEFORE_MARK.sub(r"\1", text)
    return _SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), text)
