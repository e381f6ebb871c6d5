"""Values for questions and answers: each has the words that stand in the text and the JSON value they mean."""

import re
from dataclasses import dataclass
from random import Random
from typing import Callable

from ember.chats import values_data as words
from ember.split import Split, of_split, split_of

Json = str | int | float | bool | None | list


@dataclass(frozen=True)
class Value:
    """How a value stands in a text, and the JSON value it means."""

    text: str
    json: Json


def invented_word(rng: Random, split: Split) -> str:
    """A word of two or three syllables that hardly anyone has seen, such as `tamber`."""
    while True:
        word = "".join(
            rng.choice(words.SYLLABLE_STARTS) + rng.choice(words.VOWELS) for _ in range(rng.choice((1, 1, 1, 2)))
        )
        word += rng.choice(words.SYLLABLE_STARTS[-14:]) + rng.choice(words.VOWELS) + rng.choice(words.SYLLABLE_ENDS)
        if split_of(word) is split:
            return word


def with_articles(text: str) -> str:
    """`text` with "an" for "a" before a vowel."""
    return re.sub(r"\b([Aa]) (?=[aeiouAEIOU])", r"\1n ", text)


def listed(items: list[str], last: str = "and") -> str:
    """The items as a list in a sentence: "a", "a and b", "a, b and c"."""
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


class Draw:
    """Draws values for one chat, never the same text twice."""

    def __init__(self, rng: Random, split: Split):
        self.rng = rng
        self.split = split
        self.taken: set[str] = set()

    def value(self, kind: str) -> Value:
        """A value of `kind`, one of `KINDS`."""
        make = KINDS[kind].make
        for _ in range(50):
            value = make(self)
            if value.text not in self.taken:
                break
        self.taken.add(value.text)
        return value

    def filled(self, template: str) -> str:
        """The template with a new value of the kind in each pair of braces."""
        return with_articles(re.sub(r"\{(\w+)\}", lambda slot: self.value(slot[1]).text, template))

    def invented(self) -> str:
        """A new invented word."""
        return invented_word(self.rng, self.split)


@dataclass(frozen=True)
class Kind:
    """A kind of value: its type in a JSON schema, how one is drawn, and all that there are if they are few."""

    type: str
    make: Callable[[Draw], Value]
    choices: tuple[str, ...] = ()


def _closed(choices: list[str]) -> Kind:
    """A few words that are the same in every split."""
    return Kind("string", lambda draw: _word(draw.rng.choice(choices)))


def _enumeration(*choices: str) -> Kind:
    """A few words that a schema lists."""
    return Kind("string", lambda draw: _word(draw.rng.choice(choices)), choices)


def _open(choices: list[str], invented: float, capital: bool = False) -> Kind:
    """Words that are divided between the splits, with some invented ones among them."""
    choices_of = {split: of_split(choices, split) for split in Split}

    def make(draw: Draw) -> Value:
        if draw.rng.random() >= invented:
            return _word(draw.rng.choice(choices_of[draw.split]))
        word = draw.invented()
        return _word(word.capitalize() if capital else word)

    return Kind("string", make)


def _composed(make_text: Callable[[Draw], str], material: Callable[[str], str] = str) -> Kind:
    """Text made of parts, the whole of which, or its `material`, belongs to one split."""

    def make(draw: Draw) -> Value:
        while True:
            text = make_text(draw)
            if split_of(material(text)) is draw.split:
                return _word(text)

    return Kind("string", make)


def _phrase(templates: list[str]) -> Kind:
    """Text from templates with values in them."""

    def make(draw: Draw) -> Value:
        return _word(Draw(draw.rng, draw.split).filled(draw.rng.choice(templates)))

    return Kind("string", make)


def _integer(low: int, high: int, step: int = 1) -> Kind:
    """A whole number in digits."""

    def make(draw: Draw) -> Value:
        number = draw.rng.randrange(low, high + 1, step)
        return Value(str(number), number)

    return Kind("integer", make)


def _amount(draw: Draw) -> Value:
    """A number that is now and then not whole."""
    number = draw.rng.randint(2, 200) if draw.rng.random() < 0.8 else draw.rng.randint(1, 20) + 0.5
    return Value(str(number), number)


NUMBER_WORDS = "zero one two three four five six seven eight nine ten".split()


def _count(draw: Draw) -> Value:
    """How many of something, more than one, in digits or a word."""
    number = draw.rng.randint(2, 30) if draw.rng.random() < 0.6 else draw.rng.randint(2, 10)
    in_words = number <= 10 and draw.rng.random() < 0.35
    return Value(NUMBER_WORDS[number] if in_words else str(number), number)


def _time(draw: Draw) -> str:
    return f"{draw.rng.randint(1, 12)}:{draw.rng.randrange(0, 60, 5):02}"


