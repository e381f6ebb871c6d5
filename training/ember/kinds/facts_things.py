"""Facts about things: colors, food, tools, materials, opposites, comparisons, numbers of parts, rhymes."""

import re
from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, verdict, with_article
from .facts_asking import also, also_of, asked


def _is(row: seeds.Row) -> str:
    return "are" if row["number"] == "plural" else "is"


def _thing(row: seeds.Row) -> str:
    return f"the {row['thing']}" if row["article"] == "the" else row["thing"]


#: What a color may be mistaken for.
_CLAIMED_COLORS = "red blue green yellow black white purple pink brown orange gray".split()


def _color_claim(draw: Draw, row: seeds.Row) -> str:
    """The color of a thing, or another one."""
    return row["color"] if draw.chance(0.45) else draw.choice([name for name in _CLAIMED_COLORS if name not in row["color"]])


def _colored(row: seeds.Row) -> str:
    return f"{_thing(row)} {_is(row)} {row['color']}"


def color(draw: Draw) -> list[Turn]:
    """What color is a banana? Is a tomato blue? Then the same thing with another color, or another thing with the same one."""
    if draw.chance(0.1):
        return _mixed_colors(draw)
    rows = seeds.facts("colors")
    row = draw.familiar(rows, 2)
    if draw.chance(0.55):
        return _claimed_colors(draw, row)
    turns = [Turn(asked(draw, ["what color {is_} {x}", "What color {is_} {x}?", "which color {does_} {x} have", "color of {x}?",
        "what's the color of {x}", "tell me the color of {x}", "{x} {is_} what color", "what colour {is_} {x}", "which color {is_} {x}?",
        "do you know what color {x} {is_}", "whats the color of {x}", "{x}: what color", "i want to paint {x}, which color do i take",
        "in which color would you draw {x}", "what is the color of {x}?", "say the color of {x}"], x=_thing(row),
        is_=_is(row), does_="do" if _is(row) == "are" else "does"), capitalized(f"{_colored(row)}."))]
    while draw.chance(0.5) and len(turns) < 4:
        row = draw.choice([other for other in rows if other is not row])
        turns.append(Turn(also(draw, _thing(row)), capitalized(f"{_colored(row)}.")))
    return turns


def _claimed_colors(draw: Draw, row: seeds.Row) -> list[Turn]:
    """Is snow black? And white?"""
    claim = _color_claim(draw, row)
    wordings = ["{is_} {x} {c}", "{Is_} {x} {c}?", "{x} {is_} {c}, right?", "is it true that {x} {is_} {c}", "i think {x} {is_} {c}", "so {x} {is_} {c}?",
        "{is_} {x} {c} or not", "{x} {is_} {c}, correct?", "true or false: {x} {is_} {c}", "tell me, {is_} {x} {c}?", "would you say {x} {is_} {c}",
        "my sister says {x} {is_} {c}, is she right", "i say {x} {is_} {c}", "{isnt} {x} {c}?", "do you think {x} {is_} {c}", "{x} {is_} {c}: yes or no?",
        "{is_} {x} really {c}", "{x} {is_} {c}", "{X} {is_} {c}.", "i am sure {x} {is_} {c}", "Am I right that {x} {is_} {c}?"]
    if claim != row["color"] and draw.chance(0.15):
        return [Turn(asked(draw, ["why {is_} {x} {c}", "why {is_} {x} {c}?", "how come {x} {is_} {c}", "explain why {x} {is_} {c}"], x=_thing(row), c=claim,
            is_=_is(row)), f"{capitalized(_colored(row))}, not {claim}.")]
    turns = [Turn(asked(draw, wordings, x=_thing(row), X=capitalized(_thing(row)), c=claim, is_=_is(row), Is_=capitalized(_is(row)), isnt=f"{_is(row)}n't"),
        verdict(_colored(row), claim == row["color"]))]
    while draw.chance(0.4) and len(turns) < 4:
        if draw.chance(0.5):
            if (new_claim := _color_claim(draw, row)) == claim:
                continue
            claim = new_claim
            turns.append(Turn(asked(draw, ["and {c}?", "{c}?", "{c} then?", "is it {c}?", "what about {c}"], c=claim), verdict(_colored(row), claim == row["color"])))
        else:
            others = [other for other in seeds.facts("colors") if other is not row and (claim == other["color"] or claim not in other["color"])]
            same = [other for other in others if other["color"] == claim]
            row = draw.choice(same if same and draw.chance(0.5) else others)
            turns.append(Turn(also(draw, _thing(row)), verdict(_colored(row), claim == row["color"])))
    return turns


