"""Facts that the tables of words hold: what jobs do, where things are found, what kind of food something is, weather, feelings."""

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, verdict, with_article
from .facts_asking import also, asked

_FOOD_KINDS = {
    "fruit": ("a fruit", "a vegetable"), "vegetable": ("a vegetable", "a fruit"), "sweet": ("a sweet food", "a vegetable"),
    "drink": ("a drink", "a fruit"), "meat": ("meat", "a fruit"), "bread": ("a kind of bread", "a drink"),
    "fish and seafood": ("seafood", "a fruit"), "dairy": ("a dairy food", "a fruit"), "soup": ("a soup", "a drink"),
    "grain": ("a grain", "a fruit"), "snack": ("a snack", "a drink"), "egg dish": ("an egg dish", "a fruit"),
    "main dish": ("a dish", "a drink"),
}


def jobs(draw: Draw) -> list[Turn]:
    """What a baker does and where, and who bakes bread."""
    rows = seeds.words("jobs")
    row = draw.choice(rows)
    job = with_article(row["job"])
    form = draw.number(0, 7)
    if form >= 5:
        return _claimed_job(draw, row)
    if form <= 2:
        turns = [Turn(asked(draw, ["what does {x} do", "What does {x} do?", "what is {x}", "what is the job of {x}",
            "tell me what {x} does", "what do you do as {x}", "whats {x}", "explain the job of {x}",
            "what kind of work does {x} do"], x=job), f"{capitalized(job)} {row['what they do']}.")]
        if draw.chance(0.3):
            turns.append(Turn(asked(draw, ["where", "and where", "where does that happen", "where do they work?",
                "in what place"]), f"{capitalized(job)} mostly works in or near {row['where']}."))
        elif draw.chance(0.3):
            row = draw.choice([other for other in rows if other is not row])
            turns.append(Turn(also(draw, with_article(row["job"])),
                f"{capitalized(with_article(row['job']))} {row['what they do']}."))
        return turns
    same = [other for other in rows if other["what they do"] == row["what they do"]]
    if form == 3 and len(same) == 1:
        return [Turn(asked(draw, ["who {w}", "who {w}?", "which job is it: somebody who {w}", "what do you call a person who {w}",
            "what is the name for someone who {w}"], w=row["what they do"]), f"{capitalized(job)} {row['what they do']}.")]
    return [Turn(asked(draw, ["where does {x} work", "Where does {x} work?", "in what place does {x} work",
        "where can i find {x}"], x=job), f"{capitalized(job)} mostly works in or near {row['where']}.")]


def _claimed_job(draw: Draw, row: seeds.Row) -> list[Turn]:
    """Is it true that a baker repairs shoes? Who bakes bread, a baker or a tailor?"""
    job, does = with_article(row["job"]), row["what they do"]
    other = draw.choice([other for other in seeds.words("jobs") if not set(other["what they do"].split()) & set(does.split())])
    said = f"{job} {does}"
    if draw.chance(0.45):
        first, second = draw.some((job, with_article(other["job"])), 2)
        return [Turn(asked(draw, ["who {w}, {a} or {c}", "who {w}: {a} or {c}?", "{a} or {c}: who {w}", "which of them {w}, {a} or {c}?", "Who {w}, {a} or {c}?",
            "is it {a} or {c} who {w}", "tell me who {w}, {a} or {c}"], w=does, a=first, c=second), f"{capitalized(said)}.")]
    turns = []
    for number in range(draw.rng.choices((1, 2), (3, 1))[0]):
        right = draw.chance(0.48) if not turns else turns[0].answer.endswith("no.")
        claim = does if right else other["what they do"]
        wordings = ["but {x} {w}?", "then {x} {w}, right?"] if number else ["is it true that {x} {w}", "{x} {w}, right?", "i think {x} {w}", "so {x} {w}?",
            "true or false: {x} {w}", "do you think {x} {w}", "my son says {x} {w}", "Is it true that {x} {w}?", "{x} {w}: yes or no?", "surely {x} {w}?", "{x} {w}, correct?"]
        turns.append(Turn(asked(draw, wordings, x=job, w=claim), verdict(said, right)))
    return turns


def objects(draw: Draw) -> list[Turn]:
    """Where a thing is found."""
    row = draw.choice([row for row in seeds.words("objects") if row["article"] in ("a", "an")])
    thing = with_article(row["object"])
    return [Turn(asked(draw, ["where do i find {x}", "Where would you look for {x}?", "where is {x} kept",
        "where do people keep {x}", "where can i find {x}", "where does {x} belong"], x=thing),
        f"You often find {thing} {row['found']}.")]


