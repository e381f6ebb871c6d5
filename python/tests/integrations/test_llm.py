"""The plugin for `llm`, found by its entry point."""

import llm
import pytest


@pytest.fixture(autouse=True)
def user_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))


def test_answers_and_conversations(model):
    plugin = llm.get_model("inferno")
    options = {"temperature": 0, "max_tokens": 20}
    messages = [{"role": "user", "content": "Who are you?"}]
    first = model.chat(messages, **options)
    response = plugin.prompt("Who are you?", **options)
    assert response.text() == first.text
    assert response.usage().output == first.usage.completion_tokens
    conversation = plugin.conversation()
    assert conversation.prompt("Who are you?", **options).text() == first.text
    messages += [{"role": "assistant", "content": first.text}, {"role": "user", "content": "Name an animal."}]
    assert conversation.prompt("Name an animal.", **options).text() == model.chat(messages, **options).text
    assert "".join(plugin.prompt("Who are you?", **options)) == first.text
