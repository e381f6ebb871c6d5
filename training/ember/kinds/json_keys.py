"""Shapes of JSON in which each value must find its own key: arrays of each type, given objects changed, values in another order than
the keys, telegrams, objects in objects."""

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, number_word, with_article
from .bulk import spliced
from .facts_asking import asked
from .json_values import KEYS, Value, as_json, as_shown, drawn_value, to_protect

_SCALARS = ("any", "any", "any", "count", "count", "name", "city", "object", "animal", "color", "code", "decimal", "signed", "invented", "date", "clock",
    "country", "job", "phrase", "email", "foods", "day", "month", "age", "year")
#: Kinds whose values are one word each.
_SINGLE = ("any", "any", "count", "name", "color", "code", "decimal", "invented", "day", "month", "clock", "date", "age", "signed", "email")


def _key(draw: Draw) -> str:
    """A key: a usual one, any word, or one in one of the ways of writing names."""
    form = draw.number(0, 9)
    if form < 3:
        return draw.choice(list(KEYS))
    if form < 6:
        return draw.word("any")
    first, second = draw.word("any"), draw.choice((draw.word("any"), "id", "name", "type", "count", "at", "url", "size", "no"))
    return {6: f"{first}_{second}", 7: first + capitalized(second), 8: draw.choice("abcdefghijklmnopqrstuvwxyz") + draw.choice(("", "", "1", "2")),
        9: spliced(draw)}[form]


def _pairs(draw: Draw, count: int, kinds: tuple[str, ...] = _SCALARS, known: dict[str, Value] | None = None) -> dict[str, Value]:
    """So many keys with values, all different, none of them in `known`."""
    found: dict[str, Value] = {}
    taken = {str(item).lower() for pair in (known or {}).items() for item in pair}
    while len(found) < count:
        key = _key(draw)
        kind = KEYS[key] if key in KEYS and KEYS[key] in kinds else draw.choice(kinds)
        value = drawn_value(draw, kind)
        if key.lower() not in taken and str(value).lower() not in taken and key.lower() != str(value).lower():
            found[key] = value
            taken |= {key.lower(), str(value).lower()}
    return found


def typed_array(draw: Draw) -> list[Turn]:
    """An array of numbers, truth values or strings, or a mixed one: not an object."""
    kind = draw.choice(("numbers", "numbers", "numbers", "booleans", "strings", "strings", "mixed", "range", "decimals"))
    count = draw.number(2, 7)
    values: list[Value] = {
        "numbers": lambda: [draw.number(0, draw.choice((9, 99, 999))) for _ in range(count)],
        "booleans": lambda: [draw.chance(0.5) for _ in range(count)],
        "strings": lambda: list(draw.words(draw.choice(("any", "any", "name", "city", "color", "object", "animal", "foods")), min(count, 6))),
        "mixed": lambda: [drawn_value(draw, draw.choice(("any", "count", "flag", "name", "signed"))) for _ in range(count)],
        "range": lambda: list(range(draw.number(0, 30), draw.number(31, 33)))[:count],
        "decimals": lambda: [draw.number(-99, 999) / 10 for _ in range(count)],
    }[kind]()
    spaced = all(" " not in as_shown(value) for value in values)
    shown = draw.choice((", ", ", ", " " if spaced else ", ", "; ")).join(map(as_shown, values))
    if draw.chance(0.3):
        shown = listed(list(map(as_shown, values)))
    wordings = ["json array {v}", "json array: {v}", "{v} as a json array", "array of {t}: {v}", "a json array of the {t} {v}", "the {t} {v} as json",
        "Write the {t} {v} as a JSON array.", "{v} - json list", "Only an array, no object: {v}", "put the {t} {v} in a JSON array", "json: the list {v}",
        "make an array: {v}", "{v} -> json array", "{t} {v}, json please", "Return a JSON array with the {t} {v}.", "I need {v} as an array in JSON.",
        "can you turn {v} into a json list?"]
    named = {"numbers": "numbers", "range": "numbers", "decimals": "numbers", "booleans": draw.choice(("booleans", "truth values", "flags")),
        "strings": draw.choice(("strings", "words", "items")), "mixed": draw.choice(("values", "items"))}[kind]
    turns = [Turn(asked(draw, wordings, v=shown, t=named), as_json(values), (shown,))]
    if draw.chance(0.3):
        key = _key(draw)
        turns.append(Turn(asked(draw, ["now under the key {k}", "as an object with the key {k}", "put it under {k}", "the same list under {k}"], k=key),
            as_json({key: values}), (key,)))
    return turns


