"""The servers that `.ci/clients` started, the official clients for them, and what transformers says of the model."""

import copy
import json
import os
from pathlib import Path

import anthropic
import openai
import pytest

MODEL = "ember"
FIXTURES = Path(__file__).parents[4] / "inferno/tests/fixtures/ember"


@pytest.fixture(scope="session")
def url():
    """Of a server that asks for a key."""
    return os.environ["INFERNO_URL"]


@pytest.fixture(scope="session")
def key():
    return os.environ["INFERNO_KEY"]


@pytest.fixture(scope="session")
def narrow_url():
    """Of a server without a key, at which one request is answered and one may wait."""
    return os.environ["INFERNO_NARROW_URL"]


@pytest.fixture(scope="session")
def encoder_url():
    """Of a server with an encoder, without a key."""
    return os.environ["INFERNO_ENCODER_URL"]


@pytest.fixture(scope="session")
def reranker_url():
    """Of a server with a reranker, without a key."""
    return os.environ["INFERNO_RERANKER_URL"]


@pytest.fixture(scope="session")
def client(url, key):
    return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


@pytest.fixture(scope="session")
def claude(url, key):
    """Anthropic's client."""
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)


class Conversation:
    """A conversation and how transformers answers it, greedily."""

    def __init__(self, found):
        asked = found["request"]
        self.prompt = found["prompt"]
        self.prompt_tokens = found["prompt_tokens"]
        self.tokens = found["tokens"]
        self.text = found["text"]
        self.max_tokens = found["max_tokens"]
        self.tools = asked.get("tools")
        self.thinks = asked["enable_thinking"]
        self.messages = asked["messages"]
        self.ollama_messages = copy.deepcopy(self.messages)
        # Arguments are texts on the wire, and objects in templates.
        for message in self.messages:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = json.dumps(call["function"]["arguments"])

    @property
    def thoughts_and_words(self):
        """The text before and after the mark that ends thoughts."""
        thoughts, words = self.text.split("</think>")
        return thoughts.removeprefix("<think>").strip("\n"), words.strip("\n")

    def chat(self, **further):
        """The arguments of `chat.completions.create`."""
        arguments = {
            "model": MODEL,
            "messages": self.messages,
            "temperature": 0,
            "max_completion_tokens": self.max_tokens,
            "extra_body": {"chat_template_kwargs": {"enable_thinking": self.thinks}},
        }
        if self.tools:
            arguments["tools"] = self.tools
        return arguments | further

    def claude(self, **further):
        """The arguments of Anthropic's `messages.create`."""
        arguments = {
            "model": MODEL,
            "messages": [it for it in self.messages if it["role"] != "system"],
            # The API has it, though this client no longer says so.
            "extra_body": {"temperature": 0},
            "max_tokens": self.max_tokens,
            "thinking": {"type": "adaptive" if self.thinks else "disabled"},
        }
        system = [it["content"] for it in self.messages if it["role"] == "system"]
        if system:
            arguments["system"] = system[0]
        if self.tools:
            functions = [tool["function"] for tool in self.tools]
            arguments["tools"] = [
                {"name": it["name"], "description": it["description"], "input_schema": it["parameters"]}
                for it in functions
            ]
        return arguments | further


@pytest.fixture(scope="session")
def conversations():
    """By their kinds."""
    found = json.loads((FIXTURES / "chat.json").read_text())["conversations"]
    return {it["kind"]: Conversation(it) for it in found}


@pytest.fixture(scope="session")
def stories():
    """Texts and how they go on, greedily."""
    return json.loads((FIXTURES / "greedy.json").read_text())["stories"]


@pytest.fixture(scope="session")
def prompts():
    """Texts, what their tokens are worth, and the hidden states after them."""
    return json.loads((FIXTURES / "prompts.json").read_text())["prompts"]
