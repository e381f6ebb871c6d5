"""JSON with keys and values from the request, changes to it, and values extracted from sentences."""

import json

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, with_article
from .facts_asking import asked
from .json_keys import KEY_SHAPES
from .json_sentences import MORE_DESCRIBED, MORE_SENTENCES
from .json_shapes import SHAPES
from .json_values import KEYS, Value, as_json, as_shown, drawn_pairs, drawn_value, to_protect
from .lists import COMMON, from_some


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("json", _MAKERS)
    return kind, maker(draw)


_REQUESTS = [
    "give me json with {p}", "make a json object: {p}", "JSON with {p}", "Return a JSON object with {p}.", "write json: {p}",
    "json please: {p}", "as json: {p}", "Create a JSON object with {p}.", "I need json with {p}", "build json with {p}",
    "put this in json: {p}", "convert to json: {p}", "Return only JSON: {p}", "output json with {p}",
    "can you make json from {p}", "turn this into json: {p}", "give me a json object where {w}", "json object, {w}",
    "Respond in JSON with {p}.", "Write a JSON object where {w}.", "json: {p}", "json where {w}", "{p} - as json please",
    "make a json object, {w}", "Turn this into JSON: {p}",
]


def _as_prose(draw: Draw, values: dict[str, Value]) -> tuple[str, str]:
    """The pairs in one of several ways of writing them: `name Ada and age 31`, `name is Ada`."""
    style = draw.number(0, 7)
    pairs = [(key, as_shown(value)) for key, value in values.items()]
    joined = {
        0: listed([f"{key} {value}" for key, value in pairs]),
        1: ", ".join(f"{key}: {value}" for key, value in pairs),
        2: ", ".join(f"{key}={value}" for key, value in pairs),
        3: listed([f'{key} "{value}"' if isinstance(values[key], str) else f"{key} {value}" for key, value in pairs]),
        4: ", ".join(f"{key} {value}" for key, value in pairs),
        5: ". ".join(f"{capitalized(key)}: {value}" for key, value in pairs) + ".",
        6: ", ".join(f'{key} is "{value}"' if isinstance(values[key], str) else f"{key} is {value}" for key, value in pairs),
        7: listed([f'"{key}" set to {json.dumps(values[key])}' for key in values]),
    }[style]
    linked = draw.choice((listed, ", ".join))
    quoted = draw.choice(("{}", "{}", '"{}"'))
    return joined, linked([f"{quoted.format(key)} is {value}" for key, value in pairs])


def plain(draw: Draw) -> list[Turn]:
    """An object with keys and values from the request, and changes to it."""
    values = drawn_pairs(draw, draw.rng.choices((1, 2, 3, 4), (2, 5, 4, 1))[0])
    joined, sentence = _as_prose(draw, values)
    protected = (*to_protect(values), *map(capitalized, values))
    turns = [Turn(asked(draw, _REQUESTS, p=joined, w=sentence), as_json(values), protected)]
    while draw.chance(0.3) and len(turns) < 4:
        turns.append(_change(draw, values))
    return turns


def under_a_key(draw: Draw) -> list[Turn]:
    """A list of one or more things under a key, with the list introduced in words."""
    kind = draw.choice(("words", "things", "names", "cities", "colors", "counts", "animals_list"))
    key = draw.word("any") if draw.chance(0.6) else draw.choice([key for key, of in KEYS.items() if of == kind])
    values = drawn_value(draw, kind)
    shown, quoted = listed([str(item) for item in values]), draw.choice((key, f'"{key}"'))
    return [Turn(asked(draw, ["json with the key {k} and a list of {v}", "a json object, key {k}, value a list with {v}",
        "Make JSON with a list called {k}: {v}.", "json with a list named {k}: {v}", "Put {v} in a JSON list under the key {k}.",
        "an object with {k} as a list of {v}", "Give me JSON where {k} is a list of {v}.", "JSON, {k} should be the list {v}",
        "make a json object with the items {v} in a list called {k}"], k=quoted, v=shown), as_json({key: values}),
        (key, *map(str, values)))]


