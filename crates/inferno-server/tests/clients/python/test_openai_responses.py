"""`responses` of OpenAI's client."""

import json
from typing import Literal

import openai
import pydantic
import pytest
from conftest import MODEL


def test_tokens_are_counted(client):
    counted = client.responses.input_tokens.count(model=MODEL, input="Hello!")
    assert counted.object == "response.input_tokens" and counted.input_tokens > 0


def ask(expected, **further):
    """The arguments of `responses.create`."""
    arguments = {
        "model": MODEL,
        "input": [it for it in expected.messages if it["role"] != "system"],
        "temperature": 0,
        "max_output_tokens": expected.max_tokens,
        "reasoning": {"effort": "medium" if expected.thinks else "none"},
        "store": False,
    }
    system = [it["content"] for it in expected.messages if it["role"] == "system"]
    if system:
        arguments["instructions"] = system[0]
    if expected.tools:
        arguments["tools"] = [
            {"type": "function", "strict": True, **tool["function"]} for tool in expected.tools
        ]
    return arguments | further


@pytest.mark.parametrize("kind", ["plain", "system", "memory"])
def test_answers_are_those_of_transformers(client, conversations, kind):
    expected = conversations[kind]
    response = client.responses.create(**ask(expected))
    assert response.output_text == expected.text
    assert response.status == "completed"
    assert response.usage.input_tokens == len(expected.prompt_tokens)
    assert response.usage.output_tokens == len(expected.tokens) + 1
    assert response.usage.output_tokens_details.reasoning_tokens == 0


def test_a_text_is_a_message_of_the_user(client, conversations):
    expected = conversations["plain"]
    response = client.responses.create(**ask(expected, input=expected.messages[0]["content"]))
    assert response.output_text == expected.text
    assert response.metadata == {} and response.error is None and response.tools == []


def test_the_length_leaves_a_response_incomplete(client, conversations):
    response = client.responses.create(**ask(conversations["plain"], max_output_tokens=3, metadata={"a": "b"}))
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.metadata == {"a": "b"}


@pytest.mark.parametrize("kind", ["plain", "thinking", "tool_call"])
def test_a_stream_tells_events_in_their_order(client, conversations, kind):
    expected = conversations[kind]
    whole = client.responses.create(**ask(expected))
    events = list(client.responses.create(**ask(expected, stream=True)))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1].type == "response.completed"
    told = events[-1].response
    assert [item.type for item in told.output] == [item.type for item in whole.output]
    assert told.output_text == whole.output_text
    assert told.usage.output_tokens == whole.usage.output_tokens
    for place, item in enumerate(told.output):
        mine = [event for event in events if getattr(event, "output_index", None) == place]
        assert mine[0].type == "response.output_item.added"
        assert mine[-1].type == "response.output_item.done" and mine[-1].item == item
        text = "".join(event.delta for event in mine if event.type.endswith(".delta"))
        match item.type:
            case "message" | "reasoning":
                assert text == item.content[0].text
            case "function_call":
                assert text == item.arguments


def test_the_stream_helper_gathers_the_response(client, conversations):
    expected = conversations["system"]
    with client.responses.stream(**ask(expected)) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        response = stream.get_final_response()
    assert "".join(deltas) == response.output_text == expected.text


def test_thoughts_are_an_item(client, conversations):
    expected = conversations["thinking"]
    thoughts, words = expected.thoughts_and_words
    response = client.responses.create(**ask(expected))
    reasoning, message = response.output
    assert reasoning.type == "reasoning" and reasoning.content[0].text == thoughts
    assert message.content[0].text == words
    assert response.usage.output_tokens_details.reasoning_tokens > 0


