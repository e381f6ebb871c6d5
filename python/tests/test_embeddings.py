"""Embeddings of encoders, rerankers and models with projections."""

import asyncio
import json
from pathlib import Path

import httpx
import numpy as np
import pytest

import inferno

ENCODERS = Path(__file__).parents[2] / "crates/inferno-model/tests/fixtures/encoders"
TEXTS = ["a cat swims", "the dog"]


def served(model, texts):
    """Returns the embeddings of the same process's `/v1/embeddings`."""

    async def main():
        transport = httpx.ASGITransport(app=inferno.asgi_app(model))
        async with httpx.AsyncClient(transport=transport, base_url="http://example") as http:
            return (await http.post("/v1/embeddings", json={"input": texts})).json()

    return np.array([row["embedding"] for row in asyncio.run(main())["data"]], np.float32)


@pytest.fixture
def unpooled_encoder(tmp_path):
    """An encoder whose file leaves pooling to the user."""
    key, number = b"bert.pooling_type", (4).to_bytes(4, "little")
    stored = (ENCODERS / "bert.gguf").read_bytes()
    assert stored.count(key + number + b"\2\0\0\0") == 1
    (tmp_path / "bert.gguf").write_bytes(stored.replace(key + number + b"\2", key + number + b"\0"))
    return inferno.Model(tmp_path / "bert.gguf", device="cpu")


def test_an_encoder_without_pooling_returns_the_mean(unpooled_encoder):
    case = json.loads((ENCODERS / "bert.json").read_text())["cases"][1]
    mean = np.mean(case["embeddings"], axis=0)
    found = unpooled_encoder.embed(case["tokens"])
    assert np.abs(found - mean / np.linalg.norm(mean)).max() < 1e-4


@pytest.mark.parametrize("name", ["bert", "embeddinggemma-dense", "qwen3-embedding"])
def test_embeddings_are_those_of_the_server(name):
    model = inferno.Model(ENCODERS / f"{name}.gguf", device="cpu")
    rows = model.embed(TEXTS)
    assert rows.shape == (2, model.embedding_size)
    assert np.array_equal(rows, served(model, TEXTS))
    assert np.array_equal(asyncio.run(inferno.Engine(model).embed(TEXTS)), rows)


@pytest.mark.parametrize("name", ["xlm-roberta-reranker", "qwen3-reranker"])
def test_a_reranker_has_no_embeddings(name):
    model = inferno.Model(ENCODERS / f"{name}.gguf", device="cpu")
    for text in (TEXTS[0], TEXTS):
        with pytest.raises(inferno.InvalidRequestError, match="scores of a classifier"):
            model.embed(text)
        with pytest.raises(inferno.InvalidRequestError, match="scores of a classifier"):
            asyncio.run(inferno.Engine(model).embed(text))
