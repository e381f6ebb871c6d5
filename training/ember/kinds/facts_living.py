"""Facts about animals and the body, each with questions whose answer is no."""

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, number_word, plural, verdict, with_article
from .facts_asking import also, asked


def _animals() -> tuple[seeds.Row, ...]:
    return seeds.facts("animals")


def classed() -> list[tuple[str, str]]:
    """Animals with their classes, of both tables."""
    known = {row["class"] for row in seeds.facts("classes")}
    found = {row["animal"]: row["class"] for row in seeds.words("animals") if row["class"] in known}
    return list((found | {row["animal"]: row["class"] for row in _animals()}).items())


def _class(name: str) -> seeds.Row:
    return next(row for row in seeds.facts("classes") if row["class"] == name)


def is_a(draw: Draw) -> list[Turn]:
    """Is a whale a fish? With follow-ups: and a shark? why?"""
    classes = dict(classed())
    animal = draw.familiar(list(classes))
    kind = classes[animal]
    claim = kind if draw.chance(0.45) else draw.choice(_class(kind)["not"].split(", "))
    turns = [Turn(asked(draw, [
        "is {x} {y}", "Is {x} {y}?", "is {x} {y} or not", "would you call {x} {y}", "are {xs} {ys}", "Are {xs} {ys}?",
        "do {xs} count as {ys}",
        "{x} is {y}, right?", "i think {x} is {y}, true?", "is it true that {x} is {y}", "so {x} is {y}?",
        "do you think {x} is {y}", "tell me, is {x} {y}", "{x} is {y}", "true or false: {x} is {y}", "isn't {x} {y}?", "is {x} really {y}", "{x} is {y}, isn't it?",
        "all {xs} are {ys}, right?", "{xs} are {ys}", "my brother says {x} is {y}, is he right", "does {x} belong to the {ys}",
    ], x=with_article(animal), y=with_article(claim), xs=plural(animal), ys=_plural_class(claim)),
    _is_a_answer(animal, kind, claim))]
    may_ask_why = True
    while draw.chance(0.3) and len(turns) < 4:
        if may_ask_why and draw.chance(0.4):
            turns.append(Turn(asked(draw, ["why", "why?", "why is that", "how come?", "how do you know", "why so?"]),
                _class(kind)["meaning"]))
            may_ask_why = False
        else:
            animal = draw.familiar([other for other in classes if other != animal])
            kind = classes[animal]
            turns.append(Turn(also(draw, with_article(animal)), _is_a_answer(animal, kind, claim)))
            may_ask_why = True
    return turns


def _plural_class(name: str) -> str:
    return next((row["plural"] for row in seeds.facts("classes") if row["class"] == name), plural(name))


def _is_a_answer(animal: str, kind: str, claim: str) -> str:
    said = f"{with_article(animal)} is {with_article(kind)}."
    return verdict(said, claim == kind)


def what_is(draw: Draw) -> list[Turn]:
    """What kind of animal is it, and something about it."""
    row = draw.familiar(_animals())
    animal = with_article(row["animal"])
    turns = [Turn(asked(draw, [
        "what is {x}", "What is {x}?", "what kind of animal is {x}", "tell me about {xs}", "tell me something about {x}",
        "what do you know about {xs}",
        "explain what {x} is", "{x}?", "describe {x}", "a fact about {xs} please", "whats {x}", "tell me a fact about {xs}",
        "who or what is {x}",
    ], x=animal, xs=plural(row["animal"])), f"{capitalized(animal)} is {with_article(row['class'])}. {_it(row)}"
    if draw.chance(0.6) else row["fact"])]
    if draw.chance(0.4):
        turns.append(_one_of_more(draw, row))
    return turns


def _it(row: seeds.Row) -> str:
    """Returns a note about an animal, for use after a sentence that names it."""
    fact = row["fact"]
    for start in (f"{capitalized(with_article(row['animal']))} ", f"The {row['animal']} "):
        if fact.startswith(start):
            return f"It {fact.removeprefix(start)}"
    return fact


