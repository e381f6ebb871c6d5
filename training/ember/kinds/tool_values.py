"""Values of parameters and results of tools, by the name of their kind."""

from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, listed
from .bulk import spliced
from .tool_words import CAPITALIZED, SURNAMES, TEXTS

Value = str | int | float | bool | list

_TEXTS = {
    "event": ["dinner", "lunch with Ada", "the dentist", "a meeting", "swimming", "choir", "a picnic", "chess club",
    "the school play", "yoga", "a concert", "the garden party", "a job talk", "book club"],
    "message": ["i am late", "dinner is ready", "the meeting is over", "please call me", "i found the keys", "the train is late",
    "we need milk", "happy birthday", "i will be home at six", "thank you for the flowers", "see you soon", "the door is open",
    "i am on my way", "the cat is fine", "bring an umbrella"],
    "genre": ["jazz", "rock", "classical", "folk", "piano", "blues", "salsa", "quiet", "dance", "country"],
    "room": ["kitchen", "bedroom", "bathroom", "living room", "hall", "garage", "office", "cellar", "attic", "dining room"],
    "shopping": ["milk", "bread", "eggs", "butter", "soap", "rice", "tea", "apples", "cheese", "flour", "candles", "onions",
    "coffee", "salt", "honey"],
    "dish": ["pizzas", "soups", "salads", "burgers", "pancakes", "sandwiches", "noodle bowls", "tacos", "curries", "dumplings"],
    "hotel": ["Hotel Lark", "Blue Door Inn", "Hotel Linden", "Harbor House", "Two Bridges Hotel", "The Old Mill",
    "Station Hotel"],
    "spot": ["station", "airport", "museum", "hospital", "theater", "zoo", "library", "market", "stadium", "harbor", "school",
    "park"],
    "currency": ["dollars", "euros", "pounds", "yen", "francs", "pesos", "rupees", "crowns"],
    "phrase": ["good morning", "thank you", "where is the station", "i love you", "good night", "a cup of tea, please",
    "how are you", "happy birthday", "the bill, please", "see you tomorrow"],
    "foreign": ["gracias", "buenos dias", "merci", "guten Morgen", "bonsoir", "ciao", "tak", "dobry den", "asante", "arigato"],
    "meaning": ["a small round stone", "a feeling of joy", "to walk slowly", "a place where birds sleep", "very bright",
    "a tool for digging", "a quiet sound", "to look for something"],
    "topic": ["old bridges", "bees", "sailing", "cheap bikes", "volcanoes", "bread baking", "the moon", "tomato plants",
    "piano lessons", "owls", "train travel", "knitting", "deserts", "kites", "lighthouses"],
    "newstopic": ["sports", "science", "music", "weather", "space", "football", "business", "health", "movies", "animals"],
    "title": ["The Long Way Home", "Ten Easy Steps", "All About Bees", "A Short Guide", "The Quiet Sea", "Winter Light",
    "New Bridge Opens", "The Red Kite", "What We Know Today", "The Last Lamp"],
    "company": ["Norden Foods", "Blue Kite Air", "Lumen Works", "Tidewater Books", "Maple Motors", "Orchard Bank", "Pebble Toys"],
    "task": ["call the bank", "buy milk", "water the plants", "feed the cat", "pay the rent", "take out the trash",
    "book the train", "write to grandma", "wash the car", "fix the lamp", "return the books"],
    "file": ["notes.txt", "report.pdf", "list.csv", "photo.jpg", "letter.doc", "plan.md", "budget.xlsx", "poem.txt", "todo.txt",
    "song.mp3", "map.png"],
    "gardenpart": ["roses", "lawn", "tomatoes", "herbs", "hedge", "apple tree", "bean bed"],
    "sign": ["Aries", "Taurus", "Gemini", "Cancer", "Leo", "Virgo", "Libra", "Scorpio", "Capricorn", "Aquarius", "Pisces"],
    "fortune": ["a good day to try something new", "somebody will make you laugh", "take an umbrella",
    "an old friend thinks of you", "good news is on its way", "be patient today"],
    "animalfact": ["it can sleep standing up", "it has a very good memory", "it likes cold water",
    "it sleeps for most of the day", "it can hear very well", "it lives in small groups", "it cleans itself for hours",
    "it can live for twenty years"],
    "film": ["funny", "sad", "short", "French", "scary", "romantic", "silent", "historical", "new", "science fiction"],
    "show": ["the circus", "the opera", "the big game", "the puppet show", "the jazz night", "the magic show", "the ballet",
    "the school play"],
    "doctor": ["dentist", "eye doctor", "skin doctor", "family doctor", "ear doctor"],
    "lampname": ["kitchen", "desk", "garden", "bedside", "reading", "hall", "floor"],
    "doorname": ["front", "back", "garage", "garden", "cellar", "office"],
    "unit": ["meters", "feet", "inches", "miles", "kilometers", "yards"],
    "game": ["chess", "memory", "bingo", "checkers", "dominoes", "rummy", "backgammon"],
    "subject": ["math", "history", "music", "biology", "art", "geography", "chemistry"],
    "account": ["savings", "checking", "family", "business", "travel"],
    "onoff": ["on", "off"],
    "planet": ["Mars", "Venus", "Jupiter", "Saturn", "Uranus", "Neptune", "Mercury"],
}


