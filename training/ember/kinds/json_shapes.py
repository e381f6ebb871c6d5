"""More shapes of JSON: quantities, types, objects in objects, given JSON changed in many ways, tables and forms turned into JSON."""

import json
import re

from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, listed, with_article
from .facts_asking import asked
from .json_sentences import STATES
from .json_values import Value, as_json, as_shown, drawn_pairs, drawn_value, to_protect


def quantities(draw: Draw) -> list[Turn]:
    """Things with their numbers as keys and values."""
    kind = draw.choice(("foods", "foods", "animals", "any", "object"))
    values = {word: draw.number(2, 20) if draw.chance(0.7) else draw.number(2, 999) for word in draw.words(kind, draw.number(2, 4))}
    shown = draw.choice((listed, ", ".join))([f"{count} {word}" for word, count in values.items()])
    wordings = ["json with the number of each: {t}", "as json, things as keys and numbers as values: {t}", "put these amounts into json: {t}",
        "{t} - as json with counts", "Make a JSON object of names and counts: {t}", "an inventory in json: {t}", "json of quantities: {t}",
        "I have {t}. Give me JSON with the amounts."]
    turns = [Turn(asked(draw, wordings, t=shown), as_json(values), (shown,))]
    if draw.chance(0.35):
        word, count = draw.choice(list(values)), draw.number(2, 20)
        values[word] = count
        turns.append(Turn(asked(draw, ["make it {n} {w}", "no, {n} {w}", "{n} {w}, not more", "change {w} to {n}"], n=count, w=word),
            as_json(values), (word,)))
    return turns


def typed(draw: Draw) -> list[Turn]:
    """A number as a number or as text, as requested."""
    key, word, number = draw.word("any"), draw.word("any"), draw.number(1, 999)
    other = draw.word("any")
    if key == other:
        return quantities(draw)
    as_text = draw.chance(0.5)
    values: dict[str, Value] = {key: str(number) if as_text else number, other: word}
    form = draw.choice(("as a string", "as text", "in quotes")) if as_text else draw.choice(("as a number", "as an integer", "without quotes"))
    return [Turn(asked(draw, ["json with {k} {n} {f} and {o} {w}", "{k} is {n}, {f}; {o} is {w}. give me json",
        "Make JSON: {k} = {n} ({f}), {o} = {w}.", "json: {k} {n}, {o} {w}, and write {k} {f}"], k=key, n=number, f=form, o=other, w=word),
        as_json(values), (key, other, word))]


def two_objects(draw: Draw) -> list[Turn]:
    """Two objects in one, each under its key."""
    outer = draw.words(draw.choice(("any", "name", "object", "city")), 2)
    keys = draw.some(list(drawn_pairs(draw, 4, plain=True)), draw.number(1, 2))
    kinds = {key: draw.choice(("count", "color", "city", "any", "age", "animal", "invented", "decimal")) for key in keys}
    values = {name: {key: drawn_value(draw, kind) for key, kind in kinds.items()} for name in outer}
    shown = draw.choice(("; ", " and ")).join(f"{name} with {listed([f'{key} {as_shown(value)}' for key, value in inner.items()])}"
        for name, inner in values.items())
    return [Turn(asked(draw, ["json with an object for each: {t}", "one json object with two keys, each an object: {t}", "nested json: {t}",
        "make json, one key for each: {t}", "JSON object of objects: {t}"], t=shown), as_json(values), (shown,))]


def coordinates(draw: Draw) -> list[Turn]:
    """A point or a range as a list of numbers under a key."""
    key = draw.choice(("point", "position", "range", "size", "coordinates", draw.word("any")))
    numbers = [draw.choice((draw.number(-99, 99), draw.number(0, 999), draw.number(1, 99) / 10)) for _ in range(draw.number(2, 4))]
    shown = draw.choice((", ".join(map(str, numbers)), listed([str(number) for number in numbers])))
    return [Turn(asked(draw, ["json with {k} as the numbers {n}", "a json list of the numbers {n} under {k}", "json: {k} is {n}, as a list",
        "Put the numbers {n} in a list called {k}, as JSON.", "{k} = [{n}] as a json object", "{k}: {n} - json with a list"], k=key, n=shown),
        as_json({key: numbers}), (key, shown))]


