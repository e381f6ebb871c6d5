"""The wordings of the questions for facts, of their answers, and common knowledge with the questions for it."""

from dataclasses import dataclass

from ember.chats import facts_data as data
from ember.chats.categories_data import CATEGORIES
from ember.chats.drawing import with_article

OPENINGS = [
    "Please tell me:", "I have a question.", "Quick question:", "Can you help me?", "Here is a question for you:",
    "Hey!", "Let me ask you something.", "I want to learn something.", "Answer this:", "Question:", "Hi!",
    "Help me with this:",
]


@dataclass(frozen=True)
class Relation:
    """Facts of one sort and how they are asked for and told: `{x}` is the thing and `{y}` what is known of it."""

    weight: int
    facts: list[tuple[str, str]]
    wordings: list[str]
    thought: str
    answer: str
    must: str = "{y}"


def _asked(noun: str) -> list[str]:
    """Wordings that ask for "the `noun`"."""
    return [
        f"What is the {noun}?", f"What's the {noun}?", f"Tell me the {noun}.", f"Name the {noun}.",
        f"Do you know the {noun}?",
        f"Can you tell me the {noun}?", f"Please name the {noun}.", f"What is the {noun} called?",
        f"I want to know the {noun}.",
        f"Could you tell me the {noun}?", f"Say the {noun}.", f"Which one is the {noun}?", f"Can you name the {noun}?",
        f"the {noun}", f"the {noun}?", f"Do you know what the {noun} is?", f"Tell me what the {noun} is.",
        f"I forgot the {noun}. What is it?", f"Give me the {noun}.", f"What would you say is the {noun}?",
    ]


def _after(names: list[str]) -> list[tuple[str, str]]:
    return list(zip(names, names[1:] + names[:1]))


def _before(names: list[str]) -> list[tuple[str, str]]:
    return [(right, left) for left, right in _after(names)]


def _order(word: str, noun: str) -> list[str]:
    """Wordings that ask which `noun` comes "after" or "before" another."""
    return [
        f"What {noun} comes {word} {{x}}?", f"Which {noun} comes {word} {{x}}?", f"What comes {word} {{x}}?",
        f"Tell me the {noun} {word} {{x}}.", f"What is the {noun} {word} {{x}}?", f"Which {noun} is {word} {{x}}?",
        f"Name the {noun} that comes {word} {{x}}.", f"Do you know which {noun} comes {word} {{x}}?",
        f"Can you tell me what {noun} comes {word} {{x}}?", f"What {noun} is right {word} {{x}}?",
        f"The {noun} {word} {{x}}?", f"I need the {noun} {word} {{x}}.",
    ]


def _ordered(weight: int, names: list[str], noun: str, closed: bool = True) -> list[Relation]:
    """What comes after and before each of `names`, which begin again after the last if they are `closed`."""
    after, before = _after(names), _before(names)
    if not closed:
        after, before = after[:-1], before[:-1]
    return [
        Relation(weight, pairs, _order(word, noun), f"The user asks what comes {word} {{x}}. It is {{y}}.",
                 f"{{Y}} comes {word} {{x}}.")
        for word, pairs in (("after", after), ("before", before))
    ]


_COLOR_WORDINGS = [
    "What color {is} {x}?", "Which color {is} {x}?", "What is the color of {x}?", "Tell me the color of {x}.",
    "What color {has} {x}?", "Do you know what color {x} {is}?", "Can you tell me what color {x} {is}?",
    "Tell me what color {x} {is}.", "What color {does} {x} have?", "What's the color of {x}?", "Name the color of {x}.",
    "Which color {does} {x} have?", "Please tell me the color of {x}.", "In what color would you paint {x}?",
    "I want to paint {x}. Which color do I need?", "The color of {x}?", "Do you know the color of {x}?",
    "What color would {x} be in a picture?", "Say what color {x} {is}.",
]


def _colors(weight: int, facts: list[tuple[str, str]], verbs: dict[str, str]) -> Relation:
    wordings = [wording.format(x="{x}", **verbs) for wording in _COLOR_WORDINGS]
    return Relation(weight, facts, wordings, "The user asks for the color of {x}. It is {y}.",
    f"{{X}} {verbs['is']} {{y}}.")


