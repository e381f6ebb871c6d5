"""Questions with tools on offer: when to call which, with what arguments, and what to say of the answer."""

import json
import re
from dataclasses import dataclass
from random import Random

from ember.chats import tools_data as data
from ember.chats import tools_talk as talk
from ember.chats.chat import Chat, Check
from ember.chats.tools_data import Tool
from ember.chats.tools_home import HOME
from ember.chats.tools_office import OFFICE
from ember.chats.tools_people import PEOPLE
from ember.chats.tools_world import WORLD
from ember.chats.values import KINDS, Draw, Json, Value, listed, with_articles
from ember.split import Split, split_of

TOOLS = WORLD + HOME + OFFICE + PEOPLE
#: Tools that can be asked for two calls in one question.
PAIR_TOOLS = [tool for tool in TOOLS if tool.pairs]
#: Plain talk of each split.
PLAIN_OF = {split: [said for said in talk.PLAIN if split_of(said[0]) is split] for split in Split}

#: Each slot of a template and what it stands for.
Values = dict[str, Value]


@dataclass(frozen=True)
class Field:
    """A parameter or a result: the name that templates know, the name that is shown, and the kind of its values."""

    slot: str
    shown: str
    kind: str


@dataclass(frozen=True)
class Offer:
    """A tool as it is offered in one chat, with one of its names and descriptions."""

    tool: Tool
    name: str
    schema: dict
    parameters: tuple[Field, ...]
    results: tuple[Field, ...]


@dataclass(frozen=True)
class Request:
    """A question that asks for calls of one tool, with the values of each call."""

    offer: Offer
    question: str
    calls: tuple[Values, ...]

    def calls_made(self) -> list[dict]:
        """The calls, each with the name of the tool and the arguments in the order of the schema."""
        return [{"name": self.offer.name, "arguments": self._arguments(values)} for values in self.calls]

    def _arguments(self, values: Values) -> dict[str, Json]:
        return {field.shown: values[field.slot].json for field in self.offer.parameters if field.slot in values}


def chat(rng: Random, split: Split) -> Chat:
    """A question with tools on offer, or what a tool has answered."""
    draw = Draw(rng, split)
    make = rng.choices((_call, _telling, _plain, _pair, _next_call), (50, 28, 17, 2, 3))[0]
    made = make(draw)
    if rng.random() < 0.05:
        made.messages.insert(0, {"role": "system", "content": rng.choice(talk.SYSTEMS)})
    return made


def _call(draw: Draw) -> Chat:
    """A question that one of the tools answers."""
    offers = _offers(draw, draw.rng.choices((1, 2, 3), (50, 40, 10))[0])
    request = _request(draw, draw.rng.choice(offers))
    return _calling([_user(_dressed(draw, request.question))], request, offers)


def _pair(draw: Draw) -> Chat:
    """A question that asks for two calls."""
    offers = _offers(draw, draw.rng.choice((1, 2)), of_pairs=True)
    request = _request(draw, offers[0], pair=True)
    draw.rng.shuffle(offers)
    return _calling([_user(_dressed(draw, request.question))], request, offers)


def _next_call(draw: Draw) -> Chat:
    """A second question after the first has been answered."""
    offers = _offers(draw, draw.rng.choice((1, 2)))
    history, reply, _ = _round(draw, _request(draw, draw.rng.choice(offers)))
    request = _request(draw, draw.rng.choice(offers))
    opener = draw.rng.choice(talk.NEXT_OPENERS) if draw.rng.random() < 0.5 else ""
    return _calling([*history, _assistant(reply), _user(opener + request.question)], request, offers)


def _calling(messages: list[dict], request: Request, offers: list[Offer]) -> Chat:
    """A chat that ends with the calls that `request` asks for."""
    calls = request.calls_made()
    answer = "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)
    aims = listed([_filled(request.offer.tool.aim, values) for values in request.calls])
    how = f"I call {request.offer.name}." if len(calls) == 1 else f"I call {request.offer.name} twice."
    return _chat(messages, f"The user wants {aims}. {how}", answer, Check(tool_calls=tuple(calls)), offers)


def _telling(draw: Draw) -> Chat:
    """What a tool has answered, told in a sentence."""
    rng = draw.rng
    pair = rng.random() < 0.06
    offers = _offers(draw, 1 if pair else rng.choices((1, 2, 3), (45, 40, 15))[0], of_pairs=pair)
    request = _request(draw, offers[0], pair)
    rng.shuffle(offers)
    if not pair and rng.random() < 0.05:
        error = rng.choice(talk.ERRORS)
        messages = [*_called(request), _tool(json.dumps({"error": error}))]
        reply = rng.choice(talk.ERROR_REPLIES).format(error=error)
        thought = "The tool gave an error. I tell the user."
        return _chat(messages, thought, reply, Check(contains=(error,), lacks=("tool_call",)), offers)
    messages, reply, told = _round(draw, request)
    said = listed([f"{key} is {value}" for key, value in _results_said(messages)])
    return _chat(messages, f"The tool says {said}. I tell the user.", reply, Check(told, ("tool_call",)), offers)