def _given(draw: Draw, values: dict[str, Value], change: str) -> str:
    """A request to change a given object."""
    return draw.choice(("{c}: {j}", "{j} {c}", "{j}\n{c}", "here is json: {j} {c} please", "{j} - {c}", "{c} in this json: {j}", "Given {j}, {c}.",
        "my json is {j}. {c}", "{c}\n{j}")).format(j=as_json(values), c=change)


def renamed(draw: Draw) -> list[Turn]:
    """A given object with another name for a key."""
    values = drawn_pairs(draw, draw.number(1, 4), plain=True)
    old = draw.choice(list(values))
    new = draw.word("any")
    if new in values:
        return typed(draw)
    change = asked(draw, ["rename {a} to {c}", "rename the key {a} to {c}", "call {a} {c} instead", "change the key {a} into {c}",
        "the key {a} should be {c}", "use {c} as the key, not {a}"], a=old, c=new)
    return [Turn(_given(draw, values, change), as_json({new if key == old else key: value for key, value in values.items()}),
        (as_json(values), old, new))]


def counted_up(draw: Draw) -> list[Turn]:
    """A given object with one number raised or lowered."""
    values = drawn_pairs(draw, draw.number(0, 2), plain=True)
    key = draw.choice([key for key in ("count", "price", "score", "total", "level", "stock", "points", "number") if key not in values])
    number, step = draw.number(5, 60), draw.number(1, 5)
    items = list(values.items())
    items.insert(draw.number(0, len(items)), (key, number))
    values = dict(items)
    more = draw.chance(0.6)
    change = asked(draw, ["add {n} to {k}", "raise {k} by {n}", "{k} plus {n}", "increase {k} by {n}"] if more else ["take {n} off {k}",
        "lower {k} by {n}", "{k} minus {n}", "decrease {k} by {n}"], n=step, k=key)
    return [Turn(_given(draw, values, change), as_json(values | {key: number + step if more else number - step}), (as_json(values), key))]


def merged(draw: Draw) -> list[Turn]:
    """Two given objects in one."""
    values = drawn_pairs(draw, draw.number(2, 4), plain=True)
    keys = list(values)
    cut = draw.number(1, len(keys) - 1)
    first, second = ({key: values[key] for key in part} for part in (keys[:cut], keys[cut:]))
    return [Turn(asked(draw, ["merge {a} and {c}", "put {a} and {c} into one object", "combine {a} with {c}", "one json from {a} and {c}",
        "join these: {a} {c}", "Merge these two JSON objects: {a} and {c}"], a=as_json(first), c=as_json(second)), as_json(values),
        (as_json(first), as_json(second)))]


def kept(draw: Draw) -> list[Turn]:
    """Some of the keys of a given object, or all but one."""
    values = drawn_pairs(draw, draw.number(3, 5), plain=True)
    if draw.chance(0.5):
        some = draw.some(list(values), draw.number(1, 2))
        chosen = [key for key in values if key in some]
        change = asked(draw, ["keep only {k}", "only {k} please", "i need only {k}", "drop everything but {k}", "just {k}"], k=listed(chosen))
    else:
        gone = draw.choice(list(values))
        chosen = [key for key in values if key != gone]
        change = asked(draw, ["remove {k}", "without {k}", "delete the key {k}", "drop {k}", "everything but {k}"], k=gone)
    return [Turn(_given(draw, values, change), as_json({key: values[key] for key in chosen}), (as_json(values), *values))]


