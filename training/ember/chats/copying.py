"""Drills in copying: many words to say again, to spell, or to find by their keys.

Nobody asks for these; they teach what JSON, tools and names need. An answer is all copied, so a chat teaches as much as
twenty whose answers hold one name.
"""

import json
import random
from collections.abc import Callable

from ember.chats.chat import Chat, Check
from ember.chats.drawing import draw, invented_word, user
from ember.chats.instructions_data import ADJECTIVES, SHORT_WORDS
from ember.chats.names_data import NAMES
from ember.split import Split

_REPEAT = (
    "Repeat these words: {}", "Say these words: {}", "Write these words again: {}", "Say {}", "Repeat after me: {}",
    "Copy this list: {}", "Answer with these words: {}",
)
_SPELL = ("Spell these words with hyphens: {}", "Spell {} with hyphens.", "Spell {}")
_AS_LIST = ("Write these words as a JSON list: {}", "Answer with a JSON list of these words: {}", "As a JSON list: {}")
_LOOKUP = (
    "Write JSON with the keys {}.", "Answer in JSON with the keys {}.", "Give me JSON with these keys: {}",
    "Respond with a JSON object that has the keys {}.", "JSON with {} as keys, please.",
)


def chat(rng: random.Random, split: Split) -> Chat:
    """A drill of one of the sorts, on words that belong to `split`."""
    return rng.choice(_MAKERS)(rng, split)


def _word(rng: random.Random, split: Split) -> str:
    """A word of any sort that belongs to `split`, as it stands in texts."""
    return draw(split, lambda: _any_word(rng))


def _any_word(rng: random.Random) -> str:
    sort = rng.random()
    if sort < 0.35:
        return rng.choice(SHORT_WORDS)
    if sort < 0.55:
        return invented_word(rng)
    if sort < 0.7:
        return rng.choice(NAMES)
    if sort < 0.8:
        return invented_word(rng).capitalize()
    if sort < 0.88:
        return f"{rng.choice(ADJECTIVES)} {rng.choice(SHORT_WORDS)}"
    return str(rng.randint(0, rng.choice((20, 100, 2000))))


def _words(rng: random.Random, split: Split, least: int, most: int) -> list[str]:
    """Different words that belong to `split`."""
    number = rng.randint(least, most)
    words: dict[str, None] = {}
    while len(words) < number:
        words[_word(rng, split)] = None
    return list(words)


def _drill(question: str, thought: str, answer: str, check: Check) -> Chat:
    return Chat("copying", [user(question)], thought, answer, check)


def _repeat(rng: random.Random, split: Split) -> Chat:
    words = rng.choice((", ", " ")).join(_words(rng, split, 2, 16))
    return _drill(rng.choice(_REPEAT).format(words), "The user wants the words again.", words, Check((words,)))


def _spell(rng: random.Random, split: Split) -> Chat:
    words = [word for word in _words(rng, split, 2, 7) if word.isalpha()] or ["cat"]
    spelled = ", ".join("-".join(word) for word in words)
    question = rng.choice(_SPELL).format(", ".join(words))
    return _drill(question, "I write the letters with hyphens.", spelled, Check((spelled,)))


def _as_list(rng: random.Random, split: Split) -> Chat:
    words = _words(rng, split, 2, 12)
    question = rng.choice(_AS_LIST).format(", ".join(words))
    return _drill(question, "The user wants the words as JSON.", json.dumps(words), Check(json=words))


def _lookup(rng: random.Random, split: Split) -> Chat:
    """Values to find by their keys, in another order."""
    keys = [key for key in _words(rng, split, 3, 9) if not key[0].isdigit()] or ["key"]
    told = {key: _value(rng, split) for key in keys}
    form, between = rng.choice((("{}: {}", "\n"), ("{} = {}", "\n"), ("The {} is {}.", " "), ("{}: {}", ", ")))
    text = between.join(form.format(key, value) for key, value in told.items())
    asked = rng.sample(keys, rng.randint(1, min(6, len(keys))))
    answer = {key: told[key] for key in asked}
    mark = rng.choice(("", '"', "'"))
    question = f"{text}\n{rng.choice(_LOOKUP).format(', '.join(f'{mark}{key}{mark}' for key in asked))}"
    thought = ", ".join(f"{key} is {value}" for key, value in answer.items()) + "."
    return _drill(question, thought, json.dumps(answer), Check(json=answer))


def _value(rng: random.Random, split: Split) -> str | int:
    word = _word(rng, split)
    return int(word) if word.isdigit() else word


_MAKERS: list[Callable[[random.Random, Split], Chat]] = [_repeat, _spell, _as_list, _lookup, _lookup]