def _plain(draw: Draw) -> Chat:
    """Talk that needs no tool, or a question for which there is none."""
    rng = draw.rng
    thought = rng.choice(talk.PLAIN_THOUGHTS)
    what = rng.random()
    offers = _offers(draw, rng.choice((1, 2)), without=("math", "knowledge") if what < 0.6 else ())
    messages: list[dict] = []
    if what < 0.35:
        question, answer, told = _fixed_talk(draw)
    elif what < 0.5:
        question, answer, told = _small_sum(draw)
    elif what < 0.6:
        question, answer, told = _missing_tool(draw, offers)
        thought = "I have no tool for this."
    elif what < 0.8:
        question, answer, told = _talk_with_value(draw)
    else:
        history, reply, _ = _round(draw, _request(draw, rng.choice(offers)))
        messages = [*history, _assistant(reply)]
        question, answer, told = rng.choice(talk.THANKS)
    messages.append(_user(question))
    return _chat(messages, thought, answer, Check(contains=(told,), lacks=("tool_call",)), offers)


def _fixed_talk(draw: Draw) -> tuple[str, str, str]:
    """A greeting or a simple question, the answer and what it must hold."""
    return draw.rng.choice(PLAIN_OF[draw.split])


def _talk_with_value(draw: Draw) -> tuple[str, str, str]:
    """Talk with a value that the answer takes up."""
    while True:
        question, answer = draw.rng.choice(talk.PLAIN_WITH_VALUES)
        kind = re.findall(r"\{(\w+)\}", question)[0]
        values = {kind: draw.value(kind)}
        question = _filled(question, values)
        if split_of(question) is draw.split:
            return question, _sentence(answer, values), values[kind].text


def _small_sum(draw: Draw) -> tuple[str, str, str]:
    """A small sum, done without a tool."""
    while True:
        first, second = draw.rng.randint(1, 10), draw.rng.randint(1, 10)
        if split_of(f"{first}+{second}") is draw.split:
            question = draw.rng.choice(talk.PLAIN_SUMS).format(a=first, b=second)
            return question, f"{first} + {second} = {first + second}.", str(first + second)


def _missing_tool(draw: Draw, offers: list[Offer]) -> tuple[str, str, str]:
    """A question for a tool that is not on offer."""
    offered = {offer.tool for offer in offers}
    groups = {offer.tool.group for offer in offers} - {""} | {"math", "knowledge"}
    other = draw.rng.choice([tool for tool in TOOLS if tool not in offered and tool.group not in groups])
    request = _request(draw, _offer(draw, other))
    return request.question, draw.rng.choice(talk.NO_TOOL_ANSWERS), "no tool"


def _offers(draw: Draw, count: int, of_pairs: bool = False, without: tuple[str, ...] = ()) -> list[Offer]:
    """Tools of different groups with different names, the first of them one that can be asked for two calls."""
    offers: list[Offer] = []
    groups = set(without)
    while len(offers) < count:
        tool = draw.rng.choice(PAIR_TOOLS if of_pairs and not offers else TOOLS)
        names = {offer.name for offer in offers}
        if tool.group in groups or any(tool is offer.tool for offer in offers):
            continue
        offer = _offer(draw, tool)
        if offer.name not in names:
            offers.append(offer)
            groups |= {tool.group} - {""}
    return offers


def _offer(draw: Draw, tool: Tool) -> Offer:
    """The tool with one of its names and descriptions."""
    rng = draw.rng
    names = tool.names.split("|")
    name = names[0] if rng.random() < 0.9 else rng.choice(names)
    parameters = _fields(rng, tool.parameters)
    described = rng.random() < 0.05
    function = {
        "name": name,
        "description": tool.description.split("|")[0],
        "parameters": {
            "type": "object",
            "properties": {field.shown: _property(field, described) for field in parameters},
            "required": [field.shown for field in parameters if _is_required(field.slot, tool)],
        },
    }
    schema = {"type": "function", "function": function}
    return Offer(tool, name, schema, parameters, _fields(rng, tool.result))


def _is_required(slot: str, tool: Tool) -> bool:
    """Whether every question gives the parameter."""
    return all(f"{{{slot}}}" in question for question in tool.questions)


def _fields(rng: Random, written: tuple[str, ...]) -> tuple[Field, ...]:
    """The fields that are written "names: kind", each with the name at the same place of its alternatives."""
    place = 0 if rng.random() < 0.9 else rng.randrange(4)
    fields = []
    for names, kind in (field.split(": ") for field in written):
        choices = names.split("|")
        fields.append(Field(choices[0], choices[place % len(choices)], kind))
    return tuple(fields)