def swapped(draw: Draw) -> list[Turn]:
    """A given object with two values exchanged."""
    values = drawn_pairs(draw, draw.number(2, 3), plain=True)
    first, second = draw.some(list(values), 2)
    change = asked(draw, ["swap the values of {a} and {c}", "swap {a} and {c}", "exchange {a} and {c}"], a=first, c=second)
    return [Turn(_given(draw, values, change), as_json(values | {first: values[second], second: values[first]}), (as_json(values), first, second))]


def in_order(draw: Draw) -> list[Turn]:
    """A given object with its keys in order, only its keys, or only its values."""
    values = drawn_pairs(draw, draw.number(2, 4), plain=True)
    form = draw.number(0, 2)
    if form == 0:
        return [Turn(_given(draw, values, asked(draw, ["sort the keys", "keys in alphabetical order", "sort by key"])),
            as_json({key: values[key] for key in sorted(values)}), (as_json(values),))]
    if form == 1:
        return [Turn(_given(draw, values, asked(draw, ["give me the keys as a list", "only the keys, as an array", "list of keys"])),
            as_json(list(values)), (as_json(values),))]
    return [Turn(_given(draw, values, asked(draw, ["give me the values as a list", "only the values, as an array", "array of the values"])),
        as_json(list(values.values())), (as_json(values),))]


def from_table(draw: Draw) -> list[Turn]:
    """A row of a table with its head."""
    values = drawn_pairs(draw, draw.number(2, 4), plain=True)
    sign = draw.choice((",", ", ", ";", " | ", "\t"))
    if any(sign.strip() and sign.strip() in as_shown(value) for value in values.values()):
        sign = ";"
    table = f"{sign.join(values)}\n{sign.join(map(as_shown, values.values()))}"
    return [Turn(asked(draw, ["csv to json:\n{t}", "turn this table into json:\n{t}", "{t}\nas a json object", "Convert this row to JSON.\n{t}",
        "json from this csv:\n{t}"], t=table), as_json(values), (table,))]


def from_form(draw: Draw) -> list[Turn]:
    """Lines of names and values."""
    values = drawn_pairs(draw, draw.number(2, 4), plain=True)
    sign = draw.choice((": ", " = ", " - ", "="))
    lines = "\n".join(f"{capitalized(key) if draw.chance(0.5) else key}{sign}{as_shown(value)}" for key, value in values.items())
    return [Turn(asked(draw, ["json with lower case keys:\n{t}", "turn this form into json, keys in lower case:\n{t}", "{t}\nas json, small letters for the keys",
        "Make a JSON object with lower case keys of this:\n{t}"], t=lines), as_json({key.lower(): value for key, value in values.items()}), (lines,))]


def states(draw: Draw) -> list[Turn]:
    """Whether something is so, as true or false."""
    chosen = draw.some(STATES, draw.number(1, 2))
    values: dict[str, str] = {}
    answers: dict[str, Value] = {}
    said = []
    for yes, no, key in chosen:
        answers[key] = draw.chance(0.5)
        said.append(fill(draw, yes if answers[key] else no, values))
    text = " ".join(said)
    return [Turn(asked(draw, ["{t} json with {k}, true or false", "is it so? json with the key {k}: {t}", "json with {k} as true or false: {t}",
        "Return JSON with {k} (boolean). Text: {t}", "{t} - json with {k} as a boolean"], t=text, k=listed(list(answers))), as_json(answers),
        (text, *answers))]


#: Sentences with all that they tell, and a key that they do not tell.
_PARTIAL = [
    ("{name} is {age} years old.", ("name", "age")), ("{name} lives in {city}.", ("name", "city")), ("{name} works as a {job}.", ("name", "job")),
    ("{name} comes from {country}.", ("name", "country")), ("{name} from {city} is a {job}.", ("name", "city", "job")),
    ("A {job} called {name} is {age}.", ("name", "job", "age")), ("{name} likes the color {color}.", ("name", "color")),
    ("In {city} lives {name}, who is {age}.", ("name", "city", "age")), ("{name} has a {animal}.", ("name", "animal")),
]


