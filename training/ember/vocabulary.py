"""The words that generators draw, by kind."""

from functools import cache

from . import seeds
from .grammar import plural
from .split import Split, of_split

#: Simple English words for colors of things that can have any.
COLORS = (
    "red blue green yellow orange purple pink brown black white gray silver gold turquoise violet beige teal navy crimson "
    "lilac"
).split()
#: People whom users mention.
RELATIVES = ("sister brother mother father aunt uncle cousin daughter son grandmother grandfather boss teacher neighbor doctor dentist "
    "friend roommate nephew niece").split()
FIRST_WORDS = (
    "apple river window garden lantern button pebble thunder ribbon candle mirror pocket planet whistle blanket carpet "
    "summer winter feather copper marble velvet island bridge castle forest meadow orchard harbor tunnel rocket spoon "
    "kettle hammer ladder basket bottle pillow saddle trumpet violin puzzle magnet diamond rainbow snowflake sunflower"
).split()


def _column(rows: tuple[seeds.Row, ...], name: str) -> list[str]:
    return [row[name] for row in rows]


def _single_languages() -> list[str]:
    found: dict[str, None] = {}
    for row in seeds.facts("capitals"):
        for language in row["language"].replace(" and ", ", ").split(", "):
            if language not in ("English", "others", "many others"):
                found[language] = None
    return list(found)



@cache
def _all(kind: str) -> tuple[str, ...]:
    """Returns all words of a kind, in the order of the seeds."""
    names = seeds.words("names")
    capitals = seeds.facts("capitals")
    match kind:
        case "name":
            found = _column(names, "name")
        case "woman":
            found = [row["name"] for row in names if row["mark"] == "f"]
        case "man":
            found = [row["name"] for row in names if row["mark"] == "m"]
        case "animal":
            found = [row["animal"] for row in seeds.words("animals") if row["article"] in ("a", "an")]
        case "critter":
            rows = [row for row in seeds.words("animals") if row["class"] in ("mammal", "bird", "reptile",
                "amphibian") and row["article"] in ("a", "an")]
            found = [row["animal"] for row in rows if not any(word in row["home"] for word in _IN_WATER)]
        case "animals":
            found = [plural(animal) for animal in _all("animal")]
        case "food":
            found = [row["food"] for row in seeds.words("foods") if row["article"] == "some" and row["kind"] != "spice or sauce"
                and not row["food"].endswith("s")]
        case "dish":
            found = [row["food"] for row in seeds.words("foods") if row["article"] == "some" and row["kind"] in ("main dish",
                "soup", "sweet", "breakfast", "egg dish") and not row["food"].endswith("s") and row["food"] not in _UNCOOKED]
            found += _MORE_DISHES
        case "crops":
            found = [row["plural"] for row in seeds.words("foods") if row["plural"] != "-" and row["kind"] in ("fruit",
                "vegetable")]
        case "foods":
            found = [row["plural"] for row in seeds.words("foods") if row["plural"] != "-"]
        case "object":
            found = [row["object"] for row in seeds.words("objects") if row["article"] in ("a",
                "an") and row["found"] in _OF_PERSONS]
        case "trinket":
            rows = [row for row in seeds.words("objects") if row["article"] in ("a",
                "an") and row["found"] in _SMALL and " of " not in row["object"] and row["object"] not in _LARGE]
            found = [row["object"] for row in rows]
        case "thing":
            found = [row["object"] for row in seeds.words("objects") if row["article"] in ("a", "an")]
        case "place":
            found = [row["place"] for row in seeds.words("places") if row["article"] in ("a", "an")]
        case "where":
            found = _column(seeds.words("places"), "with preposition")
        case "job":
            found = _column(seeds.words("jobs"), "job")
        case "city":
            found = _column(capitals, "capital") + [row["other_city"] for row in capitals if row["other_city"] != "-"]
        case "country":
            found = [row["country"] for row in capitals]
        case "language":
            found = _single_languages()
        case "color":
            found = COLORS
        case "day":
            found = _column(seeds.facts("days"), "name")
        case "month":
            found = _column(seeds.facts("months"), "name")
        case "feeling":
            found = [row["feeling"] for row in seeds.words("feelings")]
        case "verb":
            found = [row["verb"] for row in seeds.words("verbs")]
        case "adjective":
            found = [row["adjective"] for row in seeds.words("adjectives")]
        case "weather":
            found = [row["adjective"] for row in seeds.words("weather")]
        case "word":
            found = [word for group in ("thing", "animal", "adjective", "verb", "place", "job") for word in _all(group)]
            found = FIRST_WORDS + [word for word in found if word.isascii() and word.isalpha() and 2 < len(word) < 10]
        case "relative":
            found = RELATIVES
        case "any":
            found = seeds.plain_words()
        case _:
            raise KeyError(f"unknown kind of words {kind!r}: expected one of {KINDS}")
    return tuple(dict.fromkeys(word for word in found if kind not in _OF_STORIES or word not in _RARE))


