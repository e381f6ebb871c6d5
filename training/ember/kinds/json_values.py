"""Keys and values of JSON, drawn at random, and how they are written in requests."""

import json

from ..draw import Draw
from ..grammar import capitalized, listed, plural
from .bulk import spliced

Value = str | int | float | bool | None | list | dict

#: Keys with the kind of words used as their values.
KEYS = {
    "name": "name", "first_name": "name", "friend": "name", "owner": "name", "author": "name", "user": "name", "guest": "name",
    "teacher": "name", "winner": "name", "sender": "name", "captain": "name",
    "city": "city", "town": "city", "from": "city", "to": "city", "birthplace": "city", "destination": "city", "capital": "city",
    "country": "country", "home": "country", "age": "age", "years": "age", "count": "count", "number": "count",
    "price": "count", "total": "count", "score": "count", "room": "count", "page": "count", "weight": "count", "height": "count",
    "id": "count", "year": "year", "color": "color", "colour": "color", "shade": "color", "background": "color",
    "pet": "animal", "animal": "animal", "mascot": "animal", "food": "foods", "lunch": "food", "dish": "food", "fruit": "foods",
    "object": "object", "item": "object", "product": "object", "gift": "object", "tool": "object", "title": "object",
    "job": "job", "role": "job", "work": "job", "day": "day", "date": "day", "month": "month", "language": "language",
    "mood": "feeling", "feeling": "feeling", "weather": "weather", "sky": "weather", "verb": "verb", "action": "verb",
    "quality": "adjective", "size": "adjective", "state": "adjective", "word": "word", "label": "word", "tag": "word",
    "type": "word", "key": "word", "place": "place", "location": "place", "open": "flag", "active": "flag", "ready": "flag",
    "done": "flag", "happy": "flag", "paid": "flag", "married": "flag", "new": "flag", "full": "flag", "visible": "flag",
    "temperature": "degrees", "quantity": "count", "level": "count", "speed": "count", "tags": "words", "colors": "colors",
    "email": "email", "mail": "email", "contact": "email", "phone": "phone", "tel": "phone", "birthday": "date", "due": "date", "start": "clock",
    "end": "clock", "time": "clock", "opens": "clock", "code": "code", "sku": "code", "serial": "code", "rating": "decimal", "length": "decimal",
    "balance": "signed", "delta": "signed", "offset": "signed", "surname": "invented", "brand": "invented", "planet": "invented", "team": "phrase",
    "street": "phrase", "book": "phrase", "song": "phrase", "admin": "flag", "locked": "flag", "public": "flag", "sold": "flag", "urgent": "flag",
    "stock": "count", "seats": "count", "floor": "count", "points": "count", "pages": "count", "minutes": "count", "members": "names",
    "items": "things", "friends": "names", "list": "words", "numbers": "counts", "cities": "cities", "animals": "animals_list",
}


#: Kinds of the values of keys that may be any word.
_ANY_KINDS = ("any", "any", "any", "phrase", "phrase", "count", "count", "name", "city", "object", "animal", "color", "flag", "flag",
    "code", "decimal", "nothing", "email", "date", "clock", "signed", "invented", "invented")


def drawn_value(draw: Draw, kind: str) -> Value:
    match kind:
        case "age":
            return draw.number(1, 99)
        case "count":
            return draw.number(0, 20) if draw.chance(0.5) else draw.number(0, 999)
        case "year":
            return draw.number(1900, 2040)
        case "degrees":
            return draw.number(-20, 40)
        case "flag":
            return draw.chance(0.5)
        case "phrase":
            return " ".join(capitalized(word) for word in draw.words("any", draw.number(1, 3)))
        case "nothing":
            return draw.choice((None, None, []))
        case "code":
            return f"{draw.word('any')}{draw.choice('-_.')}{draw.number(1, 999)}"
        case "decimal":
            return draw.number(1, 999) / 10
        case "goods":
            kind = draw.choice(("foods", "foods", "trinket", "thing", "any"))
            return plural(draw.word(kind)) if kind in ("trinket", "thing") else draw.word(kind)
        case "email":
            return f"{draw.word('any')}{draw.choice(('', '.', '_'))}{draw.choice((draw.word('any'), str(draw.number(1, 99))))}@{draw.word('any')}.{draw.choice(('com', 'org', 'net'))}"
        case "phone":
            return f"{draw.number(100, 999)}-{draw.number(1000, 9999)}"
        case "date":
            return f"{draw.number(1950, 2040)}-{draw.number(1, 12):02}-{draw.number(1, 28):02}"
        case "clock":
            return f"{draw.number(0, 23):02}:{draw.choice((0, 5, 15, 20, 30, 45)):02}"
        case "signed":
            return draw.number(-500, 500)
        case "invented":
            return capitalized(spliced(draw)) if draw.chance(0.6) else spliced(draw)
        case "words":
            return draw.words(draw.choice(("word", "any")), draw.number(2, 4))
        case "things":
            return draw.words("object", draw.number(2, 3))
        case "names":
            return draw.words("name", draw.number(2, 3))
        case "cities":
            return draw.words("city", draw.number(2, 3))
        case "colors":
            return draw.words("color", draw.number(2, 3))
        case "animals_list":
            return draw.words("animal", draw.number(2, 3))
        case "counts":
            return [draw.number(0, 99) for _ in range(draw.number(2, 5))]
        case _:
            return draw.word(kind)


def drawn_pairs(draw: Draw, count: int, plain: bool = False) -> dict[str, Value]:
    """Returns keys with values; some keys are random words, so that keys must be copied, too."""
    found: dict[str, Value] = {}
    while len(found) < count:
        if draw.chance(0.5):
            key = draw.word("any")
            if draw.chance(0.25):
                key = draw.choice(("{}_{}", "{}_{}", "{}{}")).format(key, draw.choice((draw.word("any"), "id", "name", "size")))
            kind = draw.choice(_ANY_KINDS)
        else:
            key = draw.choice(list(KEYS))
            kind = KEYS[key]
        if plain and kind in ("nothing", "words", "things", "names", "cities", "colors", "counts", "animals_list", "flag"):
            continue
        if key not in found:
            found[key] = drawn_value(draw, kind)
    return found


def as_shown(value: Value) -> str:
    """Returns a value as it appears in a request."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if value == []:
        return "an empty list"
    if isinstance(value, list):
        return listed([str(item) for item in value])
    return str(value)


def to_protect(values: dict[str, Value]) -> tuple[str, ...]:
    parts: list[str] = []
    for key, value in values.items():
        parts.append(key)
        parts += [str(item) for item in value] if isinstance(value, list) else [as_shown(value)]
    return tuple(parts)


def as_json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)