def foods(draw: Draw) -> list[Turn]:
    """What kind of food something is."""
    rows = [row for row in seeds.words("foods") if row["kind"] in _FOOD_KINDS]
    row = draw.choice(rows)
    turns = [_food_turn(draw, row)]
    if draw.chance(0.3):
        row = draw.choice(rows)
        turns.append(Turn(also(draw, _food(row)), capitalized(_food_said(row))) if "what" in turns[0].user.lower()
            else _food_turn(draw, row))
    return turns


def _food(row: seeds.Row) -> str:
    return row["food"] if row["article"] == "some" else f"{row['article']} {row['food']}"


def _food_said(row: seeds.Row) -> str:
    return f"{_food(row)} {'are' if row['article'] == 'some' and row['food'].endswith('s') and not row['food'].endswith('ss') else 'is'} {_FOOD_KINDS[row['kind']][0]}."


def _food_turn(draw: Draw, row: seeds.Row) -> Turn:
    verb = "are" if " are " in f" {_food_said(row)} " else "is"
    if draw.chance(0.5):
        return Turn(asked(draw, ["what {v} {x}", "What {v} {x}?", "what kind of food {v} {x}", "{x}, what is that",
            "do you know what {x} {v}", "tell me what {x} {v}"], x=_food(row), v=verb), capitalized(_food_said(row)))
    right, wrong = _FOOD_KINDS[row["kind"]]
    claim = right if draw.chance(0.45) else wrong
    return Turn(asked(draw, ["{v} {x} {y}", "{v} {x} {y}?", "{x} {v} {y}, right?", "would you say {x} {v} {y}"], x=_food(row),
        y=claim, v=verb), verdict(_food_said(row), claim == right))


#: Weather that stands without an article.
_WEATHER = set("rain drizzle snow sleet hail frost fog mist wind thunder lightning dew".split())


def weather(draw: Draw) -> list[Turn]:
    """What weather does, and what people do in it."""
    row = draw.choice([row for row in seeds.words("weather") if row["weather"] in _WEATHER])
    if draw.chance(0.5):
        return [Turn(asked(draw, ["what happens when there is {x}", "describe {x}", "what is {x} like",
            "what does {x} look like"], x=row["weather"]), row["what it does"])]
    return [Turn(asked(draw, ["what do people do when there is {x}", "what do we do in {x}",
        "what should one do when there is {x}"], x=row["weather"]), row["what people do"])]


def feelings(draw: Draw) -> list[Turn]:
    """When people feel so, and whether it is a good feeling."""
    row = draw.choice(seeds.words("feelings"))
    if draw.chance(0.6):
        return [Turn(asked(draw, ["when do people feel {x}", "when does one feel {x}?", "when are people {x}",
            "give me an example of when someone is {x}"], x=row["feeling"]),
            f"People often feel {row['feeling']} {row['when']}.")]
    kind = {"good": "a good", "bad": "a bad"}.get(row["kind"], "a mixed")
    return [Turn(asked(draw, ["is {x} a good feeling", "is it good to feel {y}", "what kind of feeling is {x}",
        "is {x} good or bad"], x=row["noun"], y=row["feeling"]), f"{capitalized(row['noun'])} is mostly {kind} feeling.")]


def colored(draw: Draw) -> list[Turn]:
    """Something that has a color."""
    row = draw.choice([row for row in seeds.words("colours") if row["color"] in _COMMON])
    things = draw.some([row[f"thing {number}"] for number in range(1, 5)], 2)
    turns = [Turn(asked(draw, ["what is {c}", "name something {c}", "what things are {c}", "tell me something that is {c}",
        "what has the color {c}", "give me an example of something {c}"], c=row["color"]),
        f"{capitalized(things[0])} {'are' if _many(things[0]) else 'is'} {row['color']}.")]
    if draw.chance(0.3):
        turns.append(Turn(asked(draw, ["something else", "another", "and what else", "one more"]),
            f"{capitalized(things[1])} {'are' if _many(things[1]) else 'is'} {row['color']}, too."))
    return turns


_COMMON = set("red green blue yellow orange purple pink brown black white gray gold silver turquoise".split())


def _many(thing: str) -> bool:
    """Whether a thing is spoken of in the plural."""
    return not thing.startswith(("a ", "an ", "the ")) and thing.endswith("s") and not thing.endswith(("ss", "grass"))