#: Kinds whose words mostly serve stories, and words too rare for those: small dictionaries lack them.
_OF_STORIES = {"dish", "critter", "trinket", "job", "where", "weather"}
_RARE = {
    "paella", "risotto", "ramen", "ratatouille", "jollof rice", "dal", "falafel", "hatbox", "echidna", "capybara", "meerkat", "fishmonger",
    "glassblower", "tiler", "winemaker", "zookeeper", "bookbinder", "in the tailor's workroom", "at the trailhead", "thundery",
    "plane", "spring", "die", "patch", "old telephone",
}

#: Foods that nobody cooks in a pot, and more dishes that one cooks.
_UNCOOKED = {"tofu", "sushi", "potato salad", "coleslaw", "fruit salad", "chocolate", "honey", "jam", "marmalade", "fudge", "maple syrup",
    "licorice", "toffee", "jelly", "sorbet", "ice cream", "cotton candy", "muesli", "granola"}
_MORE_DISHES = [
    "potato soup", "carrot soup", "pumpkin soup", "cabbage soup", "leek soup", "bean soup", "barley soup", "corn soup", "bean stew",
    "beef stew", "fish stew", "chicken stew", "lentil stew", "vegetable stew", "mushroom stew", "vegetable curry", "chicken curry",
    "fish curry", "pumpkin curry", "rice and beans", "fish pie", "fried fish", "baked fish", "roast beef", "roast duck", "chili",
    "macaroni", "oatmeal", "rice with mushrooms", "mashed potato", "cauliflower cheese", "couscous", "semolina pudding", "applesauce",
]

#: Where things are found that a person can own, carry or buy.
_OF_PERSONS = {
    "in the kitchen", "in the wardrobe", "on the desk", "in the toy box", "in the toolbox", "on the table", "in the bedroom",
    "in a handbag", "in a camping bag", "in a sewing basket", "in a jewelry box", "in the hall",
    "in the music room", "in the bathroom", "at a party", "in the attic", "in the shed", "in the library", "in the workshop",
    "at the sports field", "at the beach",
}

#: Where things are found that are small enough to carry.
_SMALL = {"on the desk", "in the toy box", "in the toolbox", "on the table", "in a handbag", "in a sewing basket",
    "in a jewelry box", "in the kitchen", "in the attic"}
#: Things found there that are not small.
_LARGE = {"fridge", "oven", "stove", "sink", "dishwasher", "freezer", "cupboard", "faucet", "trunk", "rocking chair", "wardrobe",
    "chest", "microwave", "cradle", "stool", "mattress", "typewriter", "skylight", "cobweb", "dollhouse", "rocking horse",
    "photo album"}
#: Homes of animals that cannot walk into a story.
_IN_WATER = ("sea", "ocean", "reef", "coast", "Antarctic", "rocky shore", "warm rivers")

#: Kinds without held-out words, since they are small or a matter of knowledge.
_WHOLE = {"relative", "color", "day", "month", "city", "country", "language", "feeling", "weather"}

#: All kinds.
KINDS = (
    "name woman man animal critter animals dish food foods crops object trinket thing place where job city country language color day month feeling verb "
    "adjective weather word any relative"
).split()


@cache
def of_kind(kind: str, split: Split) -> tuple[str, ...]:
    """Returns the words of a kind that belong to a split. Familiar words are never held out, since users mention them most."""
    found = list(_all(kind))
    if kind in _WHOLE:
        return tuple(found)
    familiar = [word for word in found if is_familiar(word)] if split is Split.TRAIN else []
    rare = [word for word in found if not is_familiar(word)]
    return tuple(familiar + of_split(rare, split))


def everything(kind: str) -> tuple[str, ...]:
    """Returns all words of a kind, of every split."""
    return _all(kind)


@cache
def mark_of(name: str) -> str:
    """Returns the gender of a name: `f`, `m`, or `n` for either and for unknown names."""
    return next((row["mark"] for row in seeds.words("names") if row["name"] == name), "n")


@cache
def _names() -> frozenset[str]:
    return frozenset(row["name"] for row in seeds.words("names"))


def is_name(word: str) -> bool:
    """Returns whether a word is a known name."""
    return word in _names()


@cache
def _familiar() -> frozenset[str]:
    return frozenset(word for line in seeds.lines("words/familiar.txt") for word in line.split())


def is_familiar(word: str) -> bool:
    """Returns whether most people know a word, which may follow an article."""
    return word.lower().removeprefix("a ").removeprefix("an ").removeprefix("the ") in _familiar()


@cache
def familiar_words() -> tuple[str, ...]:
    """Returns the familiar words of three to nine lower-case letters, which are the same in all splits."""
    return tuple(sorted(word for word in _familiar() if 3 <= len(word) <= 9 and word.isascii() and word.isalpha() and word.islower()))