def _one_of_more(draw: Draw, row: seeds.Row) -> Turn:
    """A question that means the animal of the turn before."""
    they = capitalized(plural(row["animal"]))
    return draw.choice([
        Turn(asked(draw, ["where do they live", "where does it live?", "and where does it live"]),
        f"{they} live in {row['home']}." if not _needs_no_in(row["home"]) else f"{they} live {row['home']}."),
        Turn(asked(draw, ["what does it eat", "what do they eat?", "and what does it eat", "what do they live on"]),
        f"{they} eat {row['food']}."),
        Turn(asked(draw, ["how many legs does it have", "how many legs?", "and its legs, how many"]), _legs(row)),
        Turn(asked(draw, ["can it fly", "can they fly?", "does it fly"]), _flies(row)),
    ])


def _needs_no_in(home: str) -> bool:
    return home.startswith(("all over", "almost everywhere"))


def _legs(row: seeds.Row) -> str:
    animal = capitalized(with_article(row["animal"]))
    number = int(row["legs"])
    return f"{animal} has {number_word(number)} legs." if number else f"{animal} has no legs."


def _flies(row: seeds.Row) -> str:
    they = plural(row["animal"])
    return verdict(f"{they} {'can' if row['flies'] == 'yes' else 'cannot'} fly", row["flies"] == "yes")


def legs(draw: Draw) -> list[Turn]:
    """How many legs, with follow-ups."""
    row = draw.familiar(_animals())
    turns = [Turn(asked(draw, [
        "how many legs does {x} have", "How many legs does {x} have?", "how many legs do {xs} have", "how many legs has {x}",
        "number of legs of {x}?", "{x} has how many legs",
        "tell me how many legs {x} has", "do you know how many legs {x} has", "legs of {x}?", "{b} legs how many", "how many legs: {b}", "how many legs on {x}",
        "count the legs of {x}",
    ], x=with_article(row["animal"]), xs=plural(row["animal"])), _legs(row))]
    if draw.chance(0.35):
        row = draw.familiar(_animals())
        turns.append(Turn(also(draw, with_article(row["animal"])), _legs(row)))
    return turns


def claimed_legs(draw: Draw) -> list[Turn]:
    """Does a spider have six legs?"""
    row = draw.familiar(_animals())
    right = int(row["legs"])
    claim = right if draw.chance(0.4) and right else draw.choice([number for number in (2, 4, 6, 8, 10) if number != right])
    answer = verdict(_legs(row), claim == right)
    return [Turn(asked(draw, ["does {x} have {n} legs", "Does {x} have {n} legs?", "do {xs} have {n} legs",
        "{x} has {n} legs, right?", "is it true that {x} has {n} legs", "i think {x} has {n} legs", "so {x} has {n} legs?", "true or false: {x} has {n} legs",
        "has {x} {n} legs", "{xs} have {n} legs, correct?", "do {xs} really have {n} legs?", "would you say {x} has {n} legs"],
                       x=with_article(row["animal"]), xs=plural(row["animal"]),
                       n=number_word(claim) if draw.chance(0.6) else claim), answer)]


def flying(draw: Draw) -> list[Turn]:
    """Can a penguin fly?"""
    row = draw.familiar(_animals())
    turns = [Turn(asked(draw, ["can {x} fly", "Can {x} fly?", "can {xs} fly", "do {xs} fly?", "is {x} able to fly",
        "are {xs} able to fly", "can {xs} fly?", "{xs} can fly, right?", "is it true that {x} can fly", "i think {xs} can fly", "does {x} fly", "Does {x} fly?",
        "{b}: can it fly", "so {xs} can fly?", "true or false: {x} can fly", "tell me, can {x} fly?", "do you think {x} can fly"],
                        x=with_article(row["animal"]), xs=plural(row["animal"])), _flies(row))]
    if draw.chance(0.35):
        row = draw.familiar(_animals())
        turns.append(Turn(also(draw, with_article(row["animal"])), _flies(row)))
    return turns


