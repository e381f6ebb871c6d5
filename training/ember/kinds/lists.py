"""Lists of N things of a kind in a requested format, and changes to them."""

from functools import cache

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, number_word, with_article
from .facts_asking import asked
from .list_data import MORE_THINGS, MORE_TIPS, REASONS


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("lists", _MAKERS)
    return kind, maker(draw)


def _groups() -> dict[str, list[str]]:
    """Things of a kind that can be asked for, by the name of the kind in the plural."""
    animals, foods, objects, places = (seeds.words(name) for name in ("animals", "foods", "objects", "places"))
    capitals = seeds.facts("capitals")
    groups = {
        "animals": [row["animal"] for row in animals],
        "birds": [row["animal"] for row in animals if row["class"] == "bird"],
        "fish": [row["animal"] for row in animals if row["class"] == "fish"],
        "insects": [row["animal"] for row in animals if row["class"] == "insect"],
        "mammals": [row["animal"] for row in animals if row["class"] == "mammal"],
        "reptiles": [row["animal"] for row in animals if row["class"] == "reptile"],
        "farm animals": ["cow", "horse", "pig", "sheep", "goat", "chicken", "duck", "donkey", "goose", "turkey"],
        "pets": ["dog", "cat", "rabbit", "hamster", "parrot", "goldfish", "turtle", "canary"],
        "sea animals": ["whale", "dolphin", "shark", "crab", "octopus", "seal", "jellyfish", "starfish", "tuna", "seahorse"],
        "fruits": [row["food"] for row in foods if row["kind"] == "fruit"],
        "vegetables": [row["food"] for row in foods if row["kind"] == "vegetable"],
        "drinks": [row["food"] for row in foods if row["kind"] == "drink"],
        "desserts": [row["food"] for row in foods if row["kind"] == "sweet"],
        "foods": [row["food"] for row in foods],
        "colors": ["red", "blue", "green", "yellow", "orange", "purple", "pink", "brown", "black", "white", "gray"],
        "jobs": [row["job"] for row in seeds.words("jobs")],
        "countries": [row["country"].removeprefix("the ") for row in capitals],
        "cities": [row["capital"] for row in capitals],
        "capitals": [row["capital"] for row in capitals],
        "planets": [row["name"] for row in seeds.facts("planets")],
        "names": [row["name"] for row in seeds.words("names")],
        "girls' names": [row["name"] for row in seeds.words("names") if row["mark"] == "f"],
        "boys' names": [row["name"] for row in seeds.words("names") if row["mark"] == "m"],
        "feelings": [row["noun"] for row in seeds.words("feelings")],
        "verbs": [row["verb"] for row in seeds.words("verbs")],
        "adjectives": [row["adjective"] for row in seeds.words("adjectives")],
        "nouns": [row["object"] for row in objects if " " not in row["object"]],
        "words": [row["object"] for row in objects if " " not in row["object"]],
        "sports": "soccer tennis swimming basketball running skiing hockey rowing boxing judo golf volleyball cycling".split(),
        "instruments": "piano violin guitar drum flute trumpet cello harp clarinet accordion".split(),
        "flowers": "rose tulip daisy sunflower lily violet poppy daffodil lavender orchid".split(),
        "trees": "oak pine birch maple willow beech chestnut spruce cherry apple".split(),
        "shapes": "circle square triangle rectangle oval star hexagon".split(),
        "tools": ["hammer", "saw", "screwdriver", "drill", "wrench", "shovel", "rake", "pliers", "axe"],
        "clothes": ["shirt", "coat", "hat", "scarf", "dress", "sweater", "jacket", "skirt", "belt", "glove"],
        "vehicles": ["car", "bus", "train", "bicycle", "truck", "ship", "plane", "tram", "tractor", "ferry"],
        "months": [row["name"] for row in seeds.facts("months")],
        "days": [row["name"] for row in seeds.facts("days")],
        "continents": [row["name"] for row in seeds.facts("continents")],
        "body parts": ["head", "arm", "leg", "hand", "foot", "nose", "ear", "eye", "knee", "shoulder", "neck", "back"],
        "rooms": ["kitchen", "bedroom", "bathroom", "hall", "living room", "cellar", "attic"],
        "hobbies": ["reading", "cooking", "hiking", "painting", "singing", "gardening", "chess", "dancing", "fishing",
        "knitting"],
        "languages": ["English", "Spanish", "French", "German", "Italian", "Japanese", "Arabic", "Hindi", "Swahili", "Polish"],
        "weather words": ["sun", "rain", "snow", "fog", "wind", "hail", "thunder", "frost"],
        "seasons": [row["name"] for row in seeds.facts("seasons")],
    }
    for found in ("in the kitchen", "on the desk", "in the garden", "in the bathroom", "in the bedroom", "in the classroom",
        "at the beach", "in the garage", "on a farm", "in the living room", "in the library", "at the train station",
        "in the hospital"):
        groups[f"things {found}"] = [row["object"] for row in objects if row["found"] == found]
    for continent in ("Europe", "Asia", "Africa", "South America"):
        groups[f"countries in {continent}"] = [row["country"].removeprefix("the ") for row in capitals
            if row["continent"] == continent]
    for row in seeds.words("colours"):
        groups[f"{row['color']} things"] = [row[f"thing {number}"] for number in range(1, 5)]
    return {name: list(dict.fromkeys(items)) for name, items in groups.items() if len(set(items)) >= 3}


