"""What users tell about themselves and their families, asked for in any order within up to ten turns."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, verdict, with_article
from .memory_data import NEVER_TOLD
from .memory_profile_data import (DISLIKED, EITHER, INSTRUMENTS, LIKED, LIKING, LIKING_REPLIES, MEN, SORTS, SUMMARY, TASTES, THANKS, WEATHER_THINGS,
    WOMEN)
from .talking import filled
from .talking_words import COLUMNS

Between = Callable[[Draw], list[Turn]]
#: Wordings of one question, and its answer.
Asking = tuple[tuple[str, ...], str]


@dataclass
class Fact:
    """Something that the user tells: its topics, how it is told, and what may be asked about it."""

    topics: set[str]
    clause: str
    reply: str
    askings: list[Asking]
    #: What Ember says of it in a summary: `you live in Oslo`.
    known: str
    words: list[str] = field(default_factory=list)


def chat(draw: Draw, between: Between) -> list[Turn]:
    """Two to six facts, and questions about them, mixed with turns of other kinds."""
    facts = _facts(draw, draw.rng.choices((1, 2, 3, 4, 5, 6), (1, 4, 5, 4, 2, 2))[0])
    turns = _told(draw, facts)
    left = 10 - len(turns)
    questions = _questions(draw, facts)[:draw.number(2, max(2, left))]
    mixed = draw.rng.choices((0, 0.3, 0.6), (3, 3, 2))[0]
    for turn in questions:
        if draw.chance(mixed) and len(turns) < 9:
            turns += _other_topic(draw, between)
        turns.append(turn)
        if len(turns) >= 10:
            break
    return turns


def _other_topic(draw: Draw, between: Between) -> list[Turn]:
    """One or two short turns of other kinds in which the user tells nothing about a life."""
    for _ in range(8):
        turns = between(draw)[:draw.number(1, 2)]
        if not any(_PERSONAL.search(turn.user) or len(turn.answer) > 160 for turn in turns):
            return turns
    return []


_PERSONAL = re.compile(r"\b(my|our|mine|i|im|we|me)\b", re.IGNORECASE)


def _facts(draw: Draw, count: int) -> list[Fact]:
    """Facts of different topics, with different words."""
    used: set[str] = set()
    facts: list[Fact] = []
    makers = [_of_sort] * 6 + [_relative] * 4 + [_pet, _tastes, _tastes]
    while len(facts) < count:
        fact = draw.choice(makers)(draw, used)
        if fact and not any(fact.topics & other.topics for other in facts):
            facts.append(fact)
            used |= set(fact.words)
    return facts


def _told(draw: Draw, facts: list[Fact]) -> list[Turn]:
    """The facts in messages of one to three each."""
    turns = []
    left = list(facts)
    while left:
        size = draw.rng.choices((1, 2, 3), (4, 4, 2))[0]
        group, left = left[:size], left[size:]
        words = tuple(word for fact in group for word in fact.words)
        if len(group) == 1:
            turns.append(Turn(draw.choice((group[0].clause, _sentence(group[0].clause))), group[0].reply, (), words))
            continue
        clauses = [fact.clause.rstrip(".") for fact in group]
        text = draw.choice((listed(clauses), ", ".join(clauses), " ".join(_sentence(clause) for clause in clauses), " and ".join(clauses)))
        turns.append(Turn(text, draw.choice((group[0].reply, group[-1].reply, draw.choice(THANKS), draw.choice(THANKS))), (), words))
    return turns


def _sentence(clause: str) -> str:
    return re.sub(r"\bi(?=\b(?!\.))", "I", capitalized(clause)).rstrip(".") + "."


def _questions(draw: Draw, facts: list[Fact]) -> list[Turn]:
    """Questions about the facts in any order, perhaps one that cannot be answered, and a summary."""
    askings: list[tuple[Asking, list[str]]] = []
    for fact in facts:
        askings += [(asking, fact.words) for asking in draw.some(fact.askings, min(len(fact.askings), draw.number(1, 3)))]
    draw.rng.shuffle(askings)
    turns = [Turn(draw.wording(wordings), answer, (), tuple(words)) for (wordings, answer), words in askings]
    if draw.chance(0.25):
        turns.insert(draw.number(0, min(3, len(turns))), _unknown(draw, facts))
    if len(facts) > 1 and draw.chance(0.3):
        turns.insert(draw.number(0, len(turns)), Turn(draw.wording(SUMMARY), capitalized(f"{listed([fact.known for fact in facts])}.")))
    return turns


#: Topics under which `NEVER_TOLD` has a question, by the topics of facts that answer it.
_UNKNOWN = {"name": "name", "city": "city", "age": "age", "job": "job", "favorite color": "color", "favorite food": "taste", "pet": "pet", "trip": "trip",
    "fear": "fear", "thing": "bought", "favorite animal": "animal", "hobby": "taste"}


def _unknown(draw: Draw, facts: list[Fact]) -> Turn:
    told = {topic for fact in facts for topic in fact.topics}
    name = draw.choice([name for name, topic in _UNKNOWN.items() if topic not in told])
    questions, answers = NEVER_TOLD[name]
    return Turn(draw.wording(questions), draw.choice(answers))


def _drawn(draw: Draw, kind: str | tuple[int, int], used: set[str]) -> str:
    """A word of a kind, or a number, that is not used yet."""
    while (word := _any(draw, kind)) in used:
        pass
    return word


def _any(draw: Draw, kind: str | tuple[int, int]) -> str:
    if isinstance(kind, tuple):
        return str(draw.number(*kind))
    if kind == "instrument":
        return draw.choice(INSTRUMENTS)
    if kind == "weather things":
        return draw.choice(WEATHER_THINGS).replace("_", " ")
    if kind in COLUMNS:
        return filled(draw, f"{{{kind}}}", {})
    return draw.word(kind)


def _of_sort(draw: Draw, used: set[str]) -> Fact:
    """A fact of one word, such as the age."""
    sort = draw.rng.choices(SORTS, [sort.weight for sort in SORTS])[0]
    word, day = _drawn(draw, sort.kind, used), draw.word("day")
    wrong, wrong_day = _drawn(draw, sort.kind, {*used, word}), _drawn(draw, "day", {day})
    clause = draw.choice([one for one in sort.clauses.split(" | ")])
    if sort.name == "trip":
        wrong_day = day
    answer = _put(sort.answer, word, day)
    askings: list[Asking] = [(tuple(_put(one, word, day) for one in sort.asks.split(" | ") if "{d}" in clause or "{d}" not in one), answer)]
    if sort.checks:
        checks = sort.checks.split(" | ")
        no = (word, wrong_day) if "{d}" in sort.checks else (wrong, day)
        allowed = sort.name != "allergy"
        askings.append((tuple(_put(one, word, day) for one in checks), verdict(answer, allowed)))
        if allowed:
            askings.append((tuple(_put(one, *no) for one in checks), verdict(answer, False)))
    replies = sort.replies.split(" | ")
    known = answer.rstrip(".")
    known = known[:1].lower() + known[1:]
    return Fact({sort.name, *_SAME.get(sort.name, ())}, _put(clause, word, day), _put(draw.choice(replies), word, day), askings, known, [word])


#: Topics of which only one is told in a chat, since they are asked for alike.
_SAME = {"trip": ("plan", "where"), "plan": ("trip",), "city": ("where",), "from": ("where",), "allergy": ("taste",), "drink": ("taste",), "sport": ("taste",),
    "color": ("taste",), "animal": ("taste",), "subject": ("taste",), "month": (), "language": ("learning",), "instrument": ("learning",)}


def _put(template: str, word: str, day: str = "") -> str:
    text = re.sub(r"\b([Aa])n? \{v\}", lambda match: (capitalized if match[1] == "A" else str)(with_article(word)), template)
    text = text.replace("{a_v}", with_article(word)).replace("{v}", word).replace("{d}", day)
    return text.replace("{V}", capitalized(word))


def _relative(draw: Draw, used: set[str]) -> Fact:
    """A relative with a name, and perhaps what this person is like; or two relatives."""
    if draw.chance(0.35):
        return _two_relatives(draw, used)
    who, name = _person(draw, used)
    detail, questions = _detail(draw, who, name, used)
    clause = draw.choice((f"my {who} is called {name}", f"my {who}'s name is {name}", f"i have {with_article(who)} called {name}" if who not in _ONLY_ONE else f"{name} is my {who}"))
    if detail:
        clause = draw.choice((f"my {who} {name} {detail}", f"my {who} is called {name} and {detail}"))
    known = f"your {who} is called {name}" + (f" and {detail}" if detail else "")
    askings: list[Asking] = [*_names_asked(who, name), *questions]
    return Fact({who, "family"} if who == "friend" else {who}, clause, draw.choice((f"{name} is a nice name.", f"Give my greetings to {name}!", "How nice!", f"I hope that {name} is well.")),
        askings, known, [name])


_ONLY_ONE = {"mother", "father", "wife", "husband", "boss", "best friend"}


def _person(draw: Draw, used: set[str], other: str = "") -> tuple[str, str]:
    """A relative and a fitting name."""
    group, kind = draw.choice(((WOMEN, "woman"), (WOMEN, "woman"), (MEN, "man"), (MEN, "man"), (EITHER, "name")))
    while (who := draw.choice(group).replace("_", " ")) in used or who == other:
        group, kind = draw.choice(((WOMEN, "woman"), (MEN, "man"), (EITHER, "name")))
    return who, _drawn(draw, kind, used)


def _names_asked(who: str, name: str) -> list[Asking]:
    return [((f"what is my {who} called", f"what is my {who}'s name", f"what's the name of my {who}?", f"and my {who}'s name?", f"do you remember my {who}'s name",
        f"who is my {who}"), f"Your {who} is called {name}."),
        ((f"who is {name}", f"who is {name}?", f"do you know who {name} is", f"and who is {name}?"), f"{name} is your {who}.")]


def _detail(draw: Draw, who: str, name: str, used: set[str]) -> tuple[str, list[Asking]]:
    """Something about a relative: an age, a city, a job, a food; and the questions for it."""
    form = draw.choice(("", "age", "city", "city" if who in _WITH_JOB else "job", "foods", "animal"))
    whom = (f"my {who}", name)
    if not form:
        return "", []
    word = str(draw.number(1 if who in ("son", "daughter", "niece", "nephew") else 20, 80 if who not in ("son", "daughter", "niece", "nephew") else 19)) if form == "age" else _animal_at_home(draw, used) if form == "animal" else _drawn(draw, form, used)
    said = {"age": f"is {word} years old", "city": f"lives in {word}", "job": f"is {with_article(word)}", "foods": f"loves {word}", "animal": f"has {with_article(word)}"}[form]
    wordings = {"age": ["how old is {p}", "what is the age of {p}", "and how old is {p}?"], "city": ["where does {p} live", "in which city does {p} live", "and where does {p} live?"],
        "job": ["what does {p} do for work", "what is the job of {p}", "what does {p} work as"], "foods": ["what does {p} love", "what does {p} like to eat", "which food does {p} love"],
        "animal": ["which animal does {p} have", "what animal does {p} have", "what pet does {p} have"]}[form]
    askings = [(tuple(one.format(p=person) for one in wordings for person in whom), f"Your {who} {name} {said}.")]
    if form in ("city", "job", "foods", "animal"):
        askings.append(((f"who {said}", f"and who {said}?"), f"Your {who} {name} {said}."))
    used.add(word)
    return said.replace("is 1 years", "is 1 year"), [(asks, answer.replace("is 1 years", "is 1 year")) for asks, answer in askings]


#: Relatives whose job is known.
_WITH_JOB = {"boss", "teacher", "doctor", "dentist", "coach", "colleague", "son", "daughter", "niece", "nephew"}


def _two_relatives(draw: Draw, used: set[str]) -> Fact:
    """Two relatives with their names, and perhaps with their ages."""
    first, name = _person(draw, used)
    second, name2 = _person(draw, {*used, name}, first)
    pair = f"Your {first} is called {name} and your {second} is called {name2}."
    askings = [*_names_asked(first, name), *_names_asked(second, name2),
        ((f"what are my {first} and my {second} called", f"what are the names of my {first} and my {second}", f"tell me the names of my {first} and my {second}"), pair),
        ((f"is {name} my {first} or my {second}", f"is {name} my {second} or my {first}?"), f"{name} is your {first}."),
        ((f"is {name2} my {first} or my {second}", f"is {name2} my {second} or my {first}?"), f"{name2} is your {second}."),
        ((f"is my {first} called {name2}", f"is {name2} my {first}"), f"{verdict(f'your {first} is called {name}', False)}"),
        ((f"is my {second} called {name2}", f"is {name2} my {second}"), f"{verdict(f'your {second} is called {name2}', True)}")]
    clause = draw.choice((f"my {first} is called {name} and my {second} is called {name2}", f"my {first} is {name} and my {second} is {name2}", f"{name} is my {first}, {name2} is my {second}",
        f"my {first}'s name is {name}, my {second}'s name is {name2}", f"i have {with_article(first)}, {name}, and {with_article(second)}, {name2}"))
    if not {first, second} & {*_ONLY_ONE, "grandmother", "grandfather"} and draw.chance(0.4):
        age, age2 = draw.some(range(2, 60), 2)
        older, younger = ((name, age), (name2, age2)) if age > age2 else ((name2, age2), (name, age))
        clause = draw.choice((f"my {first} {name} is {age} and my {second} {name2} is {age2}", f"my {first} is called {name} and is {age}, my {second} is called {name2} and is {age2}"))
        ages = f"{older[0]} is {older[1]} and {younger[0]} is {younger[1]}"
        askings += [((f"how old is {name}", f"how old is my {first}", f"and how old is {name}?"), f"{name} is {age} years old."),
            ((f"how old is {name2}", f"how old is my {second}", f"and how old is my {second}?"), f"{name2} is {age2} years old."),
            ((f"who is older, {name} or {name2}", f"who is older, my {first} or my {second}", "which of the two is older"), f"{ages}, so {older[0]} is older."),
            ((f"who is younger, {name} or {name2}", f"who is younger, my {first} or my {second}", "which of the two is younger"), f"{ages}, so {younger[0]} is younger.")]
    return Fact({first, second, "two"}, clause, draw.choice((f"{name} and {name2} are nice names.", f"Give my greetings to {name} and {name2}!", f"{name} and {name2}, how nice!")), askings,
        pair.rstrip(".").replace("Your", "your", 1), [name, name2])


def _pet(draw: Draw, used: set[str]) -> Fact:
    """One pet or two, with names."""
    animal, name = _animal_at_home(draw, used), _drawn(draw, "name", used)
    askings: list[Asking] = [((f"what is my {animal} called", f"what is my {animal}'s name", f"what's the name of my {animal}?", f"and my {animal}?"), f"Your {animal} is called {name}."),
        ((f"who is {name}", f"what kind of animal is {name}", f"what is {name}"), f"{name} is your {animal}.")]
    if draw.chance(0.5):
        askings.append((("what pet do i have", "which animal do i have", "do i have a pet", "what animal do i have at home"), f"You have {with_article(animal)} called {name}."))
        clause = draw.choice((f"i have {with_article(animal)} called {name}", f"my {animal} is called {name}", f"we have {with_article(animal)} named {name}", f"my {animal}'s name is {name}"))
        return Fact({"pet"}, clause, draw.choice((f"{name} is a good name for {with_article(animal)}.", f"{capitalized(with_article(animal))} called {name}, how nice!")), askings,
            f"you have {with_article(animal)} called {name}", [animal, name])
    animal2, name2 = _animal_at_home(draw, {*used, animal}), _drawn(draw, "name", {*used, name})
    askings += [((f"what is my {animal2} called", f"what is my {animal2}'s name", f"what's the name of my {animal2}?", f"and my {animal2}?"), f"Your {animal2} is called {name2}."),
        ((f"who is {name2}", f"what kind of animal is {name2}", f"and who is {name2}?"), f"{name2} is your {animal2}."),
        (("which animals do i have", "what pets do i have"), f"You have {with_article(animal)} called {name} and {with_article(animal2)} called {name2}."),
        ((f"is {name} my {animal} or my {animal2}", f"is {name} my {animal2} or my {animal}"), f"{name} is your {animal}.")]
    clause = draw.choice((f"my {animal} is called {name} and my {animal2} is called {name2}", f"i have {with_article(animal)} called {name} and {with_article(animal2)} called {name2}",
        f"{name} is my {animal} and {name2} is my {animal2}"))
    return Fact({"pet"}, clause, draw.choice((f"{name} and {name2} are good names.", f"{with_article(animal).capitalize()} and {with_article(animal2)}, what a pair!")), askings,
        f"you have {with_article(animal)} called {name} and {with_article(animal2)} called {name2}", [animal, name, animal2, name2])


#: Animals that people keep.
_PETS = ("cat dog rabbit hamster parrot horse pony goldfish turtle tortoise goat hen donkey lizard duck mouse snake budgie canary ferret gerbil rat cow sheep pig goose "
    "kitten puppy rooster frog gecko chinchilla llama").split()


def _animal_at_home(draw: Draw, used: set[str]) -> str:
    """An animal that people keep, and rarely another one."""
    if draw.chance(0.15):
        return _drawn(draw, "critter", used)
    return draw.choice([animal for animal in _PETS if animal not in used])


def _tastes(draw: Draw, used: set[str]) -> Fact:
    """What the user likes and does not like."""
    kind, likes, dislikes = draw.choice(TASTES)
    liked, disliked = _drawn(draw, kind, used), ""
    more = _drawn(draw, kind, {*used, liked}) if draw.chance(0.3) else ""
    disliked = _drawn(draw, kind, {*used, liked, more})
    shown = f"{liked} and {more}" if more else liked
    told = {"a": shown, "b": disliked}
    yes, no = f"You like {shown}.", f"You do not like {disliked}."
    askings: list[Asking] = [((*LIKED, *likes), yes), ((*LIKED, *likes), yes), ((*DISLIKED, *dislikes), no), ((*DISLIKED, *dislikes), no),
        ((f"do i like {liked}", f"do i like {liked}?", f"did i say that i like {liked}"), verdict(yes, True)),
        ((f"do i like {disliked}", f"do i like {disliked}?", f"did i say that i like {disliked}"), verdict(no, False)),
        (("what do i like and what not", "what do i like, and what don't i like", "sum up my taste"), f"You like {shown}, but you do not like {disliked}.")]
    return Fact({"taste"}, draw.choice(LIKING).format(**told), draw.choice(LIKING_REPLIES).format(**told), askings, f"you like {shown} but not {disliked}",
        [word for word in (liked, more, disliked) if word])


def tastes_of_two(draw: Draw, between: Between) -> list[Turn]:
    """What two people of the family like and do not like, or do, and questions from both ends."""
    used: set[str] = set()
    first, name = _person(draw, used)
    second, name2 = _person(draw, {name}, first)
    people = draw.choice(((f"my {first}", f"my {second}"), (f"my {first} {name}", f"my {second} {name2}"), (name, name2), ("i", f"my {second}"), ("i", name2)))
    kind = draw.choice([kind for kind, *_ in TASTES])
    things = [_drawn(draw, kind, used) for _ in range(2)]
    while things[0] == things[1]:
        things[1] = _drawn(draw, kind, used)
    second_likes = draw.chance(0.5)
    verbs = (True, second_likes)
    told = [_likes(person, thing, likes, "i") for person, thing, likes in zip(people, things, verbs)]
    turns = [Turn(draw.choice((" and ", ", but ", ", and ", ". ")).join(told), draw.choice(THANKS), (), (*things, name, name2))]
    if draw.chance(0.3):
        turns += _other_topic(draw, between)[:1]
    for at in draw.some((0, 1), draw.number(1, 2)):
        person, thing, likes = people[at], things[at], verbs[at]
        subject = _likes(person, thing, likes, "you")
        do = "do" if person == "i" else "does"
        form = draw.number(0, 2)
        if form == 0:
            question = f"what {do} {person} {'like' if likes else draw.choice(('not like', 'dislike'))}"
        elif form == 1:
            question = f"who {'likes' if likes else 'does not like'} {thing}"
        else:
            question = f"{do} {person} like {thing}"
        answer = verdict(subject, likes) if form == 2 else capitalized(f"{subject}.")
        turns.append(Turn(question, answer, (), (*things, name, name2)))
    return turns


def _likes(person: str, thing: str, likes: bool, me: str) -> str:
    """`my sister does not like pears`, as the user or as Ember says it."""
    if person == "i":
        return f"{me} like {thing}" if likes else f"{me} do not like {thing}"
    said = person.replace("my ", "your ", 1) if me == "you" else person
    return f"{said} likes {thing}" if likes else f"{said} does not like {thing}"


def changed(draw: Draw, between: Between) -> list[Turn]:
    """A fact that the user corrects or that changes, and a question whose answer is the last one."""
    used: set[str] = set()
    sort = draw.choice([sort for sort in SORTS if sort.name in _CHANGING])
    old, new = _drawn(draw, sort.kind, used), ""
    new = _drawn(draw, sort.kind, {old})
    day = draw.word("day")
    clauses = sort.clauses.split(" | ")
    turns = [Turn(_put(draw.choice(clauses), old, day), _put(draw.choice(sort.replies.split(" | ")), old, day), (), (old,))]
    if draw.chance(0.4):
        turns += _other_topic(draw, between)[:1]
    clause = _put(clauses[0], new, day)
    turns.append(Turn(draw.choice((f"no, {clause}", f"sorry, {clause}, not {old}", f"i meant: {clause}", f"that was wrong, {clause}", f"wait, {clause}", f"correction: {clause}",
        f"i said {old}, but {clause}")), draw.choice(("Thank you for the correction.", f"All right, {new} then.", f"I see: {new}, not {old}.", f"Thank you, {new} it is.")), (), (old, new)))
    if draw.chance(0.4):
        turns += _other_topic(draw, between)[:1]
    turns.append(Turn(_put(draw.wording(sort.asks.split(" | ")), new, day), _put(sort.answer, new, day), (), (new,)))
    return turns


_CHANGING = {"name", "age", "city", "job", "color", "animal", "month", "language", "drink", "instrument", "sport", "children", "house number", "subject"}