def _mixed_colors(draw: Draw) -> list[Turn]:
    """What two colors make."""
    mix = draw.choice(seeds.facts("color_mixing"))
    first, second = draw.some((mix["first"], mix["second"]), 2)
    return [Turn(asked(draw, ["what do {a} and {c} make", "what do i get if i mix {a} and {c}", "mix {a} with {c}?", "{a} plus {c} is which color",
        "what color do {a} and {c} make?", "{a} and {c} together give what color", "i mix {a} paint with {c} paint, what do i get"], a=first, c=second),
        f"{capitalized(first)} and {second} make {mix['result']}.")]


_KIND_ARTICLES = {"meat": "meat", "fish": "fish", "fruit": "a fruit"}


def _kind_of_food(row: seeds.Row) -> str:
    return _KIND_ARTICLES.get(row["kind"], with_article(row["kind"]))


def food(draw: Draw) -> list[Turn]:
    """Is a carrot a fruit? What is bread made of?"""
    if draw.chance(0.4):
        row = draw.choice(seeds.facts("food_origins"))
        is_are = row["verb"].split()[0] if row["verb"].split()[0] in ("is", "are") else "is"
        question = asked(draw, ["what {is_} {x} made of", "What {is_} {x} made from?", "what do you make {x} from",
            "where does {x} come from", "how do people make {x}, from what", "{x} {is_} made of what", "{x}: made from what?", "what is in {x}", "what do i need to make {x}",
            "tell me what {x} {is_} made from", "what goes into {x}?", "whats {x} made of", "from what {is_} {x} made"], x=row["food"], is_=is_are)
        return [Turn(question, f"{capitalized(row['food'])} {row['verb']} {row['made_from']}.")]
    rows = seeds.facts("foods")
    row = draw.choice(rows)
    said = f"{row['food']} {_is(row)} {_kind_of_food(row)}." if _is(row) == "is" else f"{row['food']} are a {row['kind']}."
    if draw.chance(0.35):
        return [Turn(asked(draw, ["what {is_} {x}", "what kind of food {is_} {x}",
            "what {is_} {x}, fruit or vegetable?" if row["kind"] in ("fruit", "vegetable") else "what kind of food {is_} {x}?"],
            x=row["food"], is_=_is(row)), capitalized(said))]
    claim = row["kind"] if draw.chance(0.45) else row["not"]
    turns = [Turn(asked(draw, ["{is_} {x} {y}", "{is_} {x} {y}?", "{x} {is_} {y}, right?", "would you call {x} {y}",
        "is it true that {x} {is_} {y}", "{is_} {x} {y} or not", "i think {x} {is_} {y}", "so {x} {is_} {y}?", "true or false: {x} {is_} {y}", "do you think {x} {is_} {y}",
        "{x} {is_} {y}", "tell me, {is_} {x} {y}?", "{x} {is_} {y}: yes or no?"], x=row["food"], y=_kind_of_food({"kind": claim}), is_=_is(row)),
        verdict(said, claim == row["kind"]))]
    if draw.chance(0.3):
        row = draw.choice([other for other in rows if other["kind"] in (claim,
            row["kind"]) and _is(other) == "is" and other is not row])
        said = f"{row['food']} {_is(row)} {_kind_of_food(row)}."
        turns.append(Turn(also(draw, row["food"]), verdict(said, claim == row["kind"])))
    return turns


