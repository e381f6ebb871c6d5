"""A task of lm-evaluation-harness without a network. Log-likelihoods are compared with transformers."""

import asyncio
import json
import os
from pathlib import Path

import lm_eval
import numpy as np
import pytest
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager

import inferno
from inferno.lm_eval import InfernoLM

FIXTURES = Path(__file__).parents[3] / "crates"
TASK = """
task: colors
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{label}}"
metric_list: [{metric: acc}]
"""
DOCUMENTS = [
    {"question": "The sky is", "choices": [" blue", " loud", " seven"], "label": 0},
    {"question": "Grass is", "choices": [" angry", " green"], "label": 1},
    {"question": "A dog is an", "choices": [" animal", " number"], "label": 0},
]


def requests(kind, *arguments):
    return [Instance(request_type=kind, doc={}, arguments=each, idx=0) for each in arguments]


@pytest.fixture
def evaluate(model, tmp_path, monkeypatch):
    """Evaluates the model on the task."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    (tmp_path / "colors.jsonl").write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS))
    (tmp_path / "colors.yaml").write_text(TASK % (tmp_path / "colors.jsonl"))
    manager = TaskManager(include_path=str(tmp_path))
    return lambda **options: lm_eval.simple_evaluate(
        model=InfernoLM(model), tasks=["colors"], task_manager=manager, bootstrap_iters=0, **options
    )


def test_a_task_is_scored_by_log_likelihood(model, evaluate):
    results = evaluate()

    def score(question, choice):
        tokens = model.tokenize(question + choice)
        logits = model.logits(tokens).astype(np.float64)
        logprobs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        start = len(model.tokenize(question))
        return sum(logprobs[position - 1, tokens[position]] for position in range(start, len(tokens)))

    best = [np.argmax([score(each["question"], choice) for choice in each["choices"]]) for each in DOCUMENTS]
    expected = np.mean([choice == each["label"] for choice, each in zip(best, DOCUMENTS)])
    assert results["results"]["colors"]["acc,none"] == pytest.approx(expected)


@pytest.mark.skipif("INFERNO_ORACLE" not in os.environ, reason="INFERNO_ORACLE is not set")
@pytest.mark.parametrize("name", ["llama", "mixtral", "gemma3"])
def test_log_likelihoods_are_those_of_transformers(name):
    """Small models with random weights, and their logits in float32."""
    fixtures = Path(os.environ["INFERNO_ORACLE"]) / "logits"
    reference = json.loads((fixtures / f"{name}.json").read_text())
    tokens, logits = reference["tokens"], np.array(reference["logits"])
    logprobs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    harness = InfernoLM(inferno.Model(fixtures / f"{name}.gguf", device="cpu", kv_dtype="f32"))
    starts = range(1, len(tokens), 5)
    # Continuations of the text itself, and of its most probable tokens.
    pairs = [(tokens[:start], tokens[start:]) for start in starts]
    pairs += [(tokens[:start], [int(logits[start - 1].argmax())]) for start in starts]
    results = harness._loglikelihood_tokens([(("", ""), *pair) for pair in pairs])
    for (context, continuation), (log_likelihood, is_greedy) in zip(pairs, results):
        rows = logprobs[len(context) - 1 : len(context) - 1 + len(continuation)]
        expected = sum(row[token] for row, token in zip(rows, continuation))
        assert log_likelihood == pytest.approx(expected, abs=1e-3)
        assert is_greedy == all(row.argmax() == token for row, token in zip(rows, continuation))


@pytest.mark.skipif("INFERNO_ORACLE" not in os.environ, reason="INFERNO_ORACLE is not set")
def test_log_likelihoods_are_those_of_the_harness():
    """A model whose vocabulary adds BOS, and the results of the harness's own `hf` model."""
    folder = FIXTURES / "inferno/tests/fixtures/evaluation"
    expected = json.loads((folder / "expected.json").read_text())["stories260K"]["256"]
    questions, texts = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("questions", "texts")
    )
    source = Path(os.environ["INFERNO_ORACLE"]) / "models/stories260K.gguf"
    harness = InfernoLM(inferno.Model(source, device="cpu", kv_dtype="f32"))
    pairs = [(each["context"], f" {choice}") for each in questions for choice in each["choices"]]
    found = harness.loglikelihood(requests("loglikelihood", *pairs), disable_tqdm=True)
    samples = expected["questions"]["samples"]
    scores = [score for sample in samples for score in sample["log_likelihoods"]]
    assert [score for score, _ in found] == pytest.approx(scores, abs=2e-3)
    assert [is_greedy for _, is_greedy in found] == [each for sample in samples for each in sample["is_greedy"]]
    found = harness.loglikelihood_rolling(requests("loglikelihood_rolling", *((each["text"],) for each in texts)))
    scores = [sample["log_likelihood"] for sample in expected["texts"]["samples"]]
    assert found == pytest.approx(scores, abs=1e-2)


