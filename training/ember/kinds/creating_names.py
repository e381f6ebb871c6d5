"""Names and slogans that fit the kind of thing, with more of them, reasons, and slogans for a name."""

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, with_article
from .creating_names_data import NAMINGS, PET_NAMES, PETS, Naming
from .facts_asking import asked

_NAME_ASKS = ("a name for {t}", "give me a name for {t}", "suggest a name for {t}", "think of a name for {t}", "i need a name for {t}", "what is a good name for {t}?", "find a name for {t}", "name for {t} please",
    "make up a name for {t}", "what could i call {t}?", "do you have a name for {t}?", "what should {t} be called?", "help me find a name for {t}", "Please suggest a name for {t}.", "invent a name for {t}")
_SLOGAN_ASKS = ("a slogan for {t}", "write a slogan for {t}", "i need a slogan for {t}", "make up a slogan for {t}", "a motto for {t}", "slogan for {t} please", "can you write a slogan for {t}?", "an advertising line for {t}",
    "give me a short slogan for {t}", "Write a catchy slogan for {t}.", "what could be the slogan of {t}?", "one line of advertising for {t}")
_NAMED = ("How about {q}?", "{q} would fit.", "I suggest {q}.", "What do you think of {q}?", "You could call it {q}.", "{q}.", "My idea: {q}.")
_MORE = ("another one", "one more", "another name please", "something else", "i don't like it, another one", "a different one please", "and another?", "hmm, something else", "next idea", "no, another one")
_WHY = ("why that name?", "why?", "why this one?", "why do you think it fits?", "why this name?")
_SLOGAN_TOO = ("and a slogan for it?", "now a slogan please", "write a slogan, too", "what could the slogan be?", "great, and a slogan?", "now give it a slogan")
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def chat(draw: Draw) -> list[Turn]:
    """A name or a slogan for a thing, or a name for an animal at home, and what follows."""
    form = draw.rng.random()
    if form < 0.25:
        return pet(draw)
    return slogans(draw) if form < 0.5 else names(draw)


def _name(draw: Draw, naming: Naming) -> tuple[str, list[str]]:
    """A name, and the words that it consists of."""
    first = draw.choice(naming.firsts)
    second, third = draw.some(naming.seconds, 2)
    form = draw.choice(naming.forms)
    name = form.format(a=first, b=second, b2=third, b_low=second.lower())
    return name, [word for word, slot in ((first, "{a}"), (second, "{b"), (third, "{b2}")) if slot in form]


