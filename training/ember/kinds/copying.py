"""Drills in copying: words of all kinds repeated, changed in case, counted off and picked from a list.

A small model learns late to copy what it never saw before, and most other kinds depend on it. Here every answer does. Bulk
requests put many answers into one chat, so that most of its tokens are learned from.
"""

from string import ascii_lowercase

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized

_KINDS = ("word", "word", "name", "name", "city", "food", "animal", "object", "job", "adjective", "verb", "country")

_REPEAT = ["repeat: {x}", "repeat after me: {x}", "copy: {x}", "say: {x}", "say {x}", "write: {x}", "write {x}", "{x} - say that again",
    "please repeat this: {x}", "echo {x}", "type {x}", "just say {x}", "now say {x}"]
_UPPER = ["{x} in upper case", "{x} in capitals", "upper case: {x}", "write {x} in all caps", "shout: {x}", "capitalize everything: {x}"]
_LOWER = ["{X} in lower case", "lower case: {X}", "write {X} in small letters", "{X} to lowercase"]
_TIMES = ["say {x} {n} times", "say the word {x} {n} times", "repeat the word {x} {n} times", "{x}, {n} times", "repeat {x} {n} times", "write {x} {n} times", "{n} times {x}"]
_BULLETS = ["make a list of {x}", "bullet points: {x}", "list these: {x}", "turn this into a list: {x}"]
_NUMBERED = ["number these: {x}", "numbered list: {x}", "put numbers before {x}"]
_PICK = ["what is the {n} of these: {x}", "give me the {n} one: {x}", "{x} - which is the {n}"]
_BACKWARD = ["reverse the order: {x}", "{x} in reverse order", "turn this list around: {x}"]
_NUMBERS = {2: ("two", "2"), 3: ("three", "3"), 4: ("four", "4"), 5: ("five", "5"), 6: ("six", "6")}
_ORDINALS = ["first", "second", "third", "fourth", "last"]


_SYLLABLES = ("ba be bi bo bu ca co da de di do du fa fe fi fo ga ge gi go ha he hi ho ja jo ka ke ki ko la le li lo lu ma me mi mo mu na "
    "ne ni no nu pa pe pi po ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo wa we wi wo ya yo za ze zi zo tra gri plo ster "
    "bran chel dorf klim nast quor spen thul wick zend").split()
_SPELL = ["spell these words: {x}", "spell {x}", "spell each word: {x}", "letters of {x}"]
_UPPER_EACH = ["each word in capitals, one per line: {x}", "upper case, line by line: {x}"]


def words(draw: Draw, low: int, high: int) -> list[str]:
    """Returns from `low` to `high` words of any kind, some of them capitalized, some of them invented."""
    return [_word(draw) for _ in range(draw.number(low, high))]


def _word(draw: Draw) -> str:
    """Returns a word, a name or phrase, an invented word, or letters and digits without order."""
    form = draw.rng.random()
    if form < 0.12:
        return _invented(draw)
    if form < 0.16:
        signs = draw.choice((ascii_lowercase, ascii_lowercase.upper(), ascii_lowercase + "0123456789-_."))
        return "".join(draw.choice(signs) for _ in range(draw.number(3, 8))).strip("-_.") or "x"
    if form < 0.2:
        return str(draw.number(0, 10 ** draw.number(1, 5)))
    word = draw.word(draw.choice(_KINDS))
    return capitalized(word) if draw.chance(0.1) else word


def _invented(draw: Draw) -> str:
    """Returns a word that does not exist, such as a name of somebody or of a product."""
    word = "".join(draw.choice(_SYLLABLES) for _ in range(draw.number(2, 4)))
    return capitalized(word) if draw.chance(0.5) else word


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns one to three turns of copying."""
    return "copying", [_turn(draw) for _ in range(draw.rng.choices((1, 2, 3), (6, 3, 2))[0])]


def _turn(draw: Draw) -> Turn:
    maker = draw.rng.choices((_repeated, _cased, _times, _listed, _spelled, _cased_each), (5, 4, 5, 4, 6, 2))[0]
    return maker(draw)


def _spelled(draw: Draw) -> Turn:
    """Several words, each spelled in a line of its own."""
    found = [word for word in draw.words("word", draw.number(2, 6))]
    text = draw.choice((", ", " ")).join(found)
    return Turn(draw.choice(_SPELL).format(x=text), "\n".join(f"{word}: {'-'.join(word.upper())}" for word in found), (text,))


def _cased_each(draw: Draw) -> Turn:
    found = draw.words("word", draw.number(2, 8))
    text = ", ".join(found)
    return Turn(draw.choice(_UPPER_EACH).format(x=text), "\n".join(word.upper() for word in found), (text,))


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
