"""`models` and `completions` of OpenAI's client."""

import openai
import pytest
from conftest import MODEL


def test_models_are_listed(client):
    assert [model.id for model in client.models.list()] == [MODEL]
    model = client.models.retrieve(MODEL)
    assert model.object == "model" and model.max_model_len == 1024
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-4o")


def test_texts_go_on_as_transformers_goes_on(client, stories):
    answer = client.completions.create(
        model=MODEL,
        prompt=[story["prompt"] for story in stories],
        temperature=0,
        max_tokens=max(story["max_tokens"] for story in stories),
    )
    assert answer.object == "text_completion"
    for story, choice in zip(stories, answer.choices, strict=True):
        assert choice.text.startswith(story["text"])
        assert choice.finish_reason == "length"


def test_tokens_are_a_prompt_too(client, stories):
    story = stories[0]
    ask = {"model": MODEL, "prompt": story["prompt_tokens"], "temperature": 0, "max_tokens": story["max_tokens"]}
    assert client.completions.create(**ask).choices[0].text == story["text"]
    parts = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    assert "".join(choice.text for part in parts for choice in part.choices) == story["text"]
    assert parts[-1].usage.prompt_tokens == len(story["prompt_tokens"])
    assert parts[-1].usage.completion_tokens == story["max_tokens"]
    echo = client.completions.create(**ask, echo=True)
    assert echo.choices[0].text == story["prompt"] + story["text"]


def test_logprobs(client, stories):
    story = stories[1]
    answer = client.completions.create(
        model=MODEL, prompt=story["prompt"], temperature=0, max_tokens=story["max_tokens"], logprobs=2
    )
    told = answer.choices[0].logprobs
    assert "".join(told.tokens) == story["text"]
    assert len(told.tokens) == len(story["tokens"])
    for token, logprob, top in zip(told.tokens, told.token_logprobs, told.top_logprobs, strict=True):
        assert top[token] == logprob == max(top.values())
    assert told.text_offset[0] == 0 and told.text_offset == sorted(told.text_offset)


def test_n_stop_and_seed(client, stories):
    ask = {"model": MODEL, "prompt": stories[2]["prompt"], "temperature": 1, "seed": 3, "max_tokens": 8}
    answer = client.completions.create(**ask, n=2, stop=["."])
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert all("." not in choice.text for choice in answer.choices)
    again = client.completions.create(**ask, n=2, stop=["."])
    assert [it.text for it in again.choices] == [it.text for it in answer.choices]


def test_a_gap_is_filled(client, stories):
    before, after = stories[0]["prompt"][:40], stories[0]["prompt"][45:]
    answer = client.completions.create(model=MODEL, prompt=before, suffix=after, temperature=0, max_tokens=8)
    assert answer.choices[0].text
    # Both sides are read, and the three tokens that say which is which.
    alone = client.completions.create(model=MODEL, prompt=before, max_tokens=1)
    assert answer.usage.prompt_tokens > alone.usage.prompt_tokens + 3
