"""Chats with tools: which one to call, with what arguments, how to report its response, and when to call none."""

import json
import re

from .. import chat_text
from ..chat import Chat, Message, Turn, assistant, tool, user
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized
from ..noise import noisy
from ..split import Split
from . import explaining, facts, sums, written
from .tool_specs import Offer, Spec, made_up, of_split, offer
from .tool_terse import incomplete, request
from .tool_values import Value, spoken, value

#: The share of calls of invented tools.
MADE_UP_SHARE = 0.45

_NO_TOOL = [
    "I have no tool for that.", "None of my tools can do that.", "I am sorry, I have no tool for that.",
    "I cannot do that with the tools that I have.", "That is not something my tools can do, sorry.", "I am afraid that I have no tool for this.",
    "There is no tool for that here.", "I would need another tool for that.", "Sorry, none of the tools fits this request.", "That is not possible with these tools.",
]
_THANKS = [("thanks", "You are welcome!"), ("thank you", "My pleasure!"), ("great, thanks", "Glad I could help."),
    ("ok", "Good. Is there anything else?"), ("perfect", "I am glad that it worked."), ("cool", "Tell me if you need more."), ("thank you so much", "You are welcome!"),
    ("nice", "I am glad to help."), ("that is all", "Good. I am here if you need me."), ("well done", "Thank you!"), ("good", "Anything else?"),
    ("thx", "You are welcome!"), ("that was quick", "The tools do the work."), ("fine", "Good.")]
_ERRORS = ["not found", "no connection", "timeout", "not allowed", "try again later", "unknown error", "service is down"]


def chat(draw: Draw) -> Chat:
    """Returns a chat with tools."""
    held_out = draw.split is Split.HELD_OUT and draw.chance(0.5)
    known = of_split(draw.split, held_out)
    makers = ((_calling, 58), (_pair, 5), (_two_tools, 6), (_clarifying, 14), (_no_call, 26), (_failing, 5), (_after_talk, 8), (_then_none, 5))
    maker = draw.rng.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0]
    return _fitting(maker(draw, known))


#: The length of a chat with tools that fits the longest row of a shard with nearly every vocabulary.
_MOST_LETTERS = 1660


def _fitting(made: Chat) -> Chat:
    """The chat short enough for training: without what follows its first call, descriptions of parameters, or tools that it does not call."""
    if _length(made) > _MOST_LETTERS:
        first = next((at for at, message in enumerate(made.messages) if "<tool_call>" in str(message["content"])), None)
        made = Chat(made.kind, made.messages if first is None else made.messages[: first + 1], made.tools)
    if _length(made) > _MOST_LETTERS:
        for one in made.tools:
            for entry in one["function"]["parameters"]["properties"].values():
                entry.pop("description", None)
    called = " ".join(str(message["content"]) for message in made.messages if message["role"] == "assistant")
    others = [one for one in made.tools if f'"name": "{one["function"]["name"]}"' not in called]
    while _length(made) > _MOST_LETTERS and others and len(made.tools) > 1:
        gone = others.pop()
        made = Chat(made.kind, made.messages, [one for one in made.tools if one is not gone])
    return made


def _length(made: Chat) -> int:
    """The number of letters of a chat as the model reads it."""
    return len(chat_text.text(made))


def _drawn_spec(draw: Draw, known: list[Spec]) -> Spec:
    return made_up(draw) if draw.chance(MADE_UP_SHARE) else draw.choice(known)


def _offers(draw: Draw, spec: Spec, known: list[Spec]) -> tuple[Offer, list[Offer]]:
    """Returns the intended tool and all available tools in random order; no other tool fits the request or has its name."""
    meant = offer(draw, spec, spec.group == "made up")
    others: list[Offer] = []
    groups = {spec.group}
    siblings = [other for other in known if other.distinct and other.group == spec.group and other is not spec]
    for _ in range(draw.rng.choices((0, 1, 2, 3, 4, 5), (12, 21, 26, 22, 13, 6))[0]):
        other = made_up(draw) if draw.chance(0.3) else draw.choice(siblings if siblings and draw.chance(0.5) else known)
        if other.group == "made up" and other.about[0].split()[0] in {one.about.split()[0] for one in [meant, *others]}:
            continue
        named = offer(draw, other)
        if (other.group == "made up" or not groups & _like(other.group) or _both_fit(other, meant, others)) and named.name not in [one.name for one in [meant, *others]]:
            groups.add(other.group)
            others.append(named)
    offers = [meant, *others]
    draw.rng.shuffle(offers)
    return meant, offers


