"""Tools to call: those of the seeds under any of their names, and tools invented from a verb and a thing."""

import re
from dataclasses import dataclass
from functools import cache

from .. import seeds
from ..draw import Draw
from ..grammar import with_article
from ..split import HELD_OUT_KINDS, Split
from .tool_actions import MORE_ACTIONS, MORE_KINDS
from .tool_values import Value, choices, schema_type, value


@dataclass(frozen=True)
class Missing:
    """Requests that leave out a parameter, and what to ask then."""

    slot: str
    asks: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True)
class Spec:
    """A tool as the seeds describe it: each parameter and result with its names and the kind of its values."""

    group: str
    names: tuple[str, ...]
    about: tuple[str, ...]
    params: tuple[tuple[tuple[str, ...], str], ...]
    asks: tuple[str, ...]
    missing: Missing | None
    results: tuple[tuple[str, str], ...]
    replies: tuple[str, ...]
    #: Parameters that a request may leave out without being asked for them.
    optional: frozenset[str] = frozenset()
    #: Whether other tools of the group can be on offer too, as no request fits two of them.
    distinct: bool = False
    #: What the request is about in a word or two, for requests without a verb.
    nouns: tuple[str, ...] = ()

    def kinds(self) -> dict[str, str]:
        """The kind of values of each parameter and result."""
        return {names[0]: kind for names, kind in self.params} | dict(self.results)

    def slots(self) -> list[str]:
        """The names by which templates know the parameters."""
        return [names[0] for names, _ in self.params]

    def given_in(self, template: str, values: dict[str, Value]) -> dict[str, Value]:
        """The values without the optional ones that a request of this wording does not mention."""
        return {slot: one for slot, one in values.items() if slot not in self.optional or f"{{{slot}}}" in template}


@dataclass(frozen=True)
class Offer:
    """A tool as it is offered in one chat: its name, what it is said to do, and the shown name of each parameter."""

    spec: Spec
    name: str
    about: str
    shown: dict[str, str]

    def schema(self, draw: Draw) -> dict:
        """The tool in OpenAI's form."""
        properties = {}
        for names, kind in self.spec.params:
            entry = {"type": schema_type(value(draw, kind))}
            if kind == "decimal":
                entry["type"] = "number"
            if choices(kind) and draw.chance(0.5):
                entry["enum"] = choices(kind)
            if draw.chance(0.4):
                entry["description"] = f"The {names[0].replace('_', ' ')}"
            properties[self.shown[names[0]]] = entry
        required = [self.shown[slot] for slot in self.spec.slots() if slot not in self.spec.optional]
        parameters = {"type": "object", "properties": properties, "required": required}
        return {"type": "function", "function": {"name": self.name, "description": self.about, "parameters": parameters}}

    def call(self, values: dict[str, Value]) -> dict:
        """A call with the values of the parameters."""
        return {"name": self.name, "arguments": {self.shown[slot]: values[slot] for slot in self.spec.slots() if slot in values}}