def living(draw: Draw) -> list[Turn]:
    """Where an animal lives, what it eats, what covers it."""
    row = draw.familiar(_animals())
    xs = plural(row["animal"])
    form = draw.number(0, 2)
    if form == 0:
        where = row["home"] if _needs_no_in(row["home"]) else f"in {row['home']}"
        question = asked(draw, ["where does {x} live", "Where do {xs} live?", "where do {xs} live", "in what place does {x} live",
            "where can i find {xs}", "home of {xs}?", "where would i see {x}", "where do {xs} make their home", "tell me where {xs} live", "{xs} live where", "{b}: where does it live",
            "where does {x} live in nature?", "in which places do {xs} live"], x=with_article(row["animal"]), xs=xs)
        return [Turn(question, f"{capitalized(xs)} live {where}.")]
    if form == 1:
        question = asked(draw, ["what does {x} eat", "What do {xs} eat?", "what do {xs} eat", "food of {xs}?",
            "what is the food of {x}", "what do {xs} like to eat", "what should {x} eat", "what do {xs} live on", "what does {x} feed on?", "{xs} eat what", "tell me what {xs} eat", "{b}: what does it eat",
            "whats the food of {x}", "what can i feed {x}"], x=with_article(row["animal"]), xs=xs)
        return [Turn(question, f"{capitalized(xs)} eat {row['food']}.")]
    if draw.chance(0.5):
        claim = draw.choice(("feathers", "scales"))
        holds = claim in row["cover"]
        return [Turn(asked(draw, ["does {x} have {c}", "Does {x} have {c}?", "do {xs} have {c}", "{x} has {c}, right?", "is it true that {x} has {c}", "i think {xs} have {c}",
            "are {xs} covered with {c}?", "so {x} has {c}?"], x=with_article(row["animal"]), xs=xs, c=claim),
            verdict(f"{with_article(row['animal'])} has {row['cover']}", holds))]
    question = asked(draw, ["what covers the body of {x}", "does {x} have fur, feathers or scales?", "what is {x} covered with",
        "what do {xs} have on their skin"], x=with_article(row["animal"]), xs=xs)
    return [Turn(question, f"{capitalized(with_article(row['animal']))} has {row['cover']}.")]


def sounds(draw: Draw) -> list[Turn]:
    """Sounds, babies and groups of animals."""
    rows = seeds.facts("sounds")
    row = draw.familiar(rows)
    form = draw.choice(("sound", "sound", "baby", "baby", "group"))
    if form != "group" and draw.chance(0.35):
        return _claimed_sound(draw, row, form)
    turns = [Turn(asked(draw, _SOUND_QUESTIONS[form], x=with_article(row["animal"]), xs=plural(row["animal"])),
        _sound_answer(row, form))]
    while draw.chance(0.3) and len(turns) < 4:
        row = draw.familiar([other for other in rows if other is not row])
        turns.append(Turn(also(draw, with_article(row["animal"])), _sound_answer(row, form)))
    return turns


def _claimed_sound(draw: Draw, row: seeds.Row, form: str) -> list[Turn]:
    """Does a cow say meow? Is a baby horse called a calf? Then the same with another sound or name."""
    others = [other[form] for other in seeds.facts("sounds") if other[form] != row[form] and not other[form].startswith("a ") and other[form] != "song"]
    turns = []
    for number in range(draw.rng.choices((1, 2), (3, 1))[0]):
        right = draw.chance(0.45) if not turns else turns[0].answer.endswith("no.")
        claim = row[form] if right else draw.choice(others)
        shown = claim if form == "sound" else with_article(claim)
        wordings = ["and {c}?", "{c}?", "{c}, then?"] if number else _CLAIMED_SOUNDS[form]
        turns.append(Turn(asked(draw, wordings, x=with_article(row["animal"]), b=row["animal"], xs=plural(row["animal"]), c=shown),
            verdict(_sound_answer(row, form), claim == row[form])))
    return turns


