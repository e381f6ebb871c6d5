"""Stories in chats: on request, from an opening, and questions about their characters and things."""

import re

from .. import continuing, seeds, stories
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, with_article
from . import short_story_chats, story_frames
from .facts_asking import asked
from .short_story_chats import ABOUT
from .story_plans import given_words, planned, sentence


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("story chats", _MAKERS)
    return kind, maker(draw)


_ABOUT_TWO = [
    "a story about {a} and {b}", "tell me a story about {a} and {b}", "write a short story with {a} and {b}", "story with {a} and {b}",
    "a story with {a} and {b} in it", "make up a story about {a} and {b}", "Write a story about {a} and {b}.",
    "can you tell a story with {a} and {b}", "a short story with {a} and {b} please",
]
_ANY = [
    "tell me a story", "Tell me a story.", "a story please", "story", "write a story", "can you tell me a story",
    "write a short story", "make up a story", "i want to hear a story", "tell a story", "write me a story", "short story please",
    "do you know a story",
    "tell me something long", "entertain me with a story", "a bedtime story please", "read me a story",
]


def any_story(draw: Draw) -> list[Turn]:
    """Any story, and another one."""
    told = [_short(draw)]
    turns = [Turn(asked(draw, _ANY), told[0].text)]
    if draw.chance(0.2):
        turns.append(Turn(asked(draw, ["another one", "one more", "another story please", "again", "a different one"]),
            _short(draw).text))
    return turns


def _short(draw: Draw) -> stories.Told:
    """A story of at most 150 words or so."""
    while len((told := stories.story(draw)).text.split()) > 170:
        pass
    return told


def about(draw: Draw) -> list[Turn]:
    """A story about a thing, an animal or a person, and questions about it."""
    slot = draw.choice(("object", "animal", "a", "job"))
    if slot == "a":
        name = draw.word(draw.choice(("woman", "man")))
        told = stories.from_frame(draw, {"a": name}, needs="a")
        turns = [Turn(asked(draw, ABOUT, t=name), told.text, (), (name,))]
    else:
        word = draw.word(slot)
        told = stories.from_frame(draw, {slot: word}, needs=slot)
        text, subject = _described(draw, told.text, word, slot) if draw.chance(0.4) else (told.text, word)
        turns = [Turn(asked(draw, ABOUT, t=with_article(subject)), text, (subject,))]
    if draw.chance(0.3) and (names := _names_in(told)):
        turns.append(_question(draw, names))
    return turns


#: Words before a noun that leave room for an adjective.
_DETERMINERS = frozenset("a an the my your his her its our their this that".split())


#: What somebody may be like, and what a thing may be like.
_OF_PEOPLE = ("young old tall small new famous kind clever brave shy lazy busy tired happy sad lonely curious sleepy nervous cheerful patient polite quiet "
    "friendly gentle stubborn worried bored hungry proud calm angry funny forgetful careful rich poor strong modest honest careless generous").split()
_OF_THINGS = ("old new big small heavy light clean dirty broken long short thin thick strong soft hard smooth rough wet dry warm cold empty cheap expensive "
    "pretty ugly shiny dusty useful strange rare simple modern wide narrow tiny huge plain beautiful magic golden noisy forgotten borrowed crooked").split()


def _quality(draw: Draw, slot: str) -> str:
    """An adjective for a person with a job, an animal or a thing; a person has no color."""
    if slot != "job" and draw.chance(0.35):
        return draw.word("color")
    return draw.choice(_OF_THINGS if slot == "object" else _OF_PEOPLE)


def _described(draw: Draw, text: str, word: str, slot: str) -> tuple[str, str]:
    """Returns a story whose first mention of its subject has an adjective, and the subject with it, unless the story describes it already."""
    if any(before.lower() not in _DETERMINERS for before in re.findall(rf"(\w+),? {re.escape(word)}\b", text)):
        return text, word
    subject = f"{_quality(draw, slot)} {word}"
    changed = re.sub(rf"\b([Aa]n?|[Tt]he) {re.escape(word)}\b",
        lambda match: f"{match[1]} {subject}" if match[1].lower() == "the" else
            (capitalized if match[1][0] == "A" else str)(with_article(subject)), text, count=1)
    return (changed, subject) if changed != text else (text, word)