def array_changed(draw: Draw) -> list[Turn]:
    """A given array with an item more, less or another one, or in another order."""
    numbers = draw.chance(0.5)
    if numbers:
        values: list[Value] = draw.some(range(100), draw.number(3, 6))
        new: Value = draw.choice([number for number in range(100) if number not in values])
    else:
        *values, new = draw.words(draw.choice(("any", "any", "name", "city", "object", "color", "animal")), draw.number(4, 6))
    at = draw.number(0, len(values) - 1)
    old = values[at]
    forms = {
        "add": (["add {n}", "append {n}", "put {n} at the end", "add {n} to the end", "and {n}", "{n} is missing"], [*values, new]),
        "front": (["put {n} first", "add {n} at the beginning", "{n} should be the first one", "begin with {n}"], [new, *values]),
        "remove": (["remove {o}", "without {o}", "take out {o}", "delete {o}", "{o} must go"], [value for value in values if value != old]),
        "replace": (["replace {o} with {n}", "{n} instead of {o}", "change {o} to {n}", "swap {o} for {n}"], [new if value == old else value for value in values]),
        "last": (["without the last one", "remove the last item", "drop the last one"], values[:-1]),
        "first": (["without the first one", "remove the first item", "drop the first one"], values[1:]),
        "reverse": (["reverse it", "in reverse order", "the other way round", "backwards"], values[::-1]),
        "sort": (["sort it", "in order", "sorted"], sorted(values)),
    }
    name = draw.choice([name for name in forms if name != "sort" or numbers])
    wordings, changed = forms[name]
    change = asked(draw, wordings, n=new, o=old)
    given = as_json(values)
    said = draw.choice(("{j} {c}", "{c}: {j}", "{j}\n{c}", "my array is {j}. {c}", "{j} - {c}", "{c} in {j}", "{c}\n{j}")).format(j=given, c=change)
    return [Turn(said, as_json(changed), (given, str(new), str(old)))]


_SET = ["set {k} to {v}", "change {k} to {v}", "{k} is now {v}", "make {k} {v}", "{k} should be {v}", "update {k} to {v}", "{k} = {v}", "{k}: {v}",
    "replace the value of {k} with {v}", "let {k} be {v}", "the new {k} is {v}", "put {v} into {k}", "{v} for {k}", "give {k} the value {v}", "{k} has changed to {v}"]
_ADD = ["add {k} {v}", "add {k}: {v}", "add a key {k} with {v}", "insert {k} = {v}", "also {k} {v}", "with {k} {v} added", "put {k} {v} in it, too", "add the field {k} with the value {v}",
    "it needs {k} {v} as well", "plus {k}: {v}", "extend it by {k} = {v}", "there is also {k}: {v}"]
_REMOVE = ["remove {k}", "delete {k}", "drop {k}", "without {k}", "take {k} out", "remove the key {k}", "{k} can go", "no {k} please", "leave out {k}", "get rid of {k}",
    "the key {k} is not needed", "strip {k}"]


def _one_change(draw: Draw, values: dict[str, Value], forms: tuple[str, ...]) -> tuple[str, dict[str, Value], tuple[str, ...]]:
    """A request to change `values`, the changed ones and what must be copied."""
    form = draw.choice(forms)
    if form == "add":
        key, value = next(iter(_pairs(draw, 1, known=values).items()))
        value = draw.choice((value, value, value, draw.chance(0.5)))
        return asked(draw, _ADD, k=key, v=as_shown(value)), values | {key: value}, to_protect({key: value})
    key = draw.choice(list(values))
    if form == "remove":
        return asked(draw, _REMOVE, k=key), {name: one for name, one in values.items() if name != key}, (key,)
    old = values[key]
    if isinstance(old, bool):
        value: Value = not old
    elif draw.chance(0.08):
        value = None
    else:
        value = next(iter(_pairs(draw, 1, ("count", "signed", "decimal") if isinstance(old, (int, float)) else _SCALARS, values).values()))
    return asked(draw, _SET, k=key, v=as_shown(value)), values | {key: value}, to_protect({key: value})


