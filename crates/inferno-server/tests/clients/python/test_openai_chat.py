"""`chat.completions` of OpenAI's client."""

import enum
import json
from typing import Literal

import pydantic
import pytest
from conftest import MODEL


@pytest.mark.parametrize("kind", ["plain", "system", "memory"])
def test_answers_are_those_of_transformers(client, conversations, kind):
    expected = conversations[kind]
    answer = client.chat.completions.create(**expected.chat())
    choice = answer.choices[0]
    assert choice.message.role == "assistant"
    assert choice.message.content == expected.text
    assert choice.finish_reason == "stop"
    assert answer.model == MODEL
    assert answer.usage.prompt_tokens == len(expected.prompt_tokens)
    assert answer.usage.completion_tokens == len(expected.tokens) + 1  # the token that ends it
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_makes_the_same_answer(client, conversations):
    expected = conversations["system"]
    stream = client.chat.completions.create(
        **expected.chat(stream=True, stream_options={"include_usage": True})
    )
    *chunks, usage = list(stream)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == expected.text
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:]] == [None, "stop"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert len(chunks) > 4
    assert usage.choices == []
    assert usage.usage.prompt_tokens == len(expected.prompt_tokens)
    assert usage.usage.completion_tokens == len(expected.tokens) + 1


def test_the_stream_helper_gathers_the_answer(client, conversations):
    expected = conversations["plain"]
    with client.chat.completions.stream(**expected.chat()) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        answer = stream.get_final_completion()
    assert "".join(deltas) == expected.text
    assert answer.choices[0].message.content == expected.text
    assert answer.choices[0].finish_reason == "stop"


def test_thoughts_are_reasoning_content(client, conversations):
    expected = conversations["thinking"]
    thoughts, words = expected.thoughts_and_words
    message = client.chat.completions.create(**expected.chat()).choices[0].message
    assert (message.reasoning_content, message.content) == (thoughts, words)
    chunks = client.chat.completions.create(**expected.chat(stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(getattr(it, "reasoning_content", None) or "" for it in deltas) == thoughts
    assert "".join(it.content or "" for it in deltas) == words


def test_effort_none_asks_not_to_think(client, conversations):
    expected = conversations["thinking"]
    answer = client.chat.completions.create(**expected.chat(reasoning_effort="none", extra_body={}))
    assert getattr(answer.choices[0].message, "reasoning_content", None) is None
    assert answer.usage.completion_tokens_details.reasoning_tokens == 0
    thinking = client.chat.completions.create(**expected.chat(reasoning_effort="low", extra_body={}))
    assert thinking.choices[0].message.reasoning_content == expected.thoughts_and_words[0]
    assert thinking.usage.completion_tokens_details.reasoning_tokens > 0


def test_a_seed_gives_the_same_choices_again(client):
    def ask(seed):
        answer = client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "Tell me a story."}],
            temperature=1.5,
            top_p=0.95,
            seed=seed,
            n=3,
            max_tokens=12,
            user="someone",
            metadata={"purpose": "test"},
            store=False,
            service_tier="auto",
            presence_penalty=0.5,
            frequency_penalty=0.5,
        )
        assert [choice.index for choice in answer.choices] == [0, 1, 2]
        return [choice.message.to_dict() for choice in answer.choices]

    first = ask(7)
    assert first == ask(7)
    assert first[0] != first[1]
    assert first != ask(8)


@pytest.mark.parametrize("is_list", [False, True])
def test_a_stop_text_ends_the_answer(client, conversations, is_list):
    expected = conversations["system"]
    words = expected.text.split(" ")
    stop = " " + words[2]
    answer = client.chat.completions.create(**expected.chat(stop=[stop, "never"] if is_list else stop))
    assert answer.choices[0].message.content == " ".join(words[:2])
    assert answer.choices[0].finish_reason == "stop"


def test_the_length_ends_the_answer(client, conversations):
    expected = conversations["plain"]
    answer = client.chat.completions.create(**expected.chat(max_completion_tokens=3))
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 3
    assert expected.text.startswith(answer.choices[0].message.content)


