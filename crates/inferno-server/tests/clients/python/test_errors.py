"""Errors, as the exceptions of the clients."""

import concurrent.futures

import anthropic
import openai
import pytest
from conftest import MODEL

HELLO = {"model": MODEL, "messages": [{"role": "user", "content": "Hello!"}]}
STORY = {"model": MODEL, "messages": [{"role": "user", "content": "Tell me a story."}]}


def test_a_mistake_is_a_bad_request_that_names_its_field(client, claude):
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(**HELLO, temperature=-1)
    assert (raised.value.param, raised.value.type) == ("temperature", "invalid_request_error")
    assert raised.value.request_id
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(**HELLO, extra_body={"use_beam_search": True})
    assert (raised.value.param, raised.value.code) == ("use_beam_search", "unsupported_parameter")
    with pytest.raises(anthropic.BadRequestError, match="temperature") as raised:
        claude.messages.create(**HELLO, max_tokens=1, extra_body={"temperature": -1})
    assert raised.value.body["error"]["type"] == "invalid_request_error"
    assert raised.value.request_id


def test_a_prompt_beyond_the_context_tells_both_counts(client, claude):
    long = [{"role": "user", "content": "word " * 3000}]
    with pytest.raises(openai.BadRequestError, match="3[0-9]{3} tokens.* 1024 tokens") as raised:
        client.chat.completions.create(model=MODEL, messages=long)
    assert raised.value.code == "context_length_exceeded"
    with pytest.raises(anthropic.BadRequestError, match="1024"):
        claude.messages.create(model=MODEL, messages=long, max_tokens=1)


def test_an_unknown_field_is_ignored_and_reported(client, claude):
    colour = {"extra_body": {"colour": "blue"}, "max_tokens": 1}
    for answer in (
        client.chat.completions.with_raw_response.create(**HELLO, **colour),
        claude.messages.with_raw_response.create(**HELLO, **colour),
    ):
        assert answer.headers["x-inferno-ignored-fields"] == "colour"


def test_an_unknown_model_is_only_an_error_if_the_server_names_its_model(client, claude, narrow_url):
    answer = client.chat.completions.create(**HELLO | {"model": "gpt-4o"}, max_tokens=1)
    assert answer.model == MODEL
    assert claude.messages.create(**HELLO | {"model": "claude"}, max_tokens=1).model == MODEL
    narrow = openai.OpenAI(base_url=f"{narrow_url}/v1", api_key="any", max_retries=0)
    with pytest.raises(openai.NotFoundError) as raised:
        narrow.chat.completions.create(**HELLO | {"model": "gpt-4o"})
    assert (raised.value.param, raised.value.code) == ("model", "model_not_found")
    narrow = anthropic.Anthropic(base_url=narrow_url, api_key="any", max_retries=0)
    with pytest.raises(anthropic.NotFoundError):
        narrow.messages.create(**HELLO | {"model": "claude"}, max_tokens=1)


def test_a_wrong_key_is_no_authentication(url):
    stranger = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
    with pytest.raises(openai.AuthenticationError) as raised:
        stranger.models.list()
    assert raised.value.code == "invalid_api_key"
    with pytest.raises(openai.AuthenticationError):
        stranger.chat.completions.create(**HELLO)
    with pytest.raises(anthropic.AuthenticationError):
        anthropic.Anthropic(base_url=url, api_key="wrong", max_retries=0).messages.create(**HELLO, max_tokens=1)


def test_a_token_is_a_key_too(url, key):
    bearer = anthropic.Anthropic(base_url=url, auth_token=key, max_retries=0)
    assert bearer.messages.create(**HELLO, max_tokens=1).usage.output_tokens == 1


def test_a_body_beyond_the_limit_is_refused(client):
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "x" * 17_000_000}])
    assert raised.value.status_code == 413


def test_a_full_queue_says_when_to_come_back(narrow_url):
    narrow = openai.OpenAI(base_url=f"{narrow_url}/v1", api_key="none", max_retries=0)

    def ask(_):
        try:
            narrow.chat.completions.create(**STORY, max_tokens=900, extra_body={"ignore_eos": True})
        except openai.RateLimitError as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        errors = [error for error in pool.map(ask, range(8)) if error]
    assert errors, "eight at once are too many"
    for error in errors:
        assert error.code == "queue_full" and int(error.response.headers["retry-after"]) >= 1


def test_clients_that_come_back_are_all_answered(narrow_url):
    patient = openai.OpenAI(base_url=f"{narrow_url}/v1", api_key="none", max_retries=20)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = pool.map(lambda _: patient.chat.completions.create(**STORY, max_tokens=4), range(6))
        assert all(answer.choices for answer in answers)
