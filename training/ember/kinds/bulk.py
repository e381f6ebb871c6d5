"""Drills on lists of words: every word copied, changed in case, spelled or measured in the same way.

Most tokens of these chats are predicted, and each depends on the request. So the model learns to copy a word whichever way the
vocabulary divides it: after a space, at the start of a line, in quotes, in capitals, letter by letter.
"""

import json
from collections.abc import Callable

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed
from ..noise import misspelled_word
from .facts_asking import asked
from .random_words import invented, random_letters

#: The kinds of words of a list, each as often as it occurs here.
_KINDS = ("any", "any", "any", "word", "name", "animal", "object", "food", "city", "adjective", "verb", "job")
_ASKED_KINDS = ("any", "word", "animal", "country", "city", "month", "day", "food", "job", "object", "color", "adjective", "verb")


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns a list with a task, and sometimes another task on the same list."""
    if draw.chance(0.12):
        return "bulk/compared", [_compared(draw)]
    if draw.chance(0.12):
        return "bulk/times", [_times(draw)]
    if draw.chance(0.15):
        return "bulk/misspelled", [_misspelled(draw)]
    words = _words(draw, draw.number(2, 14))
    name = draw.choice(list(_TASKS))
    wordings, answer = _TASKS[name]
    text = draw.choice((", ", ", ", " ")).join(words) if all(" " not in word for word in words) else ", ".join(words)
    text = text.upper() if name == "lower" else text
    turns = [Turn(asked(draw, wordings, t=text), answer(words), (text,))]
    while draw.chance(0.3) and len(turns) < 3:
        follow_up, answer = draw.choice(_FOLLOW_UPS)
        turns.append(Turn(draw.wording(follow_up), answer(words)))
    return f"bulk/{name}", turns


def spliced(draw: Draw) -> str:
    """Returns a word that does not exist: the beginning of one word and the end of another."""
    first, last = draw.words("any", 2)
    return first[: draw.number(2, len(first))] + last[-draw.number(2, len(last)) :]


def _words(draw: Draw, count: int) -> list[str]:
    """Distinct words, of one kind or of several, some of them invented."""
    kind = draw.choice((*_KINDS, None, None))
    found: dict[str, None] = {}
    while len(found) < count:
        word = _unlisted(draw) if draw.chance(0.25) else draw.word(kind or draw.choice(_KINDS))
        found[capitalized(word) if draw.chance(0.06) else word] = None
    return list(found)


def _unlisted(draw: Draw) -> str:
    """A word that no list contains."""
    return draw.choice((spliced, invented, random_letters))(draw)


def _pairs(words: list[str], answer: Callable[[str], object]) -> str:
    """One line for each word: the word and what is asked about it."""
    return "\n".join(f"{word}: {answer(word)}" for word in words)


def _joined(words: list[str], separator: str, change: Callable[[str], str] = str) -> str:
    return separator.join(change(word) for word in words)


def _title(word: str) -> str:
    return " ".join(map(capitalized, word.split()))


def _spelled(word: str) -> str:
    return "-".join(word.upper())


Answer = Callable[[list[str]], str]

#: Tasks on a list of words: the requests, and the answer.
_TASKS: dict[str, tuple[list[str], Answer]] = {
    "lines": (["one per line: {t}", "put each on its own line: {t}", "each word on a new line: {t}", "{t} - one below the other",
        "write these in separate lines: {t}",
        "new line for each: {t}", "split into lines: {t}", "put {t} in lines"], lambda words: _joined(words, "\n")),
    "quoted": (["put each word in quotes: {t}", "quote each of these: {t}", "add quotation marks to every word: {t}",
        "in quotes, each one: {t}", "each of these in quotation marks: {t}", "quotes around every word: {t}"],
        lambda words: _joined(words, ", ", lambda word: f'"{word}"')),
    "array": (["as a json array: {t}", "make a json list: {t}", "JSON array of {t}", "turn these into a json array: {t}",
        "json array: {t}", "give me {t} as a json list", "as JSON: {t}"], json.dumps),
    "lengths": (["json with the length of each word: {t}", "a json object of words and their lengths: {t}",
        "json, word to length: {t}", "a json object with the number of letters of {t}"],
        lambda words: json.dumps({word: len(word) for word in words})),
    "upper": (["all of these in capitals: {t}", "upper case, same order: {t}", "write these words in upper case: {t}",
        "capitals: {t}", "big letters for all of these: {t}", "uppercase list: {t}"],
        lambda words: _joined(words, ", ", str.upper)),
    "lower": (["all of these in lower case: {t}", "small letters, same order: {t}", "write these words in lower case: {t}",
        "lowercase list: {t}", "no capitals, same order: {t}"],
        lambda words: _joined(words, ", ", str.lower)),
    "both": (["each word and the same word in capitals: {t}", "word and upper case, line by line: {t}",
        "each word, then in capitals: {t}"],
        lambda words: _pairs(words, str.upper)),
    "title": (["start each word with a capital letter: {t}", "capitalize each of these: {t}", "first letters in upper case: {t}",
        "capital at the start of each: {t}", "with big first letters: {t}"],
        lambda words: _joined(words, ", ", _title)),
    "spelled": (["spell each of these: {t}", "how are these spelled: {t}", "letter by letter: {t}",
        "spell out each word: {t}", "spell them one by one: {t}", "spelling list: {t}"],
        lambda words: _pairs(words, _spelled)),
    "letters": (["the letters of these words, one word per line: {t}", "take these words apart into letters: {t}",
        "letters of each word with dashes: {t}", "only the letters, a line per word: {t}"],
        lambda words: _joined(words, "\n", _spelled)),
    "backward": (["spell each of these from the end: {t}", "each word backwards, letter by letter: {t}",
        "spell each backward: {t}", "from the last letter to the first, each word: {t}"],
        lambda words: _pairs(words, lambda word: _spelled(word[::-1]))),
    "counted": (["spell each word and count its letters: {t}", "letters and length of each word: {t}",
        "letters and their number for each: {t}", "spell and count: {t}"],
        lambda words: _pairs(words, lambda word: f"{_spelled(word)}, {len(word)}")),
    "count": (["how long is each of these words: {t}", "the number of letters of each: {t}",
        "count the letters of each: {t}", "letters in each of these: {t}", "length of each word: {t}"], lambda words: _pairs(words, len)),
    "first": (["the first letter of each: {t}", "with which letters do these begin: {t}",
        "first letters: {t}", "what does each start with: {t}"],
        lambda words: _pairs(words, lambda word: word[0].upper())),
    "last": (["the last letter of each: {t}", "with which letters do these end: {t}",
        "last letters: {t}", "what does each end with: {t}"],
        lambda words: _pairs(words, lambda word: word[-1].upper())),
    "reversed": (["the same words from last to first: {t}", "turn the order of these around: {t}",
        "reverse this list: {t}", "backwards order: {t}", "last one first: {t}"],
        lambda words: _joined(words[::-1], ", ")),
    "sentence": (["join these with and: {t}", "write these as a sentence part: {t}",
        "with commas and an and: {t}", "one list with and before the last: {t}"], listed),
    "bullets": (["with dashes: {t}", "a bullet list of {t}",
        "bullet points: {t}", "a list with dashes: {t}"], lambda words: _joined(words, "\n", lambda word: f"- {_title(word)}")),
    "numbered": (["numbered, one per line: {t}", "give each a number: {t}",
        "numbered list: {t}", "number these words: {t}", "1, 2, 3 before each: {t}"],
        lambda words: "\n".join(f"{number}. {word}" for number, word in enumerate(words, 1))),
}

#: Short requests for another form of the same list.
_FOLLOW_UPS: list[tuple[list[str], Answer]] = [
    (["now in capitals", "in upper case", "the same in capital letters"], lambda words: _joined(words, ", ", str.upper)),
    (["now one per line", "each on its own line please"], lambda words: _joined(words, "\n")),
    (["as a json array", "and as json?", "now as a json list"], json.dumps),
    (["spell them", "now spell each of them"], lambda words: _pairs(words, _spelled)),
    (["the other way round", "from last to first"], lambda words: _joined(words[::-1], ", ")),
    (["only the first one", "just the first"], lambda words: words[0]),
    (["only the last one", "just the last"], lambda words: words[-1]),
    (["how many are there", "count them"], lambda words: str(len(words))),
]


def _times(draw: Draw) -> Turn:
    """Each of a few words, several times."""
    words, count = _words(draw, draw.number(1, 5)), draw.number(2, 6)
    shown = draw.choice((str(count), ("two", "three", "four", "five", "six")[count - 2]))
    text = ", ".join(words)
    wordings = ["each word {n} times, one word per line: {t}", "{t} - {n} times each", "repeat each of these {n} times: {t}"]
    return Turn(asked(draw, wordings, n=shown, t=text), "\n".join(" ".join([word] * count) for word in words), (text,))


def _misspelled(draw: Draw) -> Turn:
    """Words with typing errors, and the same words without."""
    words = _known_words(draw, draw.number(2, 12))
    typed = [misspelled_word(draw, word) for word in words]
    text = ", ".join(typed)
    if draw.chance(0.5):
        wordings = ["correct each of these words: {t}", "the right spelling of each: {t}", "which words are meant: {t}"]
        return Turn(asked(draw, wordings, t=text), "\n".join(map("{}: {}".format, typed, words)), (text,))
    wordings = ["correct the spelling: {t}", "fix these words: {t}", "spelled right: {t}", "without typos: {t}", "i mean {t}"]
    return Turn(asked(draw, wordings, t=text), ", ".join(words), (text,))


def _known_words(draw: Draw, count: int) -> list[str]:
    """Distinct words of a kind that questions are about, or of several kinds."""
    kind = draw.choice((*_ASKED_KINDS, None, None, None))
    return list(dict.fromkeys(draw.word(kind or draw.choice(_ASKED_KINDS)) for _ in range(count)))


def _compared(draw: Draw) -> Turn:
    """Which word of each pair is longer or shorter."""
    pairs: list[list[str]] = []
    while len(pairs) < draw.number(1, 5):
        pair = _words(draw, 2)
        if len(pair[0]) != len(pair[1]):
            pairs.append(pair)
    form, pick = draw.choice((("longer", max), ("shorter", min)))
    text = "; ".join(f"{first} or {second}" for first, second in pairs)
    wordings = ["which words are {f}: {t}", "the {f} word of each pair: {t}", "{f} word: {t}"]
    return Turn(asked(draw, wordings, f=form, t=text), "\n".join(pick(pair, key=len) for pair in pairs), (text,))
