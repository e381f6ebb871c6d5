"""The shortest questions: a thing and a word for what is asked of it, or for what is claimed, without a sentence around them."""

from collections.abc import Callable
from dataclasses import dataclass

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..grammar import bare, capitalized, number_word, plural, verdict, with_article
from . import facts_classes
from .facts_asking import asked
from .facts_living import _legs, _needs_no_in, classed
from .facts_things import _CLEAR_USES, _use_said, opposites
from .facts_verdicts import _UNDECIDED


@dataclass(frozen=True)
class Short:
    """A thing by its bare name, words for what is asked of it, what is so, and in short what is right and wrong."""

    thing: str
    keys: tuple[str, ...]
    fact: str
    right: str
    wrong: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()


_ASK = ["{k} {x}", "{x} {k}", "{x} {k}?", "{k} {x}?", "{k}: {x}", "{x}: {k}", "{x}: {k}?", "{x}, {k}?", "{k} of {x}", "{k} of {x}?", "{x}'s {k}", "{x} - {k}", "{k}, {x}", "{K} {x}?", "{x} {k} please",
    "{k} {x} please", "hey {k} {x}", "{x} {k} quick", "{x} and its {k}", "need {k} of {x}", "{X}: {k}", "{k}? {x}", "{x} ... {k}?", "{k} for {x}"]
#: For words of asking that are no nouns, such as `where`.
_ASK_OTHER = ["{k} {x}", "{x} {k}", "{x} {k}?", "{k} {x}?", "{x}: {k}", "{x}: {k}?", "{x}, {k}?", "{K} {x}?", "{x} {k} please", "hey {k} {x}", "{k}, {x}?", "{x} - {k}", "{x}? {k}", "{k}? {x}", "so {x} {k}",
    "{x} ... {k}", "{X}, {k}", "ok {x} {k}", "{x} {k} then", "{k} {x} ember"]
#: For words that stand before the name only: `after May`.
_ASK_BEFORE = ["{k} {x}", "{k} {x}?", "{K} {x}?", "{k} {x} please", "hey {k} {x}", "so {k} {x}?", "ok {k} {x}", "ember {k} {x}", "{k} {x} quick", "{k} {x} pls"]
_CLAIM = ["{x} {v}?", "{x} {v} yes or no", "{x} = {v}?", "{x}: {v}?", "{x} {v} right", "{x} {v} true?", "{x} is {v}?", "{x} {v} or not", "{x}, {v}, true?", "{v}: {x}?", "{X} {v}?", "{x} {v}, correct?",
    "{x} {v} yes?", "{x} {v} true or false", "hey {x} {v}?", "{x} - {v}?", "so {x} {v}?", "{x} ... {v}?", "{x} really {v}?", "{x} {v} no?"]
_CHOOSE = ["{x} {v} or {w}", "{x} {v} or {w}?", "{x}: {v} or {w}", "{x}: {v} or {w}?", "{v} or {w}: {x}", "{x}, {v} or {w}?", "{x} - {v} or {w}", "{X}: {v} or {w}?", "{v} or {w}? {x}", "{x} {v} / {w}",
    "{v} {w} {x} which", "so {x} {v} or {w}"]
_NOUNS = frozenset("color colour shade kind class type legs home habitat food diet sound noise baby young capital continent language opposite antonym use purpose days length plural past letters rhyme parts number size".split())


def _color(draw: Draw) -> Short:
    row = draw.familiar(seeds.facts("colors"), 2)
    thing = f"the {row['thing']}" if row["article"] == "the" else row["thing"]
    wrong = tuple(name for name in "red blue green yellow black white pink brown orange".split() if name not in row["color"] and (thing, name) not in _UNDECIDED)
    return Short(bare(thing), ("color", "colour", "what color", "which color", "color"), f"{thing} {'are' if row['number'] == 'plural' else 'is'} {row['color']}", row["color"], wrong)


def _animal_class(draw: Draw) -> Short:
    known = dict(classed())
    animal = draw.familiar(list(known))
    wrong = tuple(name for name in ("mammal", "bird", "fish", "insect", "reptile") if name != known[animal])
    return Short(animal, ("kind of animal", "class", "what animal", "what kind"), f"{with_article(animal)} is {with_article(known[animal])}", known[animal], wrong)


