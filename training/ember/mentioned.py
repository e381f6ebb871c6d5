"""What a text mentions: a person, an animal, a thing, a place or a job, and of which kind they are."""

import re
from functools import cache

from . import seeds, vocabulary
from .grammar import plural

_CLASSES = {
    "kitchen": "in the kitchen, on the table", "wardrobe": "in the wardrobe", "desk": "on the desk, in the library, in the classroom",
    "toy box": "in the toy box", "street": "on the street", "music room": "in the music room", "house": "in the living room, in the hall",
    "bedroom": "in the bedroom, in the bathroom", "workshop": "in the workshop, in the toolbox, in the shed, in the garage",
    "museum": "in the museum", "sports field": "at the sports field", "harbor": "at the harbor, at the beach", "farm": "on a farm",
    "woods": "in the woods", "garden": "in the garden", "hospital": "in the hospital", "space station": "on the space station",
    "station": "at the train station, at the airport", "market": "at the market", "party": "at a party", "attic": "in the attic, in the cellar",
    "bag": "in a handbag, in a camping bag", "sewing basket": "in a sewing basket, in a jewelry box",
}
_CLASS_OF_ONE = {
    "cake": "party", "tree": "woods", "box": "attic", "newspaper": "desk", "envelope": "mail", "invitation": "mail", "photograph": "mail",
    **dict.fromkeys("button zipper shoelace".split(), "sewing basket"),
    **dict.fromkeys("handbag purse wallet handkerchief umbrella".split(), "bag"),
    **dict.fromkeys(["lighthouse", "crane", "lifeguard tower", "gangplank", "ambulance", "car", "motorbike", "scooter", "bicycle"], "street"),
    **dict.fromkeys(["scoreboard", "tennis net", "hoop", "bench for the players", "corner flag", "water cooler"], "garden"),
    **dict.fromkeys(["desk", "chair", "blackboard", "whiteboard", "easel", "bookshelf", "study table", "coat hook", "notice board", "poster",
        "skeleton", "map drawer", "step stool", "wastebasket", "reading lamp", "returns cart", "oven", "stove", "fridge", "freezer", "sink",
        "faucet", "dishwasher", "boiler", "fuse box", "shelf"], "house"),
    **dict.fromkeys(["coat", "doormat", "key", "key ring", "walking stick", "shoehorn"], "bag"),
}


@cache
def class_of(thing: str) -> str:
    """Returns what a thing is for: `kitchen`, `workshop` and so on."""
    if thing in _CLASS_OF_ONE or thing in _MORE_OBJECTS:
        return _CLASS_OF_ONE.get(thing, "mail")
    found = next(row["found"] for row in seeds.words("objects") if row["object"] == thing)
    return next((name for name, places in _CLASSES.items() if found in places.split(", ")), "house")


#: Where things stand that people pass.
_PUBLIC_PLACES = {"on the street", "at the harbor", "on a farm", "in the garden", "at the train station"}


@cache
def animals() -> frozenset[str]:
    return frozenset(row["animal"] for row in seeds.words("animals"))


@cache
def walkers() -> frozenset[str]:
    """Returns the animals that can walk into a house, climb into a bus or lie down on a coat."""
    mammals = {row["animal"] for row in seeds.words("animals") if row["class"] == "mammal"}
    return frozenset(mammals & set(vocabulary.everything("critter"))) - {"bat", "seal", "sea lion", "manatee", "platypus"}


#: Places where people hardly stay, and nobody works.
_PASSED = set("corner doorstep closet escalator sidewalk highway tent spring van taxi moon river asteroid crater thicket clearing landing "
    "sandbank ridge plateau cliff gorge crossroads elevator roof attic basement cellar pantry bedroom bathroom kitchen hallway porch "
    "balcony backyard".split()) | {"living room", "dining room", "spare room", "laundry room", "side street", "country road", "dirt track", "gravel path"}


@cache
def places() -> frozenset[str]:
    # One can meet at any of the others at any time; a wedding or a concert ends.
    return frozenset(row["place"] for row in seeds.words("places") if row["kind"] != "fun" and row["article"] in ("a", "an")
        and row["place"] not in _PASSED)