def test_bos_precedes_a_text_that_does_not_begin_with_it():
    model = inferno.Model(FIXTURES / "inferno-model/tests/fixtures/encoders/llama-embed.gguf", device="cpu")
    harness, bos = InfernoLM(model), model.bos_token_id
    tokens = model.tokenize("The sea")
    assert model.tokenize("The sea", add_special=True) == [bos, *tokens]
    assert harness.tok_encode("The sea") == harness.tok_encode("The sea", add_special_tokens=True) == [bos, *tokens]
    assert harness.tok_encode("The sea", add_special_tokens=False) == tokens
    assert harness.tok_encode(model.detokenize([bos]) + "The sea") == [bos, *tokens]


def test_rolling_log_likelihood_does_not_depend_on_windows(model):
    text = model.generate("Once upon a time", max_tokens=60, seed=1).text
    whole, = InfernoLM(model).loglikelihood_rolling(requests("loglikelihood_rolling", (text,)))
    tokens = [InfernoLM(model).prefix_token_id, *model.tokenize(text)]
    scored = model.generate(tokens, max_tokens=0, prompt_logprobs=0).prompt_logprobs
    assert whole == pytest.approx(sum(each.logprob for each in scored), rel=1e-6)
    narrow = InfernoLM(inferno.Model(device="cpu", context=32))
    assert narrow.loglikelihood_rolling(requests("loglikelihood_rolling", (text,)))[0] < 0


def test_continuations_that_cannot_be_scored_are_rejected(model):
    harness = InfernoLM(inferno.Model(device="cpu", context=32))
    context, longest = [5] * 40, [6] * 30
    (score, _), = harness._loglikelihood_tokens([(("", ""), context, longest)])
    assert score < 0
    for pair in [(context, []), (context, [*longest, 6]), ([], [6])]:
        with pytest.raises(inferno.InvalidRequestError, match="a continuation must have from 1 to 30 tokens"):
            harness._loglikelihood_tokens([(("", ""), *pair)])


def test_generation_ends_before_a_stop_string(model):
    arguments = ("Once upon a time", {"until": ["."], "max_gen_toks": 60, "do_sample": False})
    text, = InfernoLM(model).generate_until(requests("generate_until", arguments))
    expected = model.generate(model.tokenize("Once upon a time", add_special=True), max_tokens=60, temperature=0).text
    assert text == expected.split(".")[0]


def generated(model, **arguments):
    text, = InfernoLM(model).generate_until(requests("generate_until", ("Once upon a time", arguments)))
    return text


def test_generation_arguments_are_passed_on_or_rejected(model):
    tokens = model.tokenize("Once upon a time")
    greedy = model.generate(tokens, max_tokens=20, temperature=0).text
    assert generated(model, max_gen_toks=20, do_sample=False, temperature=1, num_beams=1) == greedy
    assert generated(model, max_tokens=20, do_sample=True, temperature=2, top_k=1) == greedy
    for arguments, error in [({"num_beams": 2}, TypeError), ({"top_p": 2}, inferno.InvalidRequestError)]:
        with pytest.raises(error):
            generated(model, max_gen_toks=4, **arguments)


def test_a_context_must_have_room_before_the_answer(model):
    with pytest.raises(inferno.ContextLengthError, match="max_gen_toks must be less than the context length, 512"):
        generated(model, max_gen_toks=512)
    context = "Once upon a time" * 200
    text, = InfernoLM(model).generate_until(requests("generate_until", (context, {"max_gen_toks": 12, "do_sample": False})))
    assert text == model.generate(model.tokenize(context)[-500:], max_tokens=12, temperature=0).text


def test_chat_templates(model, evaluate):
    harness = InfernoLM(model)
    prompt = harness.apply_chat_template([{"role": "user", "content": "Who are you?"}])
    assert model.generate(prompt, max_tokens=8, temperature=0).text == model.chat(
        "Who are you?", max_tokens=8, temperature=0
    ).text
    conversation = [{"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": "I am"}]
    assert harness.apply_chat_template(conversation, add_generation_prompt=False).endswith("I am")
    with pytest.raises(inferno.InvalidRequestError, match="by name"):
        harness.chat_template("default")
    sample = evaluate(apply_chat_template=True)["samples"]["colors"][0]
    question = {"role": "user", "content": DOCUMENTS[sample["doc_id"]]["question"]}
    assert sample["arguments"][0][0] == harness.apply_chat_template([question])


def test_requests_run_within_an_event_loop(model):
    async def main():
        return generated(model, max_gen_toks=4)

    assert asyncio.run(main()) == generated(model, max_gen_toks=4)
