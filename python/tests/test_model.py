"""Models in plain threads."""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import inferno

PROMPT = "Once upon a time"


def stories():
    """Prompts with their continuations by transformers in float32."""
    fixtures = Path(__file__).parents[2] / "crates/inferno/tests/fixtures/ember"
    return json.loads((fixtures / "greedy.json").read_text())["stories"]


@pytest.mark.parametrize("story", stories()[:3], ids=lambda story: story["prompt"][:20])
def test_generations_are_those_of_transformers(model, story):
    completion = model.generate(story["prompt"], max_tokens=story["max_tokens"], temperature=0)
    assert completion.text == story["text"]
    assert completion.usage.prompt_tokens == len(story["prompt_tokens"])


def test_a_closed_model_serves_no_more_requests():
    with inferno.Model(context=256) as model:
        session = model.session()
    with pytest.raises(inferno.EngineStoppedError, match="the model is closed"):
        model.generate(PROMPT)
    assert repr(model) == "<inferno.Model, closed>"
    model.close()
    # A session still uses it.
    assert session.generate(PROMPT, max_tokens=1).usage.completion_tokens == 1


def test_logits_and_perplexity_are_those_of_transformers():
    """A small model with random weights, computed in float32."""
    fixtures = Path(__file__).parents[2] / "crates/inferno/tests/fixtures"
    reference = json.loads((fixtures / "qwen3.json").read_text())
    model = inferno.Model(fixtures / "qwen3.gguf", device="cpu", kv_dtype="f32")
    assert model.name == "qwen3"
    assert model.tokenize(reference["prompt"]) == reference["prompt_tokens"]
    logits, expected = model.logits(reference["prompt"]), np.array(reference["last_logits"])
    assert np.abs(logits[-1] - expected).max() <= 1e-4 * np.abs(expected).max()
    assert logits.argmax(1).tolist() == reference["argmax"]
    perplexity = model.perplexity(reference["text"], window=reference["window"])
    assert perplexity == pytest.approx(reference["perplexity"], rel=1e-4)


@pytest.mark.skipif("INFERNO_ORACLE" not in os.environ, reason="INFERNO_ORACLE is not set")
@pytest.mark.parametrize("name", ["llama", "mixtral", "gemma3", "mamba2", "nemotron"])
def test_logits_of_other_architectures_are_those_of_transformers(name):
    folder = Path(os.environ["INFERNO_ORACLE"]) / "logits"
    reference = json.loads((folder / f"{name}.json").read_text())
    model = inferno.Model(folder / f"{name}.gguf", device="cpu", kv_dtype="f32")
    logits, expected = model.logits(reference["tokens"]), np.array(reference["logits"])
    assert logits.shape == expected.shape
    assert np.abs(logits - expected).max() <= 1e-4 * np.abs(expected).max()


def test_chunks_make_up_the_completion(model):
    options = {"max_tokens": 20, "temperature": 0.8, "seed": 7, "logprobs": 2}
    completion = model.generate(PROMPT, **options)
    chunks = list(model.stream(PROMPT, **options))
    assert "".join(chunk.text for chunk in chunks) == completion.text
    assert [chunk.token for chunk in chunks if chunk.token is not None] == completion.tokens
    assert chunks[-1].finish_reason == completion.finish_reason == "length"
    assert completion.usage.completion_tokens == len(completion.tokens) == len(completion.logprobs) == 20
    assert completion.seed == 7
    for token, logprob in zip(completion.tokens, completion.logprobs):
        assert logprob.token == token and logprob.logprob <= 0 and len(logprob.top) == 2


def test_many_prompts_are_answered_in_order(model):
    prompts = [f"{number} birds" for number in range(40)]
    together = model.generate(prompts, max_tokens=5, temperature=0)
    for prompt, completion in zip(prompts[::13], together[::13]):
        assert completion.tokens == model.generate(prompt, max_tokens=5, temperature=0).tokens


def test_tokens_are_a_prompt_as_well(model):
    tokens = model.tokenize(PROMPT, add_special=True)
    assert model.detokenize(tokens, skip_special=True).strip() == PROMPT
    by_tokens, by_text = (model.generate(prompt, max_tokens=8, temperature=0) for prompt in (tokens, PROMPT))
    assert by_tokens.text == by_text.text


def test_output_can_be_constrained(model):
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    for options, pattern in [
        ({"regex": "[0-9]{3}"}, r"^[0-9]{3}$"),
        ({"choice": ["red", "blue"]}, "^(red|blue)$"),
        ({"grammar": 'root ::= "a" "b"'}, "^ab$"),
    ]:
        assert re.search(pattern, model.generate("It is ", seed=1, **options).text)
    text = model.generate("A person: ", json_schema=schema, seed=1, max_tokens=100).text
    assert isinstance(json.loads(text)["age"], int)
    assert model.generate("A person: ", json_schema=json.dumps(schema), seed=1, max_tokens=100).text == text