def changed_once(draw: Draw) -> list[Turn]:
    """A given object with one key set, added or removed, and then perhaps others."""
    values = _pairs(draw, draw.number(1, 5))
    if draw.chance(0.3):
        values[_key(draw)] = draw.chance(0.5)
    forms = ("set", "set", "add", "remove") if len(values) > 1 else ("set", "add")
    change, changed, protected = _one_change(draw, values, forms)
    given = as_json(values)
    said = draw.choice(("{j} {c}", "{j}\n{c}", "{c}: {j}", "{c}\n{j}", "json: {j} - {c}", "{j} -> {c}", "this is my object: {j}. {c}", "In {j}, {c}.", "{c} in this object: {j}",
        "take {j} and {c}", "{j} please {c}", "Here is an object.\n{j}\n{c}", "Change this: {j}. {c}")).format(j=given, c=change)
    turns = [Turn(said, as_json(changed), (given, *protected))]
    while draw.chance(0.35) and len(turns) < 3:
        change, changed, protected = _one_change(draw, changed, ("set", "add", "remove") if len(changed) > 1 else ("set", "add"))
        turns.append(Turn(draw.choice(("{c}", "now {c}", "and {c}", "ok, {c}", "then {c}")).format(c=change), as_json(changed), protected))
    return turns


def changed_twice(draw: Draw) -> list[Turn]:
    """A given object with two changes in one request."""
    values = _pairs(draw, draw.number(2, 4))
    first, once, some = _one_change(draw, values, ("set", "remove"))
    second, twice, others = _one_change(draw, once, ("add",) if len(once) == 1 else ("add", "add", "set"))
    if set(some) & set(others):
        return changed_once(draw)
    given = as_json(values)
    said = draw.choice(("{j} {a} and {b}", "{j}\n{a}, {b}", "{a}, then {b}: {j}", "{a}; {b}\n{j}", "{j} - {a}. {b}.")).format(j=given, a=first, b=second)
    return [Turn(said, as_json(twice), (given, *some, *others))]


#: What happens to somebody or something: the object, the news with the new value, and the key that it changes.
_NEWS = [
    ({"name": "name", "city": "city"}, "{name} moved to {new}.", "city"), ({"name": "name", "age": "age"}, "{name} is {new} now.", "age"),
    ({"name": "name", "job": "job"}, "{name} works as {a_new} now.", "job"), ({"item": "object", "price": "count"}, "The {item} costs {new} now.", "price"),
    ({"item": "object", "color": "color"}, "The {item} was painted {new}.", "color"), ({"event": "phrase", "day": "day"}, "It was moved to {new}.", "day"),
    ({"owner": "name", "pet": "animal"}, "{new} is the new owner of the {pet}.", "owner"), ({"team": "phrase", "points": "count"}, "{team} has {new} points now.", "points"),
    ({"product": "object", "stock": "count"}, "There are {new} of the {product} left.", "stock"), ({"train": "code", "time": "clock"}, "Train {train} leaves at {new} instead.", "time"),
    ({"guest": "name", "room": "count"}, "{guest} is in room {new} now.", "room"), ({"name": "name", "email": "email"}, "{name} has a new mail: {new}.", "email"),
    ({"task": "any", "due": "date"}, "It is due on {new}.", "due"), ({"from": "city", "to": "city"}, "The trip ends in {new} instead.", "to"),
    ({"from": "city", "to": "city"}, "We start in {new} instead.", "from"), ({"captain": "name", "ship": "phrase"}, "{new} is captain of {ship} now.", "captain"),
]