def missing(draw: Draw) -> list[Turn]:
    """Keys of which a sentence does not tell all: null for what is missing."""
    template, told = draw.choice(_PARTIAL)
    values: dict[str, Value] = {key: drawn_value(draw, key) for key in told}
    text = template
    for key, value in values.items():
        text = text.replace(f"a {{{key}}}", with_article(str(value))).replace(f"A {{{key}}}", capitalized(with_article(str(value))))
        text = text.replace(f"{{{key}}}", str(value))
    unknown = draw.choice([key for key in ("age", "city", "job", "email", "country", "color", "phone", "animal") if key not in told])
    keys = draw.some([*told, unknown], len(told) + 1)
    return [Turn(asked(draw, ["extract {k} as json, null if missing: {t}", "json with {k} from: {t} use null for what is not there",
        "{t} Give me JSON with {k}; what is unknown is null.", "From the text, JSON with {k}, null where nothing is said. Text: {t}"],
        k=listed(keys), t=text), as_json({key: values.get(key) for key in keys}), (text, *keys))]


def with_count(draw: Draw) -> list[Turn]:
    """A list with its length, or things numbered by their keys."""
    items = draw.words(draw.choice(("any", "name", "city", "object", "foods", "animal")), draw.number(2, 5))
    shown = ", ".join(items)
    if draw.chance(0.5):
        return [Turn(asked(draw, ["json with count and items: {t}", "a json object with the items and how many there are: count, items. {t}",
            "{t} - json with count and items"], t=shown), as_json({"count": len(items), "items": items}), tuple(items))]
    return [Turn(asked(draw, ["json with numbers as keys: {t}", "number these in json, from 1: {t}", "{t} as json with the keys 1, 2 and so on"],
        t=shown), as_json({str(number): item for number, item in enumerate(items, 1)}), tuple(items))]


def repaired(draw: Draw) -> list[Turn]:
    """JSON with a mistake, and without it."""
    values = drawn_pairs(draw, draw.number(1, 3), plain=True)
    right = as_json(values)
    form = draw.number(0, 3)
    wrong = {0: right.removesuffix("}"), 1: re.sub(r'"([A-Za-z_]+)":', r"\1:", right), 2: right.replace('"', "'"),
        3: right.removesuffix("}") + ",}"}[form]
    return [Turn(asked(draw, ["fix this json: {t}", "repair this json: {t}", "this json is not valid, correct it: {t}", "what should this json be: {t}",
        "{t} is broken json, fix it", "Make this valid JSON: {t}"], t=wrong), right, (wrong,))]


def into_lines(draw: Draw) -> list[Turn]:
    """A given object in lines, or over several lines as JSON."""
    values = drawn_pairs(draw, draw.number(2, 4), plain=True)
    if draw.chance(0.5):
        return [Turn(_given(draw, values, asked(draw, ["write it as lines", "as plain lines, no json", "one line for each key", "turn it into plain text lines"])),
            "\n".join(f"{key}: {as_shown(value)}" for key, value in values.items()), (as_json(values),))]
    return [Turn(_given(draw, values, asked(draw, ["pretty print it", "format it over several lines", "indent it", "pretty please, with indentation"])),
        json.dumps(values, indent=2, ensure_ascii=False), (as_json(values),))]


def list_in_object(draw: Draw) -> list[Turn]:
    """A given object with a list, to which something is added or from which something is taken."""
    kind = draw.choice(("any", "name", "object", "foods", "city", "color"))
    key = draw.choice(("items", "list", "tags", draw.word("any")))
    *items, new = draw.words(kind, draw.number(3, 5))
    values: dict[str, Value] = {key: items}
    if draw.chance(0.4):
        values = drawn_pairs(draw, 1, plain=True) | values
    if draw.chance(0.5):
        change, changed = asked(draw, ["add {x} to {k}", "put {x} into {k}", "append {x} to {k}", "{x} belongs in {k}, too"], x=new, k=key), [*items, new]
    else:
        gone = draw.choice(items)
        change = asked(draw, ["remove {x} from {k}", "take {x} out of {k}", "delete {x} from {k}", "no {x} in {k}"], x=gone, k=key)
        changed = [item for item in items if item != gone]
    return [Turn(_given(draw, values, change), as_json(values | {key: changed}), (as_json(values), key, *items, new))]