def _title(draw: Draw) -> str:
    return f"{draw.rng.choice(words.TITLE_STARTS)} {draw.rng.choice(words.TITLE_ENDS)}"


def _file(draw: Draw) -> str:
    stem = draw.invented() if draw.rng.random() < 0.3 else draw.rng.choice(words.FILE_STEMS)
    number = draw.rng.choice(("", "", str(draw.rng.randint(1, 99))))
    return f"{stem}{number}.{draw.rng.choice(words.FILE_ENDS)}"


def _flight(draw: Draw) -> str:
    letters = "".join(draw.rng.choice("ABCDEFGHKLMNPRSTUVWXYZ") for _ in range(2))
    return f"{letters}{draw.rng.randint(10, 999)}"


def _expression(draw: Draw) -> str:
    sign = draw.rng.choice("+-*")
    first, second = draw.rng.randint(2, 99), draw.rng.randint(2, 99)
    if sign == "-":
        first, second = max(first, second), min(first, second)
    return f"{first} {sign} {second}"


def _either(yes: str, no: str) -> Kind:
    """A choice of two words that means true or false."""
    return Kind("boolean", lambda draw: draw.rng.choice((Value(yes, True), Value(no, False))))


#: How a tool says that it has done its work.
SUCCESSES = (Value("ok", "ok"), Value("done", "done"), Value("success", "success"), Value("true", True))


def _word(text: str) -> Value:
    return Value(text, text)


KINDS: dict[str, Kind] = {
    "age": _integer(3, 90),
    "amount": Kind("number", _amount),
    "animal": _open(words.ANIMALS, 0.03),
    "any": Kind("string", lambda draw: _word(draw.invented())),
    "big": _integer(20, 990, 5),
    "channel": _integer(1, 99),
    "city": _open(words.CITIES, 0.04, capital=True),
    "color": _closed(words.COLORS),
    "company": _closed(words.COMPANIES),
    "container": _closed(words.CONTAINERS),
    "count": Kind("integer", _count),
    "country": _open(words.COUNTRIES, 0.04, capital=True),
    "currency": _closed(words.CURRENCIES),
    "day": _closed(words.DAYS),
    "degrees": _integer(2, 35),
    "dish": _closed(words.DISHES),
    "drink": _closed(words.DRINKS),
    "event": _closed(words.EVENTS),
    "expression": _composed(_expression, lambda text: text.replace(" ", "").replace("*", "x")),
    "file": _composed(_file),
    "flight": _composed(_flight),
    "flight_state": _closed(["on time", "late", "early", "boarding"]),
    "folder": _closed(words.FOLDERS),
    "food": _open(words.FOODS, 0.02),
    "fruit": _closed(words.FRUITS),
    "genre": _closed(words.GENRES),
    "hobby": _closed(words.HOBBIES),
    "instrument": _closed(words.INSTRUMENTS),
    "job": _closed(words.JOBS),
    "language": _closed(words.LANGUAGES),
    "length": _closed(words.LENGTHS),
    "lock": _either("Lock", "Unlock"),
    "material": _closed(words.MATERIALS),
    "message": _phrase(words.MESSAGES),
    "millions": _integer(1, 300),
    "minutes": _integer(2, 90),
    "month": _closed(words.MONTHS),
    "mood": _closed(words.MOODS),
    "number": _integer(2, 100),
    "new_name": Kind("string", lambda draw: _word(draw.invented().capitalize())),
    "nights": _integer(2, 14),
    "ok": Kind("string", lambda draw: draw.rng.choice(SUCCESSES)),
    "on": _either("on", "off"),
    "person": _open(words.NAMES, 0.06, capital=True),
    "plural": _open(words.PLURALS, 0.0),
    "price": _integer(2, 99),
    "room": _closed(words.ROOMS),
    "season": _closed(words.SEASONS),
    "shape": _closed(words.SHAPES),
    "side": _enumeration("left", "right"),
    "size": _closed(words.SIZES),
    "sky": _closed(words.SKIES),
    "small": _integer(2, 9),
    "speed": _enumeration("slow", "fast"),
    "sport": _closed(words.SPORTS),
    "store": _closed(words.STORES),
    "task": _phrase(words.TASKS),
    "temperature_unit": _enumeration("celsius", "fahrenheit"),
    "thing": _open(words.THINGS, 0.03),
    "time": _composed(_time),
    "title": _composed(_title),
    "topic": _phrase(words.TOPICS),
    "vehicle": _closed(words.VEHICLES),
    "verb": _closed(words.VERBS),
    "volume": _integer(1, 10),
    "word": _open(words.ANIMALS + words.THINGS + words.COLORS + words.MOODS, 0.05),
    "year": _integer(1900, 2030),
}
