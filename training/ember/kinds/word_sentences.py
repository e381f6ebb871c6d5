"""Sentences with one to three given words, and forms of words with claims that may be wrong."""

import re

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill, keys
from ..grammar import irregular_nouns, listed, plural, verdict
from .facts_asking import asked
from .random_words import any_name

#: Sentences with slots: a sentence is asked for by the words in its slots. `{thing}` is a small thing; `{quality}` fits a thing and
#: `{mood}` somebody; `{deed}` is a verb that needs no object.
_WITH_WORDS = [
    "The {thing} lies next to the {thing2}.", "{Name} put the {thing} and the {thing2} into a bag.", "There is a {thing} under the {thing2}.",
    "A {animal} sat beside the {thing}.", "The {animal} ran away with my {thing}.", "The {animal} and the {animal2} share one tree.",
    "A {mood} {animal} came to the door.", "The {animal} looked {mood} when it saw the {animal2}.", "{Name} bought a {quality} {thing}.",
    "The {thing} is {quality}, but the {thing2} is not.", "My {quality} {thing} fell into the river.", "The {job} lost a {thing} on the way home.",
    "The {job} gave {name} a {quality} {thing}.", "{Name} is {mood} because the {thing} is gone.", "{Name} saw a {animal} near the {site}.",
    "The {site} was full of {crops}.", "{Name} found a {thing} in the {site}.", "A {animal} lives behind the {site}.", "The {job} eats {crops} for lunch.",
    "The {mood} {job} waited at the {site}.", "We took the {thing} to the {site} on {day}.", "On {day}, {name} brought a {thing} and some {crops}.",
    "In {month} the {animal} sleeps most of the day.", "{Name} painted a {color} {animal}.", "The {color} {thing} belongs to {name}.",
    "A {color} {thing} hangs in the {site}.", "Nobody at the {site} had ever seen a {animal}.", "The {job} drew a {animal} on the {thing}.",
    "{Name} and {name2} sell {crops} at the {site}.", "The {animal} likes {crops}.", "I saw a {color} {animal} in {city}.", "{Name} travels to {city} with a {quality} {thing}.",
    "The {thing} from {city} is {quality}.", "In {city} we met a {mood} {job}.", "The {job} next to the {site} keeps a {animal}.", "{Name} forgot the {thing} at the {site}.",
    "Every {day} the {job} feeds the {animal}.", "They {deed} near the {site}.", "The children {deed} while the {animal} watches.", "{Name} and {name2} often {deed} together.",
    "{Name} likes to {deed} in {month}.", "A {animal} watched {name} {deed}.", "It is hard to {deed} with a {quality} {thing}.", "The {job} and the {animal} {deed} on {day}.",
    "When it rains, {name} and the {animal} {deed} in the {site}.", "My {thing} is as {quality} as your {thing2}.", "The {animal} hid the {thing} behind the {site}.",
    "{Name} traded the {thing} for {crops}.", "Two {animals} slept on the {thing}.", "The {quality} {thing} stood between the {crops}.",
    "The {mood} {animal} followed {name} to the {site}.", "We heard the {animal} before we saw the {site}.", "{Name} dropped the {thing} when the {animal} jumped.",
    "A {thing} is of little use at the {site}.", "The {job} told us about the {animal} and the {thing}.", "Please put the {crops} beside the {thing}.",
    "The {color} {thing} and the {color2} {thing2} are mine.", "{Name} was {mood} in {month}, but {mood2} in {month2}.",
    "{Name} hid the {thing} in the {site} and told nobody.", "The {animal} sat on the {thing} and looked {mood}.", "Somebody left a {quality} {thing} at the {site}.",
    "The {job} and {name} carried the {thing} to the {site}.", "{Name} asked the {job} for a {thing}.", "A {job} needs a {thing} every day.", "The {thing} smelled of {crops}.",
    "{Name} drew a {thing}, a {animal} and a {site}.", "Last {day} a {animal} walked into the {site}.", "The {mood} {job} forgot the {crops}.", "{Name} wrote a story about a {animal} and a {job}.",
    "In the picture a {animal} holds a {color} {thing}.", "The {site} closes on {day}, so the {job} can rest.", "{Name} moved from {city} to a {quality} {site}.", "From {city} comes the best {thing} of all.",
    "The {animal} is {mood} because there are no {crops}.", "{Name} cleaned the {thing} and then the {thing2}.",
    "The {job} sold {name} a {thing} and three {animals}.", "At the {site} of {city} you can buy {crops}.", "We {deed} in the {site} every {day}.", "{Name} and the {job} {deed} until the sun goes down.",
    "The {animal} wakes up when {name} begins to {deed}.", "My grandmother kept her {thing} in the {site}.", "The wind blew the {thing} from the {site} into the river.",
    "Three {animals} ate all the {crops} of the {job}.", "{Name} was {mood} when the {animal} stole the {crops}.", "A {color} {animal} is painted on the wall of the {site}.",
    "The {quality} {thing} reminded {name} of {city}.", "{Month} is the month when {name} sells {crops}.", "The {job} counted the {crops} and closed the {site}.",
    "There was nothing in the {site} but a {thing} and a {mood} {animal}.", "{Name} tied the {thing} to the {thing2} with a rope.", "The {animal} that lives in the {site} is very {mood}.",
    "A {mood} {animal} is a good friend for a {mood2} {job}.", "Nobody can {deed} at the {site} without a {thing}.", "The {job} taught {name} to {deed}.", "{Name} always takes a {thing} to {city}.",
    "The {color} {thing} on the table was a gift from the {job}.", "It was {name} who found the {animal} in the {site}.", "After lunch {name} likes to {deed} with the {animal}.",
    "You need a {thing} and some {crops} for this game.", "The {thing} broke when the {animal} ran through the {site}.", "{Name} is as {mood} as a {animal} in {month}.",
    "The old {job} still remembers the {site} and the {color} {thing}.", "{Name} lent {name2} a {thing} for the trip to {city}.", "One {thing} costs as much as a bag of {crops}.",
    "The {job} lives above the {site} with a {animal}.", "On a {color} {thing} sat a very {mood} {animal}.",
]
_QUALITIES = ("old new big small heavy light clean dirty broken round long short thin thick strong soft hard smooth rough wet dry warm cold empty cheap "
    "expensive pretty ugly shiny dusty useful strange rare simple modern wide narrow").split()