def news(draw: Draw) -> list[Turn]:
    """A given object, and a sentence that tells which value is another one now."""
    kinds, sentence, key = draw.choice(_NEWS)
    values = {name: drawn_value(draw, kind) for name, kind in kinds.items()}
    new = drawn_value(draw, kinds[key])
    if draw.chance(0.4):
        values = _pairs(draw, 1, known=values | dict.fromkeys(kinds)) | values
    if new in values.values():
        return changed_once(draw)
    told = sentence.replace("{a_new}", with_article(str(new))).replace("{new}", str(new))
    for name, value in values.items():
        told = told.replace(f"{{{name}}}", str(value))
    given = as_json(values)
    return [Turn(asked(draw, ["{j} {t} Update it.", "{j}\n{t}", "{t} update the json: {j}", "{t} Change {j}.", "{j} {t} give me the new json", "My JSON: {j} News: {t}"],
        j=given, t=told), as_json(values | {key: new}), (given, told))]


def telegram(draw: Draw) -> list[Turn]:
    """Keys and values in the same order, with as few words as possible."""
    values = _pairs(draw, draw.number(2, 5), _SINGLE)
    keys, shown = list(values), [as_shown(value) for value in values.values()]
    form = draw.number(0, 7)
    said = {
        0: f"json {' '.join(keys)}: {' '.join(shown)}", 1: f"{' '.join(shown)} -> json {' '.join(keys)}", 2: f"{'/'.join(keys)} = {'/'.join(shown)}, json",
        3: f"json {' '.join(f'{key} {value}' for key, value in zip(keys, shown))}", 4: f"{', '.join(shown)}. json: {', '.join(keys)}",
        5: f"keys {' '.join(keys)} values {' '.join(shown)} json", 6: f"{' '.join(f'{key}={value}' for key, value in zip(keys, shown))} json",
        7: f"json, {', '.join(keys)}, {', '.join(shown)}",
    }[form]
    return [Turn(said, as_json(values), (said,))]


def keys_first(draw: Draw) -> list[Turn]:
    """Keys named first and values later, in the same message or in the next one."""
    values = _pairs(draw, draw.number(2, 4))
    keys, shown = list(values), [as_shown(value) for value in values.values()]
    told, given = draw.choice((", ".join(keys), listed(keys))), draw.choice((", ".join(shown), listed(shown), "; ".join(shown)))
    if draw.chance(0.3):
        return [Turn(asked(draw, ["json with the keys {k}", "i need a json object with {k}, the values come next", "make json with {k}, values follow", "Keys: {k}. I will send the values."],
            k=told), f"What are the values of {listed(keys)}?", tuple(keys)), Turn(asked(draw, ["{v}", "{v}", "values: {v}", "here they are: {v}"], v=given), as_json(values), (given,))]
    return [Turn(asked(draw, ["json with {k}. the values are {v}", "the keys are {k} and the values {v}, json", "Fields: {k}\nRecord: {v}\nGive me JSON.", "{k} should be {v}, in json",
        "{k} are {v}, in this order. json please", "columns {k}; row {v}; as json", "I have {k}: {v}. As JSON.", "json object. {k}. {v}.", "{k} - in this order: {v} - as json",
        "Assign {v} to {k} and return JSON.", "for the keys {k} use {v}, json"], k=told, v=given), as_json(values), to_protect(values))]


def values_first(draw: Draw) -> list[Turn]:
    """The value before its key."""
    values = _pairs(draw, draw.number(1, 4))
    parts = [(key, as_shown(value)) for key, value in values.items()]
    form = draw.choice(("{v} is the {k}", "{v} as {k}", "{v} ({k})", "{v} for {k}", "{v} = {k}", "{v} goes into {k}", "{v}, that is the {k}"))
    shown = draw.choice((", ", "; ", " and "))
    shown = shown.join(form.format(k=key, v=value) for key, value in parts)
    return [Turn(asked(draw, ["json: {p}", "{p} - as json", "make json: {p}", "{p}. give me json", "Return JSON. {p}.", "a json object: {p}", "json please, {p}",
        "Put it in JSON: {p}."], p=shown), as_json(values), to_protect(values))]


