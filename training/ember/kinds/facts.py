"""Facts of all kinds."""

from ..chat import Turn
from ..draw import Draw
from . import facts_calendar, facts_classes, facts_compared, facts_forms, facts_living, facts_premises, facts_short, facts_stated, facts_things, facts_units, facts_verdicts, facts_words, facts_world

_MAKERS = {
    "is a": (facts_living.is_a, 24),
    "is it": (facts_classes.is_it, 34),
    "what is it": (facts_classes.what_is_it, 16),
    "example": (facts_classes.example, 4),
    "premise": (facts_premises.premise, 30),
    "what is": (facts_living.what_is, 10),
    "legs": (facts_living.legs, 4),
    "claimed legs": (facts_living.claimed_legs, 4),
    "flying": (facts_living.flying, 4),
    "living": (facts_living.living, 10),
    "sounds": (facts_living.sounds, 11),
    "body": (facts_living.body, 9),
    "capital": (facts_world.capital, 22),
    "claimed capital": (facts_world.claimed_capital, 8),
    "unknown country": (facts_world.unknown, 4),
    "country of": (facts_world.country_of, 6),
    "continent": (facts_world.continent, 8),
    "places on earth": (facts_world.places_on_earth, 9),
    "landmarks": (facts_world.landmarks, 14),
    "planets": (facts_world.planets, 7),
    "days": (facts_calendar.days, 20),
    "months": (facts_calendar.months, 24),
    "lengths of months": (facts_calendar.lengths, 14),
    "seasons": (facts_calendar.seasons, 7),
    "units": (facts_units.units, 16),
    "more of": (facts_units.more_of, 8),
    "alphabet": (facts_calendar.alphabet, 8),
    "longer unit": (facts_units.longer_unit, 6),
    "color": (facts_things.color, 20),
    "food": (facts_things.food, 10),
    "tools": (facts_things.tools, 24),
    "material of a thing": (facts_things.material, 4),
    "vehicles": (facts_things.vehicle, 3),
    "opposite": (facts_things.opposite, 20),
    "comparison": (facts_compared.comparison, 44),
    "given numbers": (facts_compared.given, 14),
    "counting": (facts_things.counting, 15),
    "kinds": (facts_things.kinds, 7),
    "questions": (facts_things.questions, 44),
    "verdicts": (facts_verdicts.verdicts, 60),
    "forms": (facts_forms.forms, 110),
    "parts of the body": (facts_forms.body, 14),
    "abilities": (facts_forms.abilities, 26),
    "stated": (facts_stated.stated, 60),
    "short": (facts_short.short, 80),
    "yes or no": (facts_things.yes_or_no, 34),
    "jobs": (facts_words.jobs, 14),
    "objects": (facts_words.objects, 4),
    "more foods": (facts_words.foods, 6),
    "weather": (facts_words.weather, 2),
    "feelings": (facts_words.feelings, 3),
    "colored": (facts_words.colored, 4),
    "why": (facts_things.why, 24),
    "about": (facts_things.about, 12),
    "rhyme": (facts_things.rhyme, 6),
}


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns about one kind of facts."""
    kind, maker = draw.kind("facts", _MAKERS)
    return kind, maker(draw)
