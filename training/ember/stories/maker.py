"""Makes stories: casts a plot with people and things of one split, and writes it out."""

import random
import re
from functools import cache

from ember.split import Split
from ember.stories import phrases, places, world
from ember.stories.animals import ANIMALS, LAND, SEA, TINY
from ember.stories.plots import PLOTS, Plot
from ember.stories.template import choose, fill, tidy
from ember.stories.things import CHILDREN, FOODS, PEOPLE, SIGHTS, SKY, THINGS

#: Singular nouns that a story can be about.
SUBJECTS: list[str] = list(dict.fromkeys([*ANIMALS, *PEOPLE, *CHILDREN, *THINGS, *FOODS, *SIGHTS, *SKY]))

_WORDS = range(130, 321)
_PARAGRAPHS = range(3, 9)
_TIMES_NAMED = 3
_ATTEMPTS = 12
_SENTENCE_END = re.compile(r'[.!?]"?(?= [A-Z"])')


def story(rng: random.Random, split: Split, subject: str | None = None) -> str:
    """One whole story of 130 to 320 words, about `subject` if it is given."""
    roles = _roles_of(subject) if subject else ()
    for _ in range(_ATTEMPTS):
        role = rng.choice(roles) if roles else ""
        text = _write(rng, split, rng.choice(_plots_about(role)), role, subject or "")
        if _is_good(text, subject):
            break
    return text


def opening(rng: random.Random, split: Split) -> str:
    """The first one or two sentences of a story, for a model to go on from."""
    first = story(rng, split).split("\n\n")[0]
    ends = [match.end() for match in _SENTENCE_END.finditer(first)]
    wanted = rng.choice((0, 1, 1))
    return first[: ends[min(wanted, len(ends) - 1)]] if ends else first


@cache
def _plots_about(role: str) -> tuple[Plot, ...]:
    return tuple(plot for plot in PLOTS if not role or role in plot.about)


def _roles_of(subject: str) -> tuple[str, ...]:
    """The parts that a subject can play; one that is not known can be a thing or a creature."""
    last = subject.split()[-1]
    for known in (subject, last):
        if known in SEA:
            return ("creature", "creature", "sea creature")
        if known in SKY:
            return ("creature",)
        if known in LAND:
            return ("hero", "hero", "hero", "creature", "land creature")
        if known in PEOPLE or known in CHILDREN:
            return ("hero",)
        if known in FOODS:
            return ("food",)
        if known in SIGHTS:
            return ("sight",)
        if known in THINGS:
            return ("thing",)
    return ("thing", "thing", "hero", "creature", "land creature")


def _is_good(text: str, subject: str | None) -> bool:
    paragraphs = text.split("\n\n")
    if len(text.split()) not in _WORDS or len(paragraphs) not in _PARAGRAPHS:
        return False
    if not subject:
        return True
    ends = [match.end() for match in _SENTENCE_END.finditer(paragraphs[0])]
    start = paragraphs[0][: ends[1]] if len(ends) > 1 else paragraphs[0]
    return subject in start.lower() and text.lower().count(subject) >= _TIMES_NAMED


def _hero(rng: random.Random, split: Split, plot: Plot, subject: str) -> world.Character:
    trait = rng.choice(plot.traits or places.TRAITS)
    if subject:
        return world.being(rng, split, subject, trait, named=0.4)
    kind = rng.choice(plot.heroes)
    if kind == "child":
        return world.child(rng, split, trait)
    if kind == "person":
        return world.being(rng, split, world.pick(rng, PEOPLE, split), trait)
    return world.being(rng, split, world.animal_kind(rng, split), trait)


def _met(rng: random.Random, split: Split, plot: Plot, avoid: tuple[str, ...]) -> str:
    """The kind of animal that the hero meets, which is not a tiny one."""
    if "sea creature" in plot.about:
        return world.pick(rng, SEA, split)
    return world.animal_kind(rng, split, (*avoid, *TINY))


def _noun(rng: random.Random, split: Split, known: list[str], subject: str, adjectives: list[str], chance: float) -> world.Noun:
    """The subject, or one of the known nouns or an invented one, with an adjective as often as `chance` says."""
    adjective = rng.choice(adjectives) if rng.random() < chance else ""
    if subject:
        return world.Noun(subject, "" if " " in subject else adjective)
    name = world.thing_name(rng, split, known)
    return world.Noun(name, "" if " " in name else adjective)


def _cast(rng: random.Random, split: Split, plot: Plot, role: str, subject: str) -> dict:
    """The fields of a story: its people, animals, things and places."""

    def about(wanted: str) -> str:
        return subject if role.endswith(wanted) else ""

    hero = _hero(rng, split, plot, about("hero"))
    trait = rng.choice(places.TRAITS)
    if hero.kind in CHILDREN or hero.kind in PEOPLE:
        friend = world.child(rng, split, trait, (hero.name,), hero.gender)
    else:
        kind = world.animal_kind(rng, split, (hero.kind,))
        friend = world.being(rng, split, kind, trait, (hero.name,))
    met = about("creature") or _met(rng, split, plot, (hero.kind, friend.kind))
    weather = rng.choice(places.WEATHERS)
    place, where = rng.choice(list(places.PLACES.items()))
    return {
        "h": hero,
        "f": friend,
        "e": world.elder(rng, split, hero, (hero.kind, friend.kind, met)),
        "a": world.creature(rng, split, met, rng.choice(("little", "small", "young", "big", "tired", "hungry", "lost"))),
        "thing": _noun(rng, split, THINGS, about("thing"), places.COLORS + places.LOOKS, 0.6),
        "a_color": world.article(rng.choice(places.COLORS)),
        "food": _noun(rng, split, FOODS, about("food"), ["big", "warm", "sweet", "fresh"], 0.3),
        "sight": _noun(rng, split, SIGHTS, about("sight"), ["old", "great", "famous", "huge"], 0.4),
        "place": place,
        "at_place": f"{where} the {place}",
        "weather": weather,
        "home": hero.home if hero.home and rng.random() < 0.8 else rng.choice(places.HOMES),
    }


def _begin(rng: random.Random, plot: Plot, fields: dict) -> None:
    """Chooses the opening, and words for the next time of day that go with it."""
    hero = fields["h"]
    intros = phrases.STATE_INTROS
    if hero.name and rng.random() < 0.3:
        intros = phrases.NAMED_INTROS
    in_action = "{intro}" in plot.text and "{when}" in plot.text and rng.random() < 0.2
    if in_action:
        intros = phrases.EVENT_INTROS
    texts, weights = zip(*intros)
    fields["intro"] = choose(rng, rng.choices(texts, weights)[0])
    fields["when"] = rng.choice(places.SAME_DAYS if in_action else places.DAYS)
    fields["night"] = rng.choice(places.NIGHTS)


def _write(rng: random.Random, split: Split, plot: Plot, role: str, subject: str) -> str:
    fields = _cast(rng, split, plot, role, subject)
    _begin(rng, plot, fields)
    for name, values in plot.facts.items():
        value = rng.choice(values)
        if isinstance(value, str):
            fields[name] = value
        else:
            fields.update({f"{name}{place}": part for place, part in enumerate(value)})
    return tidy(fill(choose(rng, plot.text), fields))
