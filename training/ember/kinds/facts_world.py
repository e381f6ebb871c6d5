"""Facts about countries, planets and time."""

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, number_word, verdict
from .facts_asking import also, also_of, asked

_CAPITAL = [
    "what is the capital of {x}", "What is the capital of {x}?", "capital of {x}", "capital of {x}?", "the capital of {x}",
    "tell me the capital of {x}", "do you know the capital of {x}",
    "which city is the capital of {x}", "Which city is the capital of {x}?", "name the capital of {x}", "whats {x}'s capital",
    "what city is {x}'s capital?", "can you tell me what the capital of {x} is",
    "{x} capital", "what is {x} capital city", "capital city of {x}", "i need the capital of {x}",
    "what do they call the capital of {x}",
]


def capital(draw: Draw) -> list[Turn]:
    """Capitals, with follow-ups: and of Italy? on which continent is that?"""
    rows = seeds.facts("capitals")
    row = draw.familiar(rows)
    turns = [Turn(asked(draw, _CAPITAL, x=row["country"]), _capital_answer(draw, row))]
    while draw.chance(0.35) and len(turns) < 5:
        form = draw.number(0, 4)
        if form <= 2:
            row = draw.familiar([other for other in rows if other is not row])
            turns.append(Turn(also_of(draw, row["country"]), _capital_answer(draw, row)))
        elif form == 3:
            turns.append(Turn(asked(draw, ["on which continent is that", "which continent is it on?", "what continent?",
                "where is that", "and the continent?"]), f"{capitalized(row['country'])} is in {row['continent']}."))
        else:
            turns.append(Turn(asked(draw, ["what language do they speak there", "and which language?",
                "which language do people speak there?"]), f"In {row['country']}, people speak {row['language']}."))
    return turns


def _sentence(text: str) -> str:
    """`text` with a full stop, unless an abbreviation ends it with one."""
    return text if text.endswith(".") else f"{text}."


def _capital_answer(draw: Draw, row: seeds.Row) -> str:
    plain = _sentence(f"The capital of {row['country']} is {row['capital']}")
    other = f"{row['capital']} is the capital of {row['country']}."
    return plain if draw.chance(0.85) else other


def claimed_capital(draw: Draw) -> list[Turn]:
    """Is Lyon the capital of France?"""
    row = draw.familiar(seeds.facts("capitals"))
    if draw.chance(0.45):
        city = row["capital"]
    elif row["other_city"] != "-" and draw.chance(0.7):
        city = row["other_city"]
    else:
        city = draw.choice([other["capital"] for other in seeds.facts("capitals") if other["capital"] != row["capital"]])
    right = city == row["capital"]
    answer = verdict(f"the capital of {row['country']} is {row['capital']}", right)
    return [Turn(asked(draw, [
        "is {c} the capital of {x}", "Is {c} the capital of {x}?", "{c} is the capital of {x}, right?",
        "is the capital of {x} {c}", "isn't {c} the capital of {x}?", "i think {c} is the capital of {x}",
        "the capital of {x} is {c}, is that right?", "is it true that {c} is the capital of {x}",
        "{c} is the capital of {x}", "true or false: {c} is the capital of {x}", "so {c} is the capital of {x}?", "does {x} have the capital {c}", "would you say {c} is the capital of {x}?",
        "the capital of {x} is {c}", "tell me if {c} is the capital of {x}",
    ], c=city, x=row["country"]), answer)]


def country_of(draw: Draw) -> list[Turn]:
    """In which country a city lies, also where it is claimed."""
    rows = [row for row in seeds.facts("capitals") if not row["country"].startswith("the United Kingdom")
        and row["capital"] not in ("Tripoli", "London")]
    row = draw.familiar(rows)
    city = row["capital"] if row["other_city"] in ("-", "Tripoli", "Antigua",
        "Santiago") or draw.chance(0.6) else row["other_city"]
    if draw.chance(0.6):
        question = asked(draw, ["where is {c}", "Where is {c}?", "in which country is {c}", "which country is {c} in",
            "what country is {c} in?", "{c} is in which country", "where can i find {c}", "{c} is where", "country of {c}?", "tell me where {c} is", "to which country does {c} belong",
            "where in the world is {c}", "{c}, which country is that", "whereabouts is {c}?"], c=city)
        return [Turn(question, f"{city} is in {row['country']}.")]
    claim = row if draw.chance(0.4) else draw.choice([other for other in rows if other["continent"] == row["continent"]])
    answer = verdict(f"{city} is in {row['country']}", claim is row)
    return [Turn(asked(draw, ["is {c} in {x}", "Is {c} in {x}?", "{c} is in {x}, right?", "does {c} lie in {x}",
        "is it true that {c} is in {x}", "i think {c} is in {x}", "so {c} is in {x}?", "true or false: {c} is in {x}", "isn't {c} in {x}?", "{c} is in {x}", "{c} belongs to {x}, right?",
        "is {c} a city in {x}"], c=city, x=claim["country"]), answer)]