def _common() -> dict[str, list[str]]:
    """The things that come to mind first, by the name of their kind: the list of `seeds/words/common.tsv`, then the beginning of
    the group. A small model lists few things reliably, and always in the same order."""
    listed_first = {row["kind"]: row["items"].split(", ") for row in seeds.words("common")}
    for row in seeds.words("kinds"):
        listed_first.setdefault(row["kind"], []).append(row["item"])
    found = {name: listed_first.get(name) or items for name, items in GROUPS.items()}
    found |= listed_first
    for name, items in MORE_THINGS.items():
        name = name.split("/")[0]
        found[name] = [*found.get(name, []), *items]
    return {name: _distinct(items)[:_COMMON] for name, items in found.items()}


def _distinct(items: list[str]) -> list[str]:
    """The items without those that differ from an earlier one only in spaces."""
    found: dict[str, str] = {}
    for item in items:
        found.setdefault(item.replace(" ", "").lower(), item)
    return list(found.values())


#: The names of kinds for one thing of them.
_NAMES_OF_ONE = dict(name.split("/") for name in MORE_THINGS if "/" in name)
#: Things of a kind that are listed without being asked for a letter.
_COMMON = 16
GROUPS = _groups()
COMMON = _common()


def _written(draw: Draw, items: list[str], style: str) -> str:
    match style:
        case "numbers":
            return "\n".join(f"{number}. {capitalized(item)}" for number, item in enumerate(items, 1))
        case "bullets":
            return "\n".join(f"- {capitalized(item)}" for item in items)
        case "lines":
            return "\n".join(capitalized(item) for item in items)
        case "commas":
            return ", ".join(items)
        case _:
            return capitalized(f"{listed(items)}.")


_REQUESTS = [
    "name {n} {t}", "list {n} {t}", "give me {n} {t}", "Name {n} {t}.", "List {n} {t}.", "tell me {n} {t}", "{n} {t} please",
    "write {n} {t}", "can you name {n} {t}", "i need {n} {t}", "say {n} {t}", "what are {n} {t}", "a list of {n} {t}",
    "think of {n} {t}",
    "show me {n} {t}", "could you list {n} {t}", "{n} different {t}", "which {n} {t} do you know", "do you know {n} {t}?", "make a list of {n} {t}", "Give me a list with {n} {t}.", "{n} {t}",
]
#: Requests without a number, for which there are so many items.
_SOME = ["name some {t}", "list some {t}", "give me some {t}", "what are some {t}?", "a list of {t}", "list {t}", "give me a list of {t}", "make a list of {t}", "tell me some {t}",
    "can you list some {t}?", "i need some {t}", "show me some {t}", "Write a list of {t}.", "some {t} please", "do you know some {t}?"]
