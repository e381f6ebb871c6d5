"""Drills in copying: words of all kinds repeated, changed in case, counted off and picked from a list.

A small model learns late to copy what it never saw before, and most other kinds depend on it. Here every answer does. Bulk
requests put many answers into one chat, so that most of its tokens are learned from.
"""

import re
from functools import cache

from .. import stories
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized
from ..split import Split
from .bulk import spliced
from .random_words import any_name, full_name, invented, random_code, random_letters, rare_word

_KINDS = ("any", "any", "any", "any", "word", "word", "name", "name", "city", "food", "animal", "object", "job", "adjective", "verb", "country")

_REPEAT = ["repeat: {x}", "repeat after me: {x}", "copy: {x}", "say: {x}", "say {x}", "write: {x}", "write {x}", "{x} - say that again",
    "please repeat this: {x}", "echo {x}", "type {x}", "just say {x}", "now say {x}", "say only {x}", "answer with {x} and nothing else", "only write {x}", "just the word {x}"]
_UPPER = ["{x} in upper case", "Write {x} in upper case.", "make this upper case: {x}", "{x} in capitals", "upper case: {x}", "write {x} in all caps", "shout: {x}", "capitalize everything: {x}", "in capital letters: {x}", "uppercase: {x}", "turn this into capitals: {x}",
    "all caps please: {x}", "{x} - in big letters", "Put this in capital letters: {x}", "can you write {x} in capitals", "big letters only: {x}"]
_LOWER = ["{X} in lower case", "Write {X} in lower case.", "make this lower case: {X}", "lower case: {X}", "write {X} in small letters", "{X} to lowercase", "in small letters: {X}", "lowercase: {X}", "no capitals: {X}", "turn this into small letters: {X}", "Put this in lower case: {X}", "can you write {X} in lower case"]
_TIMES = ["say {x} {n} times", "say the word {x} {n} times", "repeat the word {x} {n} times", "{x}, {n} times", "repeat {x} {n} times", "write {x} {n} times", "{n} times {x}", "say {n} times: {x}", "print {x} {n} times", "type {x} {n} times in a row", "can you say {x} {n} times", "i want {x} {n} times", "Write {x} {n} times.", "echo {x} {n} times"]
_BULLETS = ["make a list of {x}", "bullet points: {x}", "list these: {x}", "turn this into a list: {x}", "make bullet points from {x}", "{x} as a list", "with bullet points: {x}", "a dash before each: {x}", "list with dashes: {x}"]
_NUMBERED = ["number these: {x}", "numbered list: {x}", "put numbers before {x}", "{x} as a numbered list", "count these off: {x}", "a numbered list of {x}", "number each of {x}", "with numbers: {x}"]
_PICK = ["what is the {n} of these: {x}", "give me the {n} one: {x}", "{x} - which is the {n}", "the {n} of {x}", "pick the {n}: {x}", "which one is {n}: {x}", "only the {n} one: {x}", "from {x} take the {n}", "which is {n} in this list: {x}"]
_BACKWARD = ["reverse the order: {x}", "{x} in reverse order", "turn this list around: {x}", "backwards: {x}", "last one first: {x}", "reverse this list: {x}", "from the end to the start: {x}", "the other way round: {x}"]
_NUMBERS = {2: ("two", "2"), 3: ("three", "3"), 4: ("four", "4"), 5: ("five", "5"), 6: ("six", "6")}
_ORDINALS = ["first", "second", "third", "fourth", "last"]


_SPELL = ["spell these words: {x}", "spell {x}", "spell each word: {x}", "letters of {x}", "Spell these: {x}", "how do you spell {x}", "spell out each of {x}",
    "each word letter by letter: {x}", "letter by letter please: {x}", "can you spell {x}", "please spell these words: {x}", "the spelling of {x}"]
_LOWER_EACH = ["each word in lower case, one per line: {x}", "lower case, line by line: {x}", "small letters, one per line: {x}", "lowercase each word, line by line: {x}", "one per line, in small letters: {x}", "{x} - each in lower case on its own line"]
_COUNT_EACH = ["how many letters has each word: {x}", "count the letters of each word: {x}", "number of letters: {x}", "letters per word: {x}", "how long is each word: {x}", "length of each: {x}", "word lengths: {x}"]
_UPPER_EACH = ["each word in capitals, one per line: {x}", "upper case, line by line: {x}", "uppercase each word, one per line: {x}",
    "one per line, in capitals: {x}", "{x} - each in capitals on its own line", "capital letters, line by line: {x}"]