def value(draw: Draw, kind: str) -> Value:
    """A value of a kind; `word:ok` is the word after the colon."""
    if kind.startswith("word:"):
        return kind.removeprefix("word:")
    if kind in _ANY_WORDS and draw.chance(0.6 if kind not in TEXTS else 0.35):
        return _any_words(draw, _ANY_WORDS[kind])
    if kind in _INVENTED and draw.chance(0.15):
        return capitalized(spliced(draw))
    if kind in ("object", "foods", "animal") and draw.chance(0.06):
        return spliced(draw)
    if kind in _TEXTS or kind in TEXTS:
        return _text(draw, kind)
    match kind:
        case "degrees":
            return draw.number(-15, 38)
        case "warmth":
            return draw.number(15, 26)
        case "oven":
            return draw.number(14, 24) * 10
        case "minutes":
            return draw.choice((draw.number(2, 12) * 5, draw.number(1, 59)))
        case "percent":
            return draw.number(0, 20) * 5
        case "stars":
            return draw.number(1, 5)
        case "few":
            return draw.number(2, 12)
        case "dayofmonth":
            return draw.number(1, 28)
        case "price":
            return draw.number(2, 300)
        case "amount":
            return draw.number(2, 500)
        case "big" | "distance":
            return draw.number(20, 2000)
        case "age":
            return draw.number(4, 95)
        case "dice":
            return [draw.number(1, 6) for _ in range(draw.number(2, 3))]
        case "time":
            return _time(draw)
        case "decimal":
            return draw.number(1, 400) / 10 if draw.chance(0.8) else draw.number(1, 40)
        case "year":
            return draw.number(1995, 2030)
        case "number" | "kids":
            return draw.number(1, 12)
        case "grams":
            return draw.number(2, 40) * 5
        case "washheat":
            return draw.choice((20, 30, 40, 60, 90))
        case "beats":
            return draw.number(40, 200)
        case "fullname":
            return f"{draw.word('name')} {draw.choice(SURNAMES) if draw.chance(0.8) else capitalized(spliced(draw))}"
        case "surname":
            return draw.choice(SURNAMES) if draw.chance(0.7) else capitalized(spliced(draw))
        case "date":
            return draw.choice(("{m} {d}", "{m} {d}", "{d} {m}")).format(m=draw.word("month"), d=draw.number(1, 28))
        case "cell":
            return f"{draw.choice('ABCDEFGHJKLM')}{draw.number(1, 60)}"
        case "tasks" | "files":
            return [_text(draw, kind.removesuffix("s")) for _ in range(draw.number(2, 3))]
        case "switch" | "lockstate" | "openstate" | "mutestate":
            return draw.chance(0.5)
        case "sum":
            return f"{draw.number(2, 999)} {draw.choice('+-*/')} {draw.number(2, 999)}"
        case "phone":
            return f"555-{draw.number(1000, 9999)}"
        case "code":
            return f"{draw.choice('ABCDEFGH')}{draw.choice('KLMNPQRS')}{draw.number(100, 9999)}"
        case "rpm":
            return draw.number(10, 150) * 100
        case "angle":
            return draw.number(0, 359)
        case "skilength":
            return draw.number(90, 200)
        case "shoesize":
            return draw.number(30, 47)
        case "kiln":
            return draw.number(16, 26) * 50
        case "oldyear":
            return draw.number(1650, 1920)
        case "diesides":
            return draw.choice((4, 6, 8, 10, 12, 20, 100))
        case "signedint":
            return draw.number(-999, 999)
        case "port":
            return draw.choice((22, 80, 443, 3000, 5432, 8080, 8443, draw.number(1024, 65535)))
        case "ip":
            return f"10.{draw.number(0, 255)}.{draw.number(0, 255)}.{draw.number(1, 254)}"
        case "version":
            return f"{draw.number(0, 12)}.{draw.number(0, 30)}" + (f".{draw.number(0, 40)}" if draw.chance(0.6) else "")
        case "hostname":
            return f"{draw.word('any')}.{draw.choice(('example', 'local', 'test', 'lan', 'internal'))}"
        case "appname" | "tablename":
            return draw.choice(("{}", "{}", "{}_{}", "{}-{}")).format(draw.word("any"), draw.word("any"))
        case "username":
            return draw.choice(("{}", "{}{}", "{}_{}", "{}.{}")).format(spliced(draw), draw.number(1, 999))
        case "branch":
            return draw.choice(("fix/{}-{}", "{}-{}", "feature/{}", "{}_{}")).format(draw.word("any"), draw.word("any"))
        case "square":
            return f"{draw.choice('abcdefgh')}{draw.number(1, 8)}"
        case "events":
            return draw.some(_TEXTS["event"], draw.number(1, 2))
        case "shoppings":
            return draw.some(_TEXTS["shopping"], draw.number(2, 3))
        case _:
            return draw.word(kind)