def _bars(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


@cache
def specs() -> tuple[Spec, ...]:
    """All tools of the seeds. Where a file is called `distinct`, no request fits two tools of a group of it."""
    return tuple(_read(block, path.stem.startswith("distinct")) for path in sorted((seeds.FOLDER / "chats" / "tools").glob("*.txt"))
        for block in re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


@cache
def _nouns() -> dict[str, str]:
    """The nouns of the tools whose blocks do not give any, by the first name of the tool."""
    rows = (seeds.FOLDER / "chats" / "tools" / "nouns.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return dict(row.split("\t") for row in rows)


def _read(block: str, distinct: bool) -> Spec:
    fields: dict[str, list[str]] = {}
    for line in block.strip().splitlines():
        key, _, rest = line.partition(":")
        fields.setdefault(key.strip("# "), []).append(rest.strip())
    missing = None
    if "missing" in fields:
        slot, asks, questions = fields["missing"][0].split(";")
        missing = Missing(slot.strip(), _bars(asks), _bars(questions))
    params = tuple((tuple(name.strip() for name in line.split("=")[0].split(",")),
        line.split("=")[1].strip(" ?")) for line in fields.get("param", []))
    optional = frozenset(line.split(",")[0].strip() for line in fields.get("param", []) if line.endswith("?"))
    results = tuple((part.split("=")[0].strip(), part.split("=")[1].strip())
        for part in _bars(fields.get("result", ["status = word:done"])[0]))
    names = tuple(name.strip() for name in fields["tool"][0].split(","))
    return Spec(fields["group"][0], names, _bars(fields["about"][0]), params, _bars(fields["ask"][0]), missing, results,
        _bars(fields["reply"][0]), optional, distinct, _bars(fields["noun"][0] if "noun" in fields else _nouns()[names[0]]))


def of_split(split: Split, only_held_out: bool = False) -> list[Spec]:
    """The tools that may be used: whole groups are held out of training."""
    held_out = [spec for spec in specs() if f"tools/{spec.group}" in HELD_OUT_KINDS]
    if only_held_out:
        return held_out
    return [spec for spec in specs() if spec not in held_out]


_PREFIXES = ("my_", "do_", "tool_", "api_", "app_", "fn_", "the_", "run_")
#: Ways to write the name of a parameter, and the share of those written so.
_STYLED = ("{}_value", "the_{}", "{}_param", "input_{}", "p_{}", "arg_{}", "{}_1", "my_{}", "{}_text", "new_{}", "{}_in", "x_{}")
_STYLED_SHARE = 0.08
_SUFFIXES = ("_v2", "_tool", "_now", "_api", "2", "_action", "_function", "_service")


def offer(draw: Draw, spec: Spec, made_up: bool = False) -> Offer:
    """A tool under one of its names, in one of the usual ways of writing names, or under a name that tells nothing."""
    name = draw.choice(spec.names)
    if draw.chance(0.12):
        name = draw.choice(_PREFIXES) + name
    if draw.chance(0.12):
        name = name + draw.choice(_SUFFIXES)
    style = draw.number(0, 9)
    if style == 0:
        name = _camel(name)
    elif style == 1:
        name = name.replace("_", "-")
    elif style == 2 and not made_up:
        # Only the description explains the purpose of this one.
        name = f"{draw.word('word')}_{draw.word('word')}" if draw.chance(0.6) else f"tool_{draw.number(1, 99)}"
    shown: dict[str, str] = {}
    for names, _ in spec.params:
        chosen = draw.choice([other for other in names if other not in shown.values()])
        if draw.chance(_STYLED_SHARE):
            chosen = draw.choice(_STYLED).format(chosen)
        shown[names[0]] = _camel(chosen) if style == 0 else chosen
    return Offer(spec, name, draw.choice(spec.about), shown)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


#: Actions from which tools are invented: verb, one or two parameters, a request in several wordings, and the reply.
_ACTIONS = [
    ("polish", "place", "polish the {object} in the {place} | {object} in the {place}: polish, please | make the {object} in the {place} shine",
        "The {object} in the {place} is polished."),
    ("paint", "color", "paint the {object} {color} | {object} in {color}, please | i want the {object} {color}",
        "The {object} is {color} now."),
    ("move", "place", "move the {object} to the {place} | {object} to the {place} | the {object} belongs in the {place}",
        "The {object} is in the {place} now."),
    ("rent", "days", "rent a {object} for {days} days | {days} days with a {object}, please | i need a {object} for {days} days",
        "You have the {object} for {days} days."),
    ("repair", "day", "repair the {object} by {day} | the {object} is broken, i need it by {day} | {object} repaired until {day}",
        "The {object} will be ready on {day}."),
    ("buy", "count", "buy {count} pieces of the {object} | {count} of the {object} | i need {count} more of the {object}",
        "I have bought {count} of them."),
    ("draw", "color", "draw a {color} {object} | a picture of a {color} {object} | {object}, drawn in {color}",
        "Here is your {color} {object}."),
    ("find", "city", "find a {object} in {city} | any {object} in {city}? | where in {city} is there a {object}?",
        "I found a {object} in {city}."),
    ("give", "name", "give the {object} to {name} | {name} gets the {object} | the {object} is for {name}",
        "{name} has the {object} now."),
    ("lend", "name", "lend {name} the {object} | {name} needs the {object} | {object} for {name}, only for a while",
        "{name} can use the {object} now."),
    ("clean", "minutes", "clean the {object} for {minutes} minutes | {minutes} minutes of cleaning for the {object} | the {object} is dirty, {minutes} minutes will do",
        "The {object} is being cleaned."),
    ("check", "hour", "check the {object} at {hour} | at {hour}, look at the {object} | {object} check at {hour}",
        "I will check the {object} at {hour}."),
    ("hide", "place", "hide the {object} in the {place} | nobody may find the {object}, put it in the {place} | {object} into the {place}, quickly",
        "The {object} is hidden in the {place}."),
    ("photograph", "place", "take a photo of the {object} in the {place} | photo: {object}, {place} | a picture of the {object} in the {place}, please",
        "The photo of the {object} is done."),
    ("wrap", "color", "wrap the {object} in {color} paper | {color} paper around the {object} | the {object} is a present, in {color} please",
        "The {object} is wrapped in {color} paper."),
    ("sell", "price", "sell the {object} for {price} dollars | {price} dollars for the {object} | i want {price} dollars for the {object}",
        "The {object} is on sale for {price} dollars."),
    ("label", "word", "label the {object} with {word} | write {word} on the label of the {object} | label for the {object}: {word}",
        "The {object} has the label {word} now."),
    ("name", "title", "name the {object} {title} | the {object} shall be called {title} | new name for the {object}: {title}",
        "The {object} is called {title} now."),
    ("set", "number", "set the {object} to {number} | {object} to {number} | {number} for the {object}",
        "The {object} is set to {number}."),
    ("play", "title", "play {title} on the {object} | i want to hear {title} on the {object} | {title} on the {object}, please",
        "The {object} plays {title}."),
    ("book", "name", "book the {object} for {name} | {name} needs the {object}, book it | booking for {name}: {object}",
        "The {object} is booked for {name}."),
    ("count", "place", "how many of the {object} are in the {place} | count the {object} in the {place} | number of {object} in the {place}?",
        "I have counted the {object} in the {place}."),
    ("track", "city", "is the {object} in {city} yet | has the {object} reached {city}? | did the {object} arrive in {city}?",
        "The {object} has reached {city}."),
    ("compare", "other", "compare the {object} with the {other} | {object} or {other}? | the {object} and the {other}, side by side",
        "The {object} and the {other} are alike."),
    ("order", "amount", "order {amount} of the {object} | {amount} of the {object}, please | i would like {amount} of the {object}",
        "I have ordered {amount} of the {object}."),
    ("describe", "adjective", "describe the {object} as {adjective} | the {object} is {adjective}, write that down | {adjective}, that is the {object}",
        "The {object} is described as {adjective}."),
    ("translate", "language", "read the {object} in {language} | {object} in {language}, please | what does the {object} say in {language}?",
        "Here is the {object} in {language}."),
    ("deliver", "place day", "deliver the {object} to the {place} on {day} | on {day}, {object} to the {place} | the {place} needs the {object} on {day}",
        "The {object} will be in the {place} on {day}."),
    ("carry", "from to", "carry the {object} from {from} to {to} | from {from} to {to} with the {object} | {object}: {from} to {to}",
        "The {object} is on its way from {from} to {to}."),
    ("ship", "city count", "ship {count} pieces of the {object} to {city} | to {city}: {count} of the {object} | {city} wants {count} of the {object}",
        "{count} pieces are on their way to {city}."),
    ("reserve", "name days", "reserve the {object} for {name} for {days} days | {name} would like the {object} for {days} days | {days} days of the {object} for {name}",
        "{name} has the {object} for {days} days."),
    ("trim", "minutes place", "trim the {object} in the {place} for {minutes} minutes | {minutes} minutes for the {object} in the {place} | in the {place}, trim the {object}, {minutes} minutes",
        "The {object} will be ready in {minutes} minutes."),
    ("insure", "price name", "insure the {object} of {name} for {price} dollars | {price} dollars of insurance for the {object} of {name} | the {object} of {name} is worth {price} dollars, insure it",
        "The {object} of {name} is insured."),
    ("switch", "state", "switch the {object} {state} | {object} {state} | {state} with the {object}",
        "The {object} is {state}."),
    ("turn", "state place", "turn the {object} in the {place} {state} | {object} {state} in the {place} | {place}: {object} {state} | {state} with the {object} in the {place}",
        "The {object} in the {place} is {state}."),
    ("print", "title count", "print {title} {count} times on the {object} | {count} copies of {title} on the {object} | on the {object}: {title}, {count} times",
        "{title} is printed."),
    ("rate", "stars", "give the {object} {stars} stars | {stars} stars for the {object} | the {object} deserves {stars} stars",
        "The {object} has {stars} stars now."),
    ("charge", "number", "charge the {object} to {number} percent | {object} to {number} percent | i need the {object} at {number} percent",
        "The {object} is charged to {number} percent."),
    ("read", "title", "read me {title} from the {object} | {title} from the {object}, please | what does {title} on the {object} say?",
        "Here is {title}."),
    ("schedule", "day hour", "use the {object} on {day} at {hour} | {object}: {day}, {hour} | on {day} at {hour} the {object} should start",
        "The {object} starts on {day} at {hour}."),
    ("warm", "warmth", "warm the {object} to {warmth} degrees | {warmth} degrees for the {object} | {object} at {warmth} degrees",
        "The {object} is getting warm."),
    ("measure", "place", "how large is the {object} in the {place} | measure the {object} in the {place} | size of the {object} in the {place}?",
        "I have measured the {object}."),
    ("look_up", "country", "what is the {object} called in {country} | what do they call the {object} in {country}? | the word for {object} in {country}?",
        "I have looked up the {object}."),
    ("assign", "name job", "let {name} use the {object} as a {job} | {name} is the {job} and needs the {object} | {object} for {name}, our {job}",
        "{name} has the {object} now."),
    ("feed", "foods count", "feed the {object} {count} {foods} | {count} {foods} for the {object} | the {object} is hungry, {count} {foods}",
        "The {object} has eaten {count} {foods}."),
    ("search", "topic", "search the {object} for {topic} | what does the {object} say about {topic}? | {topic} in the {object}",
        "I found {topic}."),
    ("note", "message", "write {message} on the {object} | {message} - put that on the {object} | the {object} should say {message}",
        "It is on the {object} now."),
]
_ACTION_KINDS = {"hour": "time", "color": "color", "place": "place", "days": "few", "day": "day", "count": "few", "city": "city",
    "name": "name", "minutes": "minutes", "price": "price", "word": "any", "title": "title", "number": "percent", "other": "animal",
    "amount": "few", "adjective": "adjective", "language": "language", "from": "city", "to": "city", "state": "onoff", "stars": "stars",
    "warmth": "warmth", "country": "country", "job": "job", "foods": "foods", "topic": "topic", "message": "message"}
_ORDERS = ("{t}", "{t} please", "please {t}", "can you {t}", "could you {t}?", "i want you to {t}", "now {t}")
_QUESTIONS = ("{t}", "{t}?", "please, {t}?")
_QUESTION_WORDS = ("how ", "is ", "what ")
#: How often a request in other words occurs for each form of the plain one.
_OTHER_WORDS_WEIGHT = 2


_OTHER_NAMES = {"place": ("where", "location"), "count": ("quantity", "how_many"), "name": ("person", "who"), "day": ("date", "when"),
    "from": ("start", "origin"), "to": ("goal", "destination"), "hour": ("time", "at"), "state": ("power", "mode"),
    "message": ("text", "content"), "topic": ("query", "subject")}


def made_up(draw: Draw) -> Spec:
    """Returns an invented tool: a verb and a thing, which is part of its name or a parameter."""
    verb, slots, ask, reply = draw.choice((*_ACTIONS, *MORE_ACTIONS))
    thing = draw.word(draw.choice(("object", "object", "thing", "trinket", "any")))
    general = draw.chance(0.4)
    named = thing.replace(" ", "_").replace("-", "_").replace("'", "")
    names = (f"{verb}_thing", f"{verb}_item", f"{verb}_object", verb) if general else (f"{verb}_{named}", f"{named}_{verb}",
        f"{verb}_the_{named}")
    shown = verb.replace("_", " ")
    about = (f"{shown.capitalize()} a thing.",) if general else (f"{shown.capitalize()} {with_article(thing)}.", f"Can {shown} the {thing}.")
    params = [((slot, *_OTHER_NAMES.get(slot, ())), (_ACTION_KINDS | MORE_KINDS)[slot]) for slot in slots.split()]
    if general:
        params.insert(0, (("object", "item", "thing"), "object"))
    else:
        ask, reply = ask.replace("{object}", thing), reply.replace("{object}", thing)
    plain, *others = ask.split(" | ")
    forms = _QUESTIONS if plain.startswith(_QUESTION_WORDS) else _ORDERS
    asks = (*(form.format(t=plain) for form in forms), *others * _OTHER_WORDS_WEIGHT)
    nouns = (shown,) if general else (thing, f"{shown} {thing}")
    return Spec("made up", names, about, tuple(params), asks, None, (("status", "word:done"),), (reply,), nouns=nouns)