def words(draw: Draw, low: int, high: int) -> list[str]:
    """Returns from `low` to `high` words of any kind, some of them capitalized, some of them invented."""
    return [_word(draw) for _ in range(draw.number(low, high))]


def _word(draw: Draw) -> str:
    """Returns a word, a name or phrase, an invented word, or letters and digits without order."""
    form = draw.rng.random()
    if form < 0.16:
        return draw.choice((any_name, full_name))(draw) if draw.chance(0.35) else invented(draw) if draw.chance(0.6) else spliced(draw)
    if form < 0.26:
        return random_letters(draw) if draw.chance(0.6) else random_code(draw)
    if form < 0.3:
        return str(draw.number(0, 10 ** draw.number(1, 5)))
    word = draw.word(draw.choice(_KINDS))
    return capitalized(word) if draw.chance(0.1) else word


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns one to three turns of copying."""
    return "copying", [_turn(draw) for _ in range(draw.rng.choices((1, 2, 3), (6, 3, 2))[0])]


def _turn(draw: Draw) -> Turn:
    makers = ((_repeated, 5), (_cased, 5), (_times, 5), (_listed, 3), (_spelled, 9), (_cased_each, 4), (_counted_each, 3),
        (_quoted_sentence, 4))
    return draw.rng.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0](draw)


def _letters_only(draw: Draw, count: int) -> list[str]:
    """Distinct words without spaces and signs, about half of which no list contains."""
    found: dict[str, None] = {}
    kind = draw.choice(("any", "any", "word", "name"))
    while len(found) < count:
        found[rare_word(draw) if draw.chance(0.5) else draw.word(kind)] = None
    return list(found)


def _spelled(draw: Draw) -> Turn:
    """Several words, each spelled in a line of its own."""
    found = _letters_only(draw, draw.number(2, 7))
    text = draw.choice((", ", " ")).join(found)
    return Turn(draw.choice(_SPELL).format(x=text), "\n".join(f"{word}: {'-'.join(word.upper())}" for word in found), (text,))


def _cased_each(draw: Draw) -> Turn:
    found = _letters_only(draw, draw.number(2, 9))
    text = ", ".join(found)
    if draw.chance(0.5):
        text = text.upper()
        return Turn(draw.choice(_LOWER_EACH).format(x=text), "\n".join(word.lower() for word in found), (text,))
    return Turn(draw.choice(_UPPER_EACH).format(x=text), "\n".join(word.upper() for word in found), (text,))


def _counted_each(draw: Draw) -> Turn:
    """The number of letters of each of several words."""
    found = _letters_only(draw, draw.number(2, 5))
    text = ", ".join(found)
    return Turn(draw.choice(_COUNT_EACH).format(x=text), "\n".join(f"{word}: {len(word)}" for word in found), (text,))


def _quoted_sentence(draw: Draw) -> Turn:
    """A sentence of a story, as it is or in another case."""
    sentence = draw.choice(sentences())
    form = draw.number(0, 3)
    if form == 0:
        return Turn(draw.choice(_UPPER).format(x=sentence), sentence.upper(), (sentence,))
    if form == 1:
        shown = sentence.upper()
        return Turn(draw.choice(_LOWER).format(X=shown), sentence.lower(), (shown,))
    return Turn(draw.choice(_REPEAT).format(x=sentence), sentence, (sentence,))


@cache
def sentences() -> tuple[str, ...]:
    """Returns the short sentences of the stories that are trained on."""
    found = [sentence for one in stories.known(Split.TRAIN) for sentence in re.split(r"(?<=[.!?])\s", one.text)]
    return tuple(dict.fromkeys(sentence.rstrip(".") for sentence in found
        if 2 <= len(sentence.split()) <= 8 and re.fullmatch(r"[A-Z][A-Za-z', ]+[.!?]", sentence)))


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