_SOME_COUNT = 5
_STYLES = {
    "numbers": [" as a numbered list", ", numbered", " with numbers"], "bullets": [" as bullet points", " with dashes",
    " as a bullet list"], "commas": [", separated by commas", " with commas", " on one line"],
    "lines": [", one per line", ", each on its own line", " line by line"], "sentence": [" in one sentence"],
}


def plain(draw: Draw) -> list[Turn]:
    """N things of a kind, and then more, fewer or another."""
    often = draw.chance(_PLAIN_SHARE)
    name = draw.choice([name for name in COMMON if (name in _PLAIN if often else draw.chance(0.15 if name.endswith(" things") else 0.6))])
    items = from_some(draw, COMMON[name])
    count = min(draw.rng.choices(range(1, 13), (4, 6, 12, 9, 11, 9, 8, 8, 7, 10, 1, 2))[0], len(items))
    chosen = items[:count]
    style = "numbers"
    ending = ""
    if draw.chance(0.2) and count > 1:
        style = draw.choice(list(_STYLES))
        ending = draw.choice(_STYLES[style])
    if count == 1:
        return _one(draw, name, items)
    shown = str(count) if draw.chance(0.55) else number_word(count)
    request = asked(draw, _REQUESTS, n=shown, t=name)
    if draw.chance(0.15):
        chosen = items[:_SOME_COUNT]
        request = asked(draw, _SOME, t=name)
    turns = [Turn(request.rstrip(".?") + ending if ending else request, _written(draw, chosen, style))]
    rest = [item for item in items if item not in chosen]
    while draw.chance(0.45) and len(turns) < 4:
        turn = _change(draw, chosen, rest, style)
        if turn is None:
            break
        turns.append(turn)
    return turns


def from_some(draw: Draw, items: list[str]) -> list[str]:
    """All of `items` in their order, which begins anew after the last, from the first one or from any."""
    start = 0 if draw.chance(0.6) else draw.number(0, len(items) - 1)
    return items[start:] + items[:start]


#: The share of lists of the kinds of things that are asked for most often.
_PLAIN_SHARE = 0.15
_PLAIN = set("animals birds fruits vegetables colors jobs countries cities names verbs adjectives words".split())


def _change(draw: Draw, chosen: list[str], rest: list[str], style: str) -> Turn | None:
    """More of the same, one more, only some of them, or another form; `chosen` and `rest` change with it."""
    form = draw.choice(("more", "more", "one", "fewer", "style", "upper"))
    if form == "more" and len(rest) >= 3:
        count = draw.number(2, 3)
        new = rest[:count]
        del rest[:count]
        chosen[:] = new
        return Turn(asked(draw, ["{n} more", "{n} more please", "and {n} more", "another {n}", "{n} others", "{n} other ones", "now {n} other ones",
            "give me {n} different ones", "not these, {n} others", "{n} new ones please", "i know these, {n} others", "can you name {n} more?",
            "{n} that you did not name yet", "do you have {n} more?"],
            n=draw.choice((str(count), number_word(count)))), _written(draw, new, style))
    if form == "one" and rest:
        item = rest.pop(0)
        chosen[:] = [item]
        return Turn(asked(draw, ["another one", "one more", "just one more", "and one more?"]), f"{capitalized(item)}.")
    if form == "fewer" and len(chosen) > 2:
        count = draw.number(1, len(chosen) - 1)
        del chosen[count:]
        which = "the first one" if count == 1 else f"the first {number_word(count)}"
        return Turn(asked(draw, ["only {w}", "just {w}", "only {w} please", "give me only {w}"], w=which),
            f"{capitalized(chosen[0])}." if count == 1 else _written(draw, chosen, style))
    if form == "style" and len(chosen) > 1:
        other = draw.choice([name for name in _STYLES if name not in (style, "lines")])
        wording = {"numbers": "with numbers please", "bullets": "as bullet points", "commas": "separated by commas",
            "sentence": "in one sentence"}[other]
        return Turn(asked(draw, [f"{wording}", f"now {wording}", f"the same {wording}"]), _written(draw, chosen, other))
    if form == "upper" and len(chosen) > 1:
        return Turn(asked(draw, ["in upper case", "now in capitals", "all caps please"]), _written(draw, chosen, style).upper())
    return None