def _thing_class(draw: Draw) -> Short:
    thing, kind = facts_classes._drawn(draw)
    return Short(bare(thing), ("what", "what is it", "what kind of thing", "kind"), f"{thing} is {facts_classes._named(kind.name)}", kind.name, kind.never)


def _animals(draw: Draw) -> Short:
    row = draw.familiar(seeds.facts("animals"))
    animal, xs = row["animal"], plural(row["animal"])
    form = draw.number(0, 2)
    if form == 0:
        legs = int(row["legs"])
        wrong = tuple(f"{number_word(number)} legs" for number in (2, 4, 6, 8) if number != legs)
        return Short(animal, ("legs", "how many legs", "number of legs", "legs"), _legs(row).removesuffix("."), f"{number_word(legs) if legs else 'no'} legs", wrong)
    if form == 1:
        where = row["home"] if _needs_no_in(row["home"]) else f"in {row['home']}"
        return Short(animal, ("home", "where", "where does it live", "habitat", "lives where"), f"{xs} live {where}", "")
    return Short(animal, ("food", "eats what", "what does it eat", "diet", "eats"), f"{xs} eat {row['food']}", "")


def _sound(draw: Draw) -> Short:
    rows = [row for row in seeds.facts("sounds") if not row["sound"].startswith("a ") and row["sound"] != "song"]
    row = draw.familiar(rows)
    if draw.chance(0.4):
        return Short(row["animal"], ("baby", "young", "baby name", "name of the baby"), f"a baby {row['animal']} is called {with_article(row['baby'])}", row["baby"])
    return Short(row["animal"], ("sound", "says what", "noise", "goes how"), f"{with_article(row['animal'])} says {row['sound']}", f"says {row['sound']}",
        tuple(sorted({f"says {other['sound']}" for other in rows} - {f"says {row['sound']}"})))


def _country(draw: Draw) -> Short:
    rows = seeds.facts("capitals")
    row = draw.familiar(rows, 2)
    country, form = row["country"], draw.number(0, 3)
    if form <= 1:
        wrong = tuple(other["capital"] for other in draw.some(rows, 6) if other is not row)
        return Short(country.removeprefix("the "), ("capital", "capital city", "capital", "which capital"), f"the capital of {country} is {row['capital']}", row["capital"], wrong)
    if form == 2 and " and " not in row["continent"]:
        wrong = tuple(name for name in ("Europe", "Asia", "Africa", "South America") if name != row["continent"] and name not in row["continent"])
        return Short(country.removeprefix("the "), ("continent", "which continent", "what continent", "continent"), f"{country} is in {row['continent']}", f"in {row['continent']}",
            tuple(f"in {name}" for name in wrong))
    return Short(row["capital"], ("country", "which country", "capital of what", "what country"), f"{row['capital']} is the capital of {country}", f"capital of {country}",
        tuple(f"capital of {other['country']}" for other in draw.some(rows, 5) if other is not row))


def _opposite(draw: Draw) -> Short:
    known = opposites()
    word = draw.familiar(list(known))
    return Short(word, ("opposite", "antonym", "the opposite", "opposite"), f"the opposite of {word} is {known[word]}", known[word], (), (word,))


def _tool(draw: Draw) -> Short:
    row = draw.familiar(seeds.facts("tools"), 2)
    words = set(row["use"].split())
    wrong = tuple(f"for {use}" for use in _CLEAR_USES if not words & (set(use.split()) - {"a", "the", "and", "in", "of", "things", "with"}))
    return Short(bare(row["tool"]), ("use", "what for", "used for what", "purpose", "good for what"), _use_said(row).removesuffix("."), f"for {row['use']}", wrong)


def _body(draw: Draw) -> Short:
    row = draw.choice(seeds.facts("body"))
    many = row["number"] != "one"
    part = row["part"] if many else f"the {row['part']}"
    return Short(row["part"], ("use", "what for", "purpose", "good for what", "for what"), f"{part} {'are' if many else 'is'} for {row['use']}", f"for {row['use']}")


