"""Small creative texts in a form that the user names: lines, poems, slogans, names, inventions; and more of the same."""

import re

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..fill import keys
from ..grammar import capitalized, listed, plural, with_article
from . import creating_messages, creating_names, creating_verses
from .creating_data import FORMS, JOKES, NAMED, NO_TOPICS, TOPICS, Form
from .facts_asking import asked
from .talking import filled

_MORE = ["another one", "one more", "another one please", "a different one", "again", "give me another", "can you think of another one",
    "and another?", "something else", "i do not like it, another one", "try again", "a better one please", "not bad, one more"]
_OTHER = ["now about {t}", "and about {t}?", "the same about {t}", "one about {t} please", "and now about {t}", "another one, but about {t}",
    "make one about {t}", "no, i meant about {t}", "do the same for {t}"]
_SHORTER = ["shorter please", "make it shorter", "shorter", "only the first two lines", "just two lines please", "half of it", "too long"]
_SHOUTED = ["in upper case", "and in upper case?", "in capital letters please", "now in capitals", "write that in all caps"]
_QUIET = ["in lower case", "and in lower case?", "in small letters please"]
_PRAISE = ["nice", "i like it", "good one", "haha", "perfect", "lovely", "great", "that is beautiful", "wow", "cool, thanks"]
_PRAISED = ["I am glad that you like it! Do you want another one?", "Thank you! I enjoyed writing it.", "Thank you! Shall I write another one?",
    "That makes me happy. Shall we go on?", "Thanks! I can try one about something else, too."]


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns a creative request, perhaps with requests for more."""
    if draw.chance(_FITTING_SHARE):
        maker = draw.rng.choices([maker for maker, _ in _FITTING], [weight for _, weight in _FITTING])[0]
        return "creative", maker(draw)
    if draw.chance(0.14):
        return "creative", names(draw)
    if draw.chance(0.16):
        return "creative", jokes(draw)
    if draw.chance(0.06):
        return "creative", riddle(draw)
    form = draw.rng.choices(FORMS, [form.weight for form in FORMS])[0]
    return "creative", of_form(draw, form)


#: The share of requests whose texts are put together for their kind of subject, and those with their weights.
_FITTING_SHARE = 0.55
_FITTING = ((creating_verses.chat, 10), (creating_messages.chat, 9), (creating_names.chat, 8))


def of_form(draw: Draw, form: Form) -> list[Turn]:
    """Returns a request for a text of `form`, and perhaps for more."""
    values = _subject(draw, form)
    texts = draw.some(form.texts, len(form.texts))
    asking = draw.wording(form.asking)
    turns = [_turn(draw, asking, texts.pop(), values, form)]
    while texts and len(turns) < 5 and draw.chance(0.35):
        about = "t" in values and draw.chance(0.4)
        if about:
            values = _subject(draw, form)
        kept = {key: value for key, value in values.items() if key in _KEPT or key in keys(asking)}
        turns.append(_turn(draw, draw.choice(_OTHER if about else _MORE), texts.pop(), kept, form))
    return turns + _changed(draw, turns[-1].answer)


#: Slots that name the subject, which further texts keep.
_KEPT = {"t", "tt", "x", "xs", "y", "shop", "sells"}
#: Kinds of words that become part of a name, where only the first letter is made a capital.
_IN_NAMES = ("animal", "object", "job", "food", "city")


def _turn(draw: Draw, asking: str, text: str, values: dict[str, str], form: Form) -> Turn:
    # What the user names stays, also in a further text.
    named = {*values, *keys(asking)}
    question = filled(draw, asking, values)
    for key in keys(text):
        while key in _IN_NAMES and (key not in values or " " in values[key] and key not in named):
            values[key] = draw.word(key)
    if "{filling}" in text and draw.chance(0.5):
        text = text.replace("{filling}", "{swap}").replace("{filling2}", "{filling}").replace("{swap}", "{filling2}")
    answer = filled(draw, text, values | _said(form, values))
    return Turn(question, capitalized(answer), (), tuple(values.values()))


def _said(form: Form, values: dict[str, str]) -> dict[str, str]:
    """Returns the subject as the texts of `form` name it, if they name it otherwise than the user."""
    subject = values.get("t", "")
    if form.said == "your":
        return {"t": re.sub(r"^my ", "your ", subject)} if subject else {}
    if form.said == "plural" and subject.startswith(("a ", "an ")):
        return {"t": plural(subject.split(" ", 1)[1])}
    return {}


def _changed(draw: Draw, text: str) -> list[Turn]:
    """A last request to change the text, or praise."""
    form = draw.rng.random()
    if form < 0.06 and text.count("\n") == 3:
        return [Turn(asked(draw, _SHORTER), "\n".join(text.split("\n")[:2]))]
    if form < 0.12 and len(text) < 90:
        return [Turn(asked(draw, _SHOUTED), text.upper())]
    if form < 0.15 and len(text) < 90:
        return [Turn(asked(draw, _QUIET), text.lower())]
    if form < 0.25:
        return [Turn(asked(draw, _PRAISE), draw.choice(_PRAISED))]
    return []


def _subject(draw: Draw, form: Form) -> dict[str, str]:
    """Returns the slots that name a subject of one of the kinds of `form`."""
    kind = draw.choice(form.subjects)
    if kind == "none":
        return {}
    if kind == "shop":
        values: dict[str, str] = {}
        filled(draw, "{shop}", values)
        return values
    if kind == "two":
        first, second = draw.words(draw.choice(("animal", "thing", "job")), 2)
        return {"x": first, "y": second if draw.chance(0.4) else _noun(draw, other=first)}
    if kind in ("thing", "animal", "critter", "object", "place", "job"):
        noun = draw.word(kind)
        return {"x": noun, "xs": plural(noun)}
    named = _named(draw, kind)
    return {"t": named, "tt": _as_title(named)}


def _noun(draw: Draw, other: str = "") -> str:
    while (noun := draw.word(draw.choice(("thing", "animal", "job", "place")))) == other:
        pass
    return noun


def _named(draw: Draw, kind: str) -> str:
    """Returns a subject of a kind as a user names it."""
    match kind:
        case "noun":
            return with_article(_noun(draw))
        case "plural":
            return plural(_noun(draw))
        case "my noun":
            return f"my {draw.word(draw.choice(('thing', 'animal', 'object', 'critter')))}"
        case "the noun":
            return f"the {_noun(draw)}"
        case "relative":
            return f"my {draw.word('relative')}"
        case "food":
            return draw.word(draw.choice(("foods", "dish")))
        case "idea":
            return filled(draw, "{idea}", {})
        case _:
            return draw.word(kind)


def _as_title(subject: str) -> str:
    """Returns `subject` as part of a title: `the Old Kettle`."""
    first, *rest = re.sub(r"^(a|an|my) ", "the ", subject).split()
    return " ".join([first if first == "the" else capitalized(first), *(capitalized(word) for word in rest)])


_ANY_JOKE = ["tell me a joke", "a joke please", "joke", "do you know a joke", "make me laugh", "tell me something funny", "got a joke for me", "another joke",
    "i need a joke", "can you be funny", "say something funny", "a good joke please", "know any jokes", "tell me your best joke", "i want to laugh"]
_JOKE_ABOUT = ["a joke about {t}", "tell me a joke about {t}", "do you know a joke about {t}", "joke about {t} please", "make a joke about {t}", "got a joke about {t}",
    "i want a joke about {t}", "can you tell a joke about {t}", "know any jokes about {t}", "make me laugh about {t}"]
_ANOTHER_JOKE = ["another one", "one more", "another", "more", "another joke", "a different one", "tell me another", "next one", "haha, one more", "not funny, another one",
    "i know that one, another please", "and another"]


def jokes(draw: Draw) -> list[Turn]:
    """Jokes, each with the same chance: about a topic that is known, about any thing, or about nothing in particular."""
    rows = [row for row in seeds.facts("jokes") if row["topic"] != "riddle"]
    form = draw.rng.random()
    if form < 0.3:
        return _jokes_about_a_thing(draw)
    about = form < 0.75
    row = draw.choice([row for row in rows if row["topic"] not in NO_TOPICS] if about else rows)
    question = asked(draw, _JOKE_ABOUT, t=_joke_topic(draw, row["topic"])) if about else asked(draw, _ANY_JOKE)
    turns = [Turn(question, _told(row), (), ())]
    told = [row]
    while draw.chance(0.4) and len(turns) < 4:
        left = [one for one in rows if one not in told]
        same = [one for one in left if one["topic"] == row["topic"]]
        if about and draw.chance(0.5):
            row = draw.choice([one for one in left if one["topic"] not in NO_TOPICS])
            turns.append(Turn(asked(draw, ["and about {t}?", "now one about {t}", "one about {t} please", "another one, about {t}"],
                t=_joke_topic(draw, row["topic"])), _told(row)))
        else:
            row = draw.choice(same if about and same else left)
            turns.append(Turn(asked(draw, _ANOTHER_JOKE), _told(row)))
        told.append(row)
    return turns


def _told(row: seeds.Row) -> str:
    return f"{row['question']} {row['punchline']}"


def _joke_topic(draw: Draw, topic: str) -> str:
    """Returns the topic of a joke as somebody asks for it: `a cow`, `cows`, `the sea`."""
    return TOPICS.get(topic) or draw.choice((with_article(topic), plural(topic)))


def _jokes_about_a_thing(draw: Draw) -> list[Turn]:
    """Jokes about a thing that no joke is known of."""
    known = {row["topic"] for row in seeds.facts("jokes")}
    while (thing := draw.word(draw.choice(COUNTABLE_WORDS))) in known:
        pass
    turns = []
    for text in draw.some(JOKES, draw.rng.choices((1, 2, 3), (6, 3, 1))[0]):
        question = asked(draw, _ANOTHER_JOKE) if turns else asked(draw, _JOKE_ABOUT, t=draw.choice((with_article(thing), plural(thing))))
        turns.append(Turn(question, filled(draw, text, {"x": thing, "xs": plural(thing), "y": _noun(draw, thing)}), (), (thing, plural(thing))))
    return turns


def riddle(draw: Draw) -> list[Turn]:
    """A riddle whose answer is an animal, and a guess, right or wrong, or none."""
    known = set(vocabulary.of_kind("animal", draw.split))
    rows = [row for row in seeds.words("animals") if row["animal"] in known]
    row = draw.familiar(rows, 2)
    name = with_article(row["animal"])
    clues = [f"I eat {row['food']}", f"my home is {row['home']}"]
    if row["sound"] != "none" and " " not in row["sound"]:
        clues.append(f"you may hear my {row['sound']}")
    clues = [f"I am {with_article(row['class'])}", *draw.some(clues, len(clues))]
    text = f"{listed(clues)}. What am I?"
    turns = [Turn(asked(draw, ["ask me a riddle about an animal", "an animal riddle please", "a riddle with an animal", "let me guess an animal",
        "give me a riddle about an animal", "which animal are you thinking of, give me hints", "animal riddle"]), text)]
    form = draw.number(0, 2)
    if form == 0:
        turns.append(Turn(asked(draw, ["{a}", "{a}?", "is it {a}", "i think it is {a}", "you are {a}"], a=name),
            draw.choice((f"Yes, {name}! Well done.", f"Right, it is {name}!", f"Correct! I am {name}.")), (), (row["animal"],)))
    elif form == 1:
        wrong = draw.choice([other["animal"] for other in rows if other["class"] != row["class"] or other["food"] != row["food"]])
        turns.append(Turn(asked(draw, ["{a}", "{a}?", "is it {a}", "i think it is {a}"], a=with_article(wrong)),
            draw.choice((f"No, not {with_article(wrong)}. It is {name}.", f"Not quite. The answer is {name}.", f"A good guess, but it is {name}.")), (), (wrong,)))
    else:
        turns.append(Turn(asked(draw, ["i give up", "i don't know", "no idea", "tell me", "what is it"]), draw.choice((f"It is {name}.", f"The answer is {name}.", f"I am {name}!"))))
    return turns


#: Kinds of words for jokes about any thing.
COUNTABLE_WORDS = ("thing", "animal", "object", "animal")

_NAMING = ["a name for {t}", "give me a name for {t}", "make up a name for {t}", "name for {t} please", "suggest a name for {t}", "think of a name for {t}",
    "i need a name for {t}", "what is a good name for {t}", "find a name for {t}", "can you name {t}"]
_NAMING_MINE = ["what should i call my {n}", "a name for my {n}", "i have a new {n}, what should i call it", "how should i name my {n}", "my {n} needs a name",
    "name my {n}", "our {n} has no name yet", "suggest a name for our {n}"]
_NAMED = ["How about {name}?", "I would choose {name}.", "{name}. It suits {t}, I think.", "What do you think of {name}?", "Maybe {name}?",
    "{name}! That is easy to remember.", "I suggest {name}.", "You could take {name}.", "{name} would be a good name for {t}."]
_NAMED_MANY = ["{number} names for {t}", "give me {number} names for {t}", "suggest {number} names for {t}", "list {number} names for {t}"]


def names(draw: Draw) -> list[Turn]:
    """A name for a thing, and other ones if the first is not liked."""
    kinds, known = draw.choice(list(NAMED.items()))
    noun = draw.choice(_nouns(kinds))
    left = draw.some(known, len(known))
    if draw.chance(0.15):
        count = draw.number(2, min(5, len(left)))
        lines = "\n".join(f"{at}. {name}" for at, name in enumerate(left[:count], 1))
        return [Turn(asked(draw, _NAMED_MANY, number=count, t=with_article(noun)), lines, (str(count),), (noun,))]
    mine = draw.chance(0.4)
    question = asked(draw, _NAMING_MINE, n=noun) if mine else asked(draw, _NAMING, t=with_article(noun))
    turns = [Turn(question, _suggested(draw, left.pop(), noun, mine), (), (noun,))]
    while left and len(turns) < 4 and draw.chance(0.35):
        turns.append(Turn(asked(draw, _MORE), _suggested(draw, left.pop(), noun, mine)))
    return turns


def _suggested(draw: Draw, name: str, noun: str, mine: bool) -> str:
    return draw.choice(_NAMED).format(name=name, t=f"your {noun}" if mine else with_article(noun))


def _nouns(kinds: str) -> list[str]:
    """The nouns of a key of `NAMED`, some of which consist of two words."""
    return re.findall(r"(?:guinea|music|football|quiz|chess|running|teddy|radio|school|book) \w+|\w+", kinds)