def two_things(draw: Draw) -> list[Turn]:
    """A short story about an animal and a thing or a person with a job."""
    kind = draw.choice(("object", "job", "trinket"))
    animal, other = draw.word("animal"), draw.word(kind)
    parts = _ANIMAL_AND_PERSON if kind == "job" else _ANIMAL_AND_THING
    text = fill(draw, " ".join(draw.choice(part) for part in parts), {"animal": animal, "x": other})
    pair = [with_article(animal), with_article(other)]
    if draw.chance(0.5):
        pair.reverse()
    return [Turn(asked(draw, _ABOUT_TWO, a=pair[0], b=pair[1]), text, (animal, other))]


#: A story of an animal and a thing in parts, each with alternatives.
_ANIMAL_AND_THING = (
    ("{Name} had never seen {a animal} so close to {a x}.", "One morning, {a animal} found {a x} {where}.", "Once there was {a animal} that thought of nothing but {a x}.",
    "Nobody in {city} believed the story of the {animal} and the {x}.", "{Name} lost {a x}, and {a animal} found it.", "On {day}, {a animal} walked off with {a x} that belonged to {name}."),
    ("The {animal} sat down, looked at the {x} for a long time and made no sound.", "It touched the {x} once, very gently, and jumped back.", "At first the {animal} was afraid of the {x}.",
    "\"What is that?\" asked {name}. \"That is my {x},\" said the {animal}.", "The {animal} liked the {x} because it was {color}.", "{Name} wanted to take the {x} away, but the {animal} did not let go of it."),
    ("So the {animal} stayed near the {x} until the evening.", "Then it began to rain, and the {animal} kept the {x} dry.", "In the night the {animal} hid the {x} behind some leaves.",
    "{Name} offered {a object2} for the {x}, but the {animal} shook its head.", "When {name} came with some {foods}, the {animal} gave back the {x}.", "It carried the {x} home and showed it to all the others."),
    ("Since then, whoever sees the {x} looks for the {animal}, too.", "In the end the {animal} fell asleep beside the {x}.", "{Name} still tells everybody about the {animal} and the {x}.",
    "And when the {animal} sleeps, it dreams of the {x}.", "The {x} got a scratch that day, and nobody minded."),
)
#: A story of an animal and a person with a job.
_ANIMAL_AND_PERSON = (
    ("{Name} was {a x} in {city}, and {a animal} came by every morning.", "One morning, {a animal} came around the corner and met {a x} called {name}.", "Once there was {a animal} that wanted to become {a x}.",
    "In {city} lived {a x}, {name}, who had never seen {a animal}.", "On {day}, {a x} found {a animal} {where}."),
    ("\"Good morning,\" said the {animal}. The {x} nearly fell over.", "The {animal} sat down and watched the {x} at work.", "The {animal} was shy, but the {x} was patient.",
    "\"Are you lost?\" asked the {x}. The {animal} nodded.", "The {x} had a lot to do that day, and the {animal} wanted to help."),
    ("At noon the {x} shared some {foods} with the {animal}.", "They waited together for the rain to stop, the {animal} and the {x}.", "On {day2}, the {animal} came back and brought {a object} for the {x}.",
    "The {animal} made a mess, and the {x} laughed.", "So the {animal} stayed, and the {x} was not alone anymore."),
    ("Since then, whoever needs the {x} looks for the {animal}.", "In the evening the {animal} went home, and the {x} waved for a long time.", "The {x} still tells everybody about the {animal}.",
    "They have been friends ever since.", "Today nobody can imagine the {x} without the {animal}."),
)


def two_people(draw: Draw) -> list[Turn]:
    """A story about two people who are named."""
    first, second = draw.words("woman", 1)[0], draw.words("man", 1)[0]
    if draw.chance(0.5):
        first, second = second, first
    while True:
        told = stories.from_frame(draw, {"a": first, "b": second}, needs="b")
        if first in told.text and second in told.text:
            break
    return [Turn(asked(draw, ["tell me a story about {a} and {c}", "a story about {a} and {c} please",
        "write a story with {a} and {c}", "story: {a} and {c}"], a=first, c=second), told.text, (), (first, second))]


