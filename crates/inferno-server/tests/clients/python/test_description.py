"""Events are as `/openapi.json` describes them; what is no stream, schemathesis checks."""

import json
import urllib.request

import jsonschema_rs
import pytest

QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPENAI_TOOL = {"type": "function", "name": "get_weather", "parameters": PARAMETERS}
REQUESTS = [
    ("/v1/chat/completions", {"messages": QUESTION, "max_tokens": 40, "logprobs": True, "top_logprobs": 2}),
    ("/v1/chat/completions", {"messages": QUESTION, "tools": [{"type": "function", "function": {
        "name": "get_weather", "parameters": PARAMETERS}}], "tool_choice": "required"}),
    ("/v1/completions", {"prompt": "Once", "max_tokens": 5, "stream_options": {"include_usage": True}}),
    ("/v1/responses", {"input": QUESTION, "max_output_tokens": 40, "reasoning": {"effort": "high"}}),
    ("/v1/responses", {"input": QUESTION, "tools": [OPENAI_TOOL], "tool_choice": "required"}),
    ("/v1/messages", {"messages": QUESTION, "max_tokens": 40, "thinking": {"type": "adaptive"}}),
    ("/v1/messages", {"messages": QUESTION, "max_tokens": 80, "tools": [
        {"name": "get_weather", "input_schema": PARAMETERS}], "tool_choice": {"type": "any"}}),
]


@pytest.fixture(scope="module")
def description(url):
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        return json.load(answer)


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_events_are_as_described(url, key, description, path, body):
    content = description["paths"][path]["post"]["responses"]["200"]["content"]
    schema = content["text/event-stream"]["schema"] | {"components": description["components"]}
    event_schema = jsonschema_rs.validator_for(schema)
    request = urllib.request.Request(
        url + path,
        json.dumps(body | {"stream": True}).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {key}"},
    )
    with urllib.request.urlopen(request) as answer:
        lines = answer.read().decode().splitlines()
    events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    events = [json.loads(event) for event in events if event != "[DONE]"]
    assert len(events) > 3
    for event in events:
        event_schema.validate(event)
    # It is a schema that says something.
    assert not event_schema.is_valid({"type": "unknown"})
