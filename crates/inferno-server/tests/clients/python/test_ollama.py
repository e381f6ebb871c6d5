"""Ollama's own client, and LangChain's for it."""

import json
from typing import Annotated

import langchain_ollama
import ollama
import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel, Field

MODEL = "ember"


@pytest.fixture(scope="module")
def headers(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def client(url, headers):
    return ollama.Client(host=url, headers=headers)


def arguments(conversation, **further):
    """The arguments of `chat`."""
    messages = conversation.ollama_messages
    options = {"temperature": 0, "num_predict": conversation.max_tokens}
    return {
        "model": MODEL,
        "messages": messages,
        "tools": conversation.tools,
        "think": conversation.thinks,
        "options": options,
    } | further


def test_a_chat_is_answered_as_by_transformers(client, conversations):
    for kind in ("plain", "system", "memory", "tool_answer"):
        expected = conversations[kind]
        answer = client.chat(**arguments(expected))
        assert answer.message.content == expected.text
        assert (answer.done, answer.done_reason) == (True, "stop")
        # The client sends the fields of tools in another order.
        assert expected.tools or answer.prompt_eval_count == len(expected.prompt_tokens)
        assert answer.eval_count == expected.max_tokens
        parts = list(client.chat(**arguments(expected, stream=True)))
        assert "".join(part.message.content for part in parts) == expected.text
        assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]


def test_reasoning_is_separate(client, conversations):
    expected = conversations["thinking"]
    thoughts, words = expected.thoughts_and_words
    answer = client.chat(**arguments(expected))
    assert (answer.message.thinking, answer.message.content) == (thoughts, words)
    parts = list(client.chat(**arguments(expected, stream=True)))
    assert "".join(part.message.thinking or "" for part in parts) == thoughts


def test_a_tool_is_called(client, conversations):
    for stream in (False, True):
        answer = client.chat(**arguments(conversations["tool_call"], stream=stream))
        calls = [call for part in (answer if stream else [answer]) for call in part.message.tool_calls or ()]
        assert [(call.function.name, call.function.arguments) for call in calls] == [("get_weather", {"city": "Paris"})]


class Person(BaseModel):
    name: Annotated[str, Field(max_length=12)]
    age: int


def test_a_schema_is_held_to(client):
    answer = client.chat(
        model=MODEL,
        messages=[{"role": "user", "content": "Invent a person."}],
        format=Person.model_json_schema(),
        options={"temperature": 0, "num_predict": 200},
    )
    Person.model_validate_json(answer.message.content)


def test_a_prompt_is_completed_as_by_transformers(client, stories):
    story = stories[0]
    options = {"temperature": 0, "num_predict": story["max_tokens"]}
    answer = client.generate(model=MODEL, prompt=story["prompt"], raw=True, options=options)
    assert answer.response == story["text"]
    parts = client.generate(model=MODEL, prompt=story["prompt"], raw=True, options=options, stream=True)
    assert "".join(part.response for part in parts) == story["text"]


def test_a_prompt_is_answered(client, conversations):
    expected = conversations["system"]
    system, user = (message["content"] for message in expected.messages)
    options = {"temperature": 0}
    answer = client.generate(model=MODEL, system=system, prompt=user, think=False, options=options)
    assert answer.response == expected.text


def test_inputs_are_embedded(client, prompts):
    texts = [prompt["prompt"] for prompt in prompts[:2]]
    answer = client.embed(model=MODEL, input=texts)
    assert len(answer.embeddings) == 2
    one = client.embeddings(model=MODEL, prompt=texts[1])
    assert list(one.embedding) == list(answer.embeddings[1])


def test_the_model_is_listed_and_shown(client):
    assert [model.model for model in client.list().models] == [MODEL]
    assert [model.model for model in client.ps().models] == [MODEL]
    shown = client.show(MODEL)
    assert {"completion", "tools", "thinking"} <= set(shown.capabilities)
    assert shown.modelinfo["general.architecture"] == shown.details.family


def test_a_pull_of_the_served_model_succeeds(client):
    assert client.pull(MODEL).status == "success"
    assert [part.status for part in client.pull(MODEL, stream=True)] == ["success"]


def test_mistakes_have_a_message(client):
    with pytest.raises(ollama.ResponseError) as refused:
        client.pull("llama3.2")
    assert refused.value.status_code == 404 and "llama3.2" in refused.value.error
    with pytest.raises(ollama.ResponseError) as refused:
        client.delete(MODEL)
    assert refused.value.status_code == 501


@pytest.fixture(scope="module")
def langchain(url, headers):
    return langchain_ollama.ChatOllama(
        model=MODEL,
        base_url=url,
        client_kwargs={"headers": headers},
        temperature=0,
        num_predict=60,
        reasoning=False,
    )


def test_langchain_chats_and_streams(langchain, conversations):
    expected = conversations["plain"]
    question = expected.messages[-1]["content"]
    answer = langchain.invoke(question)
    assert answer.content == expected.text
    assert answer.usage_metadata["output_tokens"] == expected.max_tokens
    assert "".join(chunk.content for chunk in langchain.stream(question)) == expected.text


def test_langchain_completes_a_tool_loop(langchain, conversations):
    expected = conversations["tool_answer"]
    question, called, answered = expected.messages
    with_tools = langchain.bind_tools(expected.tools)
    messages = [HumanMessage(question["content"])]
    answer = with_tools.invoke(messages)
    (call,), function = answer.tool_calls, called["tool_calls"][0]["function"]
    assert (call["name"], call["args"]) == (function["name"], json.loads(function["arguments"]))
    result = ToolMessage(answered["content"], tool_call_id=call["id"])
    assert with_tools.invoke([*messages, answer, result]).content == expected.text


def test_langchain_embeds(url, headers, client):
    embeddings = langchain_ollama.OllamaEmbeddings(model=MODEL, base_url=url, client_kwargs={"headers": headers})
    expected = client.embed(model=MODEL, input="Hello").embeddings[0]
    assert embeddings.embed_query("Hello") == list(expected)


def test_langchain_returns_structured_output(langchain):
    assert isinstance(langchain.with_structured_output(Person).invoke("Invent a person."), Person)