_CLASSES = {"animal": "animal", "food": "foods", "city": "city", "color": "color", "job": "job", "name": "name", "country": "country", "month": "month"}


def classified(draw: Draw) -> list[Turn]:
    """What a word is, or what a sum comes to, in JSON."""
    if draw.chance(0.4):
        first, second = draw.number(1, 20), draw.number(1, 20)
        return [Turn(asked(draw, ["what is {a} + {c}? answer in json with the key result", "{a} plus {c}, as json with the key result",
            'Return JSON {{"result": ...}} for {a} + {c}.'], a=first, c=second), as_json({"result": first + second}))]
    names = draw.some(list(_CLASSES), draw.number(2, 4))
    name = draw.choice(names)
    word = draw.word(_CLASSES[name])
    return [Turn(asked(draw, ["is {w} {o}? json with the key type", "classify {w} as {o}, in json with the key type",
        "json with word and type. the word is {w}, the type is {o}", "What is {w}: {o}? Return JSON with type."], w=word,
        o=listed([with_article(one) for one in names], "or")) , as_json({"type": name}), (word,))] if draw.chance(0.7) else [
        Turn(asked(draw, ["json with {w} as {n}", "json: the {n} is {w}", "{w} is the {n}, as json"], w=word, n=name), as_json({name: word}), (word, name))]


def settings(draw: Draw) -> list[Turn]:
    """Several keys with the same value."""
    keys = draw.words("any", draw.number(2, 5))
    value, words = draw.choice(((True, "true"), (False, "false"), (None, "null"), (0, "0"), ("", "an empty string"), ([], "an empty list"),
        (draw.number(1, 99), ""), (draw.word("any"), "")))
    return [Turn(asked(draw, ["json with {k}, all {v}", "set {k} to {v}, as json", "a json object where {k} are all {v}", "{k}: {v} for each, in json"],
        k=listed(keys), v=words or value), as_json({key: value for key in keys}), (*keys, str(value)))]


def combined(draw: Draw) -> list[Turn]:
    """A text of several sentences with a list, a number and a flag, and all of it as JSON."""
    name, city = draw.word("name"), drawn_value(draw, "city")
    pets = draw.words("animal", draw.number(1, 3))
    married = draw.chance(0.5)
    age = draw.number(18, 90)
    text = (f"{name} is {age} and lives in {city}. {name} has {listed([with_article(pet) for pet in pets])} "
        f"and is {'married' if married else 'not married'}.")
    values: dict[str, Value] = {"name": name, "age": age, "city": city, "pets": pets, "married": married}
    chosen = draw.some(list(values), draw.number(3, 5))
    keys = [key for key in values if key in chosen]
    return [Turn(asked(draw, ["json with {k}: {t}", "{t} Give me JSON with {k}.", "extract {k} as json: {t}", "Text: {t} Return JSON with the keys {k}."],
        k=listed(keys), t=text), as_json({key: values[key] for key in keys}), (text, *keys))]


SHAPES = {
    "quantities": (quantities, 10), "typed": (typed, 5), "two objects": (two_objects, 6), "coordinates": (coordinates, 5), "renamed": (renamed, 8),
    "counted up": (counted_up, 6), "merged": (merged, 6), "kept": (kept, 8), "swapped": (swapped, 4), "in order": (in_order, 5),
    "from table": (from_table, 6), "from form": (from_form, 5), "states": (states, 7), "missing": (missing, 6), "with count": (with_count, 5),
    "repaired": (repaired, 7), "into lines": (into_lines, 5), "list in object": (list_in_object, 8), "classified": (classified, 4),
    "settings": (settings, 4), "combined": (combined, 8),
}