#: Uses that few things have, for claims.
_CLEAR_USES = ("writing with ink", "chopping wood", "telling the time", "brushing hair", "eating soup and cereal", "rowing a boat", "cutting the grass", "sleeping",
    "sewing cloth together", "listening to the heart", "putting out fires", "watering the garden", "lighting a fire", "seeing things far away", "sitting",
    "driving nails into wood", "cutting wood", "washing clothes", "toasting bread", "peeling potatoes and carrots", "holding cut flowers", "catching fish or balls",
    "making music", "lifting heavy loads", "warming a room", "opening cans", "measuring lengths", "blowing the nose", "drying hair", "doing sums")


def _needs_plural(tool: str) -> bool:
    return tool in ("scissors", "glasses", "gloves", "stairs", "nail clippers", "pliers", "skis", "skates", "shoelaces", "knitting needles", "shoes", "boots", "sunglasses",
        "binoculars", "crutches")


def tools(draw: Draw) -> list[Turn]:
    """What is a hammer for? What do I need to cut paper? Is a spoon for writing?"""
    rows = seeds.facts("tools")
    row = draw.familiar(rows, 2)
    form = draw.rng.random()
    if form < 0.25:
        return _claimed_use(draw, row)
    if form < 0.7:
        turns = [Turn(asked(draw, ["what {is_} {x} for", "What do you do with {x}?", "what do we use {x} for", "what can i do with {x}", "why do people need {x}",
            "{x}, what {is_} that for?", "what's the use of {x}", "tell me what {x} {is_} good for", "what {is_} {x} used for", "What {is_} {x} used for?", "use of {x}?",
            "why do we have {x}", "{x}: what for?", "what does one do with {x}", "whats {x} for", "explain what {x} {is_} for", "what would i use {x} for", "how do people use {x}",
            "when do i need {x}"], x=row["tool"], is_=_be(row["tool"])), _use_said(row))]
        while draw.chance(0.3) and len(turns) < 4:
            row = draw.familiar([other for other in rows if other is not row], 2)
            turns.append(Turn(also(draw, row["tool"]), _use_said(row)))
        return turns
    same = [other["tool"] for other in rows if other["verb"] == row["verb"]]
    question = asked(draw, ["what do i need to {v}", "What do we use to {v}?", "with what can i {v}", "which thing helps me to {v}", "i want to {v}, what do i take",
        "what should i take to {v}", "i have to {v}. what do i need?", "name something to {v}", "what helps to {v}?", "how can i {v}, with what"],
        v=row["verb"].replace("our ", "my "))
    return [Turn(question, f"You can use {listed(same, 'or')} for that.")]


def _be(tool: str) -> str:
    return "are" if _needs_plural(tool) else "is"


def _use_said(row: seeds.Row) -> str:
    return capitalized(f"{row['tool']} {_be(row['tool'])} for {row['use']}.")


def _claimed_use(draw: Draw, row: seeds.Row) -> list[Turn]:
    """Is a spoon for writing? And for eating?"""
    turns = []
    for number in range(draw.rng.choices((1, 2), (3, 1))[0]):
        words = set(row["use"].split())
        claim = row["use"] if draw.chance(0.45) else draw.choice([use for use in _CLEAR_USES if not words & (set(use.split()) - {"a", "the", "and", "in", "of", "things", "with"})])
        wordings = ["and for {u}?", "for {u}?", "then for {u}?"] if number else ["{is_} {x} for {u}", "{Is_} {x} for {u}?", "{is_} {x} used for {u}", "{x} {is_} for {u}, right?",
            "do we use {x} for {u}", "is it true that {x} {is_} for {u}", "can i use {x} for {u}", "i think {x} {is_} for {u}", "true or false: {x} {is_} for {u}",
            "do people use {x} for {u}?", "so {x} {is_} for {u}?", "{is_} {x} good for {u}"]
        turns.append(Turn(asked(draw, wordings, x=row["tool"], u=claim, is_=_be(row["tool"]), Is_=capitalized(_be(row["tool"]))), verdict(_use_said(row), claim == row["use"])))
    return turns


