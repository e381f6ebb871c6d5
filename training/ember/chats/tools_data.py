"""What a tool is, and the results that are computed."""

from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Tool:
    """A tool. Alternatives for a name are divided by bars, and the first of them is what templates call it."""

    names: str
    description: str
    #: Written "names: kind", the kind one of `values.KINDS`. Required are those that every question gives.
    parameters: tuple[str, ...]
    questions: tuple[str, ...]
    #: What the user wants, after "The user wants".
    aim: str
    #: What it answers: written "names: kind", where a kind that is a name of `OUTCOMES` is computed.
    result: tuple[str, ...]
    replies: tuple[str, ...]
    #: Questions that ask for two calls, the second with `{second}` as its first parameter.
    pairs: tuple[str, ...] = ()
    #: Tools of one group could answer the same question and are never offered together.
    group: str = ""


#: Results that follow from the arguments.
OUTCOMES: dict[str, Callable[[dict], object]] = {
    "sum": lambda given: given["a"] + given["b"],
    "difference": lambda given: given["a"] - given["b"],
    "product": lambda given: given["a"] * given["b"],
    "letters": lambda given: len(given["word"]),
    "value": lambda given: _calculated(given["expression"]),
}


def _calculated(expression: str) -> int:
    """The value of "a + b", "a - b" or "a * b"."""
    first, sign, second = expression.split()
    given = {"a": int(first), "b": int(second)}
    return OUTCOMES[{"+": "sum", "-": "difference", "*": "product"}[sign]](given)
