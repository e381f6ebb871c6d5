"""Follow-ups that depend on earlier turns: sums that go on, comparisons of what was told, quotations, corrections, changed lists."""

from collections.abc import Callable

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, with_article
from . import following_late, following_reasons
from .facts_asking import asked
from .talking import code, filled

Between = Callable[[Draw], list[Turn]]


def chat(draw: Draw, between: Between) -> tuple[str, list[Turn]]:
    """Returns turns that follow each other; `between` generates turns of other kinds."""
    name, maker = draw.kind("following", _MAKERS)
    return name, maker(draw, between)


def going_on(draw: Draw, _: Between) -> list[Turn]:
    """A sum, and what is added to its result or taken from it, one after the other."""
    value = draw.number(1, 20)
    second = draw.number(1, 20)
    sign = draw.choice(("+", "+", "-")) if second <= value else "+"
    results = [value + second if sign == "+" else value - second]
    first = draw.choice((f"{value} {sign} {second}", f"what is {value} {'plus' if sign == '+' else 'minus'} {second}", f"{value}{sign}{second}"))
    turns = [Turn(first, f"{value} {sign} {second} = {results[0]}.", (first,))]
    for _ in range(draw.number(1, 4)):
        turns.append(_next_sum(draw, results))
    if draw.chance(0.5):
        first_one = draw.chance(0.5)
        question = asked(draw, ["what was the first result", "and the first result?", "what did we start with as a result"] if first_one
            else ["what was the last result", "what is the result now", "and the last result?", "so how much is it now"])
        turns.append(Turn(question, f"The {'first' if first_one else 'last'} result was {results[0 if first_one else -1]}."))
    return turns


