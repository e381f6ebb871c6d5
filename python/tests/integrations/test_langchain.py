"""LangChain's interface: answers are those of the model itself."""

import asyncio

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool

from inferno.langchain import ChatInferno

MESSAGES = [SystemMessage("You are Ember."), HumanMessage("Who are you?")]


def expected(model):
    messages = [{"role": "system", "content": "You are Ember."}, {"role": "user", "content": "Who are you?"}]
    return model.chat(messages, temperature=0, max_tokens=20)


def chat_model(model):
    return ChatInferno(model=model, options={"temperature": 0, "max_tokens": 20})


def test_answers(model):
    chat = chat_model(model)
    answer = chat.invoke(MESSAGES)
    assert answer.content == expected(model).text
    assert answer.usage_metadata["output_tokens"] == expected(model).usage.completion_tokens
    assert asyncio.run(chat.ainvoke(MESSAGES)).content == answer.content
    assert [each.content for each in chat.batch([MESSAGES, MESSAGES])] == [answer.content] * 2
    assert answer.content.startswith(chat.invoke(MESSAGES, stop=[" "]).content)


def test_streams(model):
    chat = chat_model(model)
    chunks = list(chat.stream(MESSAGES))
    assert len(chunks) > 3 and "".join(chunk.content for chunk in chunks) == expected(model).text

    async def stream():
        return "".join([chunk.content async for chunk in chat.astream(MESSAGES)])

    assert asyncio.run(stream()) == expected(model).text


def test_log_probabilities_are_in_the_metadata(model):
    options = {"temperature": 0, "max_tokens": 5, "logprobs": True}
    chat = ChatInferno(model=model, options=options)
    answer = chat.invoke(MESSAGES)
    assert len(answer.response_metadata["logprobs"]["content"]) == 5
    streamed = None
    for chunk in chat.stream(MESSAGES):
        streamed = chunk if streamed is None else streamed + chunk
    assert streamed.response_metadata["logprobs"] == answer.response_metadata["logprobs"]
    assert "logprobs" not in chat_model(model).invoke(MESSAGES).response_metadata


@tool
def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"It is sunny in {city}."


def test_tool_calls(model):
    chat = ChatInferno(model=model, options={"temperature": 0, "max_tokens": 100})
    with_tools = chat.bind_tools([weather], tool_choice="weather")
    question = HumanMessage("What is the weather in Paris?")
    answer = with_tools.invoke([question])
    assert answer.tool_calls[0]["name"] == "weather"
    result = weather.invoke(answer.tool_calls[0])
    assert chat.bind_tools([weather]).invoke([question, answer, result]).content
    streamed = None
    for chunk in with_tools.stream([question]):
        streamed = chunk if streamed is None else streamed + chunk
    assert streamed.tool_calls[0]["args"] == answer.tool_calls[0]["args"]


def test_a_tool_call_that_is_cut_off_is_invalid(model):
    question = HumanMessage("What is the weather in Paris?")
    calls = []
    for max_tokens in range(8, 20):
        chat = ChatInferno(model=model, options={"temperature": 0, "max_tokens": max_tokens})
        answer = chat.bind_tools([weather], tool_choice="weather").invoke([question])
        assert answer.response_metadata["finish_reason"] == "length"
        calls += answer.invalid_tool_calls
    assert calls and all(call["name"] == "weather" and call["args"].startswith("{") for call in calls)
