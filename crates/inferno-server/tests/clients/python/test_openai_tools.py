"""Tools by `chat.completions` of OpenAI's client."""

import json
from typing import Literal

import openai
import pydantic
import pytest


class RollDice(pydantic.BaseModel):
    """Roll a die."""

    sides: Literal[6, 20]
    is_loaded: bool


def weather(expected):
    """The call that transformers makes of the conversation."""
    call = expected.text.split("<tool_call>\n")[1].split("\n</tool_call>")[0]
    return json.loads(call)


def test_a_call_is_told_as_one(client, conversations):
    expected = conversations["tool_call"]
    choice = client.chat.completions.create(**expected.chat()).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    call = choice.message.tool_calls[0]
    assert (call.type, call.function.name) == ("function", weather(expected)["name"])
    assert json.loads(call.function.arguments) == weather(expected)["arguments"]


def test_a_call_comes_in_deltas(client, conversations):
    expected = conversations["tool_call"]
    chunks = list(client.chat.completions.create(**expected.chat(stream=True)))
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert deltas[0].id and deltas[0].function.name == weather(expected)["name"]
    assert all(delta.id is None and delta.index == 0 for delta in deltas[1:])
    assert len(deltas) > 2
    assert json.loads("".join(it.function.arguments for it in deltas)) == weather(expected)["arguments"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_the_stream_helper_gathers_the_call(client, conversations):
    expected = conversations["tool_call"]
    with client.chat.completions.stream(**expected.chat()) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        message = stream.get_final_completion().choices[0].message
    assert [json.loads(event.arguments) for event in done] == [weather(expected)["arguments"]]
    assert json.loads(message.tool_calls[0].function.arguments) == weather(expected)["arguments"]


def test_the_answer_to_what_a_tool_gave(client, conversations):
    expected = conversations["tool_answer"]
    answer = client.chat.completions.create(**expected.chat())
    assert answer.choices[0].message.content == expected.text


def test_a_call_goes_back_as_it_came(client, conversations):
    expected = conversations["tool_call"]
    message = client.chat.completions.create(**expected.chat()).choices[0].message
    given = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny, 20 degrees"}
    for told in (message, message.model_dump(), message.model_dump(exclude_none=True)):
        chat = expected.chat(messages=[*expected.messages, told, given], max_completion_tokens=8)
        assert client.chat.completions.create(**chat).choices[0].message.content


def offer(expected, **further):
    tools = [*expected.tools, openai.pydantic_function_tool(RollDice)]
    messages = [{"role": "user", "content": "What is the weather like in Oslo?"}]
    return expected.chat(messages=messages, tools=tools, max_completion_tokens=120, **further)


def is_sound(call, expected):
    """Whether arguments are as the schema wants them."""
    arguments = json.loads(call.function.arguments)
    if call.function.name == "RollDice":
        return RollDice.model_validate(arguments)
    return set(arguments) == set(weather(expected)["arguments"])


def test_a_call_is_required(client, conversations):
    expected = conversations["tool_call"]
    chat = offer(expected, tool_choice="required", parallel_tool_calls=False)
    (call,) = client.chat.completions.create(**chat).choices[0].message.tool_calls
    assert is_sound(call, expected)


@pytest.mark.parametrize("name", ["RollDice", "get_weather"])
def test_a_named_tool_is_called(client, conversations, name):
    expected = conversations["tool_call"]
    choice = {"type": "function", "function": {"name": name}}
    chat = offer(expected, tool_choice=choice, parallel_tool_calls=False)
    (call,) = client.chat.completions.create(**chat).choices[0].message.tool_calls
    assert call.function.name == name and is_sound(call, expected)


def test_none_is_called(client, conversations):
    chat = conversations["tool_call"].chat(tool_choice="none", max_completion_tokens=20)
    assert client.chat.completions.create(**chat).choices[0].message.tool_calls is None


def test_several_calls_of_one_answer(client, conversations):
    expected = conversations["tool_call"]
    # Only calls may come, and as long as they go on the answer is not at its end.
    chat = offer(expected, tool_choice="required", logit_bias={})
    chat["extra_body"] |= {"min_tokens": 100}
    chat["max_completion_tokens"] = 300
    whole = client.chat.completions.create(**chat).choices[0]
    calls = whole.message.tool_calls
    assert len(calls) > 1 and len({call.id for call in calls}) == len(calls)
    with client.chat.completions.stream(**chat) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion().choices[0].message.tool_calls
    told = [(call.function.name, call.function.arguments) for call in calls]
    assert [(call.function.name, call.function.arguments) for call in streamed] == told
    assert [call.index for call in streamed] == list(range(len(calls)))


def test_parse_gives_the_arguments_as_their_class(client, conversations):
    expected = conversations["tool_call"]
    chat = expected.chat(
        tools=[openai.pydantic_function_tool(RollDice)], tool_choice="required", max_completion_tokens=80,
        parallel_tool_calls=False,
    )
    (call,) = client.chat.completions.parse(**chat).choices[0].message.tool_calls
    assert isinstance(call.function.parsed_arguments, RollDice)
