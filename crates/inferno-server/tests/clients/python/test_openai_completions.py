"""`completions` of OpenAI's client."""

import openai
import pytest
from conftest import MODEL


def test_texts_go_on_as_transformers_goes_on(client, stories):
    answer = client.completions.create(
        model=MODEL,
        prompt=[story["prompt"] for story in stories],
        temperature=0,
        max_tokens=min(story["max_tokens"] for story in stories),
    )
    assert answer.object == "text_completion"
    for story, choice in zip(stories, answer.choices, strict=True):
        assert choice.text and story["text"].startswith(choice.text)
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


def test_an_echo_tells_what_transformers_tells_of_the_prompt(client, prompts):
    for expected in prompts:
        answer = client.completions.create(
            model=MODEL, prompt=expected["prompt"], temperature=0, max_tokens=0, echo=True, logprobs=1
        )
        (choice,) = answer.choices
        assert (choice.text, choice.finish_reason) == (expected["prompt"], "length")
        assert "".join(choice.logprobs.tokens) == expected["prompt"]
        first, *others = choice.logprobs.token_logprobs
        # Products are of 8 bits here, with one scale per 256 activations, and of 32 there.
        assert first is None and others == pytest.approx(expected["logprobs"], abs=0.4, rel=0.04)
        assert choice.logprobs.text_offset == [
            len("".join(choice.logprobs.tokens[:place])) for place in range(len(choice.logprobs.tokens))
        ]
        assert answer.usage.completion_tokens == 0


def test_an_echo_goes_on_into_the_answer(client, stories):
    story = stories[0]
    ask = {"model": MODEL, "prompt": story["prompt"], "temperature": 0, "max_tokens": 6, "echo": True, "logprobs": 2}
    whole = client.completions.create(**ask, n=2)
    for choice in whole.choices:
        assert choice.text.startswith(story["prompt"])
        assert (story["prompt"] + story["text"]).startswith(choice.text)
        told = choice.logprobs
        assert "".join(told.tokens) == choice.text
        assert len(told.tokens) == len(story["prompt_tokens"]) + 6
        assert all(top[token] == logprob for token, logprob, top in list(
            zip(told.tokens, told.token_logprobs, told.top_logprobs, strict=True))[1:])
    parts = [part.choices[0] for part in client.completions.create(**ask, stream=True)]
    assert "".join(part.text for part in parts) == whole.choices[0].text
    logprobs = [part.logprobs.token_logprobs for part in parts if part.logprobs]
    assert sum(logprobs, []) == whole.choices[0].logprobs.token_logprobs


def test_several_prompts_have_n_answers_each(client, stories):
    """In the order of the prompts, each with the same text as alone."""
    prompts = [story["prompt"] for story in stories[:2]]
    ask = {"model": MODEL, "temperature": 1, "seed": 7, "max_tokens": 6, "n": 2}
    answer = client.completions.create(**ask, prompt=prompts)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    alone = [choice.text for prompt in prompts for choice in client.completions.create(**ask, prompt=prompt).choices]
    assert [choice.text for choice in answer.choices] == alone
    assert answer.usage.completion_tokens == 24


def test_the_best_of_several_is_given(client, stories):
    ask = {"model": MODEL, "prompt": stories[0]["prompt"], "temperature": 0, "max_tokens": 2}
    assert len(client.completions.create(**ask, n=2, best_of=2).choices) == 2
    (choice,) = client.completions.create(**ask, n=1, best_of=3).choices
    assert choice.text == client.completions.create(**ask).choices[0].text
    with pytest.raises(openai.BadRequestError) as raised:
        client.completions.create(**ask, n=1, best_of=3, stream=True)
    assert (raised.value.param, raised.value.code) == ("best_of", "unsupported_parameter")


def test_a_gap_is_not_echoed(client, stories):
    with pytest.raises(openai.BadRequestError) as raised:
        client.completions.create(model=MODEL, prompt=stories[0]["prompt"], suffix="The end.", echo=True)
    assert raised.value.param == "echo"