def test_a_call_and_what_it_gave_go_back_as_they_came(client, conversations):
    expected, answered = conversations["tool_call"], conversations["tool_answer"]
    response = client.responses.create(**ask(expected))
    (call,) = response.output
    assert call.type == "function_call"
    assert json.dumps(json.loads(call.arguments)) in expected.text
    given = {"type": "function_call_output", "call_id": call.call_id, "output": answered.messages[2]["content"]}
    # As fixtures have it, which may be of another city.
    told = answered.messages[1]["tool_calls"][0]["function"]["arguments"]
    for item in (call, call.model_dump(), call.to_dict()):
        if isinstance(item, dict):
            item["arguments"] = told
        else:
            item = item.model_copy(update={"arguments": told})
        goes_on = ask(expected, input=[answered.messages[0], item, given], max_output_tokens=answered.max_tokens)
        assert client.responses.create(**goes_on).output_text == answered.text


def test_an_answer_with_thoughts_goes_back_as_it_came(client, conversations):
    expected = conversations["thinking"]
    output = client.responses.create(**ask(expected)).output
    further = {"role": "user", "content": [{"type": "input_text", "text": "Are you sure?"}]}
    goes_on = ask(expected, input=[*expected.messages, *output, further], max_output_tokens=8)
    assert client.responses.create(**goes_on).output


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "get_weather"}])
def test_a_tool_is_called_where_it_must_be(client, conversations, choice):
    expected = conversations["tool_call"]
    arguments = ask(expected, input="I am in Berlin.", tool_choice=choice, parallel_tool_calls=False, max_output_tokens=80)
    (call,) = client.responses.create(**arguments).output
    assert call.name == expected.tools[0]["function"]["name"]
    assert set(json.loads(call.arguments)) == {"city"}


class Creature(pydantic.BaseModel):
    legs: Literal[2, 4, 8]
    is_friendly: bool


def test_a_conversation_goes_on_from_a_response(client, conversations):
    """As from one that is sent whole."""
    expected = conversations["plain"]
    first = client.responses.create(**ask(expected, store=True))
    assert first.store
    second = client.responses.create(**ask(expected, input="Are you sure?", previous_response_id=first.id))
    further = {"role": "user", "content": "Are you sure?"}
    whole = client.responses.create(**ask(expected, input=[*expected.messages, *first.output, further]))
    assert second.output_text == whole.output_text
    assert second.usage.input_tokens == whole.usage.input_tokens
    assert client.responses.retrieve(first.id) == first
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(**ask(expected, previous_response_id=first.id))
    assert raised.value.code == "previous_response_not_found"


def test_what_a_response_answered_is_listed(client, conversations):
    """In pages, which the client turns by itself."""
    expected = conversations["plain"]
    first = client.responses.create(**ask(expected, store=True))
    second = client.responses.create(
        **ask(expected, input="Are you sure?", previous_response_id=first.id, store=True)
    )
    (question,) = expected.messages
    told = list(client.responses.input_items.list(second.id, order="asc", limit=1))
    assert [item.role for item in told] == ["user", "assistant", "user"]
    assert [item.content[0].text for item in told] == [question["content"], first.output_text, "Are you sure?"]
    assert told[1] == first.output[0]
    newest_first = client.responses.input_items.list(second.id)
    assert [item.id for item in newest_first.data] == [item.id for item in reversed(told)]
    with pytest.raises(openai.NotFoundError):
        client.responses.input_items.list("resp_of_nobody")


def test_parse_gives_what_the_class_says(client, conversations):
    response = client.responses.parse(**ask(conversations["plain"], max_output_tokens=60), text_format=Creature)
    assert isinstance(response.output_parsed, Creature)
    assert response.text.format.type == "json_schema"


def test_json_object(client, conversations):
    text = {"format": {"type": "json_object"}}
    response = client.responses.create(**ask(conversations["plain"], max_output_tokens=40, text=text))
    assert response.output_text.startswith("{")


def test_what_agents_send_beside_it_is_taken(client, conversations):
    """Fields that ask for nothing which is not done anyway."""
    expected = conversations["plain"]
    response = client.responses.create(
        **ask(
            expected,
            input=[{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": expected.messages[0]["content"]}]}],
            reasoning={"effort": "none", "summary": "auto"},
            include=["reasoning.encrypted_content"],
            text={"verbosity": "medium"},
            tool_choice="auto",
            parallel_tool_calls=False,
            prompt_cache_key="a",
            extra_body={"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "priority": 0},
        )
    )
    assert response.output_text == expected.text
