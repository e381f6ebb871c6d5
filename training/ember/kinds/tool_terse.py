"""Requests to tools in few words: a noun and the values, orders with polite words, and requests that leave one parameter out."""

import re

from ..draw import Draw
from .tool_specs import Offer, Spec

#: First words of requests that are orders, so that polite words can stand around them.
_ORDERS = set(
    "add aim apply ask assign back bake blend book brew bring build buy calculate call cancel change charge check claim clean close "
    "compare compute convert count create cut deal define delete deliver describe dim donate draw drive dry dye empty erase estimate export feed "
    "file fill film find fire fix flip fly follow forecast get give guide halt heat hire hold invite keep land lend list lock log look mail "
    "make mark measure message mix move mute note open order pack paint pay phone pick pin plan plant play please point polish preheat "
    "print pull put raise reach read rebook reboot record remind remove rename renew rent repair report request reserve reset resize "
    "restart return reverse ring roll rotate route run save scale schedule scan search seat sell send set shorten show shuffle silence "
    "sort spin start stop store suggest switch take teleport tell test throw tie toss track train transfer translate trim tune turn "
    "unlock update use wake warm wash water weigh wrap write".split()
)
_POLITE = ("please {t}", "{t} please", "can you {t}?", "could you {t}?", "would you {t}, please?", "i want you to {t}", "i need you to {t}",
    "{t} for me", "{t} now", "would you mind to {t}?", "you should {t}", "kindly {t}", "let us {t}", "it is time to {t}", "go and {t}")

#: Kinds of values that are recognized whatever their place is.
_RECOGNIZED = {"day", "date", "time", "month", "city", "country", "color", "language", "planet", "name", "fullname", "street", "phone", "ip",
    "island", "clothsize", "photosize", "square"}
_NUMBERS = {"degrees", "warmth", "oven", "minutes", "percent", "stars", "few", "dayofmonth", "price", "amount", "big", "distance", "age", "decimal",
    "year", "number", "kids", "grams", "washheat", "beats", "rpm", "angle", "skilength", "shoesize", "kiln", "oldyear", "diesides", "signedint", "port"}
#: Names of parameters that are no nouns, and cannot stand before a value or in a question.
_NO_NOUNS = set(
    "because to from at on by of in with for who whom where when what which near before after old new first second front back left off until via how it is "
    "recipient_to at_time from_time on_day for_day on_date".split()
)
_NO_NOUN_STARTS = ("is_", "how_", "for_", "on_", "at_", "from_", "to_", "with_", "in_", "by_", "n_", "num_", "of_", "late_", "last_", "low", "high", "muted", "opened", "locked")

_QUESTIONS_OF_KINDS = {
    "city": ("Which city?", "Which city do you mean?"), "day": ("On which day?", "For which day?", "Which day?"), "date": ("On which date?", "For which date?"),
    "time": ("At what time?", "For what time?"), "minutes": ("How many minutes?", "For how many minutes?"), "country": ("Which country?",),
    "color": ("Which color?", "In which color?"), "language": ("Which language?", "In which language?"), "street": ("At which address?", "What is the address?"),
    "fullname": ("What is the name of the person?", "For whom is it?"), "month": ("In which month?",), "planet": ("Which planet?",),
    "message": ("What should it say?", "What is the text?"), "room": ("In which room?", "Which room?"), "percent": ("How many percent?",),
    "price": ("How many dollars?", "What is the amount?"), "year": ("Which year?",), "file": ("Which file?",), "title": ("What is the title?", "Which title?"),
    "animal": ("Which animal?",), "place": ("Which place?", "What is the place?"), "object": ("Which thing?", "What is it about?"), "name": ("Which person?", "What is the name?"),
    "few": ("How many?", "What is the number?"), "amount": ("How many?", "What is the number?"), "number": ("Which number?", "What is the number?"),
}
_QUESTIONS_OF_SLOTS = {
    ("to", "name"): ("To whom?", "Who should get it?"), ("to", "city"): ("Where to?", "To which city?"), ("from", "city"): ("Where from?", "From which city?"),
    ("to", "spot"): ("Where to?", "To what place?"), ("from", "spot"): ("Where from?", "From what place?"), ("onoff", "onoff"): ("On or off?",),
    ("state", "onoff"): ("On or off?",), ("days", "few"): ("For how many days?", "How many days?"), ("count", "few"): ("How many?",),
    ("amount", "few"): ("How many?",), ("stars", "stars"): ("How many stars?",), ("price", "price"): ("For how many dollars?", "How many dollars?"),
    ("word", "any"): ("Which word?",), ("number", "percent"): ("Which number?",), ("other", "animal"): ("Which animal?", "And the other one?"),
    ("foods", "foods"): ("With which food?", "Which food?"), ("name", "name"): ("Which person?", "Who is it?"),
}
_NAMED_QUESTIONS = ("Which {n}?", "What is the {n}?", "Please tell me the {n}.", "I still need the {n}.", "Which {n} do you mean?", "And the {n}?")