_MOODS = ("happy sad tired hungry thirsty brave shy calm angry proud lonely curious sleepy nervous cheerful lazy clever patient polite quiet "
    "busy friendly gentle stubborn worried bored surprised").split()
_SITES = ("kitchen garden school library museum market station harbor bakery barn church hotel hospital farm castle theater workshop office cellar attic bank "
    "cinema zoo park mill palace temple cabin lighthouse cottage stable gallery bookshop cafe gym laundry warehouse factory greenhouse courtyard playground").split()
_DEEDS = ("run walk sing dance laugh swim play rest work jump sleep talk whisper read draw paint cook sit wait hide climb smile travel dream listen "
    "write study shout yawn hum rest whistle").split()

_ASK_ONE = ["use {t} in a sentence", "make a sentence with {t}", "a sentence with the word {t}", "Write a sentence with {t}.", "put the word {t} in a sentence",
    "can you use {t} in a sentence", "example sentence for {t}", "give me a sentence with {t}", "write a sentence that has {t} in it", "sentence with {t} please",
    "i need a sentence with {t}", "a sentence about {t}"]
_ASK_SOME = ["use {t} in one sentence", "make a sentence with {t}", "a sentence with the words {t}", "Write a sentence with the words {t}.", "write one sentence with {t}",
    "put these words in a sentence: {t}", "can you make a sentence with {t}", "use these words in a sentence: {t}", "give me a sentence with {t}", "one sentence that has {t} in it",
    "{t}: make a sentence", "build a sentence from {t}", "i need a sentence with {t}", "combine {t} in one sentence", "write something short with {t}",
    "Make one sentence with these words: {t}.", "a sentence that uses {t}", "words: {t}. write a sentence with them", "a sentence containing {t}"]


