"""Rules of English: articles, plurals, enumerations, capitals, numbers as words."""

import re

#: Words that begin with a vowel letter and not a vowel sound, or the other way round.
_TAKES_A = ("uni", "use", "euro", "one", "ukulele", "ewe", "ut")
_TAKES_AN = ("hour", "honest", "heir", "x-ray", "mp3")

_IRREGULAR_PLURALS = {
    "mouse": "mice", "goose": "geese", "ox": "oxen", "foot": "feet", "tooth": "teeth", "man": "men", "woman": "women",
    "child": "children", "person": "people", "wolf": "wolves", "calf": "calves", "leaf": "leaves", "knife": "knives",
    "shelf": "shelves", "loaf": "loaves", "half": "halves", "scarf": "scarves", "wife": "wives", "thief": "thieves",
    "louse": "lice", "hoof": "hooves", "octopus": "octopuses", "platypus": "platypuses", "dice": "dice",
}
_SAME_PLURALS = {
    "sheep", "deer", "fish", "moose", "bison", "salmon", "trout", "squid", "shrimp", "cod", "tuna", "reindeer", "swordfish",
    "goldfish", "jellyfish", "starfish", "clownfish", "catfish", "elk", "carp", "series", "buffalo",
}

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


def article(noun: str) -> str:
    """Returns the indefinite article of `noun`."""
    start = noun.lower()
    if start.startswith(_TAKES_AN):
        return "an"
    if start.startswith(_TAKES_A):
        return "a"
    return "an" if start[:1] in tuple("aeiou") else "a"


def with_article(noun: str) -> str:
    """Returns `noun` with its indefinite article."""
    return f"{article(noun)} {noun}"


def plural(noun: str) -> str:
    """Returns the plural of `noun`, formed from its last word."""
    head, _, last = noun.rpartition(" ")
    start = f"{head} " if head else ""
    if last in _SAME_PLURALS:
        return noun
    if last in _IRREGULAR_PLURALS:
        return start + _IRREGULAR_PLURALS[last]
    if re.search(r"(s|x|z|ch|sh)$", last):
        return f"{noun}es"
    if re.search(r"[^aeiou]y$", last):
        return f"{noun[:-1]}ies"
    if last in ("potato", "tomato", "hero", "echo", "mosquito", "mango", "volcano"):
        return f"{noun}es"
    return f"{noun}s"


def irregular_nouns() -> list[str]:
    """Returns the nouns whose plural is not formed by adding to them."""
    return [noun for noun in _IRREGULAR_PLURALS if noun != "dice"]


def capitalized(text: str) -> str:
    """Returns `text` with its first letter capitalized."""
    return text[:1].upper() + text[1:]


def listed(items: list[str], word: str = "and") -> str:
    """Returns an enumeration: `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def number_word(number: int) -> str:
    """Returns a number up to 99 as a word."""
    if number < 20:
        return _NUMBER_WORDS[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{_NUMBER_WORDS[ones]}" if ones else "")


def verdict(fact: str, holds: bool) -> str:
    """Returns a fact and whether a claim about it holds: `A whale is a mammal, so no.` The fact precedes, since what follows can
    depend on it: a small model knows it better than whether something else is right."""
    fact = fact if re.search(r"\b[A-Z]\.$", fact) else fact.removesuffix(".")
    return capitalized(f"{fact}, so {'yes' if holds else 'no'}.")


def bare(thing: str) -> str:
    """Returns a noun without its article."""
    start, _, rest = thing.partition(" ")
    return rest if start in ("a", "an", "the") else thing
