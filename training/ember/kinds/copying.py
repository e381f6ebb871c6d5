"""Drills in copying: words of all kinds repeated, changed in case, counted off and picked from a list.

A small model learns late to copy what it never saw before, and most other kinds depend on it. Here every answer does.
"""

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized

_KINDS = ("word", "word", "name", "name", "city", "food", "animal", "object", "job", "adjective", "verb", "country")

_REPEAT = ["repeat: {x}", "repeat after me: {x}", "copy: {x}", "say: {x}", "say {x}", "write: {x}", "write {x}", "{x} - say that again",
    "please repeat this: {x}", "echo {x}", "type {x}", "just say {x}", "now say {x}"]
_UPPER = ["{x} in upper case", "{x} in capitals", "upper case: {x}", "write {x} in all caps", "shout: {x}", "capitalize everything: {x}"]
_LOWER = ["{X} in lower case", "lower case: {X}", "write {X} in small letters", "{X} to lowercase"]
_TIMES = ["say {x} {n} times", "repeat {x} {n} times", "write {x} {n} times", "{n} times {x}"]
_BULLETS = ["make a list of {x}", "bullet points: {x}", "list these: {x}", "turn this into a list: {x}"]
_NUMBERED = ["number these: {x}", "numbered list: {x}", "put numbers before {x}"]
_PICK = ["what is the {n} of these: {x}", "give me the {n} one: {x}", "{x} - which is the {n}"]
_BACKWARD = ["reverse the order: {x}", "{x} in reverse order", "turn this list around: {x}"]
_NUMBERS = {2: ("two", "2"), 3: ("three", "3"), 4: ("four", "4")}
_ORDINALS = ["first", "second", "third", "fourth", "last"]


def words(draw: Draw, low: int, high: int) -> list[str]:
    """Returns from `low` to `high` words of any kind, some of them capitalized."""
    found = [draw.word(draw.choice(_KINDS)) for _ in range(draw.number(low, high))]
    return [capitalized(word) if draw.chance(0.1) else word for word in found]


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns one to three turns of copying."""
    return "copying", [_turn(draw) for _ in range(draw.rng.choices((1, 2, 3), (6, 3, 2))[0])]


def _turn(draw: Draw) -> Turn:
    maker = draw.rng.choices((_repeated, _cased, _times, _listed), (5, 3, 2, 4))[0]
    return maker(draw)


def _repeated(draw: Draw) -> Turn:
    text = " ".join(words(draw, 1, 7))
    return Turn(draw.choice(_REPEAT).format(x=text), text, (text,))


def _cased(draw: Draw) -> Turn:
    text = " ".join(words(draw, 1, 4))
    if draw.chance(0.6):
        return Turn(draw.choice(_UPPER).format(x=text), text.upper(), (text,))
    return Turn(draw.choice(_LOWER).format(X=text.upper()), text.lower(), (text.upper(),))


def _times(draw: Draw) -> Turn:
    text = " ".join(words(draw, 1, 2))
    number = draw.choice(list(_NUMBERS))
    return Turn(draw.choice(_TIMES).format(x=text, n=draw.choice(_NUMBERS[number])), " ".join([text] * number), (text,))


def _listed(draw: Draw) -> Turn:
    items = list(dict.fromkeys(words(draw, 3, 6)))
    text = ", ".join(items)
    match draw.number(0, 3):
        case 0:
            return Turn(draw.choice(_BULLETS).format(x=text), "\n".join(f"- {item}" for item in items), (text,))
        case 1:
            answer = "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
            return Turn(draw.choice(_NUMBERED).format(x=text), answer, (text,))
        case 2:
            return Turn(draw.choice(_BACKWARD).format(x=text), ", ".join(reversed(items)), (text,))
        case _:
            at = draw.choice([index for index in range(5) if index == 4 or index < len(items)])
            return Turn(draw.choice(_PICK).format(x=text, n=_ORDINALS[at]), items[-1 if at == 4 else at], (text,))