def _next_sum(draw: Draw, results: list[int]) -> Turn:
    value = results[-1]
    form = draw.choice(("plus", "plus", "minus", "minus", "times" if 0 < value <= 12 else "plus", "half" if value % 2 == 0 else "plus"))
    number = draw.number(2, 10) if form == "times" else draw.number(1, 20)
    if form == "minus" and number > value:
        form = "plus"
    if form == "half":
        results.append(value // 2)
        return Turn(asked(draw, ["and half of it", "half of that?", "divide that by 2", "and divided by 2?"]), f"{value} ÷ 2 = {value // 2}.")
    sign = {"plus": "+", "minus": "-", "times": "×"}[form]
    results.append({"plus": value + number, "minus": value - number, "times": value * number}[form])
    wordings = {"plus": ["plus {n}", "and plus {n}?", "add {n}", "and {n} more", "now add {n} to it", "+ {n}"],
        "minus": ["minus {n}", "and minus {n}?", "take away {n}", "now subtract {n}", "and {n} less", "- {n}"],
        "times": ["times {n}", "and times {n}?", "multiply that by {n}", "now times {n}", "x {n}"]}[form]
    return Turn(asked(draw, wordings, n=number), f"{value} {sign} {number} = {results[-1]}.", (str(number),))


#: What can be compared by a number: how it is told, the words for most and least, and the unit in the answer.
_COMPARED = (
    ("name", "{x} is {n}", "years old", "oldest", "youngest", "who"),
    ("name", "{x} is {n} years old", "years old", "oldest", "youngest", "who"),
    ("object", "the {x} costs {n}", "", "most expensive", "cheapest", "which"),
    ("object", "the {x} is {n} dollars", "dollars", "most expensive", "cheapest", "which"),
    ("object", "the {x} weighs {n} kilos", "kilos", "heaviest", "lightest", "which"),
    ("city", "{x} is {n} kilometers away", "kilometers", "farthest", "nearest", "which"),
    ("name", "{x} has {n} coins", "coins", "richest", "poorest", "who"),
    ("name", "{x} has {n} points", "points", "best", "worst", "who"),
    ("object", "the {x} is {n} centimeters long", "centimeters", "longest", "shortest", "which"),
)


#: What a superlative becomes when there are only two.
_OF_TWO = {"oldest": "older", "youngest": "younger", "most expensive": "more expensive", "cheapest": "cheaper", "heaviest": "heavier",
    "lightest": "lighter", "farthest": "farther away", "nearest": "nearer", "best": "better", "worst": "worse", "longest": "longer",
    "shortest": "shorter", "richest": "richer", "poorest": "poorer"}


def compared(draw: Draw, between: Between) -> list[Turn]:
    """Two to four things told with their numbers, and which of them has most or least."""
    kind, telling, unit, most, least, word = draw.choice(_COMPARED)
    things = draw.words(kind, draw.number(2, 4))
    if len(things) == 2 and draw.chance(0.7):
        most, least = _OF_TWO[most], _OF_TWO[least]
    the = "" if most in _OF_TWO.values() else "the "
    numbers = draw.some(range(2, 99), len(things))
    told = listed([telling.format(x=thing, n=number) for thing, number in zip(things, numbers)])
    end = draw.choice((". {w} is {the}{m}?", ". {w} is {m}?", ""))
    known = dict(zip(things, numbers))
    article = "the " if kind in ("object", "animal", "thing") else ""
    protected = (*things, *map(str, numbers))
    turns = []
    first = draw.choice((most, least))
    if end:
        turns.append(Turn(told + end.format(w=word, m=first, the=the), _most(known, first == most, first, unit, article), protected))
    else:
        turns.append(Turn(told, draw.choice(("All right.", "Thank you for telling me.", "I see.", "I will keep that in mind.", "Good to know.")),
            protected))
        if draw.chance(0.3):
            turns += between(draw)[:1]
    other = least if first == most else most
    for form in (other,) if end else (first, other)[:draw.number(1, 2)]:
        turns.append(Turn(asked(draw, ["{w} is {the}{m}?", "{w} of them is {the}{m}?", "and {w} is {the}{m}", "{w} was {the}{m} again" if word == "who" else
            "which one is {the}{m}", "and {the}{m}?" if the else "and {w} is {m}?"], w=word, m=form, the=the), _most(known, form == most, form, unit, article)))
    thing = draw.choice(things)
    if draw.chance(0.5):
        turns.append(Turn(f"{draw.choice(('and', 'what about', 'what was the number of'))} {article}{thing}?",
            f"{capitalized(article + thing)}: {known[thing]}{f' {unit}' if unit else ''}.", (thing,)))
    return turns


def _most(known: dict[str, int], highest: bool, form: str, unit: str, article: str) -> str:
    thing = (max if highest else min)(known, key=lambda one: known[one])
    value = f"{known[thing]} {unit}".strip()
    named = form if form in _OF_TWO.values() else f"the {form}"
    return f"{capitalized(article + thing)} is {named}{': ' if unit == 'years old' else ', with '}{value}."


def quoted(draw: Draw, between: Between) -> list[Turn]:
    """Turns of any kind, and what the user or Ember said before."""
    turns = [_as_written(turn) for _ in range(draw.number(1, 3)) for turn in between(draw)[:1]]
    turns = [turn for turn in turns if "\n" not in turn.user + turn.answer and len(turn.user) < 80 and len(turn.answer) < 160]
    if not turns:
        return quoted(draw, between)
    forms = [form for form in _QUOTATIONS if len(turns) > 1 or form not in ("second", "before last")]
    for form in draw.some(forms, draw.number(1, 2)):
        at = {"first": 0, "second": 1, "last": -1, "first answer": 0, "last answer": -1, "before last": -2}[form]
        said = turns[at].answer if "answer" in form else turns[at].user
        start = {"first": "Your first message was: ", "second": "Your second message was: ", "last": "You wrote: ", "first answer": "My first answer was: ",
            "last answer": "I said: ", "before last": "Before that you wrote: "}[form]
        turns.append(Turn(asked(draw, _QUOTATIONS[form]), start + said, (), ()))
        if form in ("last", "last answer", "before last"):
            break
    return turns


def _as_written(turn: Turn) -> Turn:
    """`turn` without typing noise, since its words are repeated later."""
    return Turn(turn.user, turn.answer, (turn.user,))


_QUOTATIONS = {
    "first": ["what did i say first", "what was my first message", "what did i ask first", "what was the first thing i wrote", "repeat my first question"],
    "second": ["what was my second message", "what did i ask second", "and my second question?", "what was the second thing i wrote"],
    "last": ["what did i just say", "what did i say before", "what was my last message", "what did i just ask", "repeat what i said", "what have i just written"],
    "first answer": ["what was your first answer", "what did you say first", "repeat your first answer", "your first reply again please"],
    "last answer": ["what did you just say", "what did you say before", "what was your last answer", "repeat your last answer", "what was that again"],
    "before last": ["and what did i say before that", "what did i write before my last message", "what was my message before the last one"],
}


def changed(draw: Draw, between: Between) -> list[Turn]:
    """A short answer of any kind, then the same in upper case, in lower case, its first sentence, or its last word."""
    while not (turns := between(draw)[:1]) or len(turns[0].answer) > 110 or "`" in turns[0].answer or "\n" in turns[0].answer:
        pass
    text = turns[-1].answer
    words = text.rstrip(".!?").split()
    sentences = text.replace("! ", "!|").replace("? ", "?|").replace(". ", ".|").split("|")
    forms = {
        "upper": (["and in upper case?", "in capitals please", "say that in upper case", "now in capital letters", "shout it", "the same in capitals"], text.upper()),
        "lower": (["and in lower case?", "in small letters please", "say that in lower case", "now without capitals"], text.lower()),
        "words": (["how many words was that", "how many words are in your answer", "count the words of your answer"], f"My answer has {len(words)} words."),
        "last": (["what was the last word of your answer", "your last word?", "repeat only the last word"], words[-1].strip(",;:\"'()")),
        "first": (["what was the first word of your answer", "repeat only the first word"], words[0].strip(",;:\"'()")),
    }
    if len(sentences) > 1:
        forms["shorter"] = (["shorter please", "make it shorter", "too long", "only the first sentence", "in one sentence"], sentences[0])
    if not 2 <= len(words) <= 8 or any(word.strip("+-×÷=").isdigit() for word in words):
        forms.pop("words")
    wordings, answer = forms[draw.choice(sorted(forms))]
    return [*turns, Turn(asked(draw, wordings), answer)]


def corrected(draw: Draw, _: Between) -> list[Turn]:
    """A question, and the same for what the user meant."""
    form = draw.choice(("capital", "opposite", "upper", "letters", "first letter"))
    first, second, third = draw.some(_correctable(form), 3)
    question = draw.choice({"capital": ("capital of {t}", "what is the capital of {t}", "what's the capital of {t}?"),
        "opposite": ("opposite of {t}", "what is the opposite of {t}", "the opposite of {t}?"),
        "upper": ("write {t} in upper case", "{t} in capitals", "upper case: {t}"),
        "letters": ("how many letters does {t} have", "number of letters in {t}"),
        "first letter": ("first letter of {t}", "what is the first letter of {t}")}[form])
    turns = [Turn(question.format(t=first[0]), first[1], (first[0],))]
    for wanted in (second, third)[:draw.number(1, 2)]:
        wordings = ["no, i meant {t}", "sorry, i meant {t}", "i mean {t}", "not {o}, {t}", "oops, {t}", "no no, {t}", "wait, i meant {t}"] if draw.chance(0.7) else [
            "and {t}?", "and of {t}?" if form in ("capital", "opposite") else "and for {t}?", "what about {t}", "now {t}"]
        turns.append(Turn(asked(draw, wordings, t=wanted[0], o=first[0]), wanted[1], (wanted[0], first[0])))
    return turns


def _correctable(form: str) -> list[tuple[str, str]]:
    """Returns what may be asked for in a form, with the answers."""
    if form == "capital":
        return [(row["country"], f"The capital of {row['country']} is {row['capital']}.") for row in seeds.facts("capitals")]
    if form == "opposite":
        return [(row["word"], f"The opposite of {row['word']} is {row['opposite']}.") for row in seeds.facts("opposites") if "word" in row]
    words = [row["object"] for row in seeds.words("objects") if " " not in row["object"] and row["object"].isalpha()]
    answers = {"upper": str.upper, "letters": lambda word: f"{capitalized('-'.join(word.upper()))} has {len(word)} letters.",
        "first letter": lambda word: f"The first letter of {word} is {word[0]}."}
    return [(word, answers[form](word)) for word in words]


def listing(draw: Draw, _: Between) -> list[Turn]:
    """A list of the user's things, and what is added to it, taken from it or asked about it."""
    kind = draw.choice(("foods", "object", "animals", "name", "city", "any", "any"))
    items = draw.words(kind, draw.number(2, 4))
    turns = [Turn(asked(draw, ["my list: {t}", "make a list: {t}", "list these: {t}", "put these on a list: {t}", "a list of {t} please"], t=", ".join(items)),
        _numbered(items), tuple(items))]
    for _ in range(draw.number(1, 4)):
        turns.append(_list_turn(draw, items, kind))
    return turns


def _numbered(items: list[str]) -> str:
    return "\n".join(f"{at}. {capitalized(item)}" for at, item in enumerate(items, 1))


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def _list_turn(draw: Draw, items: list[str], kind: str) -> Turn:
    """A change of `items` or a question about them."""
    form = draw.choice(("add", "add", "remove" if len(items) > 2 else "add", "which", "count", "sort", "line", "last"))
    if form == "add" and len(items) < 6:
        while (new := draw.word(kind)) in items:
            pass
        items.append(new)
        return Turn(asked(draw, ["add {t}", "and {t}", "also {t}", "put {t} on it", "add {t} to the list", "one more: {t}"], t=new), _numbered(items), (new,))
    if form == "remove":
        gone = draw.choice(items)
        items.remove(gone)
        return Turn(asked(draw, ["remove {t}", "without {t}", "take {t} off", "delete {t}", "no {t} please"], t=gone), _numbered(items), (gone,))
    if form == "sort":
        items.sort(key=str.lower)
        return Turn(asked(draw, ["sort it", "sort the list", "in alphabetical order please", "and from a to z?"]), _numbered(items))
    if form == "line":
        return Turn(asked(draw, ["in one line please", "write it in one line", "with commas please", "and as one line?"]), capitalized(", ".join(items)))
    if form == "last":
        return Turn(asked(draw, ["what is the last one", "which one is at the end", "and the last one?"]), f"The last one is {items[-1]}.")
    if form == "which":
        at = draw.number(0, len(items) - 1)
        return Turn(asked(draw, ["what is the {n} one", "which one is {n}", "and the {n} one?", "what is number {k}"], n=_ORDINALS[at], k=at + 1),
            f"The {_ORDINALS[at]} one is {items[at]}.")
    return Turn(asked(draw, ["how many are there", "how many is that", "how many things are on the list", "count them"]), f"There are {len(items)}.")


def owners(draw: Draw, between: Between) -> list[Turn]:
    """Who has what or likes what, told of two to four people, and asked from both ends."""
    count = draw.number(2, 4)
    people = draw.words("name", count)
    kind = draw.choice(("object", "animal", "foods", "code", "color", "thing"))
    things = [code(draw) for _ in people] if kind == "code" else draw.words(kind, count)
    verb, past = {"object": ("has", "have"), "animal": ("has", "have"), "thing": ("found", "find"), "foods": ("likes", "like"), "code": ("has the code", "have"),
        "color": ("likes", "like")}[kind]
    shown = [with_article(thing) if kind in ("object", "animal", "thing") else thing for thing in things]
    told = listed([f"{person} {verb} {thing}" for person, thing in zip(people, shown)])
    protected = (*people, *things)
    turns = [Turn(told, draw.choice(("I see.", "All right.", "Thank you, I will keep that in mind.", "Good to know.", "Noted.")), protected)]
    if draw.chance(0.35):
        turns += between(draw)[:1]
    for at in draw.some(range(count), draw.number(1, count)):
        if draw.chance(0.5):
            question = f"what did {people[at]} find" if verb == "found" else f"what code does {people[at]} have" if kind == "code" else f"what does {people[at]} {past}"
            turns.append(Turn(question, f"{people[at]} {verb} {shown[at]}.", protected))
        else:
            named = f"the {things[at]}" if kind in ("object", "animal", "thing") else things[at]
            turns.append(Turn(f"who {verb} {named}", f"{people[at]} {verb} {shown[at].replace(with_article(things[at]), named)}.", protected))
    return turns


def made_of_statements(draw: Draw, _: Between) -> list[Turn]:
    """Several statements about the user, one after the other, and all of them again."""
    said = draw.some(_STATEMENTS, draw.number(2, 3))
    values: dict[str, str] = {}
    turns = []
    for telling, reply, _again in said:
        turns.append(Turn(filled(draw, telling, values), filled(draw, reply, values), (), tuple(values.values())))
    again = [filled(draw, one[2], values) for one in said]
    turns.append(Turn(asked(draw, ["what do you know about me", "what did i tell you", "tell me all that i told you", "what have i told you so far", "sum up what i said"]),
        capitalized(f"{listed(again)}.")))
    return turns


_STATEMENTS = (
    ("i live in {city}", "{City} sounds nice.", "you live in {city}"), ("my name is {name}", "Hello, {name}!", "your name is {name}"),
    ("i work as a {job}", "A {job}! Do you like it?", "you work as a {job}"), ("i have a {critter}", "A {critter}, how nice!", "you have a {critter}"),
    ("my favorite color is {color}", "{Color} is a fine color.", "your favorite color is {color}"), ("i like {doing}", "{Doing} sounds like fun.", "you like {doing}"),
    ("i am afraid of {animals}", "I understand. Many people are.", "you are afraid of {animals}"), ("i bought a {object}", "A {object}! Are you happy with it?", "you bought a {object}"),
    ("my {relative} is called {name2}", "{Name2} is a nice name.", "your {relative} is called {name2}"), ("i want to go to {country}", "{Country}! What do you want to see there?", "you want to go to {country}"),
    ("i love {foods}", "{Foods} are a good choice.", "you love {foods}"), ("i have a {event} on {day}", "Good luck with your {event}!", "you have a {event} on {day}"),
    ("i am {age} years old", "Thank you for telling me.", "you are {age} years old"), ("i study {subject}", "{Subject}! Is it hard?", "you study {subject}"),
)

#: Animals and things from the smallest to the biggest; neighbors in a row differ clearly in size.
_BY_SIZE = ("ant", "bee", "snail", "frog", "mouse", "sparrow", "squirrel", "cat", "fox", "sheep", "pig", "lion", "cow", "camel", "elephant", "whale")
_THINGS_BY_SIZE = ("needle", "coin", "spoon", "cup", "shoe", "pillow", "chair", "table", "car", "bus", "house", "castle", "mountain")
_NAMED = ("name {n} {k}", "tell me {n} {k}", "{n} {k} please", "give me {n} {k}", "can you name {n} {k}", "list {n} {k}")


def biggest(draw: Draw, _: Between) -> list[Turn]:
    """Animals or things, named by Ember or the user, and which of them is the biggest or the smallest."""
    row, kind = draw.choice(((_BY_SIZE, "animals"), (_THINGS_BY_SIZE, "things")))
    count = draw.number(2, 4)
    items = draw.some(row, count)
    if draw.chance(0.5):
        shown = draw.choice((str(count), ("two", "three", "four")[count - 2]))
        turns = [Turn(asked(draw, list(_NAMED), n=shown, k=kind), _numbered(items))]
    else:
        named = listed([with_article(item) for item in items])
        turns = [Turn(draw.choice(("i saw {t}", "i drew {t}", "i like the words {t}", "here are {t}", "i think of {t}")).format(t=named),
            capitalized(f"{named}! What about them?"), tuple(items))]
    order = sorted(items, key=row.index)
    for form in draw.some(("biggest", "smallest"), draw.number(1, 2)):
        found = order[-1] if form == "biggest" else order[0]
        wordings = ["which of them is the {m}", "which one is the {m}?", "and the {m}?", "what is the {m} of them", "which is the {m}"]
        turns.append(Turn(asked(draw, wordings, m=form), f"The {found} is the {form} of them."))
    if draw.chance(0.4):
        turns.append(Turn(asked(draw, ["order them by size", "sort them by size", "from small to big please", "put them in order of size"]), capitalized(f"{', '.join(order)}.")))
    return turns


#: What follows "i am" and is no name, with a reply and with what Ember knows then.
_NO_NAMES = (
    ("i am {feeling}", "You are {feeling}? Tell me more, if you like.", "that you are {feeling}"), ("i am a {job}", "A {job}! Do you like it?", "that you are a {job}"),
    ("i am from {city}", "{City}! What is it like there?", "that you are from {city}"), ("i am {where}", "What are you doing {where}?", "that you are {where}"),
    ("i am afraid of {animals}", "Many people are afraid of {animals}.", "that you are afraid of {animals}"), ("i am {age}", "{Age} is a fine age!", "that you are {age}"),
    ("i am {doing}", "{Doing}, how nice! Is it fun?", "that you are {doing}"), ("i am {adjective}", "{Adjective}? Why do you think so?", "that you are {adjective}"),
    ("i am with my {relative}", "Give my greetings to your {relative}!", "that you are with your {relative}"),
    ("i am waiting for my {relative}", "I hope that your {relative} comes soon.", "that you are waiting for your {relative}"),
    ("i have a {object}", "A {object}! What do you use it for?", "that you have a {object}"), ("this is my {object}", "I cannot see it, but it sounds useful.", "about your {object}"),
    ("my {critter} is called {name}", "{Name} is a good name for a {critter}.", "that your {critter} is called {name}"), ("{name} is my {relative}", "Give my greetings to {name}!", "that {name} is your {relative}"),
    ("i like {foods}", "{Foods} are a good choice.", "that you like {foods}"), ("i live in {city}", "{City} sounds nice.", "that you live in {city}"),
)


def no_name(draw: Draw, _: Between) -> list[Turn]:
    """A statement without the user's name, the question for the name, and perhaps the name at last."""
    telling, reply, known = draw.choice(_NO_NAMES)
    values: dict[str, str] = {}
    turns = [Turn(filled(draw, telling, values), filled(draw, reply, values), (), tuple(values.values()))]
    known = filled(draw, known, values)
    answers = [f"You have not told me your name. You told me {known}.", f"I do not know your name. I know only {known}." if known.startswith("that") else
        "I do not know your name. What is it?", "You have not told me your name yet. What is it?"]
    turns.append(Turn(asked(draw, ["what is my name", "so what is my name", "who am i", "do you know my name", "whats my name", "and my name?"]), draw.choice(answers)))
    if draw.chance(0.5):
        while (name := draw.word("name")) in values.values():
            pass
        turns.append(Turn(asked(draw, ["i am {n}", "my name is {n}", "it is {n}", "{n}", "call me {n}"], n=name), draw.choice((f"Nice to meet you, {name}!",
            f"Hello, {name}!", f"Thank you, {name}. Now I know it.")), (), (name,)))
        turns.append(Turn(asked(draw, ["what is my name", "and now, what is my name", "so who am i", "say my name"]), f"Your name is {name}."))
    return turns


_MAKERS: dict[str, tuple[Callable[[Draw, Between], list[Turn]], int]] = {
    "going on": (going_on, 16), "compared": (compared, 18), "quoted": (quoted, 10), "changed": (changed, 12), "corrected": (corrected, 12), "listing": (listing, 14),
    "owners": (owners, 16), "statements": (made_of_statements, 10), "biggest": (biggest, 10), "no name": (no_name, 12),
    "late": (following_late.chat, 40), **following_reasons.MAKERS,
}
