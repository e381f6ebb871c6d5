"""Questions that ask for JSON with given keys: facts from a text, lists, true and false, small sums."""

import json
from dataclasses import dataclass
from random import Random

from ember.chats import json_data as data
from ember.chats import json_wordings as wordings
from ember.chats.chat import Chat, Check
from ember.chats.values import Draw, Json, Value, listed, with_articles
from ember.split import Split, split_of

#: Keys and what stands under them.
Facts = dict[str, Json]


#: What stands for a value in a form: blanks, empty values, or the names of types.
BLANKS = {str: '"..."', type(None): '"..."', list: "[...]"}
ZEROS = {str: '""', type(None): '""', int: "0", bool: "false", list: "[]"}
TYPES = {str: "string", type(None): "string or null", int: "number", bool: "true or false", list: "list"}


@dataclass(frozen=True)
class Body:
    """What the user tells, the facts in it, and those asked for that it leaves out."""

    text: str
    facts: Facts
    missing: tuple[str, ...] = ()
    #: A calculation that comes before the answer.
    working: str = ""
    #: What decides the split, if not the text.
    material: str = ""


def chat(rng: Random, split: Split) -> Chat:
    """A question with text and keys, and the JSON object that answers it."""
    draw = Draw(rng, split)
    make = rng.choices((_topic_body, _line_body, _sum_body, _list_body, _flag_body), (58, 20, 8, 8, 6))[0]
    body = make(draw)
    while split_of(body.material or body.text) is not split:
        draw = Draw(rng, split)
        body = make(draw)
    facts = _asked_facts(rng, body)
    answer = json.dumps(facts)
    return Chat("json_answers", _messages(rng, body, facts), _thought(facts, body.working), answer, Check(json=facts))


def _asked_facts(rng: Random, body: Body) -> Facts:
    """One to four of the facts in the order that they are asked for, and null for a missing one."""
    keys = list(body.facts)
    rng.shuffle(keys)
    keys = keys[: min(rng.choices((1, 2, 3, 4), (25, 45, 25, 5))[0], 4 - len(body.missing))]
    if rng.random() < 0.4:
        keys.sort(key=list(body.facts).index)
    for key in body.missing:
        keys.insert(rng.randint(0, len(keys)), key)
    return {key: body.facts.get(key) for key in keys}


def _topic_body(draw: Draw) -> Body:
    """A sentence or two on a topic, now and then with a fact that is true or false."""
    rng = draw.rng
    topic = rng.choice(data.TOPICS)
    text = rng.choice(topic.texts)
    fields = [_field(field) for field in topic.fields]
    told = {keys[0]: draw.value(kind) for keys, kind in fields if f"{{{keys[0]}}}" in text}
    facts: Facts = {}
    missing = []
    for keys, _ in fields:
        key = keys[0] if rng.random() < 0.9 else rng.choice(keys)
        if key in facts:
            key = keys[0]
        if keys[0] in told:
            facts[key] = told[keys[0]].json
        elif not missing and rng.random() < 0.03:
            missing.append(key)
    text = with_articles(text.format_map({key: value.text for key, value in told.items()}))
    if rng.random() < 0.03:
        flag = _flag_body(draw)
        text = f"{text} {flag.text}"
        facts.update(flag.facts)
    return Body(text, facts, tuple(key for key in missing if key not in facts))


def _field(field: str) -> tuple[list[str], str]:
    """The keys and the kind of a field that is written "keys: kind"."""
    keys, kind = field.split(": ")
    return keys.split("|"), kind


def _line_body(draw: Draw) -> Body:
    """Facts as lines of keys and values, some with invented keys."""
    rng = draw.rng
    form, between = rng.choice(data.LINES)
    told: dict[str, Value] = {}
    for line_key in rng.sample(data.LINE_KEYS, rng.choice((1, 2, 2, 3))):
        key, kind = line_key.split(":")
        if rng.random() < 0.05:
            key = draw.invented()
        told[key] = draw.value(kind)
    lines = between.join(form.format(key=key, value=value.text) for key, value in told.items())
    return Body(rng.choice(data.LINE_HEADS) + lines, {key: value.json for key, value in told.items()})