def _change(draw: Draw, values: dict[str, Value]) -> Turn:
    """A request that changes `values`, and the object after it."""
    form = draw.choice(("add", "add", "change", "remove") if len(values) > 1 else ("add", "change"))
    if form == "add":
        key, value = next((pair for pair in drawn_pairs(draw, 4).items() if pair[0] not in values), ("note", draw.word("word")))
        values[key] = value
        wordings = ["add {k} {v}", "and {k} {v}", "now add {k}: {v}", "add a key {k} with the value {v}", "also {k} {v}",
            "please add {k} {v}"]
    elif form == "change":
        key = draw.choice(list(values))
        old = values[key]
        kind = "flag" if isinstance(old, bool) else "count" if isinstance(old, int) else KEYS.get(key, "any")
        value = (not old) if isinstance(old, bool) else drawn_value(draw, kind)
        values[key] = value
        wordings = ["change {k} to {v}", "set {k} to {v}", "make {k} {v}", "{k} should be {v}", "no, {k} is {v}",
            "replace {k} with {v}", "but with {k} as {v}", "with {k} changed to {v}", "{k} is now {v}", "let {k} be {v}"]
    else:
        key = draw.choice(list(values))
        value = values.pop(key)
        wordings = ["remove {k}", "without {k}", "delete {k}", "take {k} out", "drop the key {k}"]
    return Turn(asked(draw, wordings, k=key, v=as_shown(value)), as_json(values), to_protect({key: value}))


def changing(draw: Draw) -> list[Turn]:
    """A given object, changed as requested."""
    values = drawn_pairs(draw, draw.number(1, 3), plain=True)
    given = as_json(values)
    change = _change(draw, values)
    shown = draw.choice(("{j} {c}", "{j}\n{c}", "{c}: {j}", "here is my json: {j} {c}", "{c} in {j}", "{j} - {c}", "Given {j}, {c}.")).format(j=given, c=change.user)
    turns = [Turn(shown, change.answer, (given, *change.protected))]
    if draw.chance(0.3):
        turns.append(_change(draw, values))
    return turns


def keys_and_values(draw: Draw) -> list[Turn]:
    """Keys and values that are listed apart."""
    values = drawn_pairs(draw, draw.number(2, 3), plain=True)
    keys = ", ".join(values)
    shown = ", ".join(as_shown(value) for value in values.values())
    return [Turn(asked(draw, [
        "json with keys {k} and values {v}", "Keys: {k}. Values: {v}. Return JSON.", "make json. keys: {k}. values: {v}",
        "a json object with the keys {k} and the values {v}", "Return JSON only. Keys: {k}. Values: {v}.",
        "the keys are {k}, the values are {v}, give me json",
    ], k=keys, v=shown), as_json(values), to_protect(values))]


def array(draw: Draw) -> list[Turn]:
    """A list as JSON, and changes to it."""
    kind = draw.choice(("words", "things", "names", "cities", "colors", "counts", "animals_list"))
    values = drawn_value(draw, kind)
    shown = draw.choice((listed([str(item) for item in values]), ", ".join(map(str, values)),
        " ".join(map(str, values)) if all(" " not in str(item) for item in values) else ", ".join(map(str, values))))
    turns = [Turn(asked(draw, ["json list of {p}", "as a json array: {p}", "make a json array from {p}", "a json list: {p}",
        "turn this list into json: {p}", "Return {p} as a JSON array.", "json array with {p}", "list in json: {p}"], p=shown),
        as_json(values), tuple(map(str, values)))]
    if draw.chance(0.3):
        new = drawn_value(draw, kind)[0]
        values = [*values, new]
        turns.append(Turn(asked(draw, ["add {v}", "and {v}", "put {v} at the end", "now add {v}"], v=new), as_json(values),
            (str(new),)))
    elif draw.chance(0.2):
        values = values[::-1]
        turns.append(Turn(asked(draw, ["reverse it", "in reverse order", "the other way round", "turn the order around"]),
            as_json(values)))
    return turns