def test_logits_are_those_that_generation_selects_from(model):
    completion = model.generate(PROMPT, max_tokens=1, temperature=0, logprobs=1)
    logits = model.logits(PROMPT)
    assert logits.dtype == np.float32 and logits.shape[1] == model.vocab_size
    assert logits[-1].argmax() == completion.tokens[0]
    assert np.array_equal(model.logits(PROMPT, last=True), logits[-1])
    shifted = logits[-1].astype(np.float64) - logits[-1].max()
    logprob = -np.log(np.exp(shifted).sum())
    assert completion.logprobs[0].logprob == pytest.approx(logprob, abs=1e-5)


def test_prompt_logprobs_are_the_log_softmax_of_logits(model):
    tokens = model.tokenize(PROMPT, add_special=True)
    logits = model.logits(tokens).astype(np.float64)
    shifted = logits - logits.max(1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    scored = model.generate(tokens, max_tokens=0, prompt_logprobs=1)
    assert scored.tokens == [] and len(scored.prompt_logprobs) == len(tokens) - 1
    for position, logprob in enumerate(scored.prompt_logprobs):
        assert logprob.token == tokens[position + 1]
        assert logprob.logprob == pytest.approx(log_softmax[position, logprob.token], abs=1e-5)
        assert logprob.top[0][0] == logits[position].argmax()


def test_embeddings_have_unit_length_and_do_not_depend_on_the_batch(model):
    texts = ["a small boy", "a small girl", "the sea"]
    rows = model.embed(texts)
    assert rows.shape == (3, model.embedding_size)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert np.array_equal(rows[1], model.embed(texts[1]))


def test_arrays_need_no_numpy(model, monkeypatch):
    expected = model.embed(["the sea"])
    monkeypatch.setitem(sys.modules, "numpy", None)
    rows = model.embed(["the sea"])
    assert isinstance(rows, memoryview) and rows.shape == expected.shape
    assert rows.tolist() == expected.tolist()


def test_drafts_change_no_output(model):
    drafting = inferno.Model(device="cpu", context=256, draft_model="ember", draft_max=4, draft_min=3)
    for temperature in (0, 0.8):
        options = {"max_tokens": 60, "temperature": temperature, "seed": 5, "ignore_eos": True}
        assert drafting.generate(PROMPT, **options).text == model.generate(PROMPT, **options).text
    with pytest.raises(inferno.InvalidRequestError, match="require draft_model or draft_head"):
        inferno.Model(draft_max=4)
    with pytest.raises(inferno.InvalidRequestError, match="not both"):
        inferno.Model(draft_model="ember", draft_head=True)
    with pytest.raises(inferno.InfernoError, match="no prediction head"):
        inferno.Model(draft_head=True)


def test_perplexity_is_that_of_the_command(model, tmp_path):
    text = " ".join(model.generate(PROMPT, max_tokens=100, seed=seed).text for seed in range(2))
    (tmp_path / "text").write_text(text)
    command = [sys.executable, "-m", "inferno", "perplexity", "--context", "64", "--stride", "32", "--device", "cpu"]
    output = subprocess.run([*command, tmp_path / "text"], capture_output=True, text=True, check=True).stdout
    expected = json.loads(output)["perplexity"]
    assert model.perplexity(text, window=64, stride=32) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(inferno.InvalidRequestError, match="a window requires 511"):
        model.perplexity("short")
    assert math.isfinite(expected)


@pytest.mark.parametrize(
    ("options", "error", "kind", "fields"),
    [
        ({"temperature": -1}, inferno.InvalidRequestError, "ParamOutOfRange", {"field": "temperature", "value": -1}),
        ({"max_tokens": 0}, inferno.InvalidRequestError, "MaxTokensZero", {}),
        ({"stop_token_ids": [1 << 20]}, inferno.InvalidRequestError, "TokenOutOfRange", {"token": 1 << 20}),
        ({"regex": "("}, inferno.InvalidRequestError, "", {}),
        ({"regex": "a", "choice": ["b"]}, inferno.InvalidRequestError, "Argument", {}),
        ({"choice": []}, inferno.InvalidRequestError, "", {}),
        ({"json_schema": [1]}, inferno.InvalidRequestError, "", {}),
        ({"json_schema": "person.json"}, inferno.InvalidRequestError, "Argument", {}),
        ({"timeout": -1}, inferno.InvalidRequestError, "Argument", {}),
        ({"max_tokens": -1}, inferno.InvalidRequestError, "Argument", {}),
        ({"seed": -1}, inferno.InvalidRequestError, "Argument", {}),
        ({"top_k": -2}, inferno.InvalidRequestError, "Argument", {}),
        ({"logit_bias": {-1: 1}}, inferno.InvalidRequestError, "Argument", {}),
        ({"temprature": 1}, TypeError, None, {}),
        ({"max_tokens": "many"}, TypeError, None, {}),
    ],
)
def test_invalid_requests_are_rejected_with_fields(model, options, error, kind, fields):
    with pytest.raises(error) as raised:
        model.generate(PROMPT, **options)
    if kind is not None:
        assert kind in ("", raised.value.kind)
        assert fields.items() <= raised.value.fields.items()


@pytest.mark.parametrize("token", [-1, 1 << 32])
def test_tokens_out_of_range_are_rejected(model, token):
    for call in (model.generate, model.embed, model.logits, model.detokenize, model.session().generate):
        with pytest.raises(inferno.InvalidRequestError, match="token ids must be from 0 to 4294967295"):
            call([token])


@pytest.mark.parametrize("prompt", [b"Once", bytearray(b"Once"), None, 7])
def test_prompts_of_other_types_are_rejected(model, prompt):
    with pytest.raises(TypeError, match="a prompt is a text or a list of token ids, not"):
        model.generate(prompt)


def test_a_top_k_of_minus_1_selects_from_all_tokens(model):
    off, zero = (model.generate(PROMPT, max_tokens=20, seed=3, top_k=k).tokens for k in (-1, 0))
    assert off == zero


def test_an_empty_list_has_no_results(model, monkeypatch):
    assert model.generate([]) == []
    assert model.embed([]).shape == (0, model.embedding_size)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert len(model.embed([])) == 0


def test_a_prompt_that_is_too_long_reports_both_lengths(model):
    with pytest.raises(inferno.ContextLengthError) as raised:
        model.generate([1] * 600)
    assert raised.value.fields["prompt_tokens"] == 600
    assert raised.value.fields["context_length"] == 512
    assert isinstance(raised.value, ValueError)


def test_models_that_cannot_be_loaded_raise_exceptions(tmp_path):
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF" + bytes(20))
    for source in [tmp_path / "missing.gguf", tmp_path / "damaged.gguf"]:
        with pytest.raises(inferno.ModelFileError, match="gguf") as raised:
            inferno.Model(source)
        assert raised.value.fields["path"] == str(source)
    with pytest.raises(inferno.HubError):
        inferno.Model("hf:not a repository")
    with pytest.raises(inferno.InvalidRequestError, match="unknown device"):
        inferno.Model(device="no such device")
    with pytest.raises(inferno.ContextLengthError):
        inferno.Model(context=1 << 20)
    with pytest.raises(TypeError, match="unknown argument"):
        inferno.Model(contxt=1)


def test_closing_a_stream_cancels_the_request(model):
    chunks = model.stream(PROMPT, ignore_eos=True)
    next(chunks)
    chunks.close()
    deadline = time.monotonic() + 10
    while model.metrics()["num_running"] > 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def num_steps_of_a_long_prompt(**options) -> int:
    """Returns the number of steps that compute a long prompt while a stream is running."""
    model = inferno.Model(device="cpu", prefix_cache=False, **options)
    with contextlib.closing(model.stream(PROMPT, ignore_eos=True)) as chunks:
        next(chunks)
        before = model.metrics()["steps"]
        model.generate([2] * 900, max_tokens=1)
        return model.metrics()["steps"] - before


def test_a_long_prompt_is_split_while_a_stream_is_running():
    assert num_steps_of_a_long_prompt(target_itl=1) > 2 * num_steps_of_a_long_prompt(target_itl=0)
    with pytest.raises(inferno.InvalidRequestError, match="target_itl must be between 0 and 60000"):
        inferno.Model(target_itl=60_001)


def test_threads_generate_together(model):
    expected = model.generate(PROMPT, max_tokens=30, temperature=0).text
    texts = []
    threads = [
        threading.Thread(target=lambda: texts.append(model.generate(PROMPT, max_tokens=30, temperature=0).text))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [expected] * 8


def test_other_threads_run_while_the_model_computes(model):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.monotonic()
    model.generate(PROMPT, max_tokens=300, ignore_eos=True)
    took = time.monotonic() - started
    stop.set()
    thread.join()
    assert len(ticks) > 5 and max(b - a for a, b in zip(ticks, ticks[1:])) < max(0.5, took / 2)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_interrupts_a_generation(model):
    # A process that a shell started in the background ignores the signal.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            model.generate(PROMPT, max_tokens=400, ignore_eos=True)
    timer.join()
    signal.signal(signal.SIGINT, previous)
    assert model.generate(PROMPT, max_tokens=2).usage.completion_tokens == 2


def test_the_command_runs_in_this_process(tmp_path):
    command = Path(sys.executable).parent / "inferno"
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.strip() == f"inferno {inferno.__version__}"
    arguments = ["generate", "--greedy", "-n", "5", "--device", "cpu", PROMPT]
    output = subprocess.run([command, *arguments], capture_output=True, text=True, check=True).stdout
    assert output.strip()
    failed = subprocess.run([command, "inspect", tmp_path / "missing.gguf"], capture_output=True, text=True)
    assert failed.returncode == 1 and "missing.gguf" in failed.stderr


def test_gpus_are_listed():
    assert all({"index", "name", "api"} <= gpu.keys() for gpu in inferno.devices())