def material(draw: Draw) -> list[Turn]:
    """What is a window made of? A kind that is held out."""
    row = draw.choice(seeds.facts("materials"))
    is_are = "are" if row["thing"] == "jeans" else "is"
    said = f"{row['thing']} {is_are} made of {row['material']}."
    if draw.chance(0.5):
        return [Turn(asked(draw, ["what {is_} {x} made of", "What {is_} {x} made of?", "which material {is_} {x} made of",
            "{x} {is_} made of what"], x=row["thing"], is_=is_are), capitalized(said))]
    right = draw.chance(0.4)
    claim = row["material"] if right else row["not"]
    return [Turn(asked(draw, ["{is_} {x} made of {m}", "{x} {is_} made of {m}, right?"], x=row["thing"], m=claim, is_=is_are),
        verdict(said, right))]


def vehicle(draw: Draw) -> list[Turn]:
    """Where vehicles move: a kind that is held out."""
    row = draw.choice(seeds.facts("vehicles"))
    return [Turn(asked(draw, ["where does {x} move", "what does {x} travel on", "on what does {x} move?"], x=row["thing"]),
        f"{capitalized(row['thing'])} moves {'through' if row['moves_on'] in ('air', 'space') else 'on'} {row['moves_on']}.")]


@cache
def opposites() -> dict[str, str]:
    """Opposites, the first that the table knows of each word."""
    known: dict[str, str] = {}
    for row in seeds.facts("opposites"):
        known.setdefault(row["word"], row["opposite"])
    for row in seeds.facts("opposites"):
        known.setdefault(row["opposite"], row["word"])
    for row in seeds.words("adjectives"):
        if row["opposite"] not in ("-", ""):
            known.setdefault(row["adjective"], row["opposite"])
    return known


def opposite(draw: Draw) -> list[Turn]:
    """The opposite of a word, and of others."""
    known = opposites()
    word = draw.familiar(list(known))
    turns = [Turn(asked(draw, [
        "what is the opposite of {x}", "What is the opposite of {x}?", "opposite of {x}", "opposite of {x}?",
        "whats the opposite of {x}", "tell me the opposite of {x}", "the opposite of {x} is?", "what is the contrary of {x}",
        "give me the opposite of {x}", "which word is the opposite of {x}", "antonym of {x}",
        "what is not {x}, the opposite word?", "{x} and its opposite?", "do you know the opposite of {x}",
    ], x=word), f"The opposite of {word} is {known[word]}.", (word,))]
    while draw.chance(0.35) and len(turns) < 5:
        word = draw.familiar(list(known))
        turns.append(Turn(also_of(draw, word), f"The opposite of {word} is {known[word]}.", (word,)))
    return _claimed_opposites(draw, known) if draw.chance(0.22) else turns


def _claimed_opposites(draw: Draw, known: dict[str, str]) -> list[Turn]:
    """Is hot the opposite of cold? And wet?"""
    word = draw.familiar(list(known))
    said = f"the opposite of {word} is {known[word]}."
    turns = []
    for number in range(draw.rng.choices((1, 2), (3, 1))[0]):
        right = draw.chance(0.48) if not turns else turns[0].answer.endswith("no.")
        claim = known[word] if right else draw.choice([other for other in known.values() if other != known[word]])
        wordings = ["and {c}?", "{c}?", "is it {c}?", "then {c}?"] if number else ["is {c} the opposite of {x}", "Is {c} the opposite of {x}?",
            "{c} is the opposite of {x}, right?", "is the opposite of {x} {c}", "i think the opposite of {x} is {c}", "the opposite of {x} is {c}, right?",
            "is it true that {c} is the opposite of {x}", "are {x} and {c} opposites", "true or false: the opposite of {x} is {c}", "so {c} is the opposite of {x}?"]
        turns.append(Turn(asked(draw, wordings, c=claim, x=word), verdict(said, claim == known[word]), (word, claim)))
    return turns