#: Sentences with the keys that are asked for, each with the kind of its value.
_SENTENCES: list[tuple[str, dict[str, str]]] = [
    ("{name} lives in {city}.", {"name": "name", "city": "city"}),
    ("{name} is {age} years old and lives in {city}.", {"name": "name", "age": "age", "city": "city"}),
    ("{name} is a {job} from {country}.", {"name": "name", "job": "job", "country": "country"}),
    ("My name is {name} and I am {age}.", {"name": "name", "age": "age"}),
    ("{name} bought a {color} {item} for {price} dollars.", {"name": "name", "color": "color", "item": "object",
    "price": "count"}),
    ("The {item} is {color} and costs {price} dollars.", {"item": "object", "color": "color", "price": "count"}),
    ("On {day}, {name} flies to {city}.", {"day": "day", "name": "name", "city": "city"}),
    ("{name} has a {pet} called {pet_name}.", {"name": "name", "pet": "animal", "pet_name": "name"}),
    ("We need {count} {foods} for the party on {day}.", {"count": "count", "foods": "foods", "day": "day"}),
    ("{name} works as a {job} in {city}.", {"name": "name", "job": "job", "city": "city"}),
    ("It is {temperature} degrees and {weather} in {city}.", {"temperature": "degrees", "weather": "weather", "city": "city"}),
    ("The meeting with {name} is on {day} in room {room}.", {"name": "name", "day": "day", "room": "count"}),
    ("{name} ordered {count} bowls of {food}.", {"name": "name", "count": "count", "food": "food"}),
    ("{name} won the race in {month}.", {"name": "name", "month": "month"}),
    ("{name} feels {mood} today.", {"name": "name", "mood": "feeling"}),
    ("{name} speaks {language} and lives in {country}.", {"name": "name", "language": "language", "country": "country"}),
    ("I lost my {color} {item} {day} morning.", {"color": "color", "item": "object", "day": "day"}),
    ("Please send {count} {item} to {city}.", {"count": "count", "item": "foods", "city": "city"}),
    ("{guest} booked a table for {count} on {day}.", {"guest": "name", "count": "count", "day": "day"}),
    ("The train from {from} to {to} leaves at {hour}.", {"from": "city", "to": "city", "hour": "count"}),
    ("Can I have a {color} {item}, please?", {"color": "color", "item": "object"}),
    ("The {animal} weighs {weight} pounds.", {"animal": "animal", "weight": "count"}),
    ("{author} wrote {title} in {year}.", {"author": "name", "title": "phrase", "year": "year"}),
    ("Our office in {city} has {rooms} rooms.", {"city": "city", "rooms": "count"}),
    ("Call {contact} at {number}.", {"contact": "name", "number": "count"}),
    ("They sold {amount} {fruit} in {month}.", {"amount": "count", "fruit": "foods", "month": "month"}),
    ("The code of order {order} is {code}.", {"order": "count", "code": "code"}),
    ("{team} beat {rival} by {points} points.", {"team": "phrase", "rival": "city", "points": "count"}),
    ("The word of the day is {word}.", {"word": "any"}),
]


def extracting(draw: Draw) -> list[Turn]:
    """Values extracted from a sentence."""
    return _extract(draw, [made for made in (*_SENTENCES, *MORE_SENTENCES) if "pet_name" not in made[1]])


def two_names(draw: Draw) -> list[Turn]:
    """A sentence with two names in different roles: a kind that is held out."""
    return _extract(draw, [made for made in _SENTENCES if "pet_name" in made[1]])


def _extract(draw: Draw, sentences: list[tuple[str, dict[str, str]]]) -> list[Turn]:
    template, kinds = draw.choice(sentences)
    values = {key: drawn_value(draw, kind) for key, kind in kinds.items()}
    text = template
    for key, value in values.items():
        text = text.replace(f"a {{{key}}}", with_article(str(value))).replace(f"A {{{key}}}", capitalized(with_article(str(value))))
        text = text.replace(f"{{{key}}}", str(value))
    if draw.chance(0.25) and len(values) > 2:
        values = {key: values[key] for key in draw.some(list(values), 2)}
    elif draw.chance(0.35):
        values = {key: values[key] for key in draw.some(list(values), len(values))}
    keys = listed(list(values)) if draw.chance(0.5) else ", ".join(values)
    wordings = [
        "extract {k} as json: {t}", "{t} Give me {k} as JSON.", "Read {k} from this sentence and answer in JSON: {t}",
        "json with {k} from: {t}", "From the text, return JSON with the keys {k}. Text: {t}", "{t} json with {k} please",
        "find {k}: {t} answer in json",
        "Extract the {k} from the text as JSON. {t}",
    ]
    return [Turn(asked(draw, wordings, k=keys, t=text), as_json(values), (text, *values, keys))]


