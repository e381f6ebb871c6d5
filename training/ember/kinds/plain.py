"""Plain requests: the tasks of the other families on words that most people know, with few typing errors, or typed in a hurry.

Users first try a model with common words and full sentences. A request for something rare teaches more, but a small model that
reads mostly rare words is less sure of the common ones.
"""

import re
from collections.abc import Callable

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, listed
from ..noise import misspelled_content, sloppy
from . import (explaining, facts_calendar, facts_classes, facts_compared, facts_forms, facts_living, facts_premises, facts_short, facts_things, facts_units, facts_world,
    sums_compared, sums_forms, word_drills, word_tasks)
from .facts_asking import asked
from .word_tasks import letter_answer, longer_answer, spelled


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns one to five requests of one kind."""
    kind, maker = draw.kind("plain", _MAKERS)
    return kind, maker(draw)


def _word(draw: Draw) -> str:
    """A word that most people know."""
    return draw.choice(vocabulary.familiar_words())


def _number_of_turns(draw: Draw) -> int:
    return draw.rng.choices((1, 2, 3, 4, 5), (4, 4, 3, 2, 2))[0]


def _ended(draw: Draw, request: str) -> str:
    """`request` as a sentence, in every second case."""
    if draw.chance(0.5) or request.endswith("?"):
        return request
    asking = request.split()[0].lower() in ("what", "which", "how", "can", "could", "is", "does", "do", "who")
    return capitalized(request) + ("?" if asking else ".")


#: What people ask a program to say.
_SHORT_ANSWERS = ("yes no maybe hello hi ok okay stop go thanks sorry ready done please never always welcome goodbye true false start "
    "red blue apple water love peace").split()

_SAY_ONLY = ["say only {t}", "say only the word {t}", "say just {t}", "just say {t}", "say {t} and nothing else", "say the word {t}",
    "write only {t}", "write only the word {t}", "answer only with {t}", "answer with the word {t}", "reply with {t} only",
    "reply only {t}", "respond with the word {t} and nothing else", "say one word: {t}", "only say {t}", "say {t}", "please say {t}",
    "i want you to say {t}", "can you say {t}", "type the word {t}", "your answer must be {t}", "output {t}"]


def say_only(draw: Draw) -> list[Turn]:
    """One word, and nothing else."""
    turns = []
    for number in range(_number_of_turns(draw)):
        word = draw.choice(_SHORT_ANSWERS) if draw.chance(0.6) else _word(draw)
        shown = draw.choice(("{t}", "{t}", "{t}", '"{t}"', "'{t}'")).format(t=word)
        wordings = _SAY_ONLY if number == 0 or draw.chance(0.5) else ["now {t}", "and {t}", "now say {t}", "and now {t}"]
        turns.append(Turn(_ended(draw, asked(draw, wordings, t=shown)), word, (word,)))
    return turns


_SPELL = ["spell {t}", "spell the word {t}", "how do you spell {t}", "how is {t} spelled", "can you spell {t}",
    "how would you spell {t}", "what is the spelling of {t}", "spell {t} for me", "please spell {t}", "how do i write {t}, letter by letter"]
_ASKED_LETTERS = {
    "first": ["what is the first letter of {t}", "first letter of {t}", "which letter does {t} start with", "what does {t} begin with",
        "the first letter of {t}", "what letter is at the start of {t}"],
    "last": ["what is the last letter of {t}", "last letter of {t}", "which letter does {t} end with", "the last letter of {t}",
        "what letter is at the end of {t}"],
    "count": ["how many letters does {t} have", "how many letters are in {t}", "how many letters are there in the word {t}",
        "count the letters of {t}", "how long is the word {t}", "number of letters in {t}"],
}


def letters(draw: Draw) -> list[Turn]:
    """Words spelled, their first and last letters, and how many there are."""
    turns = []
    form = draw.choice(("spell", "spell", "first", "last", "count"))
    for number in range(_number_of_turns(draw)):
        word = _word(draw)
        if number and draw.chance(0.5):
            wordings = ["and {t}", "and {t}?", "now {t}", "what about {t}", "and of {t}?" if form in ("first", "last") else "next: {t}"]
        else:
            form = draw.choice(("spell", "spell", "first", "last", "count"))
            wordings = _SPELL if form == "spell" else _ASKED_LETTERS[form]
        answer = spelled(word) if form == "spell" else letter_answer(word, form)
        turns.append(Turn(_ended(draw, asked(draw, wordings, t=word)), answer, (word,)))
    return turns


def longer(draw: Draw) -> list[Turn]:
    """Which of two words is longer or shorter, after their numbers of letters."""
    turns = []
    for _ in range(_number_of_turns(draw)):
        first, second = draw.some(vocabulary.familiar_words(), 2)
        form = draw.choice(("longer", "longer", "shorter"))
        if len(first) == len(second):
            continue
        question = asked(draw, ["which word is {f}: {a} or {c}", "which is {f}, {a} or {c}", "{f} word: {a} or {c}", "is {a} or {c} {f}",
            "which word is {f}, {a} or {c}", "which one has {m} letters, {a} or {c}", "does {a} or {c} have {m} letters"], f=form, a=first, c=second,
            m="more" if form == "longer" else "fewer")
        turns.append(Turn(_ended(draw, question), longer_answer(first, second, form), (first, second)))
    return turns or longer(draw)


_PHRASES = ["good morning {name}", "see you {where}", "happy new year", "open the door", "close the window", "hello world", "i am here",
    "the {animal} is {color}", "the {animal} and the {animal2}", "a {color} {object}", "my {color} {object}", "where is my {object}",
    "please wait", "do not touch", "no entry", "stop", "we love {foods}", "thank you very much", "bring the {object}", "sweet dreams",
    "one two three", "happy birthday", "welcome home", "keep left", "big {animal} small {animal2}", "{name} likes {foods}", "fresh {foods}",
    "the {color} {animal} sleeps", "dear {name}", "back at noon", "meet me on {day}", "the quick {animal}", "sun and moon", "never again",
    "good luck {name}", "this is {city}", "come back soon", "{month} in {city}", "once upon a time", "have a nice day"]
_UPPER = ["make this upper case: {t}", "upper case: {t}", "write this in upper case: {t}", "in capital letters: {t}", "put this in capitals: {t}",
    "write {t} in capital letters", "turn this into upper case: {t}", "all caps: {t}", "uppercase this: {t}", "make it all capitals: {t}"]
_LOWER = ["make this lower case: {t}", "lower case: {t}", "write this in lower case: {t}", "in small letters: {t}", "lowercase this: {t}"]


def case(draw: Draw) -> list[Turn]:
    """A phrase of common words in upper or lower case, and more of them."""
    turns: list[Turn] = []
    upper = draw.chance(0.75)
    for number in range(_number_of_turns(draw)):
        phrase = _phrase(draw)
        given = phrase if upper else phrase.upper()
        wordings = (_UPPER if upper else _LOWER) if number == 0 else ["and this: {t}", "now {t}", "and {t}", "the same with {t}", "next: {t}"]
        turns.append(Turn(asked(draw, wordings, t=given), phrase.upper() if upper else phrase.lower(), (given,)))
    return turns


def _phrase(draw: Draw) -> str:
    if draw.chance(0.3):
        return " ".join(draw.some(vocabulary.familiar_words(), draw.number(1, 4)))
    return fill(draw, draw.choice(_PHRASES), {})


def repeat(draw: Draw) -> list[Turn]:
    """A phrase of common words, as it is."""
    turns = []
    for _ in range(_number_of_turns(draw)):
        phrase = _phrase(draw)
        question = asked(draw, ["repeat after me: {t}", "repeat this: {t}", "say: {t}", "say {t}", "write {t}", "copy this: {t}",
            'say "{t}"', 'repeat "{t}"', "please write: {t}", "type this: {t}", "can you repeat this: {t}"], t=phrase)
        turns.append(Turn(question, phrase, (phrase,)))
    return turns


def rhymes(draw: Draw) -> list[Turn]:
    """Words that rhyme with common words, asked for one after the other."""
    turns = []
    for number in range(_number_of_turns(draw)):
        row = draw.choice(seeds.facts("rhymes"))
        known = [row["word"], *row["rhymes"].split(", ")]
        # Any word of a row rhymes with the others; the first one is the most common.
        word = row["word"] if draw.chance(0.6) else draw.choice(known)
        chosen = draw.some([other for other in known if other != word], min(len(known) - 1, draw.number(1, 3)))
        wordings = ["what rhymes with {x}", "which words rhyme with {x}", "what rhymes with the word {x}", "find a rhyme for {x}",
            "give me a word that rhymes with {x}", "a rhyme for {x}", "tell me a rhyme for {x}", "name a word that rhymes with {x}",
            "rhymes for {x}"] if number == 0 else ["and with {x}", "and {x}", "what about {x}", "and what rhymes with {x}", "now {x}"]
        said = f"{capitalized(listed(chosen))} {'rhymes' if len(chosen) == 1 else 'rhyme'} with {word}."
        turns.append(Turn(_ended(draw, asked(draw, wordings, x=word)), said, (word,)))
    return turns


def picked(draw: Draw) -> list[Turn]:
    """One of several common words: the first, the last, the one that starts with a letter, or how many there are."""
    turns: list[Turn] = []
    for _ in range(draw.number(1, 3)):
        words = draw.some(vocabulary.familiar_words(), draw.number(3, 5))
        shown = ", ".join(words)
        form = draw.number(0, 3)
        if form == 0:
            at = draw.choice((0, 1, 2, -1))
            name = {0: "first", 1: "second", 2: "third", -1: "last"}[at]
            turns.append(Turn(_ended(draw, asked(draw, ["what is the {n} word: {t}", "the {n} of these words: {t}",
                "which word is {n}: {t}"], n=name, t=shown)), words[at], (shown,)))
        elif form == 1 and len({word[0] for word in words}) == len(words):
            word = draw.choice(words)
            turns.append(Turn(asked(draw, ["which of these starts with {c}: {t}", "which word begins with {c}: {t}"], c=word[0],
                t=shown), word, (shown,)))
        elif form == 2:
            turns.append(Turn(asked(draw, ["sort these words: {t}", "put these in alphabetical order: {t}", "sort from a to z: {t}"],
                t=shown), ", ".join(sorted(words)), (shown,)))
        else:
            turns.append(Turn(asked(draw, ["turn these words around: {t}", "reverse the order of these words: {t}"], t=shown),
                ", ".join(reversed(words)), (shown,)))
    return turns


_FUNNY = ["{Xs} are like homework: there is always one more.", "I like {xs}. They never ask me to do sums.",
    "My favorite thing about {xs} is that they cannot do small talk either.", "I asked about {xs} once. I am still waiting for the answer.",
    "{Xs}? I would tell you a joke about them, but it would take all week.", "If {xs} were easy, they would be called weekends.",
    "A day without {xs} is like, well, a much quieter day."]


def in_capitals(draw: Draw) -> list[Turn]:
    """Tasks on common words, typed in capitals, with a typing error now and then: the answer is the same as for small letters."""
    maker = draw.choice((letters, letters, letters, rhymes, rhymes, longer, word_tasks.forms, word_drills.backward, word_drills.articles, word_drills.several_with_letter))
    # A word that is turned around keeps the capitals in which it was typed.
    capitals = [(turn.user.upper(), turn.answer.upper() if maker is word_drills.backward else turn.answer) for turn in maker(draw)]
    return [Turn(typed, answer, (typed,)) for typed, answer in capitals]


def funny(draw: Draw) -> list[Turn]:
    """A light sentence about anything."""
    kind = draw.choice(("day", "animals", "foods", "month"))
    things = {"day": lambda: f"{draw.word('day')}s", "month": lambda: draw.choice(("winters", "summers", "holidays", "weekends", "mornings")),
        "animals": lambda: draw.word("animals"), "foods": lambda: draw.word("foods")}[kind]()
    answer = draw.choice(_FUNNY).replace("{Xs}", capitalized(things)).replace("{xs}", things)
    return [Turn(_ended(draw, asked(draw, ["say something funny about {t}", "something funny about {t}", "make fun of {t}",
        "tell me something funny about {t}", "a funny sentence about {t}", "be funny about {t}"], t=things)), answer, (), (things,))]


#: Kinds of facts and sums whose questions are also asked in whole sentences.
_ASKED_WELL: tuple[tuple[Callable[[Draw], list[Turn]], int], ...] = (
    (facts_compared.comparison, 10), (facts_compared.given, 4), (facts_classes.is_it, 8), (facts_classes.what_is_it, 4), (facts_premises.premise, 9),
    (facts_things.color, 5), (facts_things.tools, 6), (facts_things.opposite, 4), (facts_living.body, 3), (facts_living.sounds, 3), (facts_living.is_a, 4),
    (facts_calendar.days, 6), (facts_calendar.months, 7), (facts_calendar.lengths, 5), (facts_calendar.alphabet, 2), (facts_units.units, 5),
    (facts_world.capital, 6), (facts_world.claimed_capital, 4), (sums_compared.bigger, 7), (sums_compared.even, 4), (sums_compared.neighbors, 3),
    (facts_forms.forms, 16), (facts_forms.abilities, 4), (sums_forms.numbers, 5), (sums_forms.counted_either_way, 3),
    (facts_things.why, 4), (explaining.how, 8), (word_tasks.forms, 5), (word_tasks.with_words, 5),
)
_QUESTION_WORDS = frozenset("what whats wat what's which how can could is are does do who where when why aren't isn't am was has will would in on".split())


def whole_sentences(draw: Draw) -> list[Turn]:
    """Facts and sums, asked for in whole sentences with capitals and signs."""
    maker = draw.rng.choices([maker for maker, _ in _ASKED_WELL], [weight for _, weight in _ASKED_WELL])[0]
    return [Turn(_well_typed(turn.user), turn.answer, turn.protected, turn.names) for turn in maker(draw)]


#: Kinds of questions that people type in a hurry; nothing of them is copied exactly.
_IN_A_HURRY: tuple[tuple[Callable[[Draw], list[Turn]], int], ...] = (
    (facts_forms.forms, 26), (facts_short.short, 16), (facts_forms.abilities, 5), (facts_forms.body, 5), (sums_forms.numbers, 8), (sums_forms.counted_either_way, 4), (facts_compared.comparison, 12),
    (facts_classes.is_it, 8), (facts_classes.what_is_it, 5), (facts_premises.premise, 8), (facts_things.color, 7), (facts_things.tools, 8), (facts_things.opposite, 4),
    (facts_things.questions, 8), (facts_things.yes_or_no, 5), (facts_things.counting, 5), (facts_things.why, 6), (facts_things.food, 5), (facts_living.body, 4), (facts_living.sounds, 4),
    (facts_living.is_a, 5), (facts_living.legs, 3), (facts_living.living, 6), (facts_living.flying, 3), (facts_living.what_is, 5), (facts_calendar.days, 5), (facts_calendar.months, 6),
    (facts_calendar.lengths, 4), (facts_calendar.seasons, 3), (facts_units.units, 5), (facts_world.capital, 8), (facts_world.continent, 3), (facts_world.landmarks, 4), (facts_world.planets, 3),
    (sums_compared.bigger, 4), (sums_compared.even, 3), (explaining.explain, 8), (explaining.how, 10), (explaining.joke, 4), (explaining.haiku, 3), (explaining.poem, 3),
)


def in_a_hurry(draw: Draw) -> list[Turn]:
    """Facts, sums and explanations, asked for in capitals, in the spelling of text messages, with typing errors in the words that matter,
    or without small words."""
    maker = draw.rng.choices([maker for maker, _ in _IN_A_HURRY], [weight for _, weight in _IN_A_HURRY])[0]
    turns = []
    for turn in maker(draw):
        kept = (*turn.protected, *turn.names)
        typed = misspelled_content(draw, turn.user if draw.chance(0.3) else turn.user.lower(), kept) if draw.chance(0.3) else sloppy(draw, turn.user, kept)
        turns.append(Turn(typed, turn.answer, (typed,)))
    return turns


def _well_typed(request: str) -> str:
    """`request` with a capital at its start and the sign at its end that it should have."""
    request = re.sub(r"\bi\b", "I", request.strip())
    request = re.sub(r"(?<=[.?!] )[a-z]", lambda match: match.group().upper(), request)
    words = re.split(r"[ ,]+", request.lower())
    asking = (words[0] in _QUESTION_WORDS or {"what", "which", "who"} & set(words)) and ":" not in request and ". " not in request and "tell" not in words
    sign = "" if request.endswith(("?", ".", "!")) else "?" if asking or request.endswith((" right", " true", " isn't it", " correct")) else "."
    return capitalized(request) + ("" if ":" in request and sign == "." else sign)


Maker = Callable[[Draw], list[Turn]]
_MAKERS: dict[str, tuple[Maker, int]] = {
    "say only": (say_only, 12),
    "letters": (letters, 30),
    "longer": (longer, 8),
    "case": (case, 14),
    "repeat": (repeat, 8),
    "rhymes": (rhymes, 9),
    "picked": (picked, 6),
    "funny": (funny, 3),
    "whole sentences": (whole_sentences, 60),
    "in a hurry": (in_a_hurry, 60),
    "in capitals": (in_capitals, 12),
}