def counting(draw: Draw) -> list[Turn]:
    """How many wheels does a car have?"""
    row = draw.choice(seeds.facts("counting"))
    question = row["question"]
    return [Turn(asked(draw, ["how many {q}", "How many {q}?", "do you know how many {q}", "tell me how many {q}",
        "hey how many {q}", "can you tell me how many {q}?"], q=question), row["answer"])]


def kinds(draw: Draw) -> list[Turn]:
    """Is the sun a planet? The sun is a star, so no."""
    row = draw.choice(seeds.facts("kinds_of_things"))
    right = draw.chance(0.4)
    claim = row["kind"] if right else row["not"]
    said = f"{row['thing']} is {row['kind']}."
    turns = [Turn(asked(draw, ["is {x} {y}", "Is {x} {y}?", "{x} is {y}, right?", "is it true that {x} is {y}",
        "would you say {x} is {y}", "i think {x} is {y}", "so {x} is {y}?", "is {x} {y} or not", "true or false: {x} is {y}", "{x} is {y}", "tell me, is {x} {y}?",
        "isn't {x} {y}?", "do you think {x} is {y}"], x=row["thing"], y=claim), verdict(said, right))]
    if row["why"] != "-" and draw.chance(0.4):
        turns.append(Turn(asked(draw, ["why", "why?", "how so", "why is that?"]), row["why"]))
    if draw.chance(0.3):
        return [Turn(asked(draw, ["what is {x}", "What is {x}?", "what kind of thing is {x}", "{x}, what is that?", "whats {x}", "what sort of thing is {x}", "{x} is what?", "tell me what {x} is"],
            x=row["thing"]), capitalized(said))]
    return turns


def yes_or_no(draw: Draw) -> list[Turn]:
    """Questions whose answer is yes or no, and why."""
    row = draw.choice(seeds.facts("science_yes_no"))
    return [Turn(asked(draw, ["{q}", "{q}?", "{Q}?", "hey, {q}?", "tell me, {q}", "{q} or not", "do you know: {q}?", "quick question: {q}?", "for school: {q}", "{q}, yes or no?",
        "yes or no: {q}", "{Q}? Yes or no?", "my kid asks: {q}?", "i was asked: {q}", "i forgot, {q}?", "so, {q}?", "one question, {q}?", "for a quiz: {q}?", "just yes or no: {q}", "well, {q}?",
        "ember, {q}?", "sorry, {q}?", "answer this: {q}", "{q}, what do you think?", "honestly, {q}?"],
        q=row["question"], Q=capitalized(row["question"])), _fact_first(row["answer"]))]


def _fact_first(answer: str) -> str:
    """An answer of one sentence with its verdict at the end: `Yes, sea water is salty.` becomes `Sea water is salty, so yes.`"""
    match = re.fullmatch(r"(Yes|No), (?!not )([^.]+)\.", answer)
    return verdict(match[2], match[1] == "Yes") if match else answer


def rhyme(draw: Draw) -> list[Turn]:
    """Words that rhyme."""
    rows = seeds.facts("rhymes")
    row = draw.choice(rows)
    rhymes = row["rhymes"].split(", ")
    count = min(len(rhymes), draw.number(1, 3))
    chosen = draw.some(rhymes, count)
    verb = "rhymes" if count == 1 else "rhyme"
    turns = [Turn(asked(draw, ["what rhymes with {x}", "What rhymes with {x}?", "which words rhyme with {x}", "rhyme with {x}",
        "find a rhyme for {x}", "a word that rhymes with {x}", "give me a rhyme for {x}", "i need a rhyme for {x}"],
        x=row["word"]), f"{capitalized(listed(chosen))} {verb} with {row['word']}.", (row["word"],))]
    rest = [word for word in rhymes if word not in chosen]
    if rest and draw.chance(0.3):
        turns.append(Turn(asked(draw, ["another one", "one more", "and another?", "more"]),
            f"{capitalized(rest[0])} rhymes with {row['word']}, too."))
    if draw.chance(0.3):
        return _claimed_rhymes(draw, row)
    return turns