def request(draw: Draw, spec: Spec) -> str:
    """A template of a request with all that the tool needs: as written, with polite words, or in few words."""
    written = draw.wording(spec.asks)
    if draw.chance(0.35):
        return terse(draw, spec, [slot for slot in spec.slots() if slot not in spec.optional or draw.chance(0.4)])
    if draw.chance(0.3) and _is_order(written):
        return draw.choice(_POLITE).replace("{t}", written.rstrip("."))
    return written


def _is_order(written: str) -> bool:
    """Whether a request begins with a verb and contains nothing after which polite words would be out of place."""
    return written.split()[0] in _ORDERS and not re.search(r"[:;]|please|, (i|we|it|will|do|take|get) |\?$", written)


def terse(draw: Draw, spec: Spec, slots: list[str], labeled: bool = False) -> str:
    """A noun and values, each perhaps with its name: `ferry, island Malta, day Friday`."""
    noun = draw.choice(spec.nouns)
    if not slots:
        return draw.choice(("{n}", "{n}", "{n} please", "{n}, please", "{n}!", "{n}?")).replace("{n}", noun)
    kinds = spec.kinds()
    numbers = [slot for slot in slots if kinds[slot] in _NUMBERS]
    if labeled or len(numbers) > 1 or draw.chance(0.3):
        return _with_labels(draw, noun, slots, kinds)
    if len({_look(kinds[slot]) for slot in slots}) < len(slots) and {"from", "to"} <= set(slots):
        return _from_to(draw, noun, slots)
    if _in_any_order(kinds, slots):
        slots = draw.some(slots, len(slots))
    values = [f"{{{slot}}}" for slot in slots]
    form = draw.number(0, 6)
    if form == 0 and _in_any_order(kinds, slots):
        return draw.choice(("{v}, {n}", "{v}: {n}", "{v} {n}", "{v} - {n}")).format(v=draw.choice((" ", ", ")).join(values), n=noun)
    if form == 1 and len(values) > 1 and _in_any_order(kinds, slots):
        return f"{values[0]}, {noun}, {' '.join(values[1:])}"
    joined = draw.choice((" ", " ", ", ", " / ", " - ")).join(values)
    return draw.choice(("{n} {v}", "{n} {v}", "{n}: {v}", "{n}, {v}", "{n} - {v}", "{n} {v} please", "{n}; {v}")).format(n=noun, v=joined)


def _with_labels(draw: Draw, noun: str, slots: list[str], kinds: dict[str, str]) -> str:
    """The values with the names of their parameters, in any order; verbs such as `unlock` need no name."""
    sign, between, form = draw.choice((
        (" ", ", ", "{n}, {p}"), (" ", ", ", "{n}: {p}"), (" ", " and ", "{n} with {p}"), (": ", ", ", "{n}, {p}"), (": ", "; ", "{n} - {p}"),
        ("=", " ", "{n} {p}"), (" = ", ", ", "{n}: {p}"), (" ", ", ", "{p}: {n}"), (" ", " ", "{n} {p}"), (": ", "\n", "{n}\n{p}"),
    ))
    parts = [f"{{{slot}}}" if kinds[slot] in _YES_OR_NO else f"{slot}{sign}{{{slot}}}" for slot in draw.some(slots, len(slots))]
    return form.format(n=noun, p=between.join(parts))


def _from_to(draw: Draw, noun: str, slots: list[str]) -> str:
    """The values with the words `from` and `to` before those that need them."""
    parts = [f"{slot} {{{slot}}}" if slot in ("from", "to") else f"{{{slot}}}" for slot in slots]
    return draw.choice(("{n} {p}", "{n}, {p}", "{n}: {p}")).format(n=noun, p=" ".join(parts))