def _property(field: Field, described: bool) -> dict:
    """The schema of a parameter."""
    kind = KINDS[field.kind]
    schema: dict = {"type": kind.type}
    if described and len(field.shown) > 2:
        schema["description"] = f"The {field.shown.replace('_', ' ')}"
    if kind.choices:
        schema["enum"] = list(kind.choices)
    return schema


def _request(draw: Draw, offer: Offer, pair: bool = False) -> Request:
    """A question for the tool that belongs to the split."""
    tool = offer.tool
    while True:
        question = draw.rng.choice(tool.pairs if pair else tool.questions)
        values = {field.slot: draw.value(field.kind) for field in offer.parameters if f"{{{field.slot}}}" in question}
        calls = [values]
        shown = values
        if pair:
            first = offer.parameters[0]
            second = draw.value(first.kind)
            calls.append(values | {first.slot: second})
            shown = values | {"second": second}
        question = _filled(question, shown)
        if split_of(_material(tool, question, values)) is draw.split:
            return Request(offer, question, tuple(calls))


def _material(tool: Tool, question: str, values: Values) -> str:
    """What decides the split of a question: the sum that it asks for, or else its text."""
    for kind, sign in (("sum", "+"), ("difference", "-"), ("product", "x")):
        if tool.result[0].endswith(f": {kind}"):
            return f"{values['a'].text}{sign}{values['b'].text}"
    return question


def _round(draw: Draw, request: Request) -> tuple[list[dict], str, tuple[str, ...]]:
    """The messages of a question with its calls and their results, the reply, and what the reply must hold."""
    messages = _called(request)
    replies: list[str] = []
    told: list[str] = []
    tool = request.offer.tool
    reply = draw.rng.choice(tool.replies)
    in_all = [slot for slot in re.findall(r"\{(\w+)\}", reply) if all(f"{{{slot}}}" in text for text in tool.replies)]
    for values in request.calls:
        results = {field.slot: _outcome(draw, field, values) for field in request.offer.results}
        shown = {field.shown: results[field.slot].json for field in request.offer.results}
        plain = len(shown) == 1 and draw.rng.random() < 0.1
        (first, *_) = results.values()
        messages.append(_tool(first.text if plain else json.dumps(shown)))
        replies.append(_sentence(reply, values | results))
        told += [(values | results)[slot].text for slot in in_all]
    return messages, " ".join(replies), tuple(told)


def _outcome(draw: Draw, field: Field, values: Values) -> Value:
    """What the tool answers in a field."""
    if field.kind in data.OUTCOMES:
        result = data.OUTCOMES[field.kind]({slot: value.json for slot, value in values.items()})
        return Value(str(result), result)
    if field.kind == "meaning":
        meaning = Draw(draw.rng, draw.split).filled(draw.rng.choice(talk.MEANINGS))
        return Value(meaning, meaning)
    return draw.value(field.kind)


def _results_said(messages: list[dict]) -> list[tuple[str, str]]:
    """Each result of the tools with its key, as a thought tells them."""
    said = []
    for message in messages:
        if message["role"] == "tool":
            content = message["content"]
            results = json.loads(content) if content.startswith("{") else {"the result": content}
            said += [(key, json.dumps(value) if isinstance(value, bool) else value) for key, value in results.items()]
    return said


def _filled(template: str, values: Values) -> str:
    """The template with its values, as in the middle of a sentence."""
    return with_articles(re.sub(r"\{(\w+)\}", lambda slot: values[slot[1]].text, template))


def _sentence(template: str, values: Values) -> str:
    """The template with its values, with a capital letter unless it starts with an expression or a word to copy."""
    text = _filled(template, values)
    return text if template.startswith(("{any}", "{file}", "{from}")) else text[0].upper() + text[1:]


def _dressed(draw: Draw, question: str) -> str:
    """The question as it is, or with a greeting before it or thanks after it."""
    place = draw.rng.random()
    if place < 0.1:
        return draw.rng.choice(talk.OPENERS) + question
    if place < 0.15 and question.endswith((".", "?")):
        return question + draw.rng.choice(talk.CLOSERS)
    return question


def _chat(messages: list[dict], thought: str, answer: str, check: Check, offers: list[Offer]) -> Chat:
    return Chat("tools", messages, thought, answer, check, [offer.schema for offer in offers])


def _user(content: str) -> dict:
    return {"role": "user", "content": content}


def _assistant(content: str) -> dict:
    return {"role": "assistant", "content": content}


def _tool(content: str) -> dict:
    return {"role": "tool", "content": content}


def _called(request: Request) -> list[dict]:
    """The question and the assistant's calls."""
    calls = [
        {"id": f"call_{number}", "type": "function", "function": call}
        for number, call in enumerate(request.calls_made(), start=1)
    ]
    return [_user(request.question), {"role": "assistant", "content": "", "tool_calls": calls}]