_DO_RHYME = ["does {x} rhyme with {c}", "do {x} and {c} rhyme?", "is {c} a rhyme for {x}", "do {x} and {c} rhyme", "{x} rhymes with {c}, right?", "{x} and {c} rhyme, don't they?",
    "is it true that {x} rhymes with {c}", "can i rhyme {x} with {c}", "i think {x} rhymes with {c}", "true or false: {x} rhymes with {c}", "would you say {x} rhymes with {c}?",
    "{x} and {c}: do they rhyme?", "for my poem: does {x} rhyme with {c}?", "is {x} {c} a rhyme", "Do {x} and {c} rhyme?", "yes or no: {x} rhymes with {c}", "tell me if {x} and {c} rhyme",
    "so {x} rhymes with {c}?", "does the word {x} rhyme with {c}", "are {x} and {c} rhymes"]


def _claimed_rhymes(draw: Draw, row: seeds.Row) -> list[Turn]:
    """Do cat and hat rhyme? And cat and dog? The answer names a word that does."""
    rhymes, known = row["rhymes"].split(", "), {row["word"], *row["rhymes"].split(", ")}
    strange = [other["word"] for other in seeds.facts("rhymes") if not known & {other["word"], *other["rhymes"].split(", ")}]
    turns = []
    holds = draw.chance(0.5)
    for _ in range(draw.number(1, 2)):
        holds = not holds
        claim = draw.choice(rhymes) if holds else draw.choice(strange)
        turns.append(Turn(asked(draw, _DO_RHYME, x=row["word"], c=claim), verdict(f"{claim if holds else rhymes[0]} rhymes with {row['word']}", holds), (row["word"], claim)))
    return turns


def questions(draw: Draw) -> list[Turn]:
    """Questions of all sorts, each in a few wordings."""
    row = draw.choice(seeds.facts("questions"))
    question = draw.choice(row["questions"].split(" / ")).rstrip("?")
    return [Turn(asked(draw, ["{q}", "{q}?", "{q}", "hey, {q}?", "tell me, {q}",
        "do you know {q}"][: 3 if question.startswith(("say", "name", "write", "recite")) else 6], q=question), _fact_first(row["answer"]))]


def why(draw: Draw) -> list[Turn]:
    """A question with yes or no, and its reason, and sometimes another one; or a question for the reason alone."""
    turns: list[Turn] = []
    if draw.chance(0.35):
        row = draw.choice([row for row in seeds.facts("why") if row["answer"].startswith("Yes") or row["answer"].endswith("so yes.")])
        return [Turn(asked(draw, ["why {q}", "Why {q}?", "why {q}?", "tell me: why {q}", "and why {q}"], q=row["question"]), row["reason"])]
    for row in draw.some(seeds.facts("why"), draw.rng.choices((1, 2), (4, 1))[0]):
        turns.append(Turn(asked(draw, ["{q}", "{q}?", "tell me, {q}?", "{q} do you think", "is it true: {q}?"], q=row["question"]), _fact_first(row["answer"])))
        wordings = ["why", "why?", "why is that", "how come?", "and why", "why is that so?", "but why", "what is the reason"]
        if row["answer"].startswith("No") or row["answer"].endswith("so no."):
            wordings += ["why not", "why not?", "and why not"]
        if draw.chance(0.8):
            turns.append(Turn(asked(draw, wordings), row["reason"]))
    return turns


def about(draw: Draw) -> list[Turn]:
    """A fact about a topic, and others."""
    row = draw.choice(seeds.facts("about"))
    turns = [Turn(asked(draw, ["tell me a fact about {x}", "a fact about {x}", "tell me something about {x}", "what do you know about {x}",
        "tell me about {x}", "something about {x}?", "fun fact about {x}", "an interesting fact about {x}", "facts about {x}"],
        x=row["topic"]), row["first"])]
    for name in ("second", "third"):
        if not draw.chance(0.6):
            break
        turns.append(Turn(asked(draw, ["another one", "one more", "tell me more", "more", "another fact", "what else", "and another one?"]),
            row[name]))
    return turns