#: Things described in plain words, and the keys of their objects.
_DESCRIBED: list[tuple[list[str], dict[str, str]]] = [
    (["a {color} {item}", "a {color} {item} as an object"], {"item": "object", "color": "color"}),
    (["a user with id {id} and name {name}", "a user called {name} with the id {id}"], {"id": "count", "name": "name"}),
    (["a person called {name} who is {age}", "a person named {name}, {age} years old", "{name}, {age}"], {"name": "name", "age": "age"}),
    (["the city {city} in {country}", "{city} in {country}"], {"city": "city", "country": "country"}),
    (["my {animal} {name} is {age} years old", "a {animal} called {name}, age {age}"], {"animal": "animal", "name": "name", "age": "age"}),
    (["the book {title} by {author}", "{title} by {author}"], {"title": "word", "author": "name"}),
    (["{name} is a {job}", "a {job} called {name}"], {"name": "name", "job": "job"}),
    (["a {item} for {price} dollars", "the {item} costs {price} dollars"], {"item": "object", "price": "count"}),
    (["{count} {item}", "an order of {count} {item}"], {"item": "foods", "count": "count"}),
    (["a meeting with {name} on {day}", "meet {name} on {day}"], {"name": "name", "day": "day"}),
    (["{weather} in {city}, {temperature} degrees"], {"city": "city", "weather": "weather", "temperature": "degrees"}),
    (["a trip from {from} to {to}", "the train from {from} to {to}"], {"from": "city", "to": "city"}),
]


def described(draw: Draw) -> list[Turn]:
    """An object for something described in plain words, with keys given or chosen."""
    phrases, kinds = draw.choice((*_DESCRIBED, *MORE_DESCRIBED))
    values = {key: drawn_value(draw, kind) for key, kind in kinds.items()}
    text = draw.wording(phrases)
    for key, value in values.items():
        text = text.replace(f"a {{{key}}}", with_article(str(value))).replace(f"{{{key}}}", str(value))
    given = draw.chance(0.5)
    if given:
        values = {key: values[key] for key in draw.some(list(values), len(values))}
    wordings = ["json with {k} for {t}", "give me json with keys {k} for {t}", "{t} as json with {k}", "JSON with the keys {k} for: {t}",
        "{t} - json with {k}"] if given else ["json for {t}", "make a json object for {t}", "{t} as json", "describe {t} in json",
        "turn this into json: {t}", "JSON please: {t}", "write {t} as a JSON object", "a json object describing {t}"]
    return [Turn(asked(draw, wordings, k=listed(list(values)), t=text), as_json(values), (text, *values))]


def valued(draw: Draw) -> list[Turn]:
    """A value for each key, or a list under a key, in other words than `plain`."""
    values = drawn_pairs(draw, draw.number(1, 3))
    lists = {key: value for key, value in values.items() if isinstance(value, list)}
    if lists and draw.chance(0.7):
        key, value = draw.choice(list(lists.items()))
        return [Turn(asked(draw, ["json with a key {k} containing {v}", "an object whose {k} are {v}", "json: {k} is a list of {v}",
            "a key {k} with the list {v}, as json", "json with a list {k}: {v}"], k=draw.choice((key, f'"{key}"')), v=as_shown(value)),
            as_json({key: value}), (key, *map(str, value)))]
    shown = listed([f"{as_shown(value)} for {key}" for key, value in values.items()])
    return [Turn(asked(draw, ["json with {p}", "use {p} as json", "a json object with {p}", "put {p} into json"], p=shown),
        as_json(values), to_protect(values))]


