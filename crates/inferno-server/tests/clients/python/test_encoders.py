"""Embeddings of an encoder with OpenAI's and Ollama's clients, and reranking with Cohere's: compared with transformers."""

import json
import math
from pathlib import Path

import cohere
import ollama
import openai
import pytest

FIXTURES = Path(__file__).parents[4] / "inferno-model/tests/fixtures/encoders"


def answers(name):
    return json.loads((FIXTURES / f"{name}.json").read_text())


def normalized(values):
    return [x / math.hypot(*values) for x in values]


@pytest.fixture(scope="module")
def texts():
    return answers("roberta")["texts"]


@pytest.fixture(scope="module")
def encoder(encoder_url):
    return openai.OpenAI(base_url=f"{encoder_url}/v1", api_key="none", max_retries=0)


def test_openai_embeds_texts_and_tokens(encoder, texts):
    for key in ("text", "tokens"):
        found = encoder.embeddings.create(model="roberta", input=[text[key] for text in texts])
        for expected, it in zip(texts, found.data, strict=True):
            assert it.embedding == pytest.approx(normalized(expected["pooled"]), abs=1e-4)
        assert found.usage.prompt_tokens == sum(len(text["tokens"]) for text in texts)
    found = encoder.embeddings.create(model="roberta", input=texts[0]["text"], dimensions=8, encoding_format="float")
    assert found.data[0].embedding == pytest.approx(normalized(texts[0]["pooled"][:8]), abs=1e-4)


def test_openai_reports_longer_inputs_and_missing_text(encoder):
    with pytest.raises(openai.BadRequestError, match="128"):
        encoder.embeddings.create(model="roberta", input="a" * 500)
    for length in (-1, 100):
        found = encoder.embeddings.create(model="roberta", input="a" * 500, extra_body={"truncate_prompt_tokens": length})
        assert found.usage.prompt_tokens == (128 if length == -1 else length)
    with pytest.raises(openai.BadRequestError, match="embeddings, not text"):
        encoder.completions.create(model="roberta", prompt="Hi")


def test_ollama_embeds(encoder_url, texts):
    client = ollama.Client(host=encoder_url)
    found = client.embed(model="roberta", input=[text["text"] for text in texts])
    for expected, vector in zip(texts, found.embeddings, strict=True):
        assert vector == pytest.approx(normalized(expected["pooled"]), abs=1e-4)
    assert found.prompt_eval_count == sum(len(text["tokens"]) for text in texts)
    one = client.embeddings(model="roberta", prompt=texts[1]["text"])
    assert one.embedding == pytest.approx(found.embeddings[1])
    assert len(client.embed(model="roberta", input="a", dimensions=4).embeddings[0]) == 4
    # Longer inputs are truncated, unless that is disabled.
    assert client.embed(model="roberta", input="a" * 500).prompt_eval_count == 128
    with pytest.raises(ollama.ResponseError, match="128"):
        client.embed(model="roberta", input="a" * 500, truncate=False)


def test_cohere_reranks(reranker_url):
    expected = answers("xlm-roberta-reranker")
    pairs, scores = expected["pairs"], [case["scores"][0] for case in expected["cases"]]
    documents = [pair["document"] for pair in pairs[:2]]
    order = sorted(range(2), key=lambda index: -scores[index])
    client = cohere.ClientV2(api_key="none", base_url=reranker_url)
    found = client.rerank(model="reranker", query=pairs[0]["query"], documents=documents, max_tokens_per_doc=4096)
    assert [result.index for result in found.results] == order
    for result in found.results:
        assert result.relevance_score == pytest.approx(scores[result.index], abs=1e-4)
    found = client.rerank(model="reranker", query=pairs[0]["query"], documents=documents, top_n=1)
    assert [result.index for result in found.results] == order[:1]


def test_cohere_returns_documents(reranker_url):
    pairs = answers("xlm-roberta-reranker")["pairs"]
    documents = [pairs[0]["document"], {"text": pairs[1]["document"]}]
    client = cohere.Client(api_key="none", base_url=reranker_url)
    found = client.rerank(model="reranker", query=pairs[0]["query"], documents=documents, return_documents=True)
    for result in found.results:
        assert result.document.text == pairs[result.index]["document"]


def test_cohere_reports_that_a_model_ranks_nothing(encoder_url, narrow_url):
    for url in (encoder_url, narrow_url):
        client = cohere.ClientV2(api_key="none", base_url=url)
        with pytest.raises(cohere.BadRequestError, match="classifier"):
            client.rerank(model="ember", query="a", documents=["b"])