#: Groups whose tools do something similar, so that one could stand in for another.
_ALIKE = (
    {"time", "reminders", "calendar", "meetings", "work", "diary", "dates"}, {"music", "radio", "singing", "television", "sleep"},
    {"home", "switches", "power", "colors", "blinds", "screen"}, {"shopping", "cart", "pantry", "store", "orders", "kitchen", "bakery", "gifts"},
    {"travel", "flights", "buses", "maps", "restaurants", "hotel service"}, {"math", "units", "chance", "measuring", "colors"},
    {"words", "text tools", "flashcards"}, {"work", "files", "printer", "pictures", "photos", "projects"}, {"games", "quiz", "chance", "school"},
    {"health", "training", "sleep", "pets"}, {"people", "calendar", "clubs", "accounts", "helpdesk"}, {"doors", "cameras", "car"},
    {"farm", "pets", "zoo", "aquarium"}, {"messages", "mail", "post", "flowers"}, {"fun", "museum", "zoo", "buses", "television"},
    {"photo studio", "photos", "pictures"}, {"hospital", "health", "nursery", "sleep"}, {"cinema", "theater", "fun", "television", "museum"},
    {"podcasts", "radio", "music"}, {"water works", "city hall", "court", "taxes office", "tables"}, {"software", "servers", "network", "databases", "files"},
    {"warehouse", "store", "orders", "shopping", "cart"}, {"delivery drivers", "post", "orders"}, {"ferry", "travel", "flights", "buses", "railway"},
    {"energy", "power", "car"}, {"gym", "training", "swimming pool", "clubs"}, {"board games", "games", "chance", "virtual world", "quiz"},
    {"real estate", "homes", "moving house"}, {"mountain hut", "camping", "travel", "hotel service", "ski"},
    {"canteen", "catering", "restaurants", "ice cream parlor", "kitchen", "tea shop", "bakery"}, {"tailor", "crafts", "shoe shop", "store", "hair salon"},
    {"music school", "singing", "school", "languages lessons", "exams"}, {"chat rooms", "messages", "accounts"},
    {"birds", "pets", "fishing", "stables", "farm"}, {"deep space", "space", "telescope"}, {"volunteers", "clubs", "bank", "work", "projects"},
    {"factory", "robot", "helpdesk"}, {"lost and found", "museum"}, {"insurance", "helpdesk"}, {"languages lessons", "words"},
    {"tea shop", "oven and stove"}, {"fire brigade", "doors", "cameras"}, {"swimming pool", "aquarium"}, {"board games", "fun"},
    {"music school", "rehearsal", "music"}, {"databases", "tables"}, {"photo studio", "printer"}, {"city hall", "helpdesk"},
    {"crafts", "construction", "carpentry", "moving house", "shopping", "store", "cart"},
    {"weather", "sky and sea", "mountain hut"}, {"space", "telescope"}, {"bank", "parking"}, {"oven and stove", "kitchen", "laundry"},
)


def _like(group: str) -> set[str]:
    """A group and those whose tools do something similar."""
    return {group}.union(*(groups for groups in _ALIKE if group in groups))


def _both_fit(other: Spec, meant: Offer, others: list[Offer]) -> bool:
    """Whether a tool can be on offer with others of its group: none of them does what it does."""
    return other.distinct and other not in [one.spec for one in (meant, *others)]


def _values(draw: Draw, spec: Spec, first: dict[str, Value] | None = None) -> dict[str, Value]:
    found: dict[str, Value] = dict(first or {})
    for names, kind in spec.params:
        while names[0] not in found:
            drawn = value(draw, kind)
            if isinstance(drawn, bool) or drawn not in found.values():
                found[names[0]] = drawn
    return found


def _spoken(spec: Spec, values: dict[str, Value]) -> dict[str, str]:
    kinds = spec.kinds()
    return {key: spoken(given, kinds.get(key, "")) for key, given in values.items()}


def _said(draw: Draw, spec: Spec, template: str, values: dict[str, Value]) -> str:
    return fill(draw, template, _spoken(spec, values))