_THINGS = [(with_article(thing), with_article(category)) for category, things in CATEGORIES.items() for thing in things]

RELATIONS = [
    Relation(18, data.CAPITALS, _asked("capital of {x}") + [
        "Which city is the capital of {x}?", "What city is the capital of {x}?", "{x} has which capital?",
        "What is {x}'s capital?", "What is the capital city of {x}?", "Tell me the capital city of {x}.",
        "Do you know which city is the capital of {x}?", "I am going to {x}. What is its capital?",
        "Name {x}'s capital.", "My homework asks for the capital of {x}. What is it?",
        "The capital of {x} is which city?",
    ], "The user asks for the capital of {x}. It is {y}.", "The capital of {x} is {y}."),
    _colors(10, data.COLORS_OF_ONE, {"is": "is", "has": "has", "does": "does"}),
    _colors(5, data.COLORS_OF_MANY, {"is": "are", "has": "have", "does": "do"}),
    Relation(6, data.SOUNDS, [
        "What sound does {x} make?", "Which sound does {x} make?", "What does {x} say?", "How does {x} sound?",
        "What noise does {x} make?", "Tell me the sound that {x} makes.", "What does {x} sound like?",
        "Do you know what {x} says?", "Can you make the sound of {x}?", "What is the sound of {x}?",
        "Tell me what {x} says.", "If I meet {x}, what does it say?", "Which noise does {x} make?",
    ], "The user asks for the sound of {x}. It is {y}.", "{X} says {y}."),
    Relation(6, [(with_article(old), with_article(young)) for old, young in data.YOUNG], [
        "What is the young of {x} called?", "What do you call the young of {x}?", "What is the baby of {x} called?",
        "What is the child of {x} called?", "What do we call the baby of {x}?",
        "Tell me what the young of {x} is called.", "Which word do we use for the young of {x}?",
        "Name the young of {x}.", "What is the name for the baby of {x}?",
        "Do you know what the young of {x} is called?", "What is the right word for the baby of {x}?",
        "What was {x} when it was little?",
    ], "The user asks for the young of {x}. It is {y}.", "The young of {x} is called {y}."),
    Relation(7, data.LEGS, [
        "How many legs does {x} have?", "How many legs has {x}?", "What number of legs does {x} have?",
        "Tell me how many legs {x} has.", "Do you know how many legs {x} has?", "On how many legs does {x} walk?",
        "Can you tell me how many legs {x} has?", "Count the legs of {x}.", "How many legs are there on {x}?",
        "{x} has how many legs?", "I am drawing {x}. How many legs do I draw?", "Say how many legs {x} has.",
    ], "The user asks for the legs of {x}. It has {y} legs.", "{X} has {y} legs."),
    Relation(7, data.OPPOSITES, _asked("opposite of {x}") + [
        "What word means the opposite of {x}?", "Which word is the opposite of {x}?", "What is the reverse of {x}?",
        "Opposite of {x}?", "Find the opposite of {x}.", "What is not {x}, but the opposite?",
        "{x} is the opposite of what?",
    ], "The user asks for the opposite of {x}. It is {y}.", "The opposite of {x} is {y}."),
    *_ordered(3, data.DAYS, "day"),
    *_ordered(3, data.MONTHS, "month"),
    Relation(5, _THINGS, [
        "What is {x}?", "What's {x}?", "Tell me what {x} is.", "What kind of thing is {x}?", "Do you know what {x} is?",
        "Can you tell me what {x} is?", "What sort of thing is {x}?", "Please tell me what {x} is.",
        "Explain what {x} is.", "What do we call {x}?", "I have never heard of {x}. What is it?",
        "Describe {x} in a few words.", "Say in one sentence what {x} is.", "How would you explain {x}?",
    ], "The user asks what {x} is. It is {y}.", "{X} is {y}."),
]

#: Questions, their answer, and what must stand in it.
KNOWLEDGE = [(questions.split(" | "), answer, must) for questions, answer, must in data.KNOWLEDGE]
