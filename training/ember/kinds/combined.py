"""Messages that say two things at once: a greeting and a question, two questions, thanks and a farewell.

The answer takes up each part in the order of the message, so that it depends on the whole of it.
"""

import re
from dataclasses import dataclass

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized
from . import talking
from .combined_parts import ENDINGS, GREETINGS, QUESTIONS, REASONS, THANKS, WELCOMES

#: Kinds of talks that a greeting may stand before, or thanks after.
_KINDS = ("identity", "inferno", "daily life")
#: Messages that begin or end with a greeting or thanks of their own.
_OWN_GREETING = re.compile(r"\b(hi|hello|hey|good (morning|evening|afternoon|night|day)|thanks|thank you|thx|bye|goodbye|yo|howdy)\b", re.IGNORECASE)
_JOINS = (" and ", " and ", ", and ", "? And ", "? ", "? Also, ", " and also ", ", ")


@dataclass(frozen=True)
class Greeting:
    """A greeting as it was typed, and how Ember returns it."""

    said: str
    returned: str


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns a message of several parts with its answer, and perhaps what follows."""
    maker = draw.rng.choices((_greeted, _thanking, _two_questions, _introduced, _how_are_you, _ended), (20, 12, 34, 10, 10, 14))[0]
    return "intents/combined", maker(draw)


def _greeting(draw: Draw) -> Greeting:
    said, returned = draw.choice(GREETINGS)
    text = talking.chosen(draw, said)
    # An address makes many greetings of one.
    addresses = ("", "", " Ember", " there", " again", " you") if text in ("hi", "hello", "hey") else ("", "", " Ember", ", Ember")
    return Greeting(text + draw.choice(addresses), talking.chosen(draw, returned))


def _talked(draw: Draw, kinds: tuple[str, ...] = _KINDS) -> list[Turn]:
    """A talk about something, which neither greets nor thanks."""
    while True:
        turns = talking.talk(draw, kinds, False)[1]
        if not _OWN_GREETING.search(turns[0].user) and not turns[0].answer.startswith(("Hello", "Hi")):
            return turns


def _greeted(draw: Draw) -> list[Turn]:
    """A greeting before a question or a statement."""
    greeting = _greeting(draw)
    first, *rest = _talked(draw)
    user = greeting.said + draw.choice((", ", "! ", ". ", ", ", " ", "! ")) + first.user
    answer = f"{greeting.returned}! {first.answer}" if draw.chance(0.6) else first.answer
    return [Turn(user, answer, first.protected, first.names), *rest]


def _thanking(draw: Draw) -> list[Turn]:
    """Thanks before a question, or after it."""
    before = draw.chance(0.5)
    # Thanks follow what was asked for, and not what was told.
    first, *rest = _talked(draw, _KINDS if before else ("identity", "inferno"))
    thanks = talking.chosen(draw, draw.choice(THANKS[:2] if not before else THANKS))
    if before:
        user = thanks + draw.choice((", and ", "! ", ". ", "! And ", ". now, ", ", one more thing: ", "! next: ")) + first.user
        return [Turn(user, f"{talking.chosen(draw, draw.choice(WELCOMES))} {first.answer}", first.protected, first.names), *rest]
    user = first.user + (" " if first.user.endswith(("?", "!", ".")) else draw.choice((", ", ". ", " "))) + thanks
    return [Turn(user, first.answer, first.protected, first.names), *rest]


def _question(draw: Draw, number: int) -> tuple[str, str]:
    """One of the questions with one of its answers."""
    asks, answers = QUESTIONS[number]
    return talking.chosen(draw, draw.wording(asks)), talking.chosen(draw, draw.choice(answers))


def _two_questions(draw: Draw) -> list[Turn]:
    """Two questions in one message, perhaps with a greeting before or thanks after them."""
    numbers = draw.some(range(len(QUESTIONS)), 3 if draw.chance(0.1) else 2)
    asked, answers = zip(*(_question(draw, number) for number in numbers))
    join = draw.choice(_JOINS)
    text = (", ".join(asked[:-1]) if len(asked) > 2 else asked[0]) + join + asked[-1] + draw.choice(("?", "?", ""))
    answer = " ".join(answers)
    if draw.chance(0.35):
        greeting = _greeting(draw)
        text = greeting.said + draw.choice((", ", "! ", ". ", " ")) + text
        answer = f"{greeting.returned}! {answer}" if draw.chance(0.6) else answer
    elif draw.chance(0.12):
        text += draw.choice((" ", ", ")) + talking.chosen(draw, draw.choice(THANKS))
    return [Turn(text, answer)]


def _introduced(draw: Draw) -> list[Turn]:
    """A name before a question."""
    name = draw.word("name")
    greeting = _greeting(draw)
    told = draw.choice(("I am {}", "I'm {}", "my name is {}", "this is {}", "{} here", "call me {}")).format(name)
    asked, answer = _question(draw, draw.number(0, len(QUESTIONS) - 1))
    text = draw.choice((f"{greeting.said}, {told}", capitalized(told), f"{greeting.said}! {capitalized(told)}"))
    text += draw.choice((". ", ", ", " and I want to know: ", "! ")) + asked + draw.choice(("?", ""))
    hello = greeting.returned if text.startswith(greeting.said) else "Hello"
    return [Turn(text, draw.choice((f"{hello}, {name}! {answer}", f"{hello}, {name}! Nice to meet you. {answer}")), (), (name,))]


_HOW = ("how are you", "how are you today", "how are you doing", "how is it going", "how do you do", "are you well", "how is life", "how have you been", "how are things", "hope you are well")
_WELL = ("I am well, thank you.", "I am fine, thank you.", "All is well here, thank you.", "Thank you for asking, I am fine.")
_AND_YOU = ("How are you?", "And you?", "How about you?", "And how are you?")
_MOODS = (
    ("I am fine|I am well|I'm good|all is well here|I feel great|I had a good day", "I am glad to hear that.|That is good to hear.|How nice."),
    ("I am tired|I slept badly|I had a long day|I worked all day", "I hope that you can rest soon.|You have earned a rest.|I hope you sleep well tonight."),
    ("I am sad|I feel down|I had a bad day|today was awful", "I am sorry to hear that.|I am sorry that you feel down.|I am sorry about that."),
    ("I am bored|there is nothing to do here|I have nothing to do", "Let us do something about that.|Then let us find something to do."),
    ("I am nervous|I have an exam tomorrow|I am worried", "I wish you luck.|Breathe slowly, and you can do it.|It is normal to be nervous."),
    ("I am ill|I have a cold|I am sick in bed", "Get well soon!|I hope you get well soon.|Rest, and get well soon!"),
    ("I am happy|I got good news|I passed my test|I won a prize", "I am happy for you!|Congratulations!|That is wonderful!"),
    ("I am busy|I have much to do|I have little time", "Then let us be quick.|I hope that you find a quiet minute."),
)
_ASKED_BACK = ("how are you", "and you", "what about you", "how about you", "and how are you")


def _how_are_you(draw: Draw) -> list[Turn]:
    """A greeting with a question or a word about how one is, or both."""
    greeting = _greeting(draw)
    join = draw.choice((", ", "! ", ". ", " - "))
    form = draw.number(0, 2)
    if form == 0:
        return [Turn(greeting.said + join + draw.choice(_HOW) + draw.choice(("?", "")), f"{greeting.returned}! {draw.choice(_WELL)} {draw.choice(_AND_YOU)}")]
    said, replies = (draw.choice(part.split("|")) for part in draw.choice(_MOODS))
    if form == 1:
        return [Turn(greeting.said + join + said + draw.choice((".", "")), f"{greeting.returned}! {replies}")]
    return [Turn(draw.choice(("", greeting.said + join)) + said + draw.choice((", ", ". ", "! ")) + draw.choice(_ASKED_BACK) + draw.choice(("?", "")), f"{replies} {draw.choice(_WELL)}")]


def _ended(draw: Draw) -> list[Turn]:
    """A farewell, perhaps with thanks or a reason before it; the answer returns what was wished."""
    said, returned = draw.choice(ENDINGS)
    text, answer = talking.chosen(draw, said), talking.chosen(draw, returned).strip()
    if draw.chance(0.45):
        reason = talking.filled(draw, talking.chosen(draw, draw.choice(REASONS)), {})
        text = reason + draw.choice((", ", ". ", ", so ", " - ")) + text
    if draw.chance(0.5):
        text = talking.chosen(draw, draw.choice(THANKS)) + draw.choice((", ", "! ", ". ", " and ", ", but ")) + text
        answer = draw.choice(("You are welcome! ", "My pleasure! ", "Glad to help! ", "You are very welcome! ")) + answer
    elif draw.chance(0.25):
        text = draw.choice(("ok", "well", "alright", "right", "so", "okay then", "good", "that was all")) + ", " + text
    return [Turn(text, answer)]