#: Words around a request that are no part of it.
_BEFORE = ["Hello!", "Hi Ember.", "I have a small request.", "One more thing.", "Can you help me?", "I am busy today.", "Good morning.", "Sorry to ask again.",
    "I am in a hurry.", "My {relative} asked me to do this.", "I am on the phone with {name}.", "It is {weather} outside.", "My hands are full.",
    "I just came home from {city}.", "Good evening!", "A quick question.", "I almost forgot.", "Please do this for me.", "Are you there?"]
_BEHIND = ["Thanks!", "Thank you.", "That would be great.", "It is for my {relative}.", "I cannot do it myself.", "Is that possible?", "Thanks a lot, Ember.",
    "That is all.", "My {relative} will be happy.", "I hope that works.", "Only if you can.", "No hurry.", "Then I am done for today."]


def _among_others(draw: Draw, request: str) -> str:
    """A whole sentence, sometimes with another one before or behind it."""
    if draw.chance(0.2):
        request = f"{fill(draw, draw.choice(_BEFORE), {})} {request}"
    if draw.chance(0.15):
        request = f"{request} {fill(draw, draw.choice(_BEHIND), {})}"
    return request


def _ask(draw: Draw, spec: Spec, template: str, values: dict[str, Value]) -> str:
    said = _said(draw, spec, template, values)
    if draw.chance(0.4):
        # A whole sentence: its last sign is no part of the value before it.
        asking = said.split()[0] in ("what", "which", "how", "is", "do", "did", "has", "any", "where", "who", "can", "could", "would", "will", "when")
        return _among_others(draw, capitalized(said.rstrip("?. ")) + ("?" if asking else "."))
    return noisy(draw, said, tuple(_spoken(spec, values).values()))


def _call(named: Offer, values: dict[str, Value]) -> Message:
    return assistant(f"<tool_call>\n{json.dumps(named.call(values), ensure_ascii=False)}\n</tool_call>")


def _answered(draw: Draw, spec: Spec, values: dict[str, Value]) -> list[Message]:
    """Returns the response of the tool and the answer to the user."""
    results = {key: value(draw, kind) for key, kind in spec.results}
    if "expression" in values:
        results["result"] = _computed(str(values["expression"]))
    if "total" in results:
        results["total"] += values["glasses"]
    reply = _said(draw, spec, draw.choice(spec.replies), values | results)
    return [tool(json.dumps(results, ensure_ascii=False)), assistant(capitalized(reply))]


def _computed(expression: str) -> int | float:
    """What a sum of two numbers comes to."""
    first, sign, second = expression.split()
    first, second = int(first), int(second)
    return {"+": first + second, "-": first - second, "*": first * second}[sign] if sign != "/" else round(first / second, 2)


def _round(draw: Draw, spec: Spec, named: Offer, values: dict[str, Value], template: str | None = None) -> list[Message]:
    """A request, the call, the tool's answer and Ember's."""
    template = template or request(draw, spec)
    values = spec.given_in(template, values)
    ask = _ask(draw, spec, template, values)
    return [user(ask), _call(named, values), *_answered(draw, spec, values)]


def _chat(draw: Draw, kind: str, messages: list[Message], offers: list[Offer]) -> Chat:
    return Chat(f"tools/{kind}", messages, [one.schema(draw) for one in offers])


def _calling(draw: Draw, known: list[Spec]) -> Chat:
    """A call, and perhaps another one of the same tool or thanks."""
    spec = _drawn_spec(draw, known)
    named, offers = _offers(draw, spec, known)
    template = request(draw, spec)
    values = spec.given_in(template, _values(draw, spec))
    messages = _round(draw, spec, named, values, template)
    if draw.chance(0.3) and len(spec.params) >= 1:
        messages += _again(draw, spec, named, values)
    elif draw.chance(0.15):
        asked, answer = draw.choice(_THANKS)
        messages += [user(asked), assistant(answer)]
    # The description of the tools is most of such a chat, so several requests share it.
    for _ in range(draw.number(0, max(0, 3 - len(offers)))):
        other = draw.choice(offers)
        messages += _round(draw, other.spec, other, _values(draw, other.spec))
    if draw.chance(0.55):
        # The call alone, the most common case.
        last = max(index for index, message in enumerate(messages) if "<tool_call>" in str(message["content"]))
        messages = messages[: last + 1]
    return _chat(draw, spec.group, messages, offers)