def _different(draw: Draw, naming: Naming, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[_name(draw, naming)[0]] = None
    return list(found)


def names(draw: Draw) -> list[Turn]:
    """A name for a thing, perhaps with the owner or the town in it, other ones, why, and a slogan."""
    naming = draw.choice(NAMINGS)
    noun = draw.choice(naming.nouns)
    owned = draw.choice((f"my {noun}", f"our {noun}", f"my new {noun}", with_article(noun), with_article(noun)))
    if draw.chance(0.2):
        return _several(draw, naming, owned, noun)
    detail = draw.rng.choices(("", "owner", "city", "word"), (6, 2, 2, 1))[0]
    name, _ = _name(draw, naming)
    extra = draw.word({"owner": "name", "city": "city", "word": "color"}[detail]) if detail else ""
    if detail == "owner":
        second = capitalized(draw.choice(naming.seconds))
        name = f"{extra}'s {second}"
        owned = draw.choice((f"the {noun} of {extra}", f"{extra}'s {noun}", f"{with_article(noun)} that belongs to {extra}"))
    elif detail == "city":
        name = f"{draw.choice(naming.firsts)} {capitalized(draw.choice(naming.seconds))} of {extra}"
        name = name if name.startswith("The ") else f"The {name}"
        owned = f"{owned} in {extra}"
    elif detail == "word":
        name = f"The {capitalized(extra)} {capitalized(draw.choice(naming.seconds))}"
        owned = f"{owned}, with the word {extra} in it"
    turns = [Turn(asked(draw, list(_NAME_ASKS), t=owned), _suggested(draw, name), (), (noun, extra))]
    if detail:
        return turns + ([_slogan_for(draw, naming, name)] if draw.chance(0.3) else [])
    while len(turns) < 4 and draw.chance(0.35):
        name = _different(draw, naming, 1)[0]
        turns.append(Turn(asked(draw, list(_MORE)), _suggested(draw, name)))
    if draw.chance(0.3):
        turns.append(Turn(asked(draw, list(_WHY)), draw.choice((f"Because {name} makes people think of {naming.theme}.", f"Because it should make people think of {naming.theme}.",
            f"Because a good name for {with_article(noun)} calls {naming.theme} to mind."))))
    if draw.chance(0.3):
        turns.append(_slogan_for(draw, naming, name))
    return turns


def _suggested(draw: Draw, name: str) -> str:
    return draw.choice(_NAMED).format(q=name)


def _slogan_for(draw: Draw, naming: Naming, name: str) -> Turn:
    return Turn(asked(draw, list(_SLOGAN_TOO)), f"{name}: {draw.choice(naming.slogans)}")


def _several(draw: Draw, naming: Naming, owned: str, noun: str) -> list[Turn]:
    """So many names in a list, one of which is asked about."""
    count = draw.number(2, 5)
    found = _different(draw, naming, count)
    shown = draw.choice((str(count), _NUMBERS[count]))
    turns = [Turn(asked(draw, ["{n} names for {t}", "give me {n} names for {t}", "suggest {n} names for {t}", "list {n} names for {t}", "i need {n} ideas for the name of {t}", "{n} name ideas for {t} please"], n=shown, t=owned),
        "\n".join(f"{at}. {name}" for at, name in enumerate(found, 1)), (shown,), (noun,))]
    if draw.chance(0.35):
        at = draw.number(0, count - 1)
        ordinal = ("first", "second", "third", "fourth", "fifth")[at]
        turns.append(Turn(draw.choice((f"i take the {ordinal} one", f"the {ordinal} one is good", f"i like number {at + 1}")), draw.choice((f"{found[at]} it is!", f"A good choice: {found[at]}.", f"{found[at]}, then. Good luck with it!"))))
        if draw.chance(0.5):
            turns.append(_slogan_for(draw, naming, found[at]))
    elif draw.chance(0.3):
        turns.append(Turn(draw.choice(("which one do you like best?", "which is the best?", "which would you take?")), f"I like {found[0]} best."))
    return turns


def slogans(draw: Draw) -> list[Turn]:
    """A slogan for a thing, with its name if it has one, and another one."""
    naming = draw.choice(NAMINGS)
    noun = draw.choice(naming.nouns)
    name = _name(draw, naming)[0] if draw.chance(0.4) else ""
    owned = draw.choice((f"my {noun}", f"our {noun}", with_article(noun)))
    shown = f"{owned} called {name}" if name else owned
    left = draw.some(naming.slogans, len(naming.slogans))
    start = f"{name}: " if name else ""
    turns = [Turn(asked(draw, list(_SLOGAN_ASKS), t=shown), start + left.pop(), (), (name, noun))]
    while left and len(turns) < 3 and draw.chance(0.35):
        turns.append(Turn(asked(draw, ["another one", "one more", "a different one", "another slogan please", "something else", "i don't like it, another one"]), start + left.pop()))
    if not name and draw.chance(0.25):
        turns.append(Turn(draw.choice(("and a name for it?", f"and what could the {noun} be called?", "now a name please")), _suggested(draw, _name(draw, naming)[0])))
    if draw.chance(0.15):
        other = draw.choice(NAMINGS)
        other_noun = draw.choice(other.nouns)
        turns.append(Turn(f"{draw.choice(('and for', 'now one for', 'and a slogan for'))} {with_article(other_noun)}", draw.choice(other.slogans), (), (other_noun,)))
    return turns


def pet(draw: Draw) -> list[Turn]:
    """A name for an animal at home that fits what it is like, other ones, and why."""
    trait = draw.choice(list(PET_NAMES))
    animal = draw.choice(PETS).replace("_", " ") if draw.chance(0.85) else draw.word("critter")
    left = draw.some([name.replace("_", " ") for name in PET_NAMES[trait].split()], 5)
    thing = draw.choice((f"my {trait} {animal}", with_article(f"{trait} {animal}"), f"our {trait} {animal}"))
    question = asked(draw, list(_NAME_ASKS), t=thing) if draw.chance(0.6) else asked(draw, ["i have a new {a}. it is {k}. what should i call it?", "what should i call my {a}? it is very {k}", "my {a} is {k} and needs a name",
        "we got a {a}, it is {k}. any ideas for a name?", "name my {a}, it is {k}"], a=animal, k=trait)
    name = left.pop()
    turns = [Turn(question, draw.choice((f"How about {name}? It suits {with_article(f'{trait} {animal}')}.", f"{name} would be a good name for {with_article(f'{trait} {animal}')}.", f"I suggest {name}.",
        f"What do you think of {name}?", f"{name}, because it is {trait}.")), (), (animal,))]
    while len(turns) < 3 and draw.chance(0.3):
        name = left.pop()
        turns.append(Turn(asked(draw, list(_MORE)), _suggested(draw, name).replace("call it", f"call the {animal}")))
    if draw.chance(0.35):
        turns.append(Turn(asked(draw, list(_WHY)), f"Because your {animal} is {trait}, and {name} sounds {'like that' if draw.chance(0.5) else f'like something {trait}'}."))
    if draw.chance(0.15):
        turns.append(Turn(draw.choice(("which name was that again?", "what was the last name?", "what did you call it?")), f"{name}."))
    return turns