def _month(draw: Draw) -> Short:
    row = draw.choice([row for row in seeds.facts("months") if row["name"] != "February"])
    wrong = tuple(f"{number} days" for number in ("28", "30", "31", "32") if number != row["days"])
    return Short(row["name"], ("days", "how many days", "length", "number of days"), f"{row['name']} has {row['days']} days", f"{row['days']} days", wrong)


def _after(draw: Draw) -> Short:
    names = [row["name"] for row in seeds.facts(draw.choice(("days", "months")))]
    at, (by, word) = draw.number(0, len(names) - 1), draw.choice(((1, "after"), (-1, "before")))
    return Short(names[at], (word, f"what {word}", f"what is {word}"), f"{names[(at + by) % len(names)]} comes {word} {names[at]}", names[(at + by) % len(names)])


def _form(draw: Draw) -> Short:
    if draw.chance(0.5):
        row = draw.familiar(seeds.words("verbs"))
        return Short(row["verb"], ("past tense", "past", "past form", "in the past"), f"the past tense of {row['verb']} is {row['past']}", row["past"], (), (row["verb"],))
    noun = draw.word(draw.choice(("animal", "object")))
    return Short(noun, ("plural", "in plural", "plural form", "two of them"), f"the plural of {noun} is {plural(noun)}", plural(noun), (), (noun,))


def _letters(draw: Draw) -> Short:
    word = draw.choice(vocabulary.familiar_words())
    form = draw.number(0, 2)
    if form == 0:
        return Short(word, ("letters", "how many letters", "number of letters", "letter count"), f"{'-'.join(word.upper())} has {len(word)} letters", "", (), (word,))
    place = "first" if form == 1 else "last"
    return Short(word, (f"{place} letter", f"what {place} letter"), f"the {place} letter of {word} is {word[0 if form == 1 else -1].upper()}", "", (), (word,))


_MAKERS: tuple[tuple[Callable[[Draw], Short], int], ...] = ((_color, 9), (_animal_class, 7), (_thing_class, 7), (_animals, 9), (_sound, 5), (_country, 12), (_opposite, 5), (_tool, 7), (_body, 5),
    (_month, 4), (_after, 4), (_form, 4), (_letters, 4))


def short(draw: Draw) -> list[Turn]:
    """One to four questions of a few words: for a fact, for one of two values, or whether a value is right."""
    maker = draw.rng.choices([maker for maker, _ in _MAKERS], [weight for _, weight in _MAKERS])[0]
    turns: list[Turn] = []
    holds = draw.chance(0.5)
    for _ in range(draw.rng.choices((1, 2, 3, 4), (6, 4, 2, 1))[0]):
        one = maker(draw)
        form = draw.rng.choices(("ask", "claim", "choose"), (6, 5 if one.wrong else 0, 2 if one.wrong else 0))[0]
        values = {"x": one.thing, "X": capitalized(one.thing)}
        if form == "ask":
            key = draw.choice(one.keys)
            question = asked(draw, _wordings(key), k=key, K=capitalized(key), **values)
            turns.append(Turn(question, f"{capitalized(one.fact)}.", one.protected))
        elif form == "claim":
            holds = not holds if draw.chance(0.7) else holds
            value = one.right if holds else draw.choice(one.wrong)
            turns.append(Turn(asked(draw, _CLAIM, v=value, **values), verdict(one.fact, holds), one.protected))
        else:
            first, second = draw.some((one.right, draw.choice(one.wrong)), 2)
            turns.append(Turn(asked(draw, _CHOOSE, v=first, w=second, **values), f"{capitalized(one.fact)}.", one.protected))
        if draw.chance(0.4):
            maker = draw.rng.choices([maker for maker, _ in _MAKERS], [weight for _, weight in _MAKERS])[0]
    return turns


def _wordings(key: str) -> list[str]:
    """The ways to ask with a word: a noun, or another one."""
    first, last = key.split()[0], key.split()[-1]
    if last in ("after", "before"):
        return _ASK_BEFORE
    return _ASK if last in _NOUNS and first not in ("what", "how", "which", "in") else _ASK_OTHER