def _sum_body(draw: Draw) -> Body:
    """A small sum, told in signs or words."""
    rng = draw.rng
    text, sign = rng.choice(data.SUMS)
    first, second = rng.randint(2, 20), rng.randint(1, 12)
    if sign == "*":
        first, second = rng.randint(2, 10), rng.randint(2, 10)
    if sign == "-":
        first, second = max(first, second + 1), min(first - 1, second)
    result = {"+": first + second, "-": first - second, "*": first * second}[sign]
    text = draw.filled(text.replace("{a}", str(first)).replace("{b}", str(second)))
    key = draw.invented() if rng.random() < 0.1 else rng.choice(data.SUM_KEYS)
    working = f"{first} {sign} {second} = {result}, so "
    return Body(text, {key: result}, working=working, material=f"{first}{sign}{second}".replace("*", "x"))


def _list_body(draw: Draw) -> Body:
    """A sentence with a list of things of one kind."""
    rng = draw.rng
    keys, kind, texts = rng.choice(data.LISTS)
    article, kind = ("a ", kind[2:]) if kind.startswith("a ") else ("", kind)
    items = [draw.value(kind) for _ in range(rng.choice((2, 3)))]
    told = listed([article + item.text for item in items])
    text = draw.filled(rng.choice(texts).replace("{list}", told))
    return Body(text, {keys.split("|")[0]: [item.json for item in items]})


def _flag_body(draw: Draw) -> Body:
    """A sentence that says whether something is so."""
    rng = draw.rng
    keys, yes, no = rng.choice(data.FLAGS)
    truth = rng.random() < 0.5
    return Body(draw.filled(rng.choice(yes if truth else no)), {rng.choice(keys.split("|")): truth})


def _messages(rng: Random, body: Body, facts: Facts) -> list[dict]:
    """The text and the request, in one message or with the request as the system's."""
    request = _request(rng, facts)
    if body.missing or rng.random() < 0.05:
        request = f"{request} {rng.choice(wordings.NULL_NOTES)}"
    place = rng.random()
    if place < 0.04:
        system = f"{rng.choice(wordings.SYSTEM_LEADS)} {request}"
        return [{"role": "system", "content": system}, {"role": "user", "content": body.text}]
    sentence = body.text.endswith((".", "?")) and "\n" not in body.text
    between = " " if sentence and rng.random() < 0.8 else "\n"
    content = f"{request}{between}{body.text}" if place < 0.12 else f"{body.text}{between}{request}"
    return [{"role": "user", "content": content}]


def _request(rng: Random, facts: Facts) -> str:
    """A request for an object with the keys of `facts`."""
    request = rng.choice(wordings.REQUESTS)
    if "{form}" in request:
        return request.replace("{form}", _form(rng, facts))
    mark = rng.choice(("", "", "", '"', '"', "'"))
    keys = [f"{mark}{key}{mark}" for key in facts]
    naming = rng.choice(wordings.ONE_KEY if len(keys) == 1 else wordings.MORE_KEYS)
    named = ", ".join(keys) if naming.endswith(": {keys}") or rng.random() < 0.1 else listed(keys)
    return request.replace("{keys}", naming.replace("{keys}", named))


def _form(rng: Random, facts: Facts) -> str:
    """The object with blanks for its values."""
    blanks = rng.choice((BLANKS, ZEROS, TYPES, {}))
    return "{" + ", ".join(f'"{key}": {blanks.get(type(value), "...")}' for key, value in facts.items()) + "}"


def _thought(facts: Facts, working: str) -> str:
    """What stands under each key."""
    return f"{working}{listed([_said(key, value) for key, value in facts.items()])}."


def _said(key: str, value: Json) -> str:
    """That a key has a value, in words."""
    if value is None:
        return f"{key} is not said"
    if isinstance(value, list):
        return f"{key} are {listed([str(item) for item in value])}"
    return f"{key} is {json.dumps(value) if isinstance(value, bool) else value}"