def _names_in(told: stories.Told) -> list[str]:
    """The people of a frame who are named in its story."""
    return [told.values[slot] for slot in ("a", "b") if re.search(rf"\b{told.values[slot]}\b", told.text)]


def _question(draw: Draw, names: list[str]) -> Turn:
    """Who was in the story?"""
    if len(names) == 2:
        return Turn(asked(draw, ["who was in the story", "what were the names", "which names were in it?",
            "name the people in the story"]), f"The people in the story were {names[0]} and {names[1]}.")
    return Turn(asked(draw, ["who was in the story", "what was the name", "whats the name in the story"]),
        f"The name in the story was {names[0]}.")


def going_on(draw: Draw) -> list[Turn]:
    """A given opening and its continuation."""
    if draw.chance(_GOING_ON_SHORT_SHARE):
        opening, rest = stories.cut(draw, stories.short_story(draw).text)
    elif draw.chance(0.5):
        opening, rest, _ = continuing.continued(draw)
    else:
        opening, rest = stories.cut(draw, _short(draw).text)
    return [Turn(asked(draw, ["continue: {t}", "go on: {t}", "continue this story: {t}", "how does it go on: {t}",
        "Continue the story: {t}", "finish this: {t}", "write on: {t}", "{t} what happens next",
        "Write a story that begins like this: {t}", "a story that starts with: {t}", "Continue: {t}"], t=opening), rest)]


#: The share of short stories among openings that are continued on request.
_GOING_ON_SHORT_SHARE = 0.7


def of_kind(draw: Draw) -> list[Turn]:
    """A story of a kind that is asked for."""
    names = {"science fiction": "a science fiction story", "mystery": "a mystery", "fable": "a fable", "letter": "a letter",
        "diary": "a diary entry", "news report": "a short news report", "slightly spooky": "a spooky story",
        "children's story": "a story for children", "humor": "a funny story", "dialogue only": "a dialogue",
        "recipe story": "a recipe that becomes a story", "sports": "a story about sports", "school": "a story about school",
        "family": "a family story", "travel": "a travel story"}
    fitting = [one for one in stories.known(draw.split) if stories.short_kind(one.kind) in names]
    one = draw.choice(fitting)
    text, _ = stories.swapped(draw, one)
    return [Turn(asked(draw, ["write {t}", "tell me {t}", "{t} please", "can you write {t}", "i want {t}", "make up {t}"],
        t=names[stories.short_kind(one.kind)]), text)]


def shortened(draw: Draw) -> list[Turn]:
    """A story about a thing, and then only its first or its last sentences."""
    word = draw.word("object")
    told = stories.from_frame(draw, {"object": word}, needs="object")
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", told.text.replace("\n", " "))
    return [Turn(asked(draw, ABOUT, t=with_article(word)), told.text, (word,)),
        Turn(asked(draw, ["shorter", "make it shorter", "a shorter version", "shorter please", "can you make that shorter",
            "the same in two sentences", "too long, shorter please"]), " ".join(sentences[:2]))]


def first_lines(draw: Draw) -> list[Turn]:
    """A first line for a story, and another."""
    first, second = draw.some(seeds.lines("openings.txt") or ("It began with a button.", "The bus was early for once."), 2)
    turns = [Turn(asked(draw, ["give me a first line for a story", "how could a story begin",
        "a first sentence for a story please", "write only the first sentence of a story", "start a story, one sentence"]),
        first)]
    if draw.chance(0.4):
        turns.append(Turn(asked(draw, ["another one", "one more", "a different one"]), second))
    return turns


_MAKERS = {"planned": (planned, 70), "frames": (story_frames.story, 110), "given words": (given_words, 24), "sentence": (sentence, 24), "any": (any_story, 14), "about": (about, 40), "two things": (two_things, 8), "two people": (two_people, 10), "going on": (going_on, 22), "short, about": (short_story_chats.about, 110),
    "of kind": (of_kind, 8), "first lines": (first_lines, 4), "shortened": (shortened, 10)}