def other_order(draw: Draw) -> list[Turn]:
    """Keys asked for in another order than that of the values that are given."""
    values = _pairs(draw, draw.number(2, 4))
    order = draw.some(list(values), len(values))
    shown = draw.choice((", ", "; ")).join(f"{key}{sign}{as_shown(value)}" for sign in [draw.choice((" ", ": ", " is ", "="))] for key, value in values.items())
    return [Turn(asked(draw, ["json with {k} from: {p}", "{p} - json in the order {k}", "Return JSON with the keys {k}, in this order. Data: {p}", "{p}. json: {k}",
        "keys in the order {k}, as json: {p}", "json, first {k}. the data: {p}"], k=draw.choice((", ".join(order), listed(order))), p=shown),
        as_json({key: values[key] for key in order}), to_protect(values))]


def respectively(draw: Draw) -> list[Turn]:
    """Several keys and then their values, with one of them asked for or all."""
    values = _pairs(draw, draw.number(2, 4), ("count", "count", "any", "color", "name", "city"))
    keys, shown = listed(list(values)), listed([as_shown(value) for value in values.values()])
    return [Turn(asked(draw, ["{k} are {v}, respectively. json please", "json where {k} are {v}, in this order", "set {k} to {v}, as json", "{k} have the values {v}; as json",
        "let {k} be {v} and give me json"], k=keys, v=shown), as_json(values), to_protect(values))]


def inner_object(draw: Draw) -> list[Turn]:
    """Keys and one more key that holds an object."""
    values = _pairs(draw, draw.number(2, 4))
    outer = next(key for key in iter(lambda: draw.choice((_key(draw), "owner", "address", "user", "settings", "data", "meta", "author")), None) if key not in values)
    keys = list(values)
    cut = draw.number(0, len(keys) - 1)
    flat, inner = keys[:cut], keys[cut:]
    said_inner = listed([f"{key} {as_shown(values[key])}" for key in inner])
    made = {key: values[key] for key in flat} | {outer: {key: values[key] for key in inner}}
    if flat:
        said_flat = listed([f"{key} {as_shown(values[key])}" for key in flat])
        wordings = ["json with {f} and {o} with {i} inside", "json: {f}; {o} is an object with {i}", "{f}, and under {o}: {i} - as json", "make JSON with {f} and an object {o} of {i}",
            "Return JSON. {f}. {o} contains {i}.", "{f}; {o}: {i}. nested json please"]
    else:
        said_flat = ""
        wordings = ["json: {o} is an object with {i}", "under {o}: {i} - as json", "an object {o} that contains {i}, json", "{o} holds {i}. nested json please", "json with {i} inside {o}",
            "put {i} into an object called {o}, in json"]
    turns = [Turn(asked(draw, wordings, f=said_flat, o=outer, i=said_inner), as_json(made), (outer, *to_protect(values)))]
    if draw.chance(0.3):
        key = draw.choice(inner)
        value = next(iter(_pairs(draw, 1, known=values).values()))
        changed = made | {outer: made[outer] | {key: value}}
        turns.append(Turn(asked(draw, ["set {k} in {o} to {v}", "{k} in {o} should be {v}", "change {o}.{k} to {v}", "make {o}.{k} {v}"], k=key, o=outer, v=as_shown(value)),
            as_json(changed), (key, outer, as_shown(value))))
    return turns


def yes_and_no(draw: Draw) -> list[Turn]:
    """Keys with yes or no, on or off: true or false."""
    words = draw.choice((("yes", "no"), ("on", "off"), ("true", "false"), ("y", "n")))
    values = {_key(draw): draw.chance(0.5) for _ in range(draw.number(2, 5))}
    sign = draw.choice((" ", ": ", "=", " is "))
    shown = draw.choice((", ", "; ", " ")).join(f"{key}{sign}{words[not value]}" for key, value in values.items())
    return [Turn(asked(draw, ["json with booleans: {p}", "{p} as json with true and false", "use true and false, json: {p}", "booleans please. {p}. json", "Make JSON with true or false for {p}."],
        p=shown), as_json(values), (shown,))]