def _singular(name: str) -> str:
    """The name of a kind for one thing of it."""
    head, _, tail = name.partition(" ")
    special = {"girls' names": "girl's name", "boys' names": "boy's name", "countries": "country", "cities": "city",
        "fish": "fish", "clothes": "piece of clothing", "body parts": "part of the body", "foods": "food",
        "farm animals": "farm animal", "sea animals": "sea animal", "weather words": "weather word", "hobbies": "hobby"}
    if name in special:
        return special[name]
    if name in _NAMES_OF_ONE:
        return _NAMES_OF_ONE[name]
    if head in ("things", "animals", "days") and tail:
        return f"{head[:-1]} {tail}".replace(" that are ", " that is ").replace(" that live ", " that lives ")
    if head == "countries":
        return f"country {tail}"
    if tail == "things":
        return f"{head} thing"
    return name.removesuffix("s")


def _one(draw: Draw, name: str, items: list[str]) -> list[Turn]:
    """One thing of a kind, and others."""
    singular = with_article(_singular(name))
    turns = [Turn(asked(draw, ["name {t}", "tell me {t}", "give me {t}", "say {t}", "think of {t}", "{t} please",
        "can you name {t}", "i need {t}", "pick {t}"], t=singular), f"{capitalized(items[0])}.")]
    for other in items[1:4]:
        if not draw.chance(0.5):
            break
        turns.append(Turn(asked(draw, ["another one", "another", "one more", "a different one", "something else",
            "and another?"]), f"{capitalized(other)}."))
    return turns


#: Kinds of things that are asked for by their first letter.
_BY_LETTER = ("animals", "animals", "words", "words", "names", "foods", "verbs", "jobs", "countries", "adjectives", "cities", "girls' names", "boys' names",
    "nouns", "birds", "fruits", "vegetables", "capitals")


@cache
def _common_words() -> list[str]:
    """Familiar words that are not written with a capital."""
    names = {part.lower() for group in ("countries", "cities", "names", "days", "months", "languages", "continents", "planets") for item in GROUPS[group]
        for part in item.split()}
    return [word for word in vocabulary.familiar_words() if word.lower() not in names or word in _BOTH]


#: Words that are names, too.
_BOTH = {"river", "turkey", "may", "march", "rose", "daisy", "lily", "olive", "hope", "joy", "grace", "mark", "sky", "ivy", "new", "city", "island", "earth", "the", "and", "of"}


def starting_with(draw: Draw) -> list[Turn]:
    """Words that begin with a letter or two, and others with the same or another letter."""
    name = draw.choice(_BY_LETTER)
    known = _common_words() if name == "words" and draw.chance(0.6) else GROUPS[name]
    size = 2 if name == "words" and draw.chance(0.2) else 1
    starts: dict[str, list[str]] = {}
    for item in (item for item in known if "," not in item and " and " not in item):
        starts.setdefault(item[:size].lower(), []).append(item)
    fitting = [start for start, items in starts.items() if len(items) >= 3 and start.isalpha()]
    turns: list[Turn] = []
    count = draw.number(1, 6)
    for start in draw.some(fitting, min(len(fitting), draw.rng.choices((1, 2, 3), (6, 3, 2))[0])):
        if turns and draw.chance(0.4):
            count = draw.number(2, 5)
            lead = "{n} with {l}", "and {n} with {l}", "now {n} with {l}"
        else:
            lead = "and with {l}?", "now with {l}", "and with the letter {l}" if size == 1 else "and {l}?"
        chosen = _some_familiar(draw, starts[start], min(count, len(starts[start])))
        shown = start if draw.chance(0.5) else start.upper()
        if turns:
            wordings = list(lead)
        elif len(chosen) == 1:
            wordings = ["{o} that starts with {l}", "name {o} with {l}", "give me {o} beginning with {l}", "tell me {o} that begins with {l}",
                "do you know {o} with {l}?", "think of {o} that starts with {l}", "say {o} with {l}", "find {o} that begins with {l}"]
        else:
            wordings = ["{n} {t} that start with {l}", "name {n} {t} with {l}", "give me {n} {t} that begin with {l}", "list {n} {t} starting with {l}",
                "{n} {t} with {l}", "which {t} start with {l}? name {n}", "do you know {n} {t} with {l}", "tell me {n} {t} that begin with {l}",
                "i need {n} {t} beginning with {l}"] + (["{n} {t} beginning with the letter {l}", "{n} {t} with the first letter {l}"] if size == 1 else [])
        turns.append(Turn(asked(draw, wordings, n=draw.choice((str(len(chosen)), number_word(len(chosen)))), t=name, l=shown,
            o=with_article(_singular(name))), capitalized(f"{listed(chosen)}.")))
    return turns