def _again(draw: Draw, spec: Spec, named: Offer, values: dict[str, Value]) -> list[Message]:
    """The same with another value: `and in Oslo?`"""
    slot, kind = [(names[0], kind) for names, kind in spec.params if names[0] not in spec.optional][-1 if draw.chance(0.6) else 0]
    changed = values | {slot: value(draw, kind)}
    if changed == values or len(set(map(str, changed.values()))) < len(changed):
        return []
    wordings = {"city": ["and in {v}?", "and {v}?", "what about {v}", "the same for {v}"],
        "day": ["and on {v}?", "what about {v}", "no, {v}", "and {v}?"]}.get(kind,
        ["and {v}?", "what about {v}", "now {v}", "the same with {v}", "and for {v}"])
    said = spoken(changed[slot], kind)
    ask = draw.wording(wordings).format(v=said)
    return [user(noisy(draw, ask, (said,))), _call(named, changed), *_answered(draw, spec, changed)]


_PAIRS = {
    "weather": "what is the weather in {a} and in {c}", "time": "what time is it in {a} and in {c}",
    "home": "turn on the light in the {a} and in the {c}", "people": "how old are {a} and {c}",
    "messages": "call {a} and then {c}", "kitchen": "what can i cook with {a} and what with {c}",
    "words": "what do {a} and {c} mean", "space": "look up {a} and {c}", "work": "what are the numbers of {a} and {c}",
}


def _pair(draw: Draw, known: list[Spec]) -> Chat:
    """A request that needs two calls of one tool."""
    fitting = [spec for spec in known if spec.group in _PAIRS and spec.names[0] in ("get_weather", "get_time", "turn_on_light",
        "get_age", "call_contact", "find_recipe", "define_word", "planet_info", "find_contact")]
    if not fitting:
        return _calling(draw, known)
    spec = draw.choice(fitting)
    named, offers = _offers(draw, spec, known)
    both = [_values(draw, spec), _values(draw, spec)]
    slot = spec.slots()[0]
    if both[0] == both[1]:
        return _calling(draw, known)
    ask = noisy(draw, _PAIRS[spec.group].format(a=both[0][slot], c=both[1][slot]), (str(both[0][slot]), str(both[1][slot])))
    calls = assistant("\n".join(str(_call(named, values)["content"]) for values in both))
    answers = [_answered(draw, spec, values) for values in both]
    reply = assistant(" ".join(str(answer[1]["content"]) for answer in answers))
    return _chat(draw, spec.group, [user(ask), calls, *(answer[0] for answer in answers), reply], offers)


def _two_tools(draw: Draw, known: list[Spec]) -> Chat:
    """A request for two different things: a call for each."""
    spec = _drawn_spec(draw, known)
    named, offers = _offers(draw, spec, known)
    others = [one for one in offers if one is not named and one.spec.params]
    if not others or not spec.params:
        return _calling(draw, known)
    asks, calls = [], []
    for one in (named, draw.choice(others)):
        orders = [ask for ask in one.spec.asks if not re.search(r"[?.:]|^(what|which|how|is|are|do|does|did|has|any|where|who|can|could|will|when|should) ", ask)]
        template = draw.choice(orders or one.spec.asks)
        values = one.spec.given_in(template, _values(draw, one.spec))
        asks.append(_said(draw, one.spec, template.rstrip("?."), values))
        calls.append(str(_call(one, values)["content"]))
    said = draw.choice(("{a} and {b}", "{a}, and then {b}", "{a}. then {b}", "{a}; also {b}", "first {a}, then {b}", "two things: {a}, {b}")).format(a=asks[0], b=asks[1])
    said = capitalized(said) + "." if draw.chance(0.5) else said
    return _chat(draw, spec.group, [user(said), assistant("\n".join(calls))], offers)


def _then_none(draw: Draw, known: list[Spec]) -> Chat:
    """A call, and then a request for which there is no tool."""
    spec = _drawn_spec(draw, known)
    named, offers = _offers(draw, spec, known)
    near = set().union(*(_like(one.spec.group) for one in offers))
    fitting = [other for other in known if other.group not in near]
    if not fitting:
        return _calling(draw, known)
    other = draw.choice(fitting)
    template = request(draw, other)
    if any(_verb(one) in template for one in offers):
        return _calling(draw, known)
    messages = _round(draw, spec, named, _values(draw, spec))
    messages += [user(_ask(draw, other, template, _values(draw, other))), assistant(draw.choice(_NO_TOOL))]
    return _chat(draw, spec.group, messages, offers)