def number_words(draw: Draw) -> list[Turn]:
    """Numbers in words as numbers."""
    values = {word: draw.number(2, 20) for word in draw.words(draw.choice(("foods", "animals", "foods")), draw.number(1, 4))}
    shown = listed([f"{number_word(count)} {word}" for word, count in values.items()])
    return [Turn(asked(draw, ["json with numbers: {p}", "{p} as json, numbers as digits", "json of how many of each: {p}", "how many of each, in json: {p}", "We have {p}. JSON with the numbers."],
        p=shown), as_json(values), (shown,))]


def two_lists(draw: Draw) -> list[Turn]:
    """Two or three keys with a list each."""
    values: dict[str, Value] = {}
    for _ in range(draw.number(2, 3)):
        numbers = draw.chance(0.4)
        values[_key(draw)] = [draw.number(0, 99) for _ in range(draw.number(1, 4))] if numbers else draw.words(draw.choice(("any", "name", "city", "color", "animal")), draw.number(1, 3))
    form = draw.choice(("{k}: {v}", "{k} {v}", "{k} = {v}", "{k} with {v}", "{k} are {v}"))
    shown = "; ".join(form.format(k=key, v=", ".join(map(str, items))) for key, items in values.items())
    return [Turn(asked(draw, ["json with a list for each: {p}", "json, all values are lists: {p}", "{p} - json with arrays", "an object of lists, json: {p}", "JSON with arrays. {p}"], p=shown),
        as_json(values), (shown,))]


def list_or_object(draw: Draw) -> list[Turn]:
    """The values alone as an array, the keys alone as an array, or both as an object."""
    values = _pairs(draw, draw.number(2, 4))
    shown = ", ".join(f"{key} {as_shown(value)}" for key, value in values.items())
    form, made = draw.choice((("only the values as an array", list(values.values())), ("only the keys as an array", list(values)), ("an object", values), ("an array of pairs", [list(pair) for pair in values.items()])))
    return [Turn(asked(draw, ["{p} - json, {f}", "json, {f}: {p}", "{f}, json please: {p}", "From {p}, give me {f} in JSON."], p=shown, f=form), as_json(made), to_protect(values))]


def all_values(draw: Draw) -> list[Turn]:
    """A given object with every value or every key in another form."""
    values = _pairs(draw, draw.number(1, 3), ("any", "name", "city", "color", "animal", "object", "invented"))
    form = draw.choice(("upper", "lower", "keys", "empty", "null"))
    wordings, made = {
        "upper": (["all values in upper case", "upper case values", "values in capitals"], {key: str(value).upper() for key, value in values.items()}),
        "lower": (["all values in lower case", "lower case values", "values in small letters"], {key: str(value).lower() for key, value in values.items()}),
        "keys": (["all keys in upper case", "upper case keys", "keys in capitals"], {key.upper(): value for key, value in values.items()}),
        "empty": (["empty all values", "all values as empty strings", "make every value an empty string"], dict.fromkeys(values, "")),
        "null": (["set all values to null", "null for every key", "make every value null"], dict.fromkeys(values)),
    }[form]
    given = as_json(values)
    return [Turn(draw.choice(("{j} {c}", "{c}: {j}", "{j}\n{c}", "{c} in {j}")).format(j=given, c=asked(draw, wordings)), as_json(made), (given,))]


KEY_SHAPES = {
    "typed array": (typed_array, 16), "array changed": (array_changed, 10), "changed once": (changed_once, 24), "changed twice": (changed_twice, 8), "news": (news, 8),
    "telegram": (telegram, 14), "keys first": (keys_first, 14), "values first": (values_first, 10), "other order": (other_order, 8), "respectively": (respectively, 8),
    "inner object": (inner_object, 12), "yes and no": (yes_and_no, 5), "number words": (number_words, 5), "two lists": (two_lists, 6), "list or object": (list_or_object, 6),
    "all values": (all_values, 5),
}
