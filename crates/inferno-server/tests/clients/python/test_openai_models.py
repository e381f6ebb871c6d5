"""`models` of OpenAI's client."""

import openai
import pytest
from conftest import MODEL


def test_models_are_listed(client):
    assert [model.id for model in client.models.list()] == [MODEL]
    model = client.models.retrieve(MODEL)
    assert model.object == "model" and model.max_model_len == 1024
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-4o")
