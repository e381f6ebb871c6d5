"""What a tool is, the results that are computed, and the words that invented tools are made of."""

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


#: Tools with invented names: `{word}` is what it gives, `{key}` and `{other}` are its parameters.
INVENTED_VERBS = "get find make check send fetch show".split()
INVENTED_DESCRIPTIONS = (
    "{Verb} the {word} of a {key}", "{Verb} a {word}", "Does the {word} for you", "{Verb} the {word}",
)
INVENTED_KEYS = "name id city code count size color level".split()
INVENTED_KINDS = "any city person number big thing color word".split()
INVENTED_QUESTIONS = (
    "{Verb} the {word} for {key} {{{key}}}.",
    "Please {verb} the {word} with {key} {{{key}}}.",
    "I want the {word} for the {key} {{{key}}}.",
    "Use {name} with {key} {{{key}}}.",
    "Call {name}. The {key} is {{{key}}}.",
    "Can you {verb} the {word} of {key} {{{key}}}?",
)
INVENTED_SECOND = (" The {other} is {{{other}}}.", " Set {other} to {{{other}}}.", " Use {other} {{{other}}}.")
INVENTED_REPLIES = ("The {word} is {{{word}}}.", "I got the {word}: {{{word}}}.", "Here is the {word}: {{{word}}}.")
