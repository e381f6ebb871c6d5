"""Introductions that tell several things in one sentence, and questions about them, or about what was never told, in later turns."""

from collections.abc import Callable
from dataclasses import dataclass

from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, with_article
from . import facts, random_words, sums
from .memory_data import NEVER_TOLD
from .talking_words import COLUMNS


@dataclass(frozen=True)
class Part:
    """One thing that users tell about themselves; `{x}` is the word that is told."""

    clauses: tuple[str, ...]
    asks: tuple[str, ...]
    answers: tuple[str, ...]
    #: What Ember says if it was never told.
    never: tuple[str, ...]
    word: Callable[[Draw], str]


def _name(draw: Draw) -> str:
    """A name: a common one, a rare one, or an invented one."""
    form = draw.rng.random()
    if form < 0.6:
        return draw.word("name")
    return capitalized(random_words.invented(draw)) if form < 0.75 else draw.choice(random_words._RARE_NAMES)


def _liked(draw: Draw) -> str:
    """Something that people like: animals, foods or something to do."""
    form = draw.number(0, 2)
    return fill(draw, "{animals}", {"animal": draw.word("animal")}) if form == 0 else draw.word("foods") if form == 1 else _doing(draw)


def _doing(draw: Draw) -> str:
    names, rows = COLUMNS["doing"]
    return fill(draw, draw.choice(rows)[names.index("doing")], {})


_NAME = Part(("I am {x}", "I'm {x}", "my name is {x}", "my name's {x}", "they call me {x}", "I am called {x}"),
    ("what is my name", "whats my name?", "who am i", "do you remember my name?", "what am i called", "tell me my name", "What was my name?", "do you still know my name"),
    ("Your name is {x}.", "You are {x}.", "You told me that your name is {x}."),
    ("You have not told me your name yet.", "I do not know your name. What is it?"), _name)
_PARTS = {
    "liking": Part(("I like {x}", "I love {x}", "I really like {x}", "I enjoy {x}", "I am fond of {x}"),
        ("what do i like", "What do I like?", "do you remember what i like", "tell me what i like", "what did i say i like?", "which thing do i like"),
        ("You like {x}.", "You told me that you like {x}."),
        ("You have not told me what you like.", "I do not know what you like. What is it?"), _liked),
    "home": Part(("I live in {x}", "my home is in {x}", "I live in {x} now"),
        ("where do i live", "Where do I live?", "do you remember where i live", "which city do i live in?", "where is my home"),
        ("You live in {x}.", "You told me that you live in {x}."), ("You have not told me where you live.", "I do not know where you live."),
        lambda draw: draw.word("city")),
    "origin": Part(("I am from {x}", "I come from {x}", "I'm from {x}"),
        ("where am i from", "Where do I come from?", "do you remember where i am from", "where did i say i come from"),
        ("You are from {x}.", "You told me that you come from {x}."), ("You have not told me where you are from.", "I do not know where you come from."),
        lambda draw: draw.word("city") if draw.chance(0.5) else draw.word("country")),
    "age": Part(("I am {x} years old", "I'm {x} years old", "I am {x}"),
        ("how old am i", "How old am I?", "what is my age", "whats my age?", "do you remember how old i am"),
        ("You are {x} years old.", "You told me that you are {x}."),
        ("You have not told me your age.", "I do not know how old you are."), lambda draw: str(draw.number(6, 90))),
    "job": Part(("I work as {x}", "I am {x}", "I'm {x} by trade", "my job is being {x}"),
        ("what is my job", "What do I do for work?", "whats my job", "do you remember my job?", "what do i work as"),
        ("You are {x}.", "You told me that you are {x}."), ("You have not told me your job.", "I do not know your job. What do you do?"),
        lambda draw: with_article(draw.word("job"))),
    "pet": Part(("I have {x}", "I have {x} at home", "I own {x}"),
        ("which animal do i have", "what pet do i have", "do i have a pet?", "What animal do I have?", "do you remember my pet"),
        ("You have {x}.", "You told me that you have {x}."), ("You have not told me about a pet.", "I do not know. You have not mentioned an animal."),
        lambda draw: with_article(draw.word("critter"))),
    "color": Part(("my favorite color is {x}", "I like the color {x} best"),
        ("what is my favorite color", "whats my favorite color?", "which color do i like best", "do you remember my favorite color"),
        ("Your favorite color is {x}.", "You like {x} best."), ("You have not told me your favorite color.", "I do not know which color you like best."),
        lambda draw: draw.word("color")),
}
_GREETINGS = ("", "", "", "Hi, ", "Hello, ", "Hey, ", "Hi! ", "Hello! ", "Good morning, ", "Hi Ember, ", "Hello there, ")
_REPLIES = ("Hello, {name}! Nice to meet you.", "Nice to meet you, {name}!", "Hi, {name}! How can I help you?", "Welcome, {name}!",
    "Hello, {name}! It is good to know a little about you.", "Hi, {name}! I am Ember.")
