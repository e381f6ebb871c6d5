"""Words found by their letters: words that begin with a letter, letters counted in a word, the order of the alphabet."""

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, number_word, verdict, with_article
from .facts_asking import asked
from .random_words import rare_word

#: Kinds of the vocabulary from which a word may be asked for, by what a user calls them.
_KINDS = (("word", "any"), ("word", "any"), ("animal", "animal"), ("name", "name"), ("food", "food"), ("city", "city"), ("country", "country"),
    ("job", "job"), ("thing", "thing"), ("verb", "verb"), ("place", "place"))
#: Countries that are named with an article.
_WITH_ARTICLE = "the "


def _pick(draw: Draw, kind: str) -> str:
    while (word := draw.word(kind)).startswith(_WITH_ARTICLE) or not word[0].isalpha():
        pass
    return word


def starting(draw: Draw) -> list[Turn]:
    """A word, an animal or a name that begins with a letter, and another one."""
    called, kind = draw.choice(_KINDS)
    turns: list[Turn] = []
    letter, told = "", []
    for number in range(draw.rng.choices((1, 2, 3), (4, 3, 2))[0]):
        word = _pick(draw, kind)
        again = number and draw.chance(0.4)
        if again:
            for _ in range(300):
                if word[0].upper() == letter and word not in told:
                    break
                word = _pick(draw, kind)
            else:
                break
        letter = word[0].upper()
        shown = letter if draw.chance(0.5) else letter.lower()
        if again:
            question = asked(draw, ["another one", "one more", "and another?", "another", "a different one"])
        elif number:
            question = asked(draw, ["now with {l}", "and with {l}?", "with {l}", "and one with {l}", "and {l}?"], l=shown)
        else:
            wordings = ["name {k} that starts with {l}", "{k} that begins with {l}", "{k} with {l}", "tell me {k} that starts with the letter {l}", "give me {k} with {l}",
                "which {k0} starts with {l}", "i need {k} that starts with {l}", "Name {k} that begins with {l}.", "what {k0} begins with {l}", "{k0} with {l}?",
                "do you know {k} that starts with {l}", "say {k} that begins with {l}", "{k} starting with {l}", "find {k} with the first letter {l}"]
            question = asked(draw, wordings, k=with_article(called), k0=called, l=shown)
        told.append(word)
        turns.append(Turn(question, f"{capitalized(word)} starts with {letter}.", () if again else (shown,)))
    return turns


def _spelled(word: str) -> str:
    return "-".join(word.upper())


def counted_letter(draw: Draw) -> list[Turn]:
    """How often a letter occurs in a word, and whether it does."""
    turns = []
    word = ""
    for number in range(draw.rng.choices((1, 2, 3), (4, 3, 2))[0]):
        if not word or draw.chance(0.5):
            word = rare_word(draw) if draw.chance(0.5) else draw.word(draw.choice(("word", "any")))
        letters = word.lower()
        repeated = [letter for letter in set(letters) if letters.count(letter) > 1]
        letter = draw.choice(sorted(repeated)) if repeated and draw.chance(0.5) else draw.choice(letters) if draw.chance(0.65) else draw.choice("abcdefghijklmnoprstuvw")
        count = letters.count(letter)
        shown = letter.upper() if draw.chance(0.4) else letter
        if draw.chance(0.45):
            wordings = ["is there {l1} in {t}", "does {t} contain the letter {l}", "is the letter {l} in {t}?", "does {t} have {l1}", "has {t} got {l1} in it", "Is there {l1} in {t}?",
                "{t}: is {l} in it?", "is {l} one of the letters of {t}", "does the word {t} contain {l}"]
            answer = verdict(f"the letters of {word} are {_spelled(word)}", count > 0)
        else:
            wordings = ["how many {l} are in {t}", "how many {l}s are there in {t}", "how often is {l} in {t}", "count the {l} in {t}", "How many times is {l} in {t}?",
                "how many times does {l} occur in {t}", "number of {l} in {t}", "how many {l} has {t}", "how many letters {l} does {t} have"]
            times = "not there" if count == 0 else "there once" if count == 1 else f"there {number_word(count)} times"
            answer = f"{_spelled(word)}: {letter.upper()} is {times}."
        turns.append(Turn(asked(draw, wordings, t=word, l=shown, l1=_letter_with_article(shown)), answer, (word, shown, _letter_with_article(shown))))
    return turns


def _letter_with_article(letter: str) -> str:
    return f"{'an' if letter.lower() in 'aefhilmnorsx' else 'a'} {letter}"


def first_in_alphabet(draw: Draw) -> list[Turn]:
    """Which of two words comes first in the alphabet: their first letters decide."""
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (4, 2, 1))[0]):
        first, second = _lower_word(draw), _lower_word(draw)
        while first[0] == second[0]:
            second = _lower_word(draw)
        earlier, later = sorted((first, second))
        start = f"{capitalized(first)} starts with {first[0].upper()} and {second} with {second[0].upper()}"
        if draw.chance(0.35):
            before = draw.chance(0.6)
            holds = (earlier if before else later) == first
            question = asked(draw, ["does {a} come {w} {c} in the alphabet", "is {a} {w} {c} in the alphabet?", "{a} comes {w} {c} in a dictionary, right?",
                "does {a} stand {w} {c} in the dictionary", "in alphabetical order, is {a} {w} {c}?"], a=first, c=second, w="before" if before else "after")
            turns.append(Turn(question, verdict(start, holds), (first, second)))
        else:
            form = draw.choice(("first", "first", "last"))
            question = asked(draw, ["which comes {w} in the alphabet, {a} or {c}", "{a} or {c}, which comes {w} in the alphabet?", "which word comes {w} alphabetically: {a} or {c}",
                "in a dictionary, what comes {w}: {a} or {c}", "alphabetically {w}: {a} or {c}", "which is {w} in alphabetical order, {a} or {c}?"], a=first, c=second, w=form)
            turns.append(Turn(question, f"{start}, so {earlier if form == 'first' else later} comes {form}.", (first, second)))
    return turns


def _lower_word(draw: Draw) -> str:
    return (rare_word(draw) if draw.chance(0.4) else draw.word("word")).lower()


def of_length(draw: Draw) -> list[Turn]:
    """A word with a given number of letters, and whether a word has so many."""
    turns = []
    for number in range(draw.rng.choices((1, 2), (3, 2))[0]):
        word = draw.word(draw.choice(("any", "word")))
        count = len(word)
        if draw.chance(0.5):
            claim = count if draw.chance(0.48) else max(1, count + draw.choice((-2, -1, 1, 2)))
            shown = str(claim) if draw.chance(0.5) else number_word(claim)
            question = asked(draw, ["does {t} have {n} letters", "Does {t} have {n} letters?", "{t} has {n} letters, right?", "is it true that {t} has {n} letters",
                "are there {n} letters in {t}", "i think {t} has {n} letters", "is {t} a word with {n} letters"], t=word, n=shown)
            turns.append(Turn(question, verdict(f"{_spelled(word)} has {count} letters", claim == count), (word,)))
        else:
            shown = str(count) if draw.chance(0.5) else number_word(count)
            question = asked(draw, ["a word with {n} letters", "give me a word with {n} letters", "tell me a word that has {n} letters", "name a word of {n} letters", "i need a word with {n} letters",
                "which word has {n} letters", "say a {n}-letter word", "Give me a word with {n} letters."], n=shown)
            turns.append(Turn(question, f"{capitalized(word)}: {_spelled(word)} has {count} letters."))
    return turns
