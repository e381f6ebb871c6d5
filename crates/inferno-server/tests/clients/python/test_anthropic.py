"""`messages` of Anthropic's client."""

import json
from typing import Literal

import pydantic
import pytest
from conftest import MODEL


@pytest.mark.parametrize("kind", ["plain", "system", "memory"])
def test_answers_are_those_of_transformers(claude, conversations, kind):
    expected = conversations[kind]
    message = claude.messages.create(**expected.claude())
    assert (message.role, message.type, message.model) == ("assistant", "message", MODEL)
    assert [block.text for block in message.content] == [expected.text]
    assert message.stop_reason == "end_turn"
    assert message.usage.output_tokens == len(expected.tokens) + 1
    read = message.usage.input_tokens + message.usage.cache_read_input_tokens
    assert read == len(expected.prompt_tokens)


def test_models_are_listed(claude):
    listed = claude.models.list()
    assert [(model.id, model.type, model.display_name) for model in listed] == [(MODEL, "model", MODEL)]
    assert not listed.has_more and claude.models.retrieve(MODEL).created_at.year > 2000


def test_thoughts_come_to_those_who_ask(claude, conversations):
    asked = conversations["thinking"].claude()
    del asked["thinking"]
    assert [block.type for block in claude.messages.create(**asked).content] == ["text"]


def test_tokens_are_counted(claude, conversations):
    for kind in ("plain", "system", "tool_call"):
        expected = conversations[kind]
        ask = expected.claude()
        del ask["max_tokens"], ask["extra_body"]
        assert claude.messages.count_tokens(**ask).input_tokens == len(expected.prompt_tokens)


def test_the_stream_helper_gathers_the_message(claude, conversations):
    expected = conversations["system"]
    with claude.messages.stream(**expected.claude()) as stream:
        texts = list(stream.text_stream)
        message = stream.get_final_message()
    assert "".join(texts) == expected.text and len(texts) > 4
    assert message.content[0].text == expected.text
    assert message.usage.output_tokens == len(expected.tokens) + 1
    assert message.stop_reason == "end_turn"


def test_events_come_in_their_order(claude, conversations):
    events = list(claude.messages.create(**conversations["thinking"].claude(stream=True)))
    kinds = [event.type for event in events]
    assert kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"]
    starts = [event for event in events if event.type == "content_block_start"]
    assert [it.content_block.type for it in starts] == ["thinking", "text"]
    assert [it.index for it in starts] == [0, 1]


def test_thoughts_are_a_block(claude, conversations):
    expected = conversations["thinking"]
    thoughts, words = expected.thoughts_and_words
    message = claude.messages.create(**expected.claude())
    thinking, text = message.content
    assert (thinking.thinking, text.text) == (thoughts, words)
    with claude.messages.stream(**expected.claude()) as stream:
        told = stream.get_final_message()
    assert [told.content[0].thinking, told.content[1].text] == [thoughts, words]
    # They go back as they came.
    goes_on = expected.claude(max_tokens=8)
    goes_on["messages"] = [
        *expected.messages,
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [{"type": "text", "text": "Are you sure?"}]},
    ]
    assert claude.messages.create(**goes_on).content


def test_thoughts_have_a_budget(claude, conversations):
    expected = conversations["thinking"]
    ask = expected.claude(thinking={"type": "enabled", "budget_tokens": 3}, max_tokens=40)
    thoughts, text = claude.messages.create(**ask).content
    assert expected.thoughts_and_words[0].startswith(thoughts.thinking)
    assert len(thoughts.thinking) < len(expected.thoughts_and_words[0])
    assert text.type == "text"


def test_a_tool_is_called_and_its_result_read(claude, conversations):
    expected, answered = conversations["tool_call"], conversations["tool_answer"]
    message = claude.messages.create(**expected.claude())
    (call,) = message.content
    assert message.stop_reason == "tool_use"
    assert call.type == "tool_use" and call.name == expected.tools[0]["function"]["name"]
    assert json.dumps(call.input) in expected.text
    with claude.messages.stream(**expected.claude()) as stream:
        pieces = [event.partial_json for event in stream if event.type == "input_json"]
        told = stream.get_final_message()
    assert told.content[0].input == call.input and len(pieces) > 2

    function = answered.messages[1]["tool_calls"][0]["function"]
    call.input = json.loads(function["arguments"])
    goes_on = expected.claude(max_tokens=answered.max_tokens)
    for content in (answered.messages[2]["content"], [{"type": "text", "text": answered.messages[2]["content"]}]):
        goes_on["messages"] = [
            answered.messages[0],
            {"role": "assistant", "content": message.content},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": call.id,
                        "content": content,
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
        ]
        assert claude.messages.create(**goes_on).content[0].text == answered.text


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
def test_a_tool_is_called_where_it_must_be(claude, conversations, choice):
    expected = conversations["tool_call"]
    choice = choice | {"disable_parallel_tool_use": True}
    ask = expected.claude(messages=[{"role": "user", "content": "I am in Berlin."}], tool_choice=choice, max_tokens=80)
    message = claude.messages.create(**ask)
    (call,) = message.content
    assert set(call.input) == {"city"} and message.stop_reason == "tool_use"


def test_stop_sequences_and_length_end_an_answer(claude, conversations):
    expected = conversations["system"]
    words = expected.text.split(" ")
    message = claude.messages.create(**expected.claude(stop_sequences=[" " + words[2]]))
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", " " + words[2])
    assert message.content[0].text == " ".join(words[:2])
    assert claude.messages.create(**expected.claude(max_tokens=2)).stop_reason == "max_tokens"


def test_what_agents_send_beside_it_is_taken(claude, conversations):
    """Fields that ask for nothing which is not done anyway."""
    expected = conversations["system"]
    cached = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    ask = expected.claude(
        system=[{"type": "text", "text": expected.messages[0]["content"], **cached}],
        messages=[{"role": "user", "content": [{"type": "text", "text": expected.messages[1]["content"], **cached}]}],
        metadata={"user_id": "someone"},
        service_tier="auto",
        output_config={"effort": "high"},
    )
    assert claude.messages.create(**ask).content[0].text == expected.text
    assert claude.beta.messages.create(**ask, betas=["prompt-caching-2024-07-31"]).content[0].text == expected.text


class Creature(pydantic.BaseModel):
    legs: Literal[2, 4, 8]
    is_friendly: bool


def test_parse_gives_what_the_class_says(claude, conversations):
    ask = conversations["plain"].claude(max_tokens=60)
    message = claude.messages.parse(**ask, output_format=Creature)
    assert isinstance(message.parsed_output, Creature)


def test_the_length_of_the_context_ends_what_may_be_longer(claude, conversations):
    message = claude.messages.create(**conversations["plain"].claude(max_tokens=20_000))
    assert message.content[0].text == conversations["plain"].text
