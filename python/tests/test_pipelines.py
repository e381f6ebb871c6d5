"""The interface of Hugging Face's pipelines."""

import pytest

import inferno


def test_a_pipeline_continues_texts_and_answers_conversations(model):
    generate = inferno.pipeline("text-generation", model)
    options = {"max_new_tokens": 6, "do_sample": False}
    expected = model.generate("Once", max_tokens=6, temperature=0).text
    assert generate("Once", **options) == [{"generated_text": f"Once{expected}"}]
    assert generate("Once", return_full_text=False, **options) == [{"generated_text": expected}]
    assert generate(["Once", "Once"], **options) == [[{"generated_text": f"Once{expected}"}]] * 2
    messages = [{"role": "user", "content": "Who are you?"}]
    answer = {"role": "assistant", "content": model.chat(messages, max_tokens=6, temperature=0).text}
    assert generate(messages, **options) == [{"generated_text": [*messages, answer]}]
    assert generate([], **options) == []
    assert generate([messages], **options) == [[{"generated_text": [*messages, answer]}]]


def test_other_tasks_are_rejected():
    with pytest.raises(inferno.InvalidRequestError, match="unknown task"):
        inferno.pipeline("translation")