def _look(kind: str) -> str:
    """What tells values of a kind from others: numbers look alike."""
    return "number" if kind in _NUMBERS else kind if kind in _RECOGNIZED else "text"


def _in_any_order(kinds: dict[str, str], slots: list[str]) -> bool:
    """Whether each value shows by itself which parameter it is for."""
    looks = ["name" if kinds[slot] == "fullname" else _look(kinds[slot]) for slot in slots]
    return len(set(looks)) == len(looks)


def incomplete(draw: Draw, named: Offer) -> tuple[str, str, str] | None:
    """A template of a request that leaves out one parameter, the parameter, and the question for it."""
    spec = named.spec
    if spec.missing and draw.chance(0.3):
        return draw.wording(spec.missing.asks), spec.missing.slot, draw.choice(spec.missing.questions)
    slots = [names[0] for names, kind in spec.params
        if names[0] not in spec.optional and kind not in _YES_OR_NO and _questions(draw, named, names[0])]
    cut = [found for found in (_cut(spec, written, slots) for written in spec.asks) if found]
    if cut and draw.chance(0.6):
        template, slot = draw.choice(cut)
    elif slots:
        slot = draw.choice(slots)
        others = [other for other in spec.slots() if other != slot and other not in spec.optional]
        looks = [_look(spec.kinds()[other]) for other in (slot, *others)]
        template = terse(draw, spec, others, labeled=len(set(looks)) < len(looks) or "text" in looks[:1] and len(others) > 0)
    else:
        return None
    return template, slot, question(draw, named, slot)


#: Kinds of parameters that nobody is asked for.
_YES_OR_NO = {"switch", "lockstate", "openstate", "mutestate"}
_LAST_PART = re.compile(r",? (?:on|at|in|for|to|from|by|with)(?: the)? \{(\w+)\}(?: (?:minutes|percent|degrees|dollars|days|times|stars|hours|months|nights|people|pieces))?[?.]?$")


def _cut(spec: Spec, written: str, slots: list[str]) -> tuple[str, str] | None:
    """An order without its last part, and the parameter that is missing then."""
    found = _LAST_PART.search(written)
    rest = written[: found.start()] if found else ""
    if not found or found[1] not in slots or f"{{{found[1]}}}" in rest or len(rest.split()) < 2 or not _is_order(written):
        return None
    others = [slot for slot in spec.slots() if slot != found[1] and slot not in spec.optional]
    complete = all(f"{{{slot}}}" in rest for slot in others)
    return (rest, found[1]) if complete else None


def question(draw: Draw, named: Offer, slot: str) -> str:
    """The question for exactly this parameter, by its name in the offer or by the kind of its values."""
    return draw.choice(_questions(draw, named, slot))


def _questions(draw: Draw, named: Offer, slot: str) -> tuple[str, ...]:
    """Questions for a parameter, or none if it has no name that can be asked for."""
    kind = named.spec.kinds()[slot]
    usual = next(names for names, _ in named.spec.params if names[0] == slot)
    shown = named.shown[slot].replace("_", "").lower()
    label = next((_label(name) for name in usual if name.replace("_", "").lower() == shown), None) or _label(slot)
    of_kind = _QUESTIONS_OF_SLOTS.get((slot, kind)) or _QUESTIONS_OF_KINDS.get(kind, ())
    if kind in _NUMBERS and slot.endswith("s"):
        of_kind = (f"How many {slot}?",)
    if label and (not of_kind or draw.chance(0.5)):
        plural = kind in _NUMBERS and label.endswith("s")
        return (f"How many {label}?",) if plural else tuple(one.format(n=label) for one in _NAMED_QUESTIONS)
    return of_kind


def _label(name: str) -> str | None:
    """The name of a parameter as a noun in a sentence, if it is one."""
    snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
    if snake in _NO_NOUNS or snake.startswith(_NO_NOUN_STARTS) or len(snake) < 4 or re.search(r"_(id|no|pct|deg|min|t|m|cm|mm|kg|g|s|c|usd|amt|sz)$|\d", snake):
        return None
    return snake.replace("_", " ")
