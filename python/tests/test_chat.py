"""Conversations."""

import json
from pathlib import Path

import pytest

import inferno

FIXTURES = Path(__file__).parents[2] / "crates/inferno/tests/fixtures/ember"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Returns the weather in a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def conversations():
    """Conversations with the answers of transformers in float32."""
    fixture = json.loads((FIXTURES / "chat.json").read_text())
    return [each for each in fixture["conversations"] if each["kind"] != "tool_call"]


@pytest.mark.parametrize("conversation", conversations(), ids=lambda each: each["kind"])
def test_answers_are_those_of_transformers(model, conversation):
    request = conversation["request"]
    options = {"temperature": 0, "max_tokens": conversation["max_tokens"]}
    options |= {name: request[name] for name in ("enable_thinking", "tools") if name in request}
    answer = model.chat(request["messages"], **options)
    reasoning, separator, text = conversation["text"].rpartition("</think>")
    assert answer.text.strip() == text.strip()
    assert answer.reasoning.strip() == reasoning.removeprefix("<think>").strip()
    assert bool(separator) == (conversation["kind"] == "thinking")
    chunks = list(model.stream_chat(request["messages"], **options))
    assert "".join(chunk.text for chunk in chunks) == answer.text
    assert "".join(chunk.reasoning for chunk in chunks) == answer.reasoning
    assert chunks[-1].usage.completion_tokens == answer.usage.completion_tokens
    assert answer.message["role"] == "assistant"


def test_an_answer_can_be_constrained_to_a_schema(model):
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    answer = model.chat("Invent a person.", json_schema=schema, seed=1, max_tokens=200, enable_thinking=False)
    assert answer.finish_reason != "stop" or isinstance(json.loads(answer.text)["age"], int)


def test_tool_calls_are_parsed(model):
    question = "What is the weather in Paris?"
    options = {"tools": TOOLS, "tool_choice": "required", "temperature": 0, "max_tokens": 200}
    answer = model.chat(question, **options)
    assert answer.finish_reason == "tool_calls"
    assert answer.tool_calls[0].name == "weather" and answer.tool_calls[0].arguments.keys() == {"city"}
    deltas = [delta for chunk in model.stream_chat(question, **options) for delta in chunk.tool_calls]
    first = [delta for delta in deltas if delta.index == 0]
    assert "".join(delta.name for delta in first) == "weather"
    assert json.loads("".join(delta.arguments for delta in first)) == answer.tool_calls[0].arguments


def test_a_tool_call_that_is_cut_off_has_no_arguments(model):
    options = {"tools": TOOLS, "tool_choice": "required", "temperature": 0}
    whole = model.chat("What is the weather in Paris?", **options).tool_calls[0]
    cut = None
    for max_tokens in range(8, 20):
        answer = model.chat("What is the weather in Paris?", max_tokens=max_tokens, **options)
        assert answer.finish_reason == "length"
        for call in answer.tool_calls:
            assert whole.raw_arguments.startswith(call.raw_arguments)
            if call.arguments is None:
                cut = call
    assert cut is not None and cut.name == "weather" and cut.raw_arguments.startswith("{")


def test_log_probabilities_are_in_the_responses(model):
    options = {"temperature": 0, "max_tokens": 5, "logprobs": True, "top_logprobs": 2}
    answer = model.chat("Who are you?", **options)
    expected = answer.response["choices"][0]["logprobs"]["content"]
    found = [
        each
        for chunk in model.stream_chat("Who are you?", **options)
        for choice in chunk.response["choices"]
        for each in (choice.get("logprobs") or {}).get("content") or []
    ]
    assert found == expected and len(found) == 5 and len(found[0]["top_logprobs"]) == 2


@pytest.mark.parametrize("chat", ["chat", "stream_chat"])
def test_invalid_requests_raise_exceptions(model, chat):
    def call(messages, **options):
        result = getattr(model, chat)(messages, **options)
        return list(result) if chat == "stream_chat" else result

    for options, message in [({"temperature": -1}, "temperature"), ({"temprature": 1}, "temprature")]:
        with pytest.raises(inferno.InvalidRequestError, match=message) as raised:
            call("Hello", **options)
        assert raised.value.fields["status"] == 400
    both = {"json_schema": {}, "response_format": {"type": "json_object"}}
    for options, message in [
        ({"stream": True}, "stream_chat yields its parts"),
        ({"n": 2}, "n must be 1"),
        (both, "json_schema or response_format, not both"),
    ]:
        with pytest.raises(TypeError, match=message):
            call("Hello", **options)
    with pytest.raises(inferno.ContextLengthError):
        call("Hello " * 2000)
    with pytest.raises(inferno.InvalidRequestError, match="at least one message"):
        call([])
