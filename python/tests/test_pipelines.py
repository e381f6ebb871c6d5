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


def test_each_item_of_a_list_is_a_text_or_a_conversation(model):
    generate = inferno.pipeline("text-generation", model)
    options = {"max_new_tokens": 6, "do_sample": False}
    messages = [{"role": "user", "content": "Who are you?"}]
    mixed = generate(["Once", messages, "The sea"], **options)
    assert mixed == [generate("Once", **options), generate(messages, **options), generate("The sea", **options)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 6, "max_tokens": 5}, "max_new_tokens or max_tokens, not both"),
        ({"do_sample": False, "temperature": 0.5}, "do_sample=False or temperature, not both"),
    ],
)
def test_two_names_of_an_option_are_rejected(model, options, message):
    with pytest.raises(TypeError, match=message):
        inferno.pipeline("text-generation", model)("Once", **options)


def test_other_tasks_are_rejected():
    with pytest.raises(inferno.InvalidRequestError, match="unknown task"):
        inferno.pipeline("translation")