#: Kinds some of whose values are invented names.
_INVENTED = {"name", "city"}


def _text(draw: Draw, kind: str) -> str:
    """One of the texts of a kind, its slots filled."""
    text = fill(draw, draw.choice((*_TEXTS.get(kind, ()), *TEXTS.get(kind, ()))), {})
    return " ".join(map(capitalized, text.split())) if kind in CAPITALIZED else text


#: The most words of the kinds whose values may be any words, and whether they are capitalized.
_ANY_WORDS = {"event": (3, False), "message": (5, False), "shopping": (1, False), "hotel": (2, True), "phrase": (4, False),
    "topic": (2, False), "title": (3, True), "company": (2, True), "task": (4, False), "show": (3, False), "dish": (1, False),
    "spot": (1, False), "genre": (1, False), "film": (1, False), "project": (2, True), "server": (1, False), "folder": (1, False),
    "restaurant": (2, True), "station": (2, True), "playlist": (2, True), "caketext": (3, True), "petname": (1, True),
    "device": (1, False), "club": (2, False), "team": (2, True), "quiztopic": (1, False), "street": (2, True)}


def _any_words(draw: Draw, form: tuple[int, bool]) -> str:
    """Words without meaning, which can only be copied."""
    most, capitals = form
    found = draw.words("any", draw.number(1, most))
    return " ".join(capitalized(word) for word in found) if capitals else " ".join(found)


def _time(draw: Draw) -> str:
    hour, minute = draw.number(0, 23), draw.choice((0, 0, 15, 30, 45, draw.number(0, 59)))
    return draw.choice((f"{hour}:{minute:02}", f"{hour:02}:{minute:02}", f"{1 + hour % 12} {'am' if hour < 12 else 'pm'}"))


#: Wordings of yes and no, by kind of parameter.
_SAID = {"switch": ("off", "on"), "lockstate": ("unlock", "lock"), "openstate": ("close", "open"), "mutestate": ("unmute", "mute")}


def spoken(given: Value, kind: str = "") -> str:
    """Returns a value as it appears in a sentence."""
    if isinstance(given, bool):
        return _SAID.get(kind, ("no", "yes"))[given]
    return listed([str(item) for item in given]) if isinstance(given, list) else str(given)


def choices(kind: str) -> list[str] | None:
    """All values of a kind, where they are few."""
    known = [*_TEXTS.get(kind, ()), *TEXTS.get(kind, ())]
    return known if 0 < len(known) <= 8 and kind not in _ANY_WORDS else None


def schema_type(given: Value) -> str:
    """The name of a value's type in a JSON schema."""
    if isinstance(given, bool):
        return "boolean"
    if isinstance(given, int):
        return "integer"
    if isinstance(given, float):
        return "number"
    return "array" if isinstance(given, list) else "string"