def nested(draw: Draw) -> list[Turn]:
    """An object within an object."""
    outer = draw.choice(("person", "order", "user", "car", "book", "house", draw.word("word")))
    inner = drawn_pairs(draw, 2, plain=True)
    shown = listed([f"{key} {as_shown(value)}" for key, value in inner.items()])
    return [Turn(asked(draw, ["json with a key {o} that holds {p}", "a json object {o} with {p} inside",
        "nested json: {o} with {p}", "make json with {o} as an object of {p}"], o=outer, p=shown), as_json({outer: inner}),
        (outer, *to_protect(inner)))]


def list_of_objects(draw: Draw) -> list[Turn]:
    """A list of objects: a kind that is held out."""
    names = draw.words("name", 2)
    ages = [draw.number(5, 80) for _ in names]
    values = [{"name": name, "age": age} for name, age in zip(names, ages)]
    shown = listed([f"{name} is {age}" for name, age in zip(names, ages)])
    return [Turn(asked(draw, ["a json list of people with name and age: {p}", "json array of objects with name and age. {p}"],
        p=shown), as_json(values), tuple(names))]


def reading(draw: Draw) -> list[Turn]:
    """Reading a value out of JSON."""
    values = drawn_pairs(draw, draw.number(2, 4), plain=True)
    key = draw.choice(list(values))
    given = as_json(values)
    turns = [Turn(asked(draw, ["{j} what is {k}", "{j}\nWhat is the value of {k}?", "here is json: {j} what is {k}?",
        "read {k} from {j}", "get {k}: {j}", "what is {k} in {j}"], j=given, k=key), as_shown(values[key]), (given, key))]
    if draw.chance(0.4):
        other = draw.choice([name for name in values if name != key])
        turns.append(Turn(asked(draw, ["and {k}?", "and {k}", "what about {k}", "now {k}"], k=other), as_shown(values[other]),
            (other,)))
    elif draw.chance(0.4):
        turns.append(Turn(asked(draw, ["which keys are there", "list the keys", "what are the keys?", "name all keys"]),
            f"{capitalized('the keys are')} {listed(list(values))}."))
    return turns


def invented(draw: Draw) -> list[Turn]:
    """JSON with values of Ember's choice."""
    fields = draw.some([("name", "name"), ("age", "age"), ("city", "city"), ("color", "color"), ("animal", "animal"),
        ("job", "job"), ("food", "food"), ("day", "day"), ("number", "count"), ("country", "country")], draw.number(1, 3))
    values = {key: drawn_value(draw, kind) for key, kind in fields}
    keys = listed([with_article(key) for key in values])
    things = {"name": "a person", "animal": "an animal"}.get(fields[0][0], "something")
    return [Turn(asked(draw, ["make up json with {k}", "invent a json object with {k}", "json for {t} with {k}, make it up",
        "example json with {k}", "give me sample json with {k}"], k=keys, t=things), as_json(values), tuple(values))]


def counted(draw: Draw) -> list[Turn]:
    """A list of things that Ember chooses, as JSON."""
    name = draw.choice(("animals", "colors", "names", "cities", "foods", "jobs", "fruits", "countries"))
    count = draw.number(2, 6)
    return [Turn(asked(draw, ["json list of {n} {t}", "give me {n} {t} as a json array", "{n} {t} in json",
        "Return {n} {t} as a JSON array."], n=count, t=name), as_json(from_some(draw, COMMON[name])[:count]))]


_MAKERS = {
    "plain": (plain, 44),
    "under a key": (under_a_key, 14),
    "changing": (changing, 14),
    "described": (described, 34),
    "valued": (valued, 10),
    "keys and values": (keys_and_values, 12),
    "array": (array, 12),
    "extracting": (extracting, 34),
    "two names in one sentence": (two_names, 3),
    "nested": (nested, 6),
    "list of objects": (list_of_objects, 3),
    "reading": (reading, 10),
    "invented": (invented, 3),
    "counted": (counted, 4),
    **SHAPES,
    **KEY_SHAPES,
}