def continent(draw: Draw) -> list[Turn]:
    """Continents and languages of countries."""
    row = draw.familiar(seeds.facts("capitals"))
    country = row["country"]
    form = draw.number(0, 2)
    if form == 0:
        turns = [Turn(asked(draw, ["on which continent is {x}", "which continent is {x} on?", "what continent is {x} in",
            "where is {x}", "Where is {x}?", "in which part of the world is {x}", "continent of {x}?", "{x} is on which continent", "{x}: which continent", "tell me the continent of {x}",
            "to which continent does {x} belong?", "whats the continent of {x}"], x=country),
            f"{capitalized(country)} is in {row['continent']}.")]
        if draw.chance(0.3):
            row = draw.familiar(seeds.facts("capitals"))
            turns.append(Turn(also(draw, row["country"]), f"{capitalized(row['country'])} is in {row['continent']}."))
        return turns
    if form == 1:
        claim = row["continent"] if draw.chance(0.45) else draw.choice([name for name in ("Europe", "Asia", "Africa",
            "South America", "North America") if name != row["continent"]])
        said = f"{country} is in {row['continent']}."
        return [Turn(asked(draw, ["is {x} in {c}", "is {x} a country in {c}?", "{x} is in {c}, right?",
            "does {x} belong to {c}", "i think {x} is in {c}", "so {x} is in {c}?", "is it true that {x} is in {c}", "true or false: {x} is in {c}", "{x} is in {c}", "does {x} lie in {c}?",
            "is {x} part of {c}"], x=country, c=claim),
            verdict(said, claim == row["continent"]))]
    return [Turn(asked(draw, ["what language do they speak in {x}", "Which language is spoken in {x}?",
        "what do people speak in {x}", "language of {x}?", "which languages are spoken in {x}", "what is the language of {x}", "{x}: which language", "tell me the language of {x}",
        "what language is spoken in {x}?", "whats the language in {x}", "i go to {x}, which language do they speak"], x=country),
        f"In {country}, people speak {row['language']}.")]


