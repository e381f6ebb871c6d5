"""Short tasks that tell the model what to write: repeat, spell, count, list, compare, put in order, yes or no."""

import random
from collections.abc import Callable

from ember.chats.categories_data import CATEGORIES, LISTS, NEITHER, UNCOUNTED, WIDER
from ember.chats.chat import Chat, Check
from ember.chats.drawing import capitalized, casual, draw, invented_word, user, with_article
from ember.chats.instructions_data import ADJECTIVES, SENTENCES, SHORT_WORDS, SUBJECTS, TASKS
from ember.split import Split

_COUNTS = (("two", 2), ("three", 3), ("four", 4), ("five", 5))
#: Things with two meanings, of which no one should ask whether they are something else.
_AMBIGUOUS = {"orange", "lime", "violet", "file", "cricket", "palm", "fly", "pike", "kiwi", "drum", "horse"}


def chat(rng: random.Random, split: Split) -> Chat:
    """A task of one of the sorts."""
    return rng.choices(_MAKERS, _WEIGHTS)[0](rng, split)


def _task(rng: random.Random, task: str, words: dict[str, str], answer: str, check: Check, loose: bool = True) -> Chat:
    """The chat for a task of the data, with `words` put into its wording and its thought."""
    wordings, thought = TASKS[task]
    asked = rng.choice(wordings).format(**words)
    question = user(casual(rng, asked) if loose else asked)
    return Chat("instructions", [question], capitalized(thought.format(**words)), answer, check)


def _word(rng: random.Random, longest: int = 12) -> str:
    """A word of everyday or, now and then, an invented one."""
    invented = invented_word(rng) if rng.random() < 0.05 else ""
    return invented if 0 < len(invented) <= longest else rng.choice(SHORT_WORDS)


def _say(rng: random.Random, split: Split) -> Chat:
    word = draw(split, lambda: _word(rng))
    return _task(rng, "say", {"x": word}, f"{capitalized(word)}.", Check((word,)), loose=False)


def _repeat(rng: random.Random, split: Split) -> Chat:
    def make() -> str:
        return rng.choice(SENTENCES).format(who=rng.choice(SUBJECTS), how=rng.choice(ADJECTIVES), what=_word(rng))

    sentence = draw(split, make)
    return _task(rng, "repeat", {"x": sentence}, sentence, Check((sentence.rstrip(".!"),)), loose=False)


def _spell(rng: random.Random, split: Split) -> Chat:
    word = draw(split, lambda: _word(rng, longest=7))
    mark = rng.choice((" ", "-"))
    answer = mark.join(word)
    task = "spell with spaces" if mark == " " else "spell with hyphens"
    return _task(rng, task, {"x": word}, answer, Check((answer,)))


def _letter(rng: random.Random, split: Split) -> Chat:
    which, place = rng.choice((("first", 0), ("last", -1)))
    word = draw(split, lambda: _word(rng), lambda drawn: f"{which}|{drawn}")
    letter = word[place]
    answer = f"The {which} letter of {word} is {letter}."
    return _task(rng, "letter", {"x": word, "which": which, "letter": letter}, answer, Check((f"is {letter}",)))


def _count(rng: random.Random, split: Split) -> Chat:
    """Counting, mostly from one."""

    def make() -> tuple[int, int]:
        start = rng.choice((1, 1, 1, rng.randint(2, 9)))
        return start, rng.randint(start + 2, 20)

    start, end = draw(split, make)
    numbers = ", ".join(str(number) for number in range(start, end + 1))
    task = "count" if start == 1 else "count from"
    return _task(rng, task, {"a": start, "b": end}, numbers, Check((numbers,), (str(end + 1),)))


def _list(rng: random.Random, split: Split) -> Chat:
    """A list of a few things of one sort."""
    plural, (number, count) = draw(split, lambda: (rng.choice(list(LISTS)), rng.choice(_COUNTS)))
    answer = _listed(plural, rng.sample(LISTS[plural], count))
    return _task(rng, "list", {"n": number, "x": plural}, answer, Check(("and",), min_words=count + 1))


def _listed(plural: str, things: list[str]) -> str:
    """A sentence that lists `things`, with articles where these have any."""
    named = things if plural in UNCOUNTED else [with_article(thing) for thing in things]
    return capitalized(f"{', '.join(named[:-1])} and {named[-1]}.")


def _larger(rng: random.Random, split: Split) -> Chat:
    most = rng.choice((10, 10, 20))
    left, right = draw(split, lambda: tuple(rng.sample(range(1, most + 1), 2)), lambda drawn: f"compare {drawn}")
    large = rng.random() < 0.6
    found, other = (max if large else min)(left, right), (min if large else max)(left, right)
    word = "larger" if large else "smaller"
    words = {"a": left, "b": right, "found": found, "other": other}
    return _task(rng, word, words, f"{found} is {word}.", Check((str(found),), (str(other),)))


def _is_a(rng: random.Random, split: Split) -> Chat:
    """Whether a thing is of a kind."""

    def make() -> tuple[str, str, str]:
        kind = rng.choice(list(CATEGORIES))
        others = rng.choice([*CATEGORIES, *WIDER.values()])
        return rng.choice(CATEGORIES[kind]), kind, rng.choice((kind, WIDER.get(kind, kind), others, others))

    thing, kind, asked = draw(split, make, lambda drawn: f"{drawn[0]} is {drawn[2]}")
    true = asked in (kind, WIDER.get(kind))
    if not true and (thing in _AMBIGUOUS or (kind, asked) in NEITHER):
        return _is_a(rng, split)
    x, y, what = with_article(thing), with_article(asked), with_article(kind)
    thought = f"{x} is {what}, and {what} is {y}." if true and asked != kind else f"{x} is {what}."
    answer, lacks = (f"Yes, {x} is {y}.", "no") if true else (f"No, {x} is {what}.", "yes")
    check = Check(("yes" if true else "no",), (lacks,))
    return _task(rng, "is a", {"x": x, "y": y, "thought": thought}, answer, check)


def _choose(rng: random.Random, split: Split) -> Chat:
    """Which of two things is of a kind."""

    def make() -> tuple[str, str, str, str]:
        kind, other_kind = rng.sample(list(CATEGORIES), 2)
        return rng.choice(CATEGORIES[kind]), rng.choice(CATEGORIES[other_kind]), kind, other_kind

    found, other, kind, other_kind = draw(split, make, " ".join)
    if {found, other} & _AMBIGUOUS or WIDER.get(other_kind) == kind:
        return _choose(rng, split)
    pair = [with_article(found), with_article(other)]
    rng.shuffle(pair)
    x, y = with_article(found), with_article(kind)
    words = {"a": pair[0], "b": pair[1], "x": x, "y": y}
    return _task(rng, "choose", words, f"{capitalized(x)} is {y}.", Check((found,), (other,)))


_CHOICES: list[tuple[Callable[[random.Random, Split], Chat], int]] = [
    (_say, 4), (_repeat, 2), (_spell, 1), (_letter, 1), (_count, 3), (_list, 3), (_larger, 4), (_is_a, 6), (_choose, 3),
]
_MAKERS = [maker for maker, _ in _CHOICES]
_WEIGHTS = [weight for _, weight in _CHOICES]