#: Replies that take up another thing that was told.
_TAKING_UP = {
    "liking": ("Hello, {name}! What do you like most about {x}?", "Nice to meet you, {name}! It is good to hear that you like {x}."),
    "home": ("Hello, {name}! I have never been to {x}.", "Nice to meet you, {name}! What is it like in {x}?"),
    "origin": ("Hello, {name}! I have never been to {x}.", "Nice to meet you, {name}! Do you miss {x}?"),
    "age": ("Hello, {name}! {x} is a fine age.", "Nice to meet you, {name}! I have no age at all."),
    "job": ("Hello, {name}! Do you like your work?", "Nice to meet you, {name}! To be {x} sounds interesting."),
    "pet": ("Hello, {name}! {X}, how nice!", "Nice to meet you, {name}! What is your pet called?"),
    "color": ("Hello, {name}! {X} is a good choice.", "Nice to meet you, {name}! I like how that sounds: {x}."),
}
_JOINS = (" and ", ", and ", " and ", ". ", ", ")


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """An introduction, perhaps something else, and questions."""
    name = _NAME.word(draw)
    told = {kind: _PARTS[kind].word(draw) for kind in draw.some(list(_PARTS), draw.rng.choices((1, 2, 3), (8, 3, 1))[0])}
    turns = [_introduced(draw, name, told)]
    if draw.chance(0.4):
        turns += draw.choice((sums.chat, facts.chat))(draw)[1][:2]
    everything = {"name": name, **told}
    for kind in draw.some(list(everything), draw.number(1, len(everything))):
        turns.append(_asked(draw, kind, everything[kind]))
    if draw.chance(0.35):
        turns.insert(draw.number(1, len(turns)), _never(draw, told))
    if draw.chance(0.15):
        turns.append(_summed_up(draw, name, told))
    return "introductions", turns


def _part(kind: str) -> Part:
    return _NAME if kind == "name" else _PARTS[kind]


def _clause(draw: Draw, kind: str, word: str) -> str:
    return draw.wording(_part(kind).clauses).format(x=word)


def _introduced(draw: Draw, name: str, told: dict[str, str]) -> Turn:
    clauses = [_clause(draw, "name", name), *(_clause(draw, kind, word) for kind, word in told.items())]
    if draw.chance(0.12):
        clauses = clauses[1:] + clauses[:1]
    join = draw.choice(_JOINS[:3] if len(clauses) == 2 else _JOINS)
    text = draw.choice(_GREETINGS) + (join.join(clauses) if join == ". " else ", ".join(clauses[:-1]) + draw.choice((" and ", ", and ")) + clauses[-1])
    text = capitalized(text) + draw.choice((".", ".", "", "!"))
    kind = draw.choice(list(told))
    values = {"name": name, "x": told[kind], "X": capitalized(told[kind])}
    answer = draw.choice(_REPLIES if draw.chance(0.5) else _TAKING_UP[kind]).format(**values)
    return Turn(text, answer, (), (name, *told.values()))


def _asked(draw: Draw, kind: str, word: str) -> Turn:
    return Turn(draw.wording(_part(kind).asks), draw.choice(_part(kind).answers).format(x=word))


def _never(draw: Draw, told: dict[str, str]) -> Turn:
    """A question about something that was not told."""
    # Who told a favorite color has told something liked; who told a home may also come from there.
    alike = {"color": "liking", "home": "origin", "origin": "home"}
    kinds = [kind for kind in _PARTS if kind not in told and alike.get(kind) not in told and kind not in [alike.get(one) for one in told]]
    if draw.chance(0.7):
        part = _PARTS[draw.choice(kinds)]
        return Turn(draw.wording(part.asks), draw.choice(part.never))
    asks, answers = NEVER_TOLD[draw.choice(("sister", "number", "code", "friend", "trip", "fear"))]
    return Turn(draw.wording(asks), draw.choice(answers))


_ABOUT = {"liking": "you like {x}", "home": "you live in {x}", "origin": "you are from {x}", "age": "you are {x} years old", "job": "you are {x}", "pet": "you have {x}",
    "color": "your favorite color is {x}"}


def _summed_up(draw: Draw, name: str, told: dict[str, str]) -> Turn:
    """Everything that was told."""
    parts = [f"your name is {name}", *(_ABOUT[kind].format(x=word) for kind, word in told.items())]
    asks = ("what do you know about me", "what did i tell you about me", "tell me what you know about me", "what have i told you?", "who am i and what did i tell you", "sum up what i said about me")
    return Turn(draw.wording(asks), capitalized(", ".join(parts[:-1]) + f" and {parts[-1]}."))