def _clarifying(draw: Draw, known: list[Spec]) -> Chat:
    """A request that leaves something out: Ember asks, and then calls; perhaps then a request that leaves nothing out."""
    spec = _drawn_spec(draw, known)
    named, offers = _offers(draw, spec, known)
    found = incomplete(draw, named)
    if not found:
        return _calling(draw, known)
    template, slot, question = found
    values = _values(draw, spec)
    told = spoken(values[slot], spec.kinds()[slot])
    given = spec.given_in(template, {key: one for key, one in values.items() if key != slot})
    values = given | {slot: values[slot]}
    messages = [
        user(_ask(draw, spec, template, given)),
        assistant(question),
        user(noisy(draw, draw.choice(("{v}", "{v}", "{v}", "{v} please", "{v}, thanks", "{v}.")).format(v=told), (told,))),
        _call(named, values),
    ]
    if draw.chance(0.6):
        messages += _answered(draw, spec, values)
        if draw.chance(0.35):
            messages += _round(draw, spec, named, _values(draw, spec))
    if draw.chance(0.2):
        messages = _round(draw, spec, named, _values(draw, spec)) + messages
    return _chat(draw, spec.group, messages, offers)


def _no_call(draw: Draw, known: list[Spec]) -> Chat:
    """Plain talk, or a request for which there is no tool: no call."""
    spec = _drawn_spec(draw, known)
    _, offers = _offers(draw, spec, known)
    form = draw.number(0, 5)
    if form <= 1:
        groups = {one.spec.group for one in offers}
        near = set().union(*(_like(group) for group in groups))
        other = draw.choice([spec for spec in known if spec.group not in near] or known)
        template = request(draw, other)
        if other.group in near or any(_verb(one) in template for one in offers):
            return _calling(draw, known)
        ask = _ask(draw, other, template, _values(draw, other))
        return _chat(draw, "no call", [user(ask), assistant(draw.choice(_NO_TOOL))], offers)
    turns = _plain_turns(draw, offers)
    return _chat(draw, "no call", _messages(draw, turns), offers)


def _verb(named: Offer) -> str:
    """What an invented tool does, in one word; what another one does, as it is described."""
    return named.about.removeprefix("Can ").split()[0].lower() if named.spec.group == "made up" else named.about


def _plain_turns(draw: Draw, offers: list[Offer]) -> list[Turn]:
    """Talk that no tool on offer would serve."""
    groups = {one.spec.group for one in offers}
    makers = [lambda: written.intent_turns(draw, ("greetings", "identity", "feelings"))[1], lambda: explaining.joke(draw)[:2],
        lambda: explaining.haiku(draw)[:1]]
    if "math" not in groups:
        makers.append(lambda: sums.chat(draw)[1][:2])
    if not groups & {"web", "weather", "words", "fun", "space", "people"}:
        makers.append(lambda: facts.chat(draw)[1][:2])
    return draw.choice(makers)()


def _messages(draw: Draw, turns: list[Turn]) -> list[Message]:
    messages: list[Message] = []
    for turn in turns:
        messages += [user(noisy(draw, turn.user, turn.protected, turn.names)), assistant(turn.answer)]
    return messages


def _failing(draw: Draw, known: list[Spec]) -> Chat:
    """The tool gives an error, and Ember says so."""
    spec = _drawn_spec(draw, known)
    named, offers = _offers(draw, spec, known)
    values = _values(draw, spec)
    error = draw.choice(_ERRORS)
    template = request(draw, spec)
    values = spec.given_in(template, values)
    ask = _ask(draw, spec, template, values)
    reply = draw.choice((f"I am sorry, the tool says: {error}.", f"That did not work: {error}.",
        f"The tool gave an error: {error}."))
    return _chat(draw, "error", [user(ask), _call(named, values), tool(json.dumps({"error": error})), assistant(reply)], offers)


def _after_talk(draw: Draw, known: list[Spec]) -> Chat:
    """Talk first, then a call; or a call, then talk."""
    spec = _drawn_spec(draw, known)
    named, offers = _offers(draw, spec, known)
    talk = _messages(draw, _plain_turns(draw, offers)[:1])
    calling = _round(draw, spec, named, _values(draw, spec))
    return _chat(draw, spec.group, talk + calling if draw.chance(0.5) else calling + talk, offers)
