"""The form of the answer follows the form of the question: one fact asked for, put up to a choice, and claimed rightly and wrongly.

A question for a verdict ends with yes or no, in equal shares; a question for the fact itself, or for one of two values, does not. The
same subject comes with all of these next to each other, so that neither the subject nor the wording tells the verdict.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, number_word, verdict, with_article
from . import facts_classes, facts_compared
from .facts_asking import asked
from .facts_forms_data import ABILITIES, COMPASS, NORTH_SOUTH, TRAITS, WEST_EAST
from .facts_things import _CLEAR_USES, _be, opposites
from .facts_verdicts import _UNDECIDED


@dataclass(frozen=True)
class Subject:
    """Something that is so, in the forms that it is asked in. `{v}` is the value that a claim gives, right or wrong."""

    claim: str
    question: str
    opened: tuple[str, ...]
    indirect: tuple[str, ...]
    right: str
    wrong: tuple[str, ...]
    #: What the answer says, if it is not the claim with the right value.
    fact: str = ""
    protected: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def said(self) -> str:
        """Returns the fact, without a full stop."""
        return self.fact or self.claim.format(v=self.right)


WHETHER = [
    "{q}", "{q}?", "{Q}?", "{q}?", "is it true that {c}", "Is it true that {c}?", "{c}, right?", "{c}, correct?", "{c}, true?", "{c}, or not?", "{c}: true or false?",
    "true or false: {c}", "yes or no: {q}", "{q}, yes or no?", "i think {c}", "i think {c}, am i right?", "am i right that {c}", "someone told me that {c}, is that so?",
    "is it correct that {c}?", "would you say {c}", "do you agree that {c}?", "can you confirm that {c}", "my {r} says {c}. true?", "check this for me: {c}",
    "please tell me if {c}", "tell me whether {c}", "so {c}?", "{c}?", "{c}", "{C}.", "quick check: {q}?", "i bet {c}", "i read that {c}", "i wrote that {c}. is that right?",
    "{q}, or am i wrong?", "a yes or no please: {q}", "is this sentence right: {c}", "could it be that {c}?", "would it be right to say that {c}", "i am not sure: {q}?",
    "hey, {q}?", "sorry, {q}?", "one question, {q}?", "for a quiz: {q}", "my {r} asks: {q}?", "{q} or not", "only say if it is so: {c}", "i always thought {c}",
    "does that make sense: {c}?", "do you think {c}?", "i am sure that {c}", "surely {c}", "my {r} is sure that {c}", "they say that {c}",
]
_OPEN = [
    "{o}", "{o}?", "{O}?", "{o}", "{O}?", "hey, {o}?", "quick question: {o}?", "i want to know: {o}?", "one question, {o}?", "ok, {o}", "{o}, please", "right, {o}?",
    "my {r} asks: {o}?", "for school: {o}?", "not a yes or no question: {o}?", "sorry, {o}?", "i forgot: {o}?", "ember, {o}?", "for a quiz: {o}", "well, {o}?",
]
_INDIRECT = [
    "do you know {i}", "do you know {i}?", "Do you know {i}?", "can you tell me {i}", "Can you tell me {i}?", "could you say {i}?", "tell me {i}", "please tell me {i}",
    "i want to know {i}", "would you know {i}?", "i do not know {i}", "is it clear {i}?", "are you able to tell me {i}?", "will you tell me {i}", "does anybody know {i}?",
    "do you remember {i}?", "i forgot {i}", "say {i}", "i wonder {i}", "have you learned {i}?", "may i ask {i}", "my {r} wants to know {i}",
]
_EITHER = [
    "{q} or {w}", "{q} or {w}?", "{Q} or {w}?", "tell me: {q} or {w}?", "what is true, {q} or {w}?", "hey, {q} or {w}?", "{q} or rather {w}?", "quick question: {q} or {w}?",
    "which is right: {c} or {d}?", "which is true, {c} or {d}?", "what is correct: {c} or {d}", "do you know, {q} or {w}?", "i forgot, {q} or {w}?", "my {r} asks: {q} or {w}?",
    "Which one is it, {q} or {w}?", "{q} or maybe {w}?", "one of these is right: {c}, or {d}. which one?",
]
#: A claim in the turn after another one, a question for what is right, and doubts about a fact.
_NEXT_CLAIM = ["and {v}?", "{v}?", "and {v}", "what about {v}?", "then {v}?", "{v} then?", "maybe {v}?", "and is it {v}?", "how about {v}", "or {v}?", "could it be {v}?"]
_WHAT_THEN = ["what is it then?", "so what is right?", "then what is it", "what is the right answer", "what is right then?", "so what is it?", "and what is true?", "tell me the right answer",
    "what would be right?", "so what is it really"]
_DOUBT = ["i thought {v}", "not {v}?", "isn't it {v}?", "{v}?", "is it not {v}?", "i would have said {v}", "are you sure? i thought {v}", "really? not {v}?", "my {r} says {v}"]


def _verdict_turn(draw: Draw, subject: Subject, value: str) -> Turn:
    claim, question = subject.claim.format(v=value), subject.question.format(v=value)
    asking = asked(draw, WHETHER, c=claim, C=capitalized(claim), q=question, Q=capitalized(question), r=draw.word("relative"))
    return Turn(asking, verdict(subject.said(), value == subject.right), subject.protected, subject.names)


def _open_turn(draw: Draw, subject: Subject) -> Turn:
    if subject.indirect and draw.chance(0.4):
        asking = asked(draw, _INDIRECT, i=draw.choice(subject.indirect), r=draw.word("relative"))
    else:
        opened = draw.choice(subject.opened)
        asking = asked(draw, _OPEN, o=opened, O=capitalized(opened), r=draw.word("relative"))
    return Turn(asking, f"{capitalized(subject.said())}.", subject.protected, subject.names)


def _either_turn(draw: Draw, subject: Subject) -> Turn:
    """Which of two values is right: not a question for yes or no."""
    first, second = draw.some((subject.right, draw.choice(subject.wrong)), 2)
    if not subject.question.endswith("{v}"):
        first_claim, second_claim = subject.claim.format(v=first), subject.claim.format(v=second)
        question = subject.question.format(v=f"{first} or {second}")
        asking = asked(draw, ["{q}", "{Q}?", "{q}?", "which is true, {c} or {d}?", "what is correct: {c} or {d}", "tell me: {q}?", "hey, {q}?", "my {r} asks: {q}?", "quick question: {q}"],
            q=question, Q=capitalized(question), c=first_claim, d=second_claim, r=draw.word("relative"))
    else:
        question = subject.question.format(v=first)
        asking = asked(draw, _EITHER, q=question, Q=capitalized(question), w=second, c=subject.claim.format(v=first), d=subject.claim.format(v=second), r=draw.word("relative"))
    return Turn(asking, f"{capitalized(subject.said())}.", subject.protected, subject.names)


def forms(draw: Draw, makers: "tuple[tuple[Maker, int], ...] | None" = None) -> list[Turn]:
    """One to five questions about one or two subjects: claims that are right and wrong in turn, and questions for the fact."""
    makers = makers or _MAKERS
    maker = draw.rng.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0]
    subject = maker(draw)
    turns: list[Turn] = []
    # What the last turn was, and whether the last verdict was yes.
    last, holds = "", draw.chance(0.5)
    for _ in range(draw.rng.choices((1, 2, 3, 4, 5), (6, 5, 4, 2, 1))[0]):
        if turns and draw.chance(0.4):
            subject, last = maker(draw), ""
        form = draw.rng.choices(("verdict", "open", "either"), (12, 5, 4))[0]
        if form == "verdict":
            holds = not holds if draw.chance(0.75) else holds
            value = subject.right if holds else draw.choice(subject.wrong)
            if last in ("verdict", "open") and draw.chance(0.3):
                wordings = _NEXT_CLAIM if last == "verdict" else _DOUBT
                turns.append(Turn(asked(draw, wordings, v=value, r=draw.word("relative")), verdict(subject.said(), holds), subject.protected, subject.names))
            else:
                turns.append(_verdict_turn(draw, subject, value))
        elif last == "verdict" and not holds and draw.chance(0.3):
            turns.append(Turn(asked(draw, _WHAT_THEN), f"{capitalized(subject.said())}."))
        else:
            turns.append(_open_turn(draw, subject) if form == "open" else _either_turn(draw, subject))
        last = form
    return list({turn.user.lower().strip("?. "): turn for turn in turns}.values())


def _animal(draw: Draw) -> seeds.Row:
    return draw.familiar(seeds.facts("animals"))


def _color(draw: Draw) -> Subject:
    row = draw.familiar(seeds.facts("colors"), 2)
    thing = f"the {row['thing']}" if row["article"] == "the" else row["thing"]
    is_ = "are" if row["number"] == "plural" else "is"
    wrong = tuple(name for name in "red blue green yellow black white purple pink brown orange gray".split() if name not in row["color"]
        and (thing, name) not in _UNDECIDED)
    return Subject(f"{thing} {is_} {{v}}", f"{is_} {thing} {{v}}", (f"what color {is_} {thing}", f"which color {is_} {thing}", f"what is the color of {thing}", f"{thing}, what color",
        f"what color would you paint {thing}"), (f"what color {thing} {is_}", f"which color {thing} {is_}", f"the color of {thing}"), row["color"], wrong)


def _class(draw: Draw) -> Subject:
    thing, kind = facts_classes._drawn(draw)
    named = facts_classes._named
    return Subject(f"{thing} is {{v}}", f"is {thing} {{v}}", (f"what is {thing}", f"what kind of thing is {thing}", f"what sort of thing is {thing}", f"what do we call {thing}"),
        (f"what {thing} is", f"what kind of thing {thing} is", f"what sort of thing {thing} is"), named(kind.name), tuple(map(named, kind.never)))


def _legs(draw: Draw) -> Subject:
    row = _animal(draw)
    animal, right = with_article(row["animal"]), int(row["legs"])
    wrong = tuple(number_word(number) for number in (2, 4, 6, 8) if number != right)
    shown = number_word(right) if right else "no"
    return Subject(f"{animal} has {{v}} legs", f"does {animal} have {{v}} legs", (f"how many legs does {animal} have", f"how many legs has {animal}", f"what is the number of legs of {animal}"),
        (f"how many legs {animal} has", f"the number of legs of {animal}", f"how many legs there are on {animal}"), shown, wrong)


#: Words of uses that are not quite wrong for a part of the body.
_ALSO_FOR = {"arms": {"holding"}, "thumbs": {"holding"}, "elbows": {"holding"}, "wrists": {"holding"}, "fingernails": {"holding"}, "shoulders": {"holding"}, "throat": {"speaking", "breathing"},
    "teeth": {"speaking"}, "tongue": {"chewing"}, "lips": {"breathing", "holding"}, "lungs": {"speaking"}, "skin": {"holding"}}


def _part(draw: Draw) -> Subject:
    """What a part of the body is for."""
    row = draw.choice([row for row in seeds.facts("body") if row["part"] not in ("nerves", "mouth", "brain", "bones", "muscles")])
    many = row["number"] != "one"
    part, is_, do = row["part"] if many else f"the {row['part']}", "are" if many else "is", "do" if many else "does"
    words = set(row["use"].split()) | ({"walking"} if {"feet", "legs"} & set(row["use"].split()) or row["part"] in ("toes", "knees", "spine") else set())
    words |= _ALSO_FOR.get(row["part"], set())
    wrong = tuple(use for use in ("seeing", "hearing", "thinking", "pumping blood", "digesting food", "walking and running", "smelling and breathing", "tasting and speaking",
        "biting and chewing", "holding things") if not words & (set(use.split()) - {"and", "things"}))
    return Subject(f"{part} {is_} for {{v}}", f"{is_} {part} for {{v}}", (f"what {is_} {part} for", f"what {do} {part} do", f"what do we need {part} for", f"what do we use {part} for"),
        (f"what {part} {is_} for", f"what we need {part} for", f"what we use {part} for"), row["use"], wrong)


#: What one does with a part of the body, for questions in both directions.
_DONE_WITH = {"see": "eyes", "hear": "ears", "smell": "nose", "taste": "tongue", "chew": "teeth", "think": "brain", "breathe": "lungs", "pump blood": "heart", "digest food": "stomach",
    "clean the blood": "kidneys", "bend our legs": "knees", "bend our arms": "elbows", "grip things": "thumbs", "walk": "feet", "close our eyes": "eyelids"}


_CLOSE_PARTS = ({"feet", "knees"}, {"tongue", "teeth"}, {"lungs", "nose"}, {"stomach", "teeth"}, {"eyes", "eyelids"}, {"lungs", "heart"}, {"kidneys", "heart"})


def _done_with(draw: Draw) -> Subject:
    verb, part = draw.choice(list(_DONE_WITH.items()))
    senses = part in ("eyes", "ears", "nose", "tongue")
    wrong = tuple(other for other in _DONE_WITH.values() if other != part and {part, other} not in _CLOSE_PARTS and not (senses and other == "brain"))
    return Subject(f"we {verb} with our {{v}}", f"do we {verb} with our {{v}}", (f"what do we {verb} with", f"with what do we {verb}", f"which part of the body do we {verb} with",
        f"which part of the body do we need to {verb}"), (f"what we {verb} with", f"which part of the body we use to {verb}"), part, wrong)


def _tool(draw: Draw) -> Subject:
    row = draw.familiar(seeds.facts("tools"), 2)
    tool, is_, words = row["tool"], _be(row["tool"]), set(row["use"].split())
    wrong = tuple(use for use in _CLEAR_USES if not words & (set(use.split()) - {"a", "the", "and", "in", "of", "things", "with"}))
    return Subject(f"{tool} {is_} for {{v}}", f"{is_} {tool} for {{v}}", (f"what {is_} {tool} for", f"what {is_} {tool} used for", f"what do we do with {tool}", f"what is the use of {tool}"),
        (f"what {tool} {is_} for", f"what people use {tool} for", f"what to do with {tool}"), row["use"], wrong)


def _capital(draw: Draw) -> Subject:
    rows = seeds.facts("capitals")
    row = draw.familiar(rows, 2)
    country, city = row["country"], row["capital"]
    others = [other["capital"] for other in draw.some(rows, 8) if other["capital"] != city] + ([row["other_city"]] if row["other_city"] != "-" else [])
    claim, question = draw.choice((("the capital of {x} is {{v}}", "is the capital of {x} {{v}}"), ("{{v}} is the capital of {x}", "is {{v}} the capital of {x}")))
    return Subject(claim.format(x=country), question.format(x=country), (f"what is the capital of {country}", f"which city is the capital of {country}", f"what is {country}'s capital",
        f"what is the capital city of {country}"), (f"what the capital of {country} is", f"which city is the capital of {country}", f"the capital of {country}"), city, tuple(others),
        f"the capital of {country} is {city}")


def _continent(draw: Draw) -> Subject:
    row = draw.familiar([row for row in seeds.facts("capitals") if " and " not in row["continent"]], 2)
    wrong = tuple(name for name in ("Europe", "Asia", "Africa", "South America", "North America") if name != row["continent"] and name not in row["continent"])
    place = draw.choice((row["country"], row["country"], row["capital"]))
    return Subject(f"{place} is in {{v}}", f"is {place} in {{v}}", (f"on which continent is {place}", f"which continent is {place} in", f"what continent is {place} on"),
        (f"on which continent {place} is", f"which continent {place} belongs to"), row["continent"], wrong)


def _opposite(draw: Draw) -> Subject:
    known = opposites()
    word = draw.familiar(list(known))
    wrong = tuple(dict.fromkeys(other for other in draw.some(list(known.values()), 12) if other not in (known[word], word)))
    return Subject(f"the opposite of {word} is {{v}}", f"is the opposite of {word} {{v}}", (f"what is the opposite of {word}", f"which word is the opposite of {word}",
        f"what is the contrary of {word}"), (f"what the opposite of {word} is", f"the opposite of {word}", f"which word means the opposite of {word}"), known[word], wrong, "", (word,))


def _calendar(draw: Draw) -> Subject:
    """What comes after or before a day, a month or a letter."""
    kind = draw.choice(("day", "month", "letter"))
    names = list("ABCDEFGHIJKLMNOPQRSTUVWXYZ") if kind == "letter" else [row["name"] for row in seeds.facts(f"{kind}s")]
    # No letter comes before A or after Z.
    edge = 2 if kind == "letter" else 0
    at, (by, word) = draw.number(edge, len(names) - 1 - edge), draw.choice(((1, "after"), (-1, "before")))
    right, name = names[(at + by) % len(names)], names[at]
    # May comes after March, too, but not right after it.
    near, how = [names[(at - by) % len(names)], names[(at - 2 * by) % len(names)]], word
    if draw.chance(0.5):
        near, how = [*near, names[(at + 2 * by) % len(names)], *draw.some(names, 2)], f"right {word}"
    return Subject(f"{{v}} comes {how} {name}", f"does {{v}} come {how} {name}", (f"what comes {word} {name}", f"which {kind} comes {word} {name}", f"what {kind} is {word} {name}"),
        (f"what comes {word} {name}", f"which {kind} comes {word} {name}", f"what {kind} is {word} {name}"), right, tuple(one for one in near if one not in (right, name)),
        f"{right} comes {word} {name}", tuple(names) if kind == "letter" else ())


def _month_length(draw: Draw) -> Subject:
    row = draw.choice([row for row in seeds.facts("months") if row["name"] != "February"])
    wrong = tuple(number for number in ("28", "29", "30", "31", "32") if number != row["days"])
    name = row["name"]
    return Subject(f"{name} has {{v}} days", f"does {name} have {{v}} days", (f"how many days does {name} have", f"how many days are in {name}", f"how long is {name}"),
        (f"how many days {name} has", f"how many days there are in {name}"), row["days"], wrong)


def _unit(draw: Draw) -> Subject:
    row = draw.choice([row for row in seeds.facts("units") if row["number"].isdigit()])
    right = int(row["number"])
    wrong = {right + 10, max(2, right - 10), right * 2, right + 1, right * 10, max(1, right // 2)} - {right}
    small, large = row["small"], row["large"]
    return Subject(f"{large} has {{v}} {small}", f"does {large} have {{v}} {small}", (f"how many {small} does {large} have", f"how many {small} are in {large}", f"how many {small} make {large}"),
        (f"how many {small} {large} has", f"how many {small} are in {large}"), str(right), tuple(map(str, sorted(wrong))))


def _sound(draw: Draw) -> Subject:
    rows = [row for row in seeds.facts("sounds") if not row["sound"].startswith("a ") and row["sound"] != "song"]
    row = draw.familiar(rows)
    animal = with_article(row["animal"])
    return Subject(f"{animal} says {{v}}", f"does {animal} say {{v}}", (f"what does {animal} say", f"what sound does {animal} make", f"how does {animal} sound"),
        (f"what {animal} says", f"which sound {animal} makes"), row["sound"], tuple(sorted({other["sound"] for other in rows} - {row["sound"]})))


def _trait(draw: Draw) -> Subject:
    """How big, hot, fast or heavy something is, with the opposite word as the wrong one."""
    first, second, *groups = draw.choice(TRAITS)
    at = draw.number(0, 1)
    thing = draw.choice(groups[at].split(", "))
    right, wrong = (first, second) if at == 0 else (second, first)
    return Subject(f"{thing} is {{v}}", f"is {thing} {{v}}", (f"what is {thing} like, {first} or {second}", f"how is {thing}, {second} or {first}", f"which word fits {thing}, {first} or {second}",
        f"is {thing} {second} or {first}"), (f"whether {thing} is {first} or {second}", f"if {thing} is {second} or {first}"), right, (wrong,))


def _compared(draw: Draw) -> Subject:
    """Two things: bigger or smaller."""
    while (two := facts_compared.pair(draw)).scale.opposite.startswith("less "):
        pass
    words = (two.scale.comparative, two.scale.opposite)
    right = words[0] if two.scale.more(two.first, two.second) == two.first else words[1]
    wrong = words[1] if right == words[0] else words[0]
    first, second = two.first, two.second
    return Subject(f"{first} is {{v}} than {second}", f"is {first} {{v}} than {second}", (f"is {first} {words[0]} or {words[1]} than {second}", f"is {first} {words[1]} or {words[0]} than {second}",
        f"what is {first}, {words[0]} or {words[1]} than {second}"), (f"whether {first} is {words[0]} or {words[1]} than {second}",), right, (wrong,))


def _turned(draw: Draw) -> Subject:
    """Directions: a turn to the left or right, and the direction behind."""
    at, (name, by) = draw.number(0, 3), draw.choice((("turn right", 1), ("turn left", -1), ("turn around", 2)))
    start, right = COMPASS[at], COMPASS[(at + by) % 4]
    wrong = tuple(one for one in COMPASS if one not in (start, right))
    if name == "turn around" and draw.chance(0.5):
        return Subject(f"the opposite of {start} is {{v}}", f"is the opposite of {start} {{v}}", (f"what is the opposite of {start}", f"which direction is opposite to {start}"),
            (f"what the opposite of {start} is",), right, wrong)
    return Subject(f"i look {{v}} if i face {start} and {name}", f"do i look {{v}} if i face {start} and {name}", (f"if i face {start} and {name}, where do i look",
        f"i look {start} and {name}, what direction is that", f"where do i look if i face {start} and {name}", f"when i face {start} and {name}, which way do i look"),
        (f"where i look if i face {start} and {name}",), right, wrong, f"if you face {start} and {name}, you look {right}")


def _places(draw: Draw) -> Subject:
    """Which of two countries lies north or east of the other."""
    pairs, words = draw.choice(((NORTH_SOUTH, ("north", "south")), (WEST_EAST, ("west", "east"))))
    pair = draw.choice(pairs).split(" > ")
    at = draw.number(0, 1)
    first, second = (pair[0], pair[1]) if at == 0 else (pair[1], pair[0])
    return Subject(f"{first} is {{v}} of {second}", f"is {first} {{v}} of {second}", (f"in which direction from {second} is {first}", f"is {first} {words[0]} or {words[1]} of {second}",
        f"where is {first} from {second}, {words[0]} or {words[1]}"), (f"whether {first} is {words[0]} or {words[1]} of {second}",), words[at], (words[1 - at],))


def _letters(draw: Draw) -> Subject:
    word = draw.choice(vocabulary.familiar_words())
    form, right = draw.choice((("starts with", word[0].upper()), ("ends with", word[-1].upper()), ("has", len(word))))
    if form == "has":
        wrong = tuple(number_word(number) for number in (len(word) - 2, len(word) - 1, len(word) + 1, len(word) + 2) if number > 1)
        return Subject(f"{word} has {{v}} letters", f"does {word} have {{v}} letters", (f"how many letters does {word} have", f"how many letters are in {word}", f"how long is the word {word}"),
            (f"how many letters {word} has", f"how many letters there are in {word}"), number_word(len(word)), wrong, f"{'-'.join(word.upper())} has {len(word)} letters", (word,))
    verb, noun = form.split()[0].removesuffix("s"), "first" if form.startswith("starts") else "last"
    wrong = tuple(letter for letter in dict.fromkeys([word[-1].upper(), word[0].upper(), word[1].upper(), *draw.some("BCDFGHKLMNPRSTW", 3)]) if letter != right)
    return Subject(f"{word} {form} {{v}}", f"does {word} {verb} with {{v}}", (f"which letter does {word} {verb} with", f"what is the {noun} letter of {word}"),
        (f"which letter {word} {form}", f"what the {noun} letter of {word} is"), str(right), wrong, f"the {noun} letter of {word} is {right}", (word, str(right), *wrong))


Maker = Callable[[Draw], Subject]
_MAKERS: tuple[tuple[Maker, int], ...] = (
    (_color, 12), (_class, 14), (_legs, 5), (_part, 6), (_done_with, 4), (_tool, 9), (_capital, 10), (_continent, 6), (_opposite, 7), (_calendar, 8), (_month_length, 4),
    (_unit, 5), (_sound, 4), (_trait, 8), (_compared, 12), (_turned, 4), (_places, 4), (_letters, 4),
)


def body(draw: Draw) -> list[Turn]:
    """Parts of the body: what each is for, and what we do with which, one after the other."""
    return forms(draw, ((_part, 3), (_done_with, 3)))


_CAN = ["can {x} {v}", "Can {x} {v}?", "can {x} {v}?", "are {x} able to {v}", "{x} can {v}, right?", "is it true that {x} can {v}", "i think {x} can {v}", "true or false: {x} can {v}",
    "do {x} {v}?", "so {x} can {v}?", "tell me, can {x} {v}?", "would you say that {x} can {v}", "{x} can {v}", "{X} can {v}.", "can {x} really {v}", "can {x} {v}, yes or no?",
    "do you think {x} can {v}", "is it possible for {x} to {v}?", "{x}: can they {v}?", "my {r} says {x} can {v}, is that so?", "i read that {x} can {v}", "do {x} know how to {v}?",
    "am i right that {x} can {v}", "yes or no: can {x} {v}", "quick check: can {x} {v}?", "hey, can {x} {v}", "can you confirm that {x} can {v}?", "are there {x} that can {v}"]
_WHAT_CAN = ["what can {x} do", "What can {x} do?", "tell me what {x} can do", "do you know what {x} can do?", "can you tell me what {x} can do", "what are {x} able to do", "{x} can do what",
    "what do {x} know how to do?", "name something that {x} can do", "say what {x} can do"]
_CANNOT = ["what can {x} not do", "What is it that {x} cannot do?", "name something that {x} cannot do", "do you know what {x} can't do?", "tell me what {x} cannot do", "what can't {x} do"]
_CAN_EITHER = ["can {x} {a} or {c}", "Can {x} {a} or {c}?", "what can {x} do, {a} or {c}?", "do {x} {a} or {c}", "tell me if {x} can {a} or {c}", "{a} or {c}: what can {x} do?",
    "which of these can {x} do: {a} or {c}", "do you know if {x} can {a} or {c}?"]


def abilities(draw: Draw) -> list[Turn]:
    """What animals and things can do and cannot do: the same ones with both next to each other."""
    turns: list[Turn] = []
    they, able, unable = draw.choice(ABILITIES)
    holds = draw.chance(0.5)
    for _ in range(draw.rng.choices((1, 2, 3, 4), (5, 5, 3, 2))[0]):
        if turns and draw.chance(0.45):
            they, able, unable = draw.choice(ABILITIES)
        form = draw.rng.choices(("can", "what", "cannot", "either"), (12, 2, 2, 3))[0]
        yes, no = draw.choice(able), draw.choice(unable)
        if form == "can":
            holds = not holds if draw.chance(0.75) else holds
            does = yes if holds else no
            question = asked(draw, _CAN, x=they, X=capitalized(they), v=does, r=draw.word("relative"))
            turns.append(Turn(question, verdict(f"{they} {'can' if holds else 'cannot'} {does}", holds)))
        elif form == "either":
            first, second = draw.some((yes, no), 2)
            turns.append(Turn(asked(draw, _CAN_EITHER, x=they, a=first, c=second), f"{capitalized(they)} can {yes}, but they cannot {no}."))
        else:
            question = asked(draw, _WHAT_CAN if form == "what" else _CANNOT, x=they)
            done = f"can {listed(list(able))}" if form == "what" else f"cannot {listed(list(unable), 'or')}"
            turns.append(Turn(question, f"{capitalized(they)} {done}."))
    return list({turn.user.lower().strip("?. "): turn for turn in turns}.values())