def places_on_earth(draw: Draw) -> list[Turn]:
    """Lists of continents, oceans and planets, and what is known of each."""
    form = draw.number(0, 5)
    planets = seeds.facts("planets")
    if form == 0:
        name = draw.choice(("continents", "oceans", "planets"))
        rows = seeds.facts(name)
        names = [f"the {row['name']}" if name == "oceans" else row["name"] for row in rows]
        return [Turn(asked(draw, ["name the {n}", "list the {n}", "which {n} are there", "what are the {n}?", "tell me all {n}",
            "list all {n} please"], n=name), f"The {number_word(len(rows))} {name} are {listed(names)}.")]
    if form == 1:
        row = draw.choice(seeds.facts("continents"))
        return [Turn(asked(draw, ["tell me about {x}", "what is {x}", "what do you know about {x}", "something about {x}?"],
            x=row["name"]), row["fact"])]
    if form == 2:
        row = draw.choice(seeds.facts("oceans"))
        return [Turn(asked(draw, ["tell me about the {x} ocean", "what do you know about the {x} Ocean", "what is the {x}?",
            "where is the {x} Ocean", "where does the {x} Ocean lie?", "something about the {x} Ocean", "a fact about the {x} Ocean", "describe the {x} Ocean"], x=row["name"]), row["fact"])]
    if form == 3:
        row = draw.choice(planets)
        return [Turn(asked(draw, ["tell me about {x}", "what do you know about the planet {x}", "what is {x}",
            "a fact about {x}"], x=row["name"]), row["fact"])]
    if form == 4:
        row = draw.choice(planets)
        return [Turn(asked(draw, ["which planet is the {o} from the sun", "what is the {o} planet",
            "name the {o} planet from the sun", "the {o} planet is called what", "{o} planet?", "Which planet is the {o} one from the sun?", "tell me the {o} planet", "whats the {o} planet"], o=row["ordinal"]),
            f"The {row['ordinal']} planet from the sun is {row['name']}.")]
    answer, questions = draw.choice([
        ("Jupiter is the largest planet.", ["which planet is the largest", "what is the biggest planet", "biggest planet?",
        "the largest planet is?"]),
        ("Mercury is the smallest planet.", ["which planet is the smallest", "what is the smallest planet?", "smallest planet"]),
        ("Venus is the hottest planet.", ["which planet is the hottest", "what is the hottest planet?", "hottest planet"]),
        ("Mars is called the red planet.", ["which planet is red", "what is the red planet called",
        "which one is the red planet?"]),
        ("Saturn is known for its rings.", ["which planet has rings", "what planet is known for its rings?",
        "the planet with the rings?"]),
        ("Mercury is the planet closest to the sun.", ["which planet is closest to the sun", "nearest planet to the sun?",
        "what planet is next to the sun"]),
        ("Neptune is the planet farthest from the sun.", ["which planet is farthest from the sun", "what is the last planet",
        "most distant planet?"]),
        ("We live on Earth.", ["on which planet do we live", "what planet do we live on?", "which planet is ours"]),
        ("Asia is the largest continent.", ["which continent is the largest", "biggest continent?",
        "what is the largest continent"]),
        ("Australia is the smallest continent.", ["which continent is the smallest", "smallest continent?",
        "what is the smallest continent"]),
        ("The Pacific is the largest ocean.", ["which ocean is the largest", "biggest ocean?", "what is the largest ocean"]),
        ("Mount Everest is the highest mountain on Earth.", ["what is the highest mountain",
        "which mountain is the highest on earth?", "highest mountain"]),
        ("Russia is the largest country.", ["which country is the largest", "biggest country in the world?",
        "what is the largest country"]),
        ("The blue whale is the largest animal.", ["what is the largest animal", "biggest animal?",
        "which animal is the biggest"]),
        ("The cheetah is the fastest animal on land.", ["what is the fastest animal", "fastest land animal?",
        "which animal runs fastest"]),
        ("The giraffe is the tallest animal.", ["what is the tallest animal", "tallest animal?", "which animal is the tallest"]),
        ("The elephant is the largest animal on land.", ["what is the largest land animal", "biggest animal on land?"]),
        ("The ostrich is the largest bird.", ["what is the largest bird", "biggest bird?", "which bird is the biggest"]),
    ])
    return [Turn(asked(draw, questions), answer)]


def landmarks(draw: Draw) -> list[Turn]:
    """Where a river, a mountain or a building is, and whether it is somewhere else; then the same for another one."""
    rows = seeds.facts("landmarks")
    row = draw.choice(rows)
    if draw.chance(0.45):
        return _claimed_place(draw, row)
    turns = [Turn(asked(draw, ["where {v} {x}", "Where {v} {x}?", "where do i find {x}", "in which {k} {v} {x}", "which {k} {v} {x} in?", "what {k} {v} {x} in", "{x} {v} where",
        "where can i see {x}", "where in the world {v} {x}?", "{x}, where {v} that", "tell me where {x} {v}", "i want to see {x}, where do i go", "whereabouts {v} {x}?"],
        x=row["place"], k=row["kind"], v=_is_or_are(row["place"])).replace("where are that", "where is that"), _place_said(row))]
    while draw.chance(0.35) and len(turns) < 4:
        row = draw.choice([other for other in rows if other is not row])
        turns.append(Turn(also(draw, row["place"]), _place_said(row)))
    return turns


def _place_said(row: seeds.Row) -> str:
    return capitalized(f"{row['place']} {_is_or_are(row['place'])} in {row['where']}.")


def _is_or_are(place: str) -> str:
    return "are" if place.endswith(("Alps", "Andes", "Himalayas", "Mountains", "Pyrenees", "Carpathians", "Lakes", "Balkans")) else "is"