def with_words(draw: Draw) -> list[Turn]:
    """A sentence that contains each of the given words, and another one with other words."""
    turns: list[Turn] = []
    for number in range(draw.rng.choices((1, 2), (3, 1))[0]):
        template = draw.choice(_WITH_WORDS)
        values = _drawn(draw, template)
        text = fill(draw, template, values)
        words = draw.some(slots := list(dict.fromkeys(keys(template))), len(slots))
        asked_for = [values[key] for key in words[: draw.rng.choices((1, 2, 3), (2, 5, 4))[0]]]
        shown = ", ".join(asked_for) if draw.chance(0.5) else listed(asked_for)
        wordings = (_ASK_ONE if len(asked_for) == 1 else _ASK_SOME) if number == 0 else ["now with {t}", "and with {t}", "another one with {t}"]
        turns.append(Turn(asked(draw, wordings, t=shown), text, tuple(asked_for)))
    return turns


def _drawn(draw: Draw, template: str) -> dict[str, str]:
    """Words for the slots of a template that no kind of the vocabulary fits, and now and then an invented name."""
    values: dict[str, str] = {}
    lists = {"quality": _QUALITIES, "mood": _MOODS, "deed": _DEEDS, "site": _SITES}
    for match in re.finditer(r"\{([A-Za-z]+)(\d?)\}", template):
        kind, key = match[1].lower(), match[1].lower() + match[2]
        if kind in lists:
            values[key] = draw.choice([word for word in lists[kind] if word not in values.values()])
        elif kind == "thing":
            while (word := draw.word("trinket")) in values.values():
                pass
            values[key] = word
        elif kind == "name":
            while (word := any_name(draw)) in values.values():
                pass
            values[key] = word
    return values


def _wrong_plural(draw: Draw, noun: str) -> str:
    """What somebody might take for the plural of a noun."""
    right = plural(noun)
    ways = [noun + "s", noun + "es", noun + "en", noun, right + "s", noun[:-1] + "ies", noun[:-1] + "ves"]
    return draw.choice([way for way in ways if way != right])


def _wrong_past(draw: Draw, row: seeds.Row) -> str:
    """What somebody might take for the past tense of a verb."""
    verb, past = row["verb"], row["past"]
    ways = [verb + "ed", verb + "d", verb, row["third person"], past + "ed", verb + "t", row["participle"], row["ing"]]
    return draw.choice([way for way in ways if way != past])


def claimed_form(draw: Draw) -> list[Turn]:
    """Is the plural of mouse mouses? Is went the past tense of go? The answer states the form."""
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (4, 2, 1))[0]):
        holds = draw.chance(0.45)
        if draw.chance(0.5):
            word = draw.choice(irregular_nouns()) if draw.chance(0.5) else draw.word(draw.choice(("animal", "object", "job")))
            name, right = "plural", plural(word)
            claim = right if holds else _wrong_plural(draw, word)
        else:
            row = draw.familiar(seeds.words("verbs"))
            word, name, right = row["verb"], "past tense", row["past"]
            claim = right if holds else _wrong_past(draw, row)
        question = asked(draw, ["is the {n} of {x} {c}", "Is the {n} of {x} {c}?", "is {c} the {n} of {x}?", "the {n} of {x} is {c}, right?", "{c} is the {n} of {x}, right?",
            "i think the {n} of {x} is {c}", "is {c} right as the {n} of {x}", "is it {c}, the {n} of {x}?", "do we say {c} for the {n} of {x}", "true or false: the {n} of {x} is {c}"],
            n=name, x=word, c=claim)
        turns.append(Turn(question, verdict(f"the {name} of {word} is {right}", claim == right), (word, claim)))
    return turns
