"""LiteLLM, LangChain and `llm` against the server: their answers are those of transformers."""

import asyncio
import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import litellm
import pytest
import yaml
from conftest import KEY, PROGRAMS, QUESTION, ANSWER, SCRIPTED_URL, URL, WITHOUT_THINKING, free_port
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings

MESSAGES = [{"role": "user", "content": QUESTION}]


@pytest.mark.parametrize("model", ["openai/ember", "hosted_vllm/ember", "text-completion-openai/ember"])
def test_litellm(model, story):
    ask = {"model": model, "api_base": f"{URL}/v1", "api_key": KEY, "temperature": 0, "num_retries": 0}
    if model.startswith("text-completion"):
        answer = litellm.text_completion(prompt=story["prompt"], max_tokens=story["max_tokens"], **ask)
        assert answer.choices[0].text == story["text"]
        return
    ask |= {"messages": MESSAGES, "max_tokens": 30, "extra_body": WITHOUT_THINKING}
    assert litellm.completion(**ask).choices[0].message.content == ANSWER
    parts = litellm.completion(**ask, stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in parts) == ANSWER
    answer = asyncio.run(litellm.acompletion(**ask))
    assert answer.usage.completion_tokens > 0


def test_litellm_translates_for_anthropic():
    answer = litellm.completion(
        model="anthropic/ember", api_base=URL, api_key=KEY, messages=MESSAGES, max_tokens=30, temperature=0
    )
    assert answer.choices[0].message.content == ANSWER


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """The URL of LiteLLM's proxy in front of the server."""
    folder = tmp_path_factory.mktemp("litellm")
    parameters = {"model": "hosted_vllm/ember", "api_base": f"{URL}/v1", "api_key": KEY}
    (folder / "config.yaml").write_text(yaml.safe_dump({
        "model_list": [{"model_name": "ember", "litellm_params": parameters}],
        "general_settings": {"master_key": KEY},
    }))
    port = free_port()
    process = subprocess.Popen(
        [PROGRAMS / "litellm", "--config", folder / "config.yaml", "--port", str(port), "--host", "127.0.0.1"],
        cwd=folder, stdout=(folder / "log").open("w"), stderr=subprocess.STDOUT,
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/health/liveliness")
            break
        except OSError:
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.2)
    yield url
    process.terminate()
    process.wait(30)


def post(url, body):
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))


def test_litellm_proxy(proxy):
    body = {"model": "ember", "messages": MESSAGES, "max_tokens": 30, "temperature": 0}
    answer = post(f"{proxy}/v1/chat/completions", body | WITHOUT_THINKING)
    assert answer["choices"][0]["message"]["content"] == ANSWER
    # The proxy does not forward fields of the template here, so that the model may reason first.
    answer = post(f"{proxy}/v1/messages", body)
    assert "Ember" in answer["content"][-1]["text"]


CHAT_MODELS = {
    "openai": lambda url: ChatOpenAI(
        base_url=f"{url}/v1", api_key=KEY, model="ember", temperature=0, max_retries=0, extra_body=WITHOUT_THINKING
    ),
    "openai-responses": lambda url: ChatOpenAI(
        base_url=f"{url}/v1", api_key=KEY, model="ember", temperature=0, max_retries=0, use_responses_api=True,
        reasoning={"effort": "none"},
    ),
    "anthropic": lambda url: ChatAnthropic(
        base_url=url, api_key=KEY, model="ember", temperature=0, max_retries=0, max_tokens=100
    ),
    "ollama": lambda url: ChatOllama(
        base_url=url, model="ember", temperature=0, reasoning=False,
        client_kwargs={"headers": {"authorization": f"Bearer {KEY}"}},
    ),
}


@pytest.mark.parametrize("kind", CHAT_MODELS)
def test_langchain(kind):
    model = CHAT_MODELS[kind](URL)
    assert model.invoke(QUESTION).text == ANSWER
    assert "".join(part.text for part in model.stream(QUESTION)) == ANSWER


@pytest.mark.parametrize("kind", CHAT_MODELS)
def test_langchain_agents_complete_a_tool_loop(kind):
    paths = []

    def read_file(path: str) -> str:
        """Reads a file."""
        paths.append(path)
        return "Seven lines."

    agent = create_agent(CHAT_MODELS[kind](SCRIPTED_URL), [read_file])
    answer = agent.invoke({"messages": [("user", "What does notes.txt contain?")]})
    assert answer["messages"][-1].text == "Done."
    assert paths == ["notes.txt"]


def test_langchain_completions_and_embeddings(story):
    model = OpenAI(base_url=f"{URL}/v1", api_key=KEY, model="ember", temperature=0, max_tokens=story["max_tokens"])
    assert model.invoke(story["prompt"]) == story["text"]
    # Without this option, it sends tokens of OpenAI's models.
    embeddings = OpenAIEmbeddings(base_url=f"{URL}/v1", api_key=KEY, model="ember", check_embedding_ctx_length=False)
    vectors = embeddings.embed_documents(["A cat.", "A dog."])
    assert len(vectors) == 2 and len(vectors[0]) == 256


def test_llm(tmp_path):
    model = {"model_id": "ember", "model_name": "ember", "api_base": f"{URL}/v1", "api_key_name": "ember"}
    (tmp_path / "extra-openai-models.yaml").write_text(yaml.safe_dump([model]))
    environment = os.environ | {"LLM_USER_PATH": str(tmp_path)}
    for options in [[], ["--no-stream"]]:
        done = subprocess.run(
            [PROGRAMS / "llm", "-m", "ember", "--key", KEY, "-o", "temperature", "0", "-o", "max_tokens", "40", *options, QUESTION],
            env=environment, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
        )
        assert done.returncode == 0, done.stderr
        # It has no option that disables reasoning, after which the answer differs.
        assert "Ember" in done.stdout
