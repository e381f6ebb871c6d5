"""Several small requests one after the other, and questions about each of them later, in any order."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, verdict, with_article
from .creating_names_data import NAMINGS, PET_NAMES, PETS
from .facts_asking import asked
from .talking import code, filled

Between = Callable[[Draw], list[Turn]]


@dataclass(frozen=True)
class Item:
    """A turn, and questions about it that make sense later."""

    topic: str
    turn: Turn
    later: tuple[Turn, ...]


def chat(draw: Draw, between: Between) -> list[Turn]:
    """Two to four requests, perhaps others in between, and what was said in them."""
    items: list[Item] = []
    count = draw.rng.choices((2, 3, 4, 5), (3, 5, 4, 2))[0]
    while len(items) < count:
        item = draw.choice(_MAKERS)(draw)
        if item.topic not in {other.topic for other in items}:
            items.append(item)
    turns: list[Turn] = []
    for item in items:
        turns.append(item.turn)
        if draw.chance(0.2):
            turns += [turn for turn in between(draw)[:1] if len(turn.answer) < 140 and not _CONFUSING.search(turn.user)]
    for item in draw.some(items, len(items)):
        turns.append(draw.choice(item.later))
    return turns[:11]


#: What must not stand between the requests, since questions about them would be ambiguous.
_CONFUSING = re.compile(r"\d|capital|opposite|name|code|list|buy|\b(my|i)\b", re.IGNORECASE)


def _sum(draw: Draw) -> Item:
    first, second = draw.number(2, 50), draw.number(2, 50)
    said = f"{first} + {second} = {first + second}."
    return Item("sum", Turn(asked(draw, ["what is {a} + {b}", "{a} plus {b}", "how much is {a} plus {b}?", "{a} + {b}"], a=first, b=second), said, (str(first), str(second))), (
        Turn(asked(draw, ["what was the result of the sum?", "what was the sum again?", "how much was the sum?", "the result of the sum, please"]), said),))


def _capital(draw: Draw) -> Item:
    row = draw.familiar(seeds.facts("capitals"), 2)
    country, capital = row["country"], row["capital"]
    said = f"The capital of {country} is {capital}."
    return Item("capital", Turn(asked(draw, ["what is the capital of {t}", "capital of {t}", "which city is the capital of {t}?"], t=country), said, (), (country,)), (
        Turn(draw.choice(("which country did i ask about?", "about which country did i ask?", "what country was it?")), f"You asked about {country}."),
        Turn(draw.choice(("what was the capital again?", "which capital was it?", "and the capital, what was it again?")), said)))


def _opposite(draw: Draw) -> Item:
    row = draw.choice([row for row in seeds.facts("opposites") if "word" in row])
    said = f"The opposite of {row['word']} is {row['opposite']}."
    return Item("opposite", Turn(asked(draw, ["opposite of {t}", "what is the opposite of {t}?"], t=row["word"]), said, (row["word"],)), (
        Turn(draw.choice(("what was the opposite again?", "which opposite did you tell me?")), said),
        Turn(draw.choice(("the opposite of which word did i ask for?", "for which word did i want the opposite?")), f"You asked for the opposite of {row['word']}.")))


def _named(draw: Draw) -> Item:
    naming = draw.choice(NAMINGS)
    noun = draw.choice(naming.nouns)
    name = draw.choice(naming.forms).format(a=draw.choice(naming.firsts), b=naming.seconds[0], b2=naming.seconds[1], b_low=naming.seconds[0].lower())
    return Item("name", Turn(asked(draw, ["a name for my {n}", "i need a name for my {n}", "what could i call my {n}?", "suggest a name for our {n}"], n=noun), f"How about {name}?", (), (noun,)), (
        Turn(draw.choice((f"what name did you suggest for my {noun}?", f"what was the name for the {noun}?", f"how did you want to call the {noun}?")), f"I suggested {name}.", (), (noun,)),
        Turn(draw.choice(("what did i need a name for?", "for what did i want a name?")), f"You needed a name for your {noun}.")))


def _pet_named(draw: Draw) -> Item:
    trait = draw.choice(list(PET_NAMES))
    animal = draw.choice(PETS).replace("_", " ")
    name = draw.choice(PET_NAMES[trait].split())
    return Item("pet", Turn(asked(draw, ["a name for my {k} {a}", "what should i call my {k} {a}?", "my {k} {a} needs a name"], k=trait, a=animal), f"How about {name}? It suits {with_article(f'{trait} {animal}')}.", (), (animal,)), (
        Turn(draw.choice((f"what name was it for my {animal}?", f"what should my {animal} be called again?", f"which name did you find for the {animal}?")), f"I suggested {name} for your {animal}.", (), (animal,)),
        Turn(draw.choice((f"what did i say about my {animal}?", f"what is my {animal} like?")), f"You said that your {animal} is {trait}.", (), (animal,))))


def _code(draw: Draw) -> Item:
    word = code(draw)
    return Item("code", Turn(asked(draw, ["remember the code {c}", "keep this code for me: {c}", "my code is {c}", "note the code {c}"], c=word), draw.choice((f"Noted: {word}.", f"I will remember it: {word}.")), (word,)), (
        Turn(draw.choice(("what was the code?", "and the code?", "tell me the code", "which code did i give you?")), f"The code is {word}."),))


def _told(draw: Draw) -> Item:
    """A statement about today, with a question for it."""
    topic, telling, reply, question, answer = draw.choice(_TELLING)
    values: dict[str, str] = {}
    told = filled(draw, telling, values)
    return Item(topic, Turn(told, filled(draw, reply, values), (), tuple(values.values())), (
        Turn(filled(draw, draw.choice(question.split(" / ")), values), filled(draw, answer, values), (), tuple(values.values())),))


_TELLING = (
    ("cooking", "tonight i cook {dish}", "{Dish} sounds good. Enjoy it!", "what do i cook tonight? / what will i cook? / what is for dinner tonight?", "You want to cook {dish}."),
    ("visit", "my {relative} comes to visit on {day}", "How nice! I hope that you have a good {day}.", "who comes to visit? / who is going to visit me?", "Your {relative} comes to visit on {day}."),
    ("visit", "on {day} my {relative} comes to see me", "I hope that you have a good time with your {relative}.", "when does my {relative} come? / on which day comes my {relative}?", "Your {relative} comes on {day}."),
    ("lost", "i lost my {lost} today", "I am sorry. I hope that you find your {lost}.", "what did i lose? / what was it that i lost today?", "You lost your {lost}."),
    ("bought", "i bought {a color} {object}", "A {color} {object}, how nice!", "what did i buy? / which thing did i buy today?", "You bought {a color} {object}."),
    ("bought", "my new {object} is {color}", "That sounds nice.", "what color is my {object}? / which color has my new {object}?", "Your {object} is {color}."),
    ("reading", "i am reading a book about {animals}", "That sounds interesting. What have you learned?", "what is my book about? / what am i reading about?", "Your book is about {animals}."),
    ("saw", "i saw {a animal} {where} today", "A {animal}! What was it doing there?", "which animal did i see? / what did i see today? / what animal was it?", "You saw {a animal}."),
    ("saw", "today there was {a animal} {where}", "What a surprise!", "where was the {animal}? / where did i see the {animal}?", "The {animal} was {where}."),
    ("trip", "on {day} i go to {city}", "Have a good trip to {city}!", "where do i go on {day}? / which city do i go to?", "You go to {city} on {day}."),
    ("ate", "i had {foods} for breakfast", "A good start into the day!", "what did i have for breakfast? / what did i eat this morning?", "You had {foods} for breakfast."),
    ("learning", "i want to learn {doing}", "{Doing} is a good thing to learn.", "what do i want to learn? / what was it that i want to learn?", "You want to learn {doing}."),
    ("pain", "my {part} hurts", "I am sorry. I hope that your {part} is better soon.", "what hurts? / what did i say hurts? / which part of me hurts?", "Your {part} hurts."),
    ("present", "i need a present for my {relative}, maybe a {object}", "A {object} would be a nice present for your {relative}.", "for whom do i need a present? / who gets the present?", "You need a present for your {relative}."),
    ("present", "i want to give my {relative} a {object}", "That is kind of you.", "what do i want to give my {relative}? / what is the present for my {relative}?", "You want to give your {relative} a {object}."),
    ("meeting", "i meet {name} at {hour} o'clock", "I hope that you and {name} have a good time.", "whom do i meet? / who do i meet at {hour}?", "You meet {name} at {hour} o'clock."),
    ("meeting", "at {hour} o'clock i meet {name}", "All right: {name} at {hour}.", "when do i meet {name}? / at what time do i meet {name}?", "You meet {name} at {hour} o'clock."),
    ("feeling", "today i feel {feeling}", "Thank you for telling me. Do you know why?", "how do i feel today? / how did i say i feel?", "You feel {feeling} today."),
    ("garden", "i planted {number} {crops}", "I hope that they grow well.", "how many {crops} did i plant? / what did i plant?", "You planted {number} {crops}."),
    ("price", "the {object} costs {big} euros", "That is good to know.", "how much does the {object} cost? / what is the price of the {object}?", "The {object} costs {big} euros."),
)


def _listed(draw: Draw) -> Item:
    kind = draw.choice(("foods", "foods", "object"))
    *items, other = draw.words(kind, draw.number(3, 5))
    there = draw.chance(0.5)
    searched = draw.choice(items) if there else other
    question = f"is {with_article(searched)} on my list?" if kind == "object" else f"are {searched} on my list?"
    return Item("list", Turn(asked(draw, ["my shopping list: {t}", "i need to buy {t}", "shopping list: {t}"], t=", ".join(items)), draw.choice(("All right, I have noted it.", "Noted: " + listed(items) + ".")), tuple(items)), (
        Turn(draw.choice(("what is on my shopping list?", "what do i need to buy?", "read me the shopping list")), capitalized(f"{listed(items)}.")),
        Turn(draw.choice(("how many things are on my list?", "how many things do i need to buy?")), f"There are {len(items)} things on your list."),
        Turn(draw.choice(("what is the last thing on my list?", "and the last thing on the list?")), f"The last thing is {items[-1]}."),
        Turn(question, verdict(f"your list names {listed(items)}", there), (searched,))))


_MAKERS: tuple[Callable[[Draw], Item], ...] = (_sum, _capital, _opposite, _named, _pet_named, _code, _told, _told, _told, _told, _told, _listed)
