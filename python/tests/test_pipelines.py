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


@pytest.mark.parametrize("temperature", [0.0, 1.0, None])
def test_greedy_sampling_accepts_the_temperatures_of_examples(model, recwarn, temperature):
    generate = inferno.pipeline("text-generation", model)
    options = {"max_new_tokens": 6, "do_sample": False}
    greedy = generate("Once", return_full_text=False, **options)
    assert generate("Once", return_full_text=False, temperature=temperature, **options) == greedy
    assert list(recwarn) == []


def test_a_temperature_without_effect_causes_a_warning_at_the_call(model):
    generate = inferno.pipeline("text-generation", model)
    options = {"max_new_tokens": 6, "do_sample": False}
    with pytest.warns(RuntimeWarning, match=r"temperature=0\.5 has no effect") as warned:
        text = generate("Once", temperature=0.5, **options)
    assert [each.filename for each in warned] == [__file__]
    assert text == generate("Once", **options)


def test_two_limits_of_tokens_are_rejected(model):
    generate = inferno.pipeline("text-generation", model)
    with pytest.raises(TypeError, match="max_new_tokens or max_tokens, not both"):
        generate("Once", max_new_tokens=6, max_tokens=5)
    assert generate("Once", max_new_tokens=6, max_tokens=6, temperature=0) == generate(
        "Once", max_new_tokens=6, do_sample=False
    )


def test_other_tasks_are_rejected():
    with pytest.raises(inferno.InvalidRequestError, match="unknown task"):
        inferno.pipeline("translation")