_CLAIMED_SOUNDS = {
    "sound": ["does {x} say {c}", "Does {x} say {c}?", "{x} says {c}, right?", "do {xs} say {c}", "is it true that {x} says {c}", "i think {x} says {c}", "so {x} goes {c}?",
        "true or false: {x} says {c}"],
    "baby": ["is a baby {b} called {c}", "Is a baby {b} called {c}?", "a baby {b} is called {c}, right?", "is {c} the young of {x}", "do we call a baby {b} {c}",
        "is {c} a baby {b}?", "i think a baby {b} is called {c}", "true or false: a baby {b} is called {c}"],
}
_SOUND_QUESTIONS = {
    "sound": ["what sound does {x} make", "What does {x} say?", "what noise does {x} make", "what do {xs} say",
    "which sound does {x} make", "how does {x} sound", "what sound do {xs} make", "sound of {x}?", "what does {x} sound like", "how does {x} go", "{x} says what",
    "tell me the sound of {x}", "what noise do {xs} make?", "which animal sound does {x} make", "imitate {x}"],
    "baby": ["what is a baby {b} called", "what do you call the baby of {x}", "what is the young of {x} called",
    "name for the baby of {x}?", "what are the babies of {xs} called", "how do you call a young {b}",
    "baby {b}?", "a baby {b} is called", "what is the name for a baby {b}", "whats a baby {b} called", "the young of {x}?", "what do we call a young {b}?",
    "which word means a baby {b}"],
    "group": ["what is a group of {xs} called", "what do you call a group of {xs}", "name for many {xs} together?",
    "whats a group of {xs}"],
}


def _sound_answer(row: seeds.Row, form: str) -> str:
    animal = with_article(row["animal"])
    match form:
        case "sound":
            sound = row["sound"]
            return f"{capitalized(animal)} makes {sound}." if sound.startswith(
                "a ") else f"{capitalized(animal)} says {sound}." if sound != "song" else f"{capitalized(animal)} sings."
        case "baby":
            return f"A baby {row['animal']} is called {with_article(row['baby'])}."
        case _:
            return f"A group of {plural(row['animal'])} is called {with_article(row['group'])}." if row[
                "group"] != "group" else f"I only know it as a group of {plural(row['animal'])}."


def body(draw: Draw) -> list[Turn]:
    """What parts of the body are for, and how many there are."""
    row = draw.choice(seeds.facts("body"))
    part, verb = row["part"], row["verb"]
    many = row["number"] != "one" and row["part"] != "skin"
    them = "them" if many else "it"
    form = draw.number(0, 2)
    if form == 0:
        is_are = "are" if many else "is"
        the = "" if many else "the "
        question = asked(draw, ["what {is_} {the}{p} for", "What {do_} {the}{p} do?", "what do we use {the}{p} for",
            "why do we have {p2}", "what can we do with our {p}", "what {do_} our {p} do", "what's the use of {the}{p}",
            "{the}{p}: what for?", "tell me what {the}{p} {is_} for", "what {is_} the job of {the}{p}", "use of {the}{p}?", "what {is_} our {p} good for",
            "explain what {the}{p} {do_}", "how {do_} {the}{p} help us", "whats the use of our {p}"],
                         is_=is_are, do_="do" if many else "does", the=the, p=part,
                         p2=part if many or part in ("skin",) else with_article(part))
        return [Turn(question, f"We use {them} for {row['use']}." if draw.chance(0.3)
            else f"{capitalized(the + part)} {is_are} for {row['use']}.")]
    if form == 1:
        same = [other["part"] for other in seeds.facts("body") if other["verb"] == verb]
        if len(same) == 1:
            question = asked(draw, ["what do we {v} with", "With what do we {v}?", "which part of the body do we use to {v}",
                "what part of the body helps us to {v}", "we {v} with what"], v=verb)
            return [Turn(question, f"We {verb} with our {part}.")]
    number = row["number"]
    question = asked(draw, ["how many {p} do we have", "How many {p} does a person have?", "how many {p} do humans have",
        "number of {p} in the human body?"], p=_plural_part(part))
    return [Turn(question, f"We have {number} {part}.")]


def _plural_part(part: str) -> str:
    return part if part.endswith(("s", "feet", "teeth")) and part != "stomach" else {"brain": "brains", "tongue": "tongues",
        "skin": "skins"}.get(part, plural(part))