def test_logprobs_are_those_of_the_tokens(client, conversations):
    expected = conversations["system"]
    answer = client.chat.completions.create(**expected.chat(logprobs=True, top_logprobs=3))
    told = answer.choices[0].logprobs.content
    assert len(told) == len(expected.tokens)
    assert b"".join(bytes(token.bytes) for token in told).decode() == expected.text
    for token in told:
        assert token.logprob <= 0
        ranked = [it.logprob for it in token.top_logprobs]
        assert len(ranked) == 3 and ranked == sorted(ranked, reverse=True)
        assert token.top_logprobs[0].token == token.token  # greedily, the most probable one
    chunks = client.chat.completions.create(**expected.chat(logprobs=True, stream=True))
    streamed = [
        token for chunk in chunks if chunk.choices[0].logprobs for token in chunk.choices[0].logprobs.content
    ]
    assert [it.token for it in streamed] == [it.token for it in told]
    assert [it.logprob for it in streamed] == [it.logprob for it in told]


def test_logit_bias_forbids_and_forces(client, conversations):
    expected = conversations["system"]
    first = str(expected.tokens[0])
    answer = client.chat.completions.create(**expected.chat(logit_bias={first: -100}))
    assert not answer.choices[0].message.content.startswith(expected.text.split()[0])
    forced = client.chat.completions.create(**expected.chat(logit_bias={first: 100}, max_completion_tokens=4))
    assert forced.choices[0].message.content == expected.text.split()[0] * 4 or (
        forced.choices[0].message.content.split() == [expected.text.split()[0]] * 4
    )


def test_json_object(client, conversations):
    chat = conversations["plain"].chat(max_completion_tokens=60, response_format={"type": "json_object"})
    answer = client.chat.completions.create(**chat, seed=1)
    if answer.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(answer.choices[0].message.content), dict)
    else:
        assert answer.choices[0].message.content.startswith("{")


class Mood(enum.Enum):
    GLAD = "glad"
    SAD = "sad"


class Creature(pydantic.BaseModel):
    mood: Mood
    legs: Literal[2, 4, 8]
    is_friendly: bool


def test_parse_gives_what_the_class_says(client, conversations):
    chat = conversations["plain"].chat(max_completion_tokens=100)
    answer = client.chat.completions.parse(**chat, response_format=Creature)
    creature = answer.choices[0].message.parsed
    assert isinstance(creature, Creature)
    assert json.loads(answer.choices[0].message.content) == creature.model_dump(mode="json")


def test_parse_by_stream(client, conversations):
    chat = conversations["plain"].chat(max_completion_tokens=100)
    with client.chat.completions.stream(**chat, response_format=Creature) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "content.delta"]
        parsed = stream.get_final_completion().choices[0].message.parsed
    assert isinstance(parsed, Creature)
    assert len(snapshots) > 4


def test_fields_of_vllm_by_extra_body(client, conversations):
    expected = conversations["plain"]
    chat = expected.chat(max_completion_tokens=20)
    chat["extra_body"] |= {"structured_outputs": {"regex": "[a-c]{5}"}, "top_k": 40, "min_p": 0.01}
    assert set(client.chat.completions.create(**chat).choices[0].message.content) <= set("abc")
    chat["extra_body"]["structured_outputs"] = {"choice": ["left", "right"]}
    assert client.chat.completions.create(**chat).choices[0].message.content in ("left", "right")


def test_a_prompt_that_was_read_is_not_computed_again(client, conversations):
    chat = conversations["plain"].chat(max_completion_tokens=4)
    chat["messages"] = [{"role": "system", "content": "You are a lighthouse. " * 20}, *chat["messages"]]
    first, second = (client.chat.completions.create(**chat) for _ in range(2))
    assert second.usage.prompt_tokens_details.cached_tokens > 0
    assert second.usage.prompt_tokens_details.cached_tokens < second.usage.prompt_tokens
    assert first.choices[0].message.content == second.choices[0].message.content


def test_an_answer_goes_back_as_it_came(client, conversations):
    expected = conversations["plain"]
    message = client.chat.completions.create(**expected.chat()).choices[0].message
    chat = expected.chat(max_completion_tokens=8)
    question = {"role": "user", "content": [{"type": "text", "text": "And then?"}]}
    for told in (message, message.model_dump(), message.to_dict()):
        chat["messages"] = [*expected.messages, told, question]
        assert client.chat.completions.create(**chat).choices[0].message.content
