"""lm-evaluation-harness and guidellm against the server, without data or tokenizers from a hub."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

URL = os.environ["INFERNO_URL"]
KEY = os.environ["INFERNO_KEY"]
FIXTURES = Path(__file__).parents[4] / "inferno/tests/fixtures/ember"
ENVIRONMENT = {
    "PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY, "GUIDELLM__OPENAI__API_KEY": KEY,
    "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
}

STORY = json.loads((FIXTURES / "greedy.json").read_text())["stories"][0]
CHAT = json.loads((FIXTURES / "chat.json").read_text())["conversations"][0]


def run(program, *arguments, folder):
    program = Path(sys.executable).parent / program
    done = subprocess.run(
        [program, *map(str, arguments)], cwd=folder, env=ENVIRONMENT | {"HOME": str(folder)},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def evaluate(folder, model, task, documents, *, tokenizer="None", flags=()):
    """Returns the results of one task of lm-evaluation-harness."""
    (folder / "documents.jsonl").write_text("\n".join(map(json.dumps, documents)))
    task = {
        "task": "own", "dataset_path": "json", "test_split": "test",
        "dataset_kwargs": {"data_files": {"test": str(folder / "documents.jsonl")}}, "doc_to_text": "{{prompt}}",
    } | task
    (folder / "own.yaml").write_text(json.dumps(task))
    endpoint = "chat/completions" if "chat" in model else "completions"
    options = f"model=ember,base_url={URL}/v1/{endpoint},tokenizer_backend={tokenizer},auth_token={KEY}"
    options += ",num_concurrent=2,max_retries=1,max_length=512"
    run("lm_eval", "run", "--model", model, "--model_args", options, "--tasks", "own", "--include_path", folder,
        "--output_path", folder / "results.json", *flags, folder=folder)
    report, = folder.glob("results*.json")
    return json.loads(report.read_text())["results"]["own"]


@pytest.mark.parametrize("tokenizer", ["None", "remote"])
def test_lm_eval_completions(tmp_path, tokenizer):
    task = {
        "output_type": "generate_until", "doc_to_target": "{{text}}",
        "generation_kwargs": {"until": ["\u0000"], "max_gen_toks": STORY["max_tokens"], "temperature": 0},
        "metric_list": [{"metric": "exact_match"}],
    }
    found = evaluate(tmp_path, "local-completions", task, [STORY], tokenizer=tokenizer)
    assert found["exact_match,none"] == 1.0, found


def test_lm_eval_log_probabilities(tmp_path):
    # The words that greedy decoding chooses, and the same words in reverse order.
    words = STORY["text"].split(" ")[:4]
    document = {"prompt": STORY["prompt"], "choices": [" ".join(words), " ".join(reversed(words))]}
    task = {
        "output_type": "multiple_choice", "doc_to_choice": "{{choices}}", "doc_to_target": 0, "target_delimiter": "",
        "metric_list": [{"metric": "acc"}],
    }
    found = evaluate(tmp_path, "local-completions", task, [document], tokenizer="remote")
    assert found["acc,none"] == 1.0, found


def test_lm_eval_rolling_log_likelihood(tmp_path):
    task = {
        "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}",
        "metric_list": [{"metric": "word_perplexity"}],
    }
    found = evaluate(tmp_path, "local-completions", task, [STORY], tokenizer="remote")
    assert 1 < found["word_perplexity,none"] < math.inf, found


def test_lm_eval_chat(tmp_path):
    question = {"prompt": CHAT["request"]["messages"][0]["content"], "text": CHAT["text"]}
    task = {
        "output_type": "generate_until", "doc_to_target": "{{text}}",
        "generation_kwargs": {
            "until": [], "max_gen_toks": 60, "temperature": 0, "chat_template_kwargs": {"enable_thinking": False},
        },
        "metric_list": [{"metric": "exact_match"}],
    }
    found = evaluate(tmp_path, "local-chat-completions", task, [question], flags=["--apply_chat_template"])
    assert found["exact_match,none"] == 1.0, found


@pytest.mark.parametrize("route", ["text_completions", "chat_completions"])
def test_guidellm(tmp_path, route, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "GUIDELLM__PREFERRED_ROUTE", route)
    lines = [{"prompt": f"Story {number}: once upon a time", "output_tokens": 8} for number in range(6)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    run("guidellm", "benchmark", "run", "--target", URL, "--data", tmp_path / "prompts.jsonl",
        "--rate-type", "concurrent", "--rate", "2", "--max-requests", "6", "--disable-progress",
        "--output-path", tmp_path / "report.json", folder=tmp_path)
    benchmark, = json.loads((tmp_path / "report.json").read_text())["benchmarks"]
    requests = benchmark["requests"]
    assert len(requests["successful"]) == 6 and not requests["errored"], requests
    for request in requests["successful"]:
        assert (request["output_tokens"], request["first_token_time"] is not None) == (8, True), request
