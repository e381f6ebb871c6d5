"""The servers that `.ci/clients` started, and what transformers generates with their model."""

import json
import os
import socket
import sys
from pathlib import Path

# Without this setting, LiteLLM fetches a file from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import pytest

URL = os.environ["INFERNO_URL"]
SCRIPTED_URL = os.environ["INFERNO_SCRIPTED_URL"]
KEY = os.environ["INFERNO_KEY"]
PROGRAMS = Path(sys.executable).parent
FIXTURES = Path(__file__).parents[4] / "inferno/tests/fixtures/ember"

conversation = json.loads((FIXTURES / "chat.json").read_text())["conversations"][0]
QUESTION = conversation["request"]["messages"][0]["content"]
ANSWER = conversation["text"]
WITHOUT_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="session")
def story():
    """A prompt and its greedy continuation."""
    return json.loads((FIXTURES / "greedy.json").read_text())["stories"][0]