def _some_familiar(draw: Draw, items: list[str], count: int) -> list[str]:
    """Distinct items, mostly those that most people know."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[draw.familiar(items)] = None
    return list(found)


_TIPS = {
    "good habits": ["Drink enough water.", "Go to bed on time.", "Take a walk every day.", "Read a few pages.",
    "Eat fruit and vegetables.", "Call a friend.", "Tidy one small thing.", "Stretch in the morning.", "Say thank you.",
    "Write down what went well."],
    "ideas for a rainy day": ["Read a book.", "Bake a cake.", "Write a letter.", "Play cards.", "Sort old photos.",
    "Learn a song.", "Build a tent from blankets.", "Cook a big soup.", "Draw the view from the window.", "Clean a drawer."],
    "ideas for dinner": ["Tomato soup with bread", "Rice with vegetables", "An omelet with cheese", "Pasta with garlic",
    "Baked potatoes", "Pancakes", "A big salad with nuts", "Lentil stew", "Fish with lemon", "Toast with mushrooms"],
    "ideas for a gift": ["A good book", "A warm scarf", "A plant in a pot", "Homemade cookies", "A photo in a frame",
    "A box of tea", "A puzzle", "A candle", "Two tickets for a concert", "A handwritten letter"],
    "tips for better sleep": ["Go to bed at the same time.", "Keep the room dark and cool.", "Leave the phone outside.",
    "Drink no coffee in the evening.", "Read something calm.", "Open the window for a while."],
    "tips for learning": ["Learn a little every day.", "Test yourself.", "Explain it to someone.", "Take short breaks.",
    "Write it in your own words.", "Sleep well before the test."],
    "ways to say hello": ["Hello!", "Hi!", "Good morning!", "Hey there!", "Good evening!", "Nice to see you!", "Welcome!"],
    "ways to say thank you": ["Thank you!", "Thanks a lot!", "Many thanks!", "That is very kind of you.", "I appreciate it."],
    "questions to get to know someone": ["What makes you laugh?", "Where did you grow up?", "What do you like to cook?",
    "What did you want to be as a child?", "Which place would you like to see?", "What are you reading?"],
    "names for a cat": ["Pixel", "Mitten", "Olive", "Button", "Shadow", "Pepper", "Biscuit", "Luna", "Socks", "Noodle"],
    "names for a dog": ["Rusty", "Biscuit", "Hazel", "Captain", "Maple", "Bruno", "Daisy", "Scout", "Waffle", "Otto"],
    "names for a boat": ["Morning Star", "Soggy Biscuit", "Blue Heron", "Second Wind", "Little Whale", "Salty Button",
    "Quiet Water"],
    "titles for a story": ["The Last Bus", "A Key for the Moon", "The Quiet Lighthouse", "Nine Cups of Tea", "The Borrowed Coat",
    "Rain on Mill Street", "The Clock That Waited"],
    "things for a trip": ["A toothbrush", "A warm sweater", "A good book", "A bottle of water", "A rain jacket",
    "Comfortable shoes", "A map", "A phone charger"],
    **MORE_TIPS,
    "things for a picnic": ["A blanket", "Bread and cheese", "Apples", "A bottle of juice", "A knife", "Napkins", "A ball",
    "A hat"],
}


def tips(draw: Draw) -> list[Turn]:
    """N ideas or tips of a kind."""
    return _of_tips(draw, draw.choice([name for name in _TIPS if name != "things for a trip"]))


def reasons(draw: Draw) -> list[Turn]:
    """N reasons to do something, and others."""
    name = draw.choice(list(REASONS))
    items = from_some(draw, REASONS[name])
    count = draw.number(1, 5)
    chosen, rest = items[:count], items[count:]
    if count == 1:
        turns = [Turn(asked(draw, ["give me a reason to {t}", "one reason to {t}", "why should i {t}? one reason", "tell me one reason to {t}",
            "what is a good reason to {t}", "name a reason to {t}", "is there a reason to {t}?"], t=name), chosen[0])]
    else:
        turns = [Turn(asked(draw, ["give me {n} reasons to {t}", "{n} reasons to {t}", "name {n} reasons to {t}", "why should i {t}? give me {n} reasons",
            "what are {n} good reasons to {t}", "list {n} reasons to {t}", "tell me {n} reasons why i should {t}", "{n} reasons why people {t}",
            "convince me to {t}, {n} reasons", "i need {n} reasons to {t}", "Please give me {n} reasons to {t}."],
            n=draw.choice((str(count), number_word(count))), t=name), _written(draw, chosen, "numbers"))]
    if draw.chance(0.15):
        chosen, rest = items[:3], items[3:]
        turns = [Turn(asked(draw, ["why should i {t}?", "give me reasons to {t}", "what are reasons to {t}?", "why is it good to {t}?", "why do people {t}?",
            "tell me why i should {t}", "are there good reasons to {t}?"], t=name), _written(draw, chosen, "numbers"))]
    while len(rest) >= 3 and draw.chance(0.35):
        if draw.chance(0.5):
            turns.append(Turn(asked(draw, ["another reason", "one more", "another one", "one more reason please", "and one more?"]), rest.pop(0)))
        else:
            count = draw.number(2, 3)
            new, rest = rest[:count], rest[count:]
            turns.append(Turn(asked(draw, ["{n} more", "{n} other ones", "{n} other reasons", "{n} more reasons", "{n} different ones please"],
                n=draw.choice((str(count), number_word(count)))), _written(draw, new, "numbers")))
    return turns


def trip(draw: Draw) -> list[Turn]:
    """Things for a trip: a held-out kind."""
    return _of_tips(draw, "things for a trip")


def _of_tips(draw: Draw, name: str) -> list[Turn]:
    items = _TIPS[name]
    count = draw.number(2, min(6, len(items)))
    items = items if name.startswith("steps") else from_some(draw, items)
    chosen = items[:count]
    turns = [Turn(asked(draw, ["give me {n} {t}", "{n} {t}", "list {n} {t}", "i need {n} {t}", "tell me {n} {t}",
        "do you have {n} {t}?", "can you think of {n} {t}"], n=draw.choice((str(count), number_word(count))), t=name),
        _written(draw, chosen, "numbers"))]
    rest = items[count:]
    if draw.chance(0.2):
        chosen, rest = items[:_SOME_COUNT], items[_SOME_COUNT:]
        turns = [Turn(asked(draw, ["give me {t}", "i need {t}", "do you have {t}?", "some {t} please", "give me some {t}", "tell me some {t}", "what are good {t}?", "{t} please",
            "can you think of {t}?"], t=name), _written(draw, chosen, "numbers"))]
        count = len(chosen)
    if draw.chance(0.25):
        at = draw.number(0, min(count, 5) - 1)
        ordinal = ("first", "second", "third", "fourth", "fifth")[at]
        turns.append(Turn(asked(draw, ["what was the {o} one", "repeat the {o}", "say the {o} one again",
            "which was number {n}?"], o=ordinal, n=at + 1), chosen[at]))
    elif len(rest) >= 3 and draw.chance(0.35):
        count = draw.number(2, 3)
        turns.append(Turn(asked(draw, ["{n} more", "{n} other ones", "{n} others please", "not these, {n} others", "{n} different ones", "and {n} more"],
            n=draw.choice((str(count), number_word(count)))), _written(draw, rest[:count], "numbers")))
        rest = rest[count:]
    if rest and draw.chance(0.25):
        turns.append(Turn(asked(draw, ["another one", "one more", "one more please", "just one more", "and another?"]), rest[0]))
    return turns


def steps(draw: Draw) -> list[Turn]:
    """Choosing from what is given: the first, the last, all but one, with one more."""
    kind = draw.choice(("word", "foods", "animal", "name", "city", "color", "object"))
    items = draw.words(kind, draw.number(2, 5))
    shown = ", ".join(items)
    new = draw.word(kind)
    form = draw.number(0, 3)
    if form == 0 and new not in items:
        return [Turn(asked(draw, ["add {x} to my list: {t}", "my list is {t}. add {x}", "put {x} on this list: {t}"], x=new,
            t=shown), ", ".join([*items, new]), (*items, new))]
    if form == 1 and len(items) > 2:
        gone = draw.choice(items)
        return [Turn(asked(draw, ["remove {x} from this list: {t}", "my list is {t}. take out {x}", "{t}. without {x} please"],
            x=gone, t=shown), ", ".join(item for item in items if item != gone), tuple(items))]
    if form == 2:
        return [Turn(asked(draw, ["make a numbered list: {t}", "number these: {t}", "put numbers before these: {t}",
            "as a numbered list: {t}"], t=shown), "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1)),
            tuple(items))]
    chosen = draw.choice(items)
    return [Turn(asked(draw, ["pick one: {t}", "choose one of these: {t}", "choose for me: {t}", "which one: {t}?",
        "decide: {t}"], t=listed(items, "or")), draw.choice((f"I pick: {chosen}.", f"My choice: {chosen}.",
        f"{capitalized(chosen)}.")), tuple(items))]


def choosing(draw: Draw) -> list[Turn]:
    """One of two things: why that one, and no, the other one."""
    kind = draw.choice(("foods", "animals", "object", "color", "city", "place", "day"))
    first, second = draw.words(kind, 2)
    shown = [with_article(item) if kind in ("object", "place") else item for item in (first, second)]
    chosen, other = draw.some(shown, 2)
    turns = [Turn(asked(draw, ["{a} or {c}?", "{a} or {c}", "which one, {a} or {c}", "should i take {a} or {c}",
        "pick {a} or {c}", "choose: {a} or {c}", "what would you take, {a} or {c}", "help me choose between {a} and {c}"],
        a=shown[0], c=shown[1]), draw.choice((f"I would take {chosen}.", f"I choose {chosen}.", f"I pick {chosen}.",
        f"My choice is {chosen}.")), tuple(shown))]
    for _ in range(draw.number(0, 2)):
        form = draw.number(0, 3)
        if form == 0 and not any("because" in turn.answer.lower() or "sounds" in turn.answer for turn in turns):
            turns.append(Turn(asked(draw, ["why", "why?", "how come", "why that one", "and why?"]),
                draw.choice((f"Because I like the sound of {chosen}.", "Because it came to my mind first. I am a simple model.",
                "No deep reason. It just sounds good today."))))
        elif form == 1:
            chosen, other = other, chosen
            turns.append(Turn(asked(draw, ["no, the other one", "the other one", "no the other", "rather the other one",
                "i want the other one"]), draw.choice((f"Then {chosen}.", f"All right, {chosen} it is.",
                f"Good, then take {chosen}."))))
        elif form == 2:
            turns.append(Turn(asked(draw, ["which one did you pick", "what was your choice", "which one was it again",
                "so which one?"]), f"I said {chosen}." if len(turns) == 1 else f"We are at {chosen} now."))
    return turns


_MAKERS = {
    "plain": (plain, 80),
    "starting with": (starting_with, 18),
    "tips": (tips, 40),
    "reasons": (reasons, 16),
    "things for a trip": (trip, 2),
    "given": (steps, 14),
    "choosing": (choosing, 12),
}