def _claimed_place(draw: Draw, row: seeds.Row) -> list[Turn]:
    """Is the Nile in Asia? And in Africa?"""
    others = sorted({other["where"] for other in seeds.facts("landmarks") if other["kind"] == row["kind"] and not {other["where"], row["where"]} <= {"England", "Scotland",
        "the United Kingdom"}} - {row["where"]})
    turns = []
    for number in range(draw.rng.choices((1, 2), (3, 1))[0]):
        right = draw.chance(0.47) if not turns else turns[0].answer.endswith("no.")
        claim = row["where"] if right else draw.choice(others)
        wordings = ["and in {c}?", "in {c}?", "in {c}, then?"] if number else ["{v} {x} in {c}", "{V} {x} in {c}?", "{x} {v} in {c}, right?", "is it true that {x} {v} in {c}",
            "i think {x} {v} in {c}", "so {x} {v} in {c}?", "true or false: {x} {v} in {c}", "my friend says {x} {v} in {c}, is that right", "do i find {x} in {c}?",
            "{v} {x} really in {c}", "{x} {v} in {c}, isn't that so?"]
        verb = _is_or_are(row["place"])
        turns.append(Turn(asked(draw, wordings, x=row["place"], c=claim, v=verb, V=capitalized(verb)), verdict(_place_said(row), right)))
    return turns


def planets(draw: Draw) -> list[Turn]:
    """The order of the planets: next to each other, their numbers, and claims about these."""
    rows = seeds.facts("planets")
    at = draw.number(0, len(rows) - 1)
    row = rows[at]
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (4, 2, 1))[0]):
        form = draw.number(0, 3)
        if form == 0 and at < len(rows) - 1:
            turns.append(Turn(asked(draw, ["which planet comes after {x}", "what planet is after {x}?", "which planet is next to {x}, farther from the sun", "planet after {x}?",
                "counting from the sun, which planet follows {x}?", "the next planet after {x}"], x=row["name"]), f"{rows[at + 1]['name']} comes after {row['name']}."))
        elif form == 1 and at:
            turns.append(Turn(asked(draw, ["which planet comes before {x}", "what planet is before {x}?", "planet before {x}?", "counting from the sun, which planet is before {x}?",
                "the planet right before {x}"], x=row["name"]), f"{rows[at - 1]['name']} comes before {row['name']}."))
        elif form == 2:
            turns.append(Turn(asked(draw, ["which number from the sun is {x}", "what number planet is {x}",
                "{x} is which planet from the sun", "where in the order of planets is {x}?"], x=row["name"]), f"{row['name']} is the {row['ordinal']} planet from the sun."))
        else:
            claim = row if draw.chance(0.5) else draw.choice([other for other in rows if other is not row])
            turns.append(Turn(asked(draw, ["is {x} the {o} planet", "Is {x} the {o} planet from the sun?", "{x} is the {o} planet, right?", "is it true that {x} is the {o} planet",
                "i think {x} is the {o} planet from the sun", "the {o} planet is {x}, correct?"], x=row["name"], o=claim["ordinal"]),
                verdict(f"{row['name']} is the {row['ordinal']} planet from the sun", claim is row)))
        at = draw.number(0, len(rows) - 1)
        row = rows[at]
    return turns


_SYLLABLES = "bar bel dor fen gal hul kor lan mar nol pel rav sol tam ur vel wes yor zan bru cri flo gri plu sna tro".split()
_ENDINGS = ("ia", "land", "istan", "onia", "aria", "esia", "mark", "avia", "ora", "una")


def unknown(draw: Draw) -> list[Turn]:
    """A country that does not exist, a city that is asked for its capital: nothing is invented."""
    if draw.chance(0.35):
        row = draw.choice([row for row in seeds.facts("capitals") if row["capital"] not in row["country"]])
        return [Turn(asked(draw, _CAPITAL, x=row["capital"]),
            _sentence(f"{row['capital']} is a city. It is the capital of {row['country']}"))]
    known = {row["country"].lower() for row in seeds.facts("capitals")}
    while (name := capitalized("".join(draw.some(_SYLLABLES, draw.number(1, 2))) + draw.choice(_ENDINGS))).lower() in known:
        pass
    answers = [f"I do not know a country called {name}. Did you spell it right?",
        f"I have never heard of {name}, so I cannot tell.", f"I know no country of that name. Is {name} spelled right?"]
    return [Turn(asked(draw, _CAPITAL, x=name), draw.choice(answers), (name,))]
