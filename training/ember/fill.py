"""Fills the slots of a template with words.

`{animal}` is a word of that kind, the same wherever it stands; `{animal2}` is another one; `{Animal}` begins with a
capital. An article before a slot follows the word: `a {animal}` and `{a animal}` become `an owl`.
"""

import re

from .draw import Draw
from .grammar import article, capitalized, plural

_SLOT = re.compile(r"(?:\b(?P<before>[Aa])n? )?\{(?P<article>a )?(?P<name>[A-Za-z]+)(?P<number>\d?)\}")


def fill(draw: Draw, template: str, values: dict[str, str]) -> str:
    """Returns the template with its slots filled from `values`, to which missing ones are added."""

    def filled(match: re.Match) -> str:
        name, number = match["name"], match["number"]
        key = name.lower() + number
        if key not in values:
            values[key] = _drawn(draw, name.lower(), values)
        value = values[key]
        if match["before"] or match["article"]:
            sign = article(value)
            return f"{sign.capitalize() if match['before'] == 'A' else sign} {value}"
        return capitalized(value) if name[0].isupper() else value

    # The point of `Washington, D.C.` ends its sentence.
    return re.sub(r"\bD\.C\.\.(?!\.)", "D.C.", _SLOT.sub(filled, template))


def _drawn(draw: Draw, kind: str, values: dict[str, str]) -> str:
    """Returns a word of a kind that no slot contains yet, or the plural of the animal already drawn."""
    if kind == "animals" and "animal" in values:
        return plural(values["animal"])
    while (word := draw.word(kind)) in values.values():
        pass
    return word


def keys(template: str) -> list[str]:
    """Returns the keys of the slots of a template."""
    return [match["name"].lower() + match["number"] for match in _SLOT.finditer(template)]
