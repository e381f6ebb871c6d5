"""A task of lm-evaluation-harness without a network. Log-likelihoods are compared with transformers."""

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


def test_a_task_is_scored_by_log_likelihood(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    (tmp_path / "colors.jsonl").write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS))
    (tmp_path / "colors.yaml").write_text(TASK % (tmp_path / "colors.jsonl"))
    results = lm_eval.simple_evaluate(
        model=InfernoLM(model), tasks=["colors"], task_manager=TaskManager(include_path=str(tmp_path)), bootstrap_iters=0
    )

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


def test_rolling_log_likelihood_does_not_depend_on_windows(model):
    text = model.generate("Once upon a time", max_tokens=60, seed=1).text
    whole, = InfernoLM(model).loglikelihood_rolling(requests("loglikelihood_rolling", (text,)))
    tokens = [InfernoLM(model).prefix_token_id, *model.tokenize(text)]
    scored = model.generate(tokens, max_tokens=0, prompt_logprobs=0).prompt_logprobs
    assert whole == pytest.approx(sum(each.logprob for each in scored), rel=1e-6)
    narrow = InfernoLM(inferno.Model(device="cpu", context=32))
    assert narrow.loglikelihood_rolling(requests("loglikelihood_rolling", (text,)))[0] < 0


def test_generation_ends_before_a_stop_string(model):
    arguments = ("Once upon a time", {"until": ["."], "max_gen_toks": 60, "do_sample": False})
    text, = InfernoLM(model).generate_until(requests("generate_until", arguments))
    expected = model.generate(model.tokenize("Once upon a time", add_special=True), max_tokens=60, temperature=0).text
    assert text == expected.split(".")[0]
