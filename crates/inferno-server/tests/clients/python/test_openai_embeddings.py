"""`embeddings` of OpenAI's client, which asks for base64 and decodes it unless it is told otherwise."""

import base64
import math
import struct

import openai
import pytest
from conftest import MODEL


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)


def test_vectors_are_those_of_transformers(client, prompts):
    answer = client.embeddings.create(model=MODEL, input=[expected["prompt"] for expected in prompts])
    assert (answer.object, answer.model) == ("list", MODEL)
    assert [it.index for it in answer.data] == list(range(len(prompts)))
    for expected, found in zip(prompts, answer.data, strict=True):
        assert found.object == "embedding"
        assert math.hypot(*found.embedding) == pytest.approx(1, abs=1e-5)
        # Products are of 8 bits here, and of 32 there.
        assert cosine(found.embedding, expected["last"]) > 0.995
    num_tokens = sum(len(expected["prompt_tokens"]) for expected in prompts)
    assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (num_tokens, num_tokens)


def test_both_formats_hold_the_same_numbers(client, prompts):
    """Each the shortest text or the four bytes of the same float."""
    ask = {"model": MODEL, "input": prompts[0]["prompt"]}
    bytes_of = lambda numbers: struct.pack(f"<{len(numbers)}f", *numbers)
    decoded = bytes_of(client.embeddings.create(**ask).data[0].embedding)
    assert bytes_of(client.embeddings.create(**ask, encoding_format="float").data[0].embedding) == decoded
    written = client.embeddings.create(**ask, encoding_format="base64").data[0].embedding
    assert base64.b64decode(written) == decoded


def test_texts_come_in_four_forms(client, prompts):
    text, tokens = prompts[1]["prompt"], prompts[1]["prompt_tokens"]
    one, *others = (
        client.embeddings.create(model=MODEL, input=given).data for given in (text, [text], tokens, [tokens])
    )
    assert len(one) == 1 and all(other == one for other in others)
    pair = client.embeddings.create(model=MODEL, input=[tokens, prompts[2]["prompt_tokens"]]).data
    assert pair[0].embedding == one[0].embedding != pair[1].embedding


def test_dimensions_are_the_first_ones_normalized(client, prompts):
    ask = {"model": MODEL, "input": prompts[0]["prompt"]}
    size = len(prompts[0]["last"])
    assert len(client.embeddings.create(**ask, dimensions=size).data[0].embedding) == size
    whole = client.embeddings.create(**ask).data[0].embedding
    length = sum(x * x for x in whole[:64]) ** 0.5
    found = client.embeddings.create(**ask, dimensions=64).data[0].embedding
    assert found == pytest.approx([x / length for x in whole[:64]], abs=1e-6)
    with pytest.raises(openai.BadRequestError, match=f"{size}.*{size + 1}") as raised:
        client.embeddings.create(**ask, dimensions=size + 1)
    assert raised.value.param == "dimensions"


def test_what_has_no_vector_is_refused(client):
    for given in ("", [], ["a", ""], [99999], "word " * 3000):
        with pytest.raises(openai.BadRequestError) as raised:
            client.embeddings.create(model=MODEL, input=given)
        assert raised.value.param == "input"