@cache
def nature() -> frozenset[str]:
    """Returns the places without a roof, where people go for walks."""
    return frozenset(row["place"] for row in seeds.words("places") if row["kind"] == "nature")


@cache
def buildings() -> frozenset[str]:
    """Returns the places that people run and visit, which can be closed or cleaned."""
    return frozenset(row["place"] for row in seeds.words("places") if row["kind"] in ("town", "school", "work"))


@cache
def objects() -> frozenset[str]:
    return frozenset(row["object"] for row in seeds.words("objects") if row["article"] in ("a", "an")) | _MORE_OBJECTS


#: Things that many openings mention and the list of objects lacks.
_MORE_OBJECTS = frozenset({"letter", "note", "box", "photo", "picture", "parcel", "package", "postcard", "cake", "tree"})


@cache
def small_objects() -> frozenset[str]:
    """Returns the things that can be carried in a bag."""
    return frozenset(vocabulary.everything("trinket")) - {"suitcase", "sewing machine", "printer", "monitor"}


@cache
def landmarks() -> frozenset[str]:
    """Returns the things that stand where people pass: a lighthouse, a bus, a fountain."""
    return frozenset(row["object"] for row in seeds.words("objects") if row["found"] in _PUBLIC_PLACES)


@cache
def workers() -> frozenset[str]:
    """Returns the words for people by what they do."""
    return frozenset(vocabulary.everything("job")) | {"king", "queen", "captain", "scientist", "goalkeeper", "knight", "witch", "wizard",
        "thief", "pirate", "president", "minister", "prince", "princess", "neighbor", "stranger"}


#: Words for things and places that mostly mean something else.
_AMBIGUOUS = {"spring", "file", "patch", "track", "root", "scale", "fan", "jack", "signal", "goal", "nut", "mint", "card", "saw",
    "pocket", "sleeve", "collar", "cobweb", "puddle", "dance floor", "runway", "rock pool", "plane", "die", "moon", "stage", "landing", "corner"}


#: What precedes a noun that an opening mentions.
_DETERMINER = r"(?:[Aa]n?|[Tt]he|[Mm]y|[Yy]our|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir|[A-Z]\w+'s)"


def _nouns(text: str) -> list[str]:
    """Returns words after an article: `a cat`, `my old letter`, but not `a ball of gas`, `a bus stop` and `the barber's`."""
    found = []
    for adjective in (r"(?: [\w'-]+)?", ""):
        for match in re.finditer(rf"\b{_DETERMINER}{adjective} (\w+)\b(?!'| of\b)(?=(?: (\w+))?)", text):
            if f"{match[1]} {match[2]}" not in _compounds():
                found.append(match[1])
    return found


@cache
def _compounds() -> frozenset[str]:
    """Returns the known nouns of several words."""
    known = {noun for words in (animals(), objects(), workers(), places()) for noun in words if " " in noun}
    return frozenset(known | {"tree house", "queen bee", "ice cream", "birthday cake", "kitchen chair", "bell tower",
        "time machine", "coffee machine", "train station", "bus station"})


def named_in(opening: str) -> dict[str, str]:
    """Returns the names, the thing, the animal, the person, the place and the food that an opening mentions."""
    found: dict[str, str] = {}
    # `Missing: cat, answers to Tom` names no person, and a street is none either.
    people_named = [word for word in re.findall(r"(?<!answers to )\b[A-Z][a-z]+\b(?! Street)", opening) if vocabulary.is_name(word)]
    if people_named:
        found["a"] = people_named[0]
        if len(people_named) > 1 and people_named[1] != people_named[0]:
            found["b"] = people_named[1]
    text = opening
    for worker in sorted(word for word in workers() if " " in word):
        if re.search(rf"\b{worker}\b", text):
            found.setdefault("job", worker)
            text = text.replace(worker, "")
    for noun in _nouns(text):
        if noun in animals():
            found.setdefault("animal", noun)
        elif noun in objects() and noun not in _AMBIGUOUS:
            found.setdefault("object", noun)
        elif noun in workers():
            found.setdefault("job", noun)
        elif noun in places() and noun not in _AMBIGUOUS:
            found.setdefault("place", noun)
    for word in re.findall(r"[a-z]+", opening.lower()):
        if word in vocabulary.everything("crops"):
            found.setdefault("foods", word)
    return found
