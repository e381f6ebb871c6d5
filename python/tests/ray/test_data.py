"""Offline inference over datasets: order, resuming, schemas and embeddings."""

import asyncio
import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import ray

import inferno
import inferno.ray
from inferno.ray.data import _Actor, _Operation

ENCODERS = Path(__file__).parents[3] / "crates/inferno-model/tests/fixtures/encoders"
ENCODER, RERANKER = str(ENCODERS / "bert.gguf"), str(ENCODERS / "bert-reranker.gguf")
LOAD = {"context": 512, "device": "cpu", "max_num_seqs": 8}
NUM_ROWS = 80


@pytest.fixture(scope="module")
def model():
    return inferno.Model(context=512, device="cpu")


@pytest.fixture
def prompts(cluster, tmp_path):
    """Rows with an id and a prompt each, in a file of JSON lines."""
    file = tmp_path / "prompts.jsonl"
    rows = [{"id": index, "prompt": f"Tom had {index} apples"} for index in range(NUM_ROWS)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ray.data.read_json(str(file))


def test_rows_keep_their_order_and_are_what_the_model_generates(prompts, model):
    result = inferno.ray.generate(prompts, num_actors=2, load=LOAD, num_cpus=0.5, max_tokens=6, temperature=0)
    rows = result.take_all()
    assert [row["id"] for row in rows] == list(range(NUM_ROWS))
    expected = model.generate([row["prompt"] for row in rows], max_tokens=6, temperature=0)
    assert [row["text"] for row in rows] == [completion.text for completion in expected]
    assert [row["text_finish_reason"] for row in rows] == [each.finish_reason for each in expected]


def test_a_job_resumes(prompts, tmp_path):
    folder = tmp_path / "answers"
    options = {"load": LOAD, "num_cpus": 0.5, "max_tokens": 4, "temperature": 0}
    first = inferno.ray.remaining(prompts, str(folder)).limit(30)
    inferno.ray.generate(first, **options).write_parquet(str(folder))
    # A job that was killed while it wrote a file.
    (written, *_) = sorted(folder.glob("*.parquet"))
    (folder / "half.parquet").write_bytes(written.read_bytes()[:-20])
    todo = inferno.ray.remaining(prompts, str(folder))
    assert todo.count() == NUM_ROWS - 30
    assert (folder / "_incomplete_half.parquet").exists()
    inferno.ray.generate(todo, **options).write_parquet(str(folder))
    rows = ray.data.read_parquet(str(folder)).sort("id").take_all()
    assert [row["id"] for row in rows] == list(range(NUM_ROWS))
    assert all(isinstance(row["text"], str) for row in rows)
    assert inferno.ray.remaining(prompts, str(folder)).count() == 0


@pytest.mark.parametrize("keys", [["2024-01-01", "2024-01-02", "x"], [1, 2, 3], [1.5, 2.0, 3.0], [True, False, None]])
def test_rows_in_files_of_json_are_found(cluster, tmp_path, keys):
    rows = [{"id": key, "text": "x"} for key in keys]
    # Read by itself, the first file would have keys of another type than the second.
    for number, written in enumerate([rows[:1], rows[1:2]]):
        ray.data.from_items(written).write_json(str(tmp_path / str(number)))
    todo = inferno.ray.remaining(ray.data.from_items(rows), str(tmp_path)).take_all()
    assert [row["id"] for row in todo] == keys[2:]


def test_timestamps_in_files_are_found(cluster, tmp_path):
    days = [datetime(2024, 1, day) for day in (1, 2, 3)]
    ray.data.from_items([{"id": days[0]}]).write_json(str(tmp_path / "json"))
    ray.data.from_items([{"id": days[1]}]).write_parquet(str(tmp_path / "parquet"))
    todo = inferno.ray.remaining(ray.data.from_items([{"id": day} for day in days]), str(tmp_path)).take_all()
    assert [row["id"] for row in todo] == days[2:]


def test_a_file_of_json_is_incomplete_if_its_last_row_is(cluster, tmp_path):
    complete = json.dumps({"text": "x" * (3 << 20), "id": "1"}) + "\n\n" + json.dumps({"id": "2"}) + "\n"
    (tmp_path / "complete.json").write_text(complete)
    (tmp_path / "half.jsonl").write_text(json.dumps({"id": "3"}) + '\n{"id": "4"')
    (tmp_path / "list.json").write_text('["id"]')
    rows = ray.data.from_items([{"id": str(number)} for number in (1, 2, 3)])
    assert inferno.ray.remaining(rows, str(tmp_path)).take_all() == [{"id": "3"}]
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "_incomplete_half.jsonl",
        "_incomplete_list.json",
        "complete.json",
    ]


def test_large_numbers_in_json_are_found(cluster, tmp_path):
    keys = [(1 << 64) - 1, (1 << 64) - 2]
    (tmp_path / "one.json").write_text(json.dumps({"id": keys[0]}) + "\n")
    rows = ray.data.from_arrow(pa.table({"id": pa.array(keys, pa.uint64())}))
    assert inferno.ray.remaining(rows, str(tmp_path)).take_all() == [{"id": keys[1]}]


def test_keys_of_files_with_other_types_are_found(cluster, tmp_path):
    for number, type_ in enumerate([pa.int32(), pa.int64(), pa.string(), pa.large_string()]):
        pa.parquet.write_table(pa.table({"id": pa.array([number]).cast(type_)}), tmp_path / f"{number}.parquet")
    pa.parquet.write_table(pa.table({"id": pa.array([b"\xff\xfe"], pa.binary(2))}), tmp_path / "bytes.parquet")
    rows = [{"id": number} for number in range(5)]
    assert inferno.ray.remaining(ray.data.from_items(rows), str(tmp_path)).take_all() == rows[4:]
    others = ray.data.from_items([{"id": b"\xff\xfe"}, {"id": b"\xff\xff"}])
    assert inferno.ray.remaining(others, str(tmp_path)).take_all() == [{"id": b"\xff\xff"}]


def test_a_folder_without_the_keys_is_an_error(prompts, tmp_path):
    pa.parquet.write_table(pa.table({"text": ["x"]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="x.parquet has no column 'id', only text"):
        inferno.ray.remaining(prompts, str(tmp_path))
    (tmp_path / "x.parquet").unlink()
    (tmp_path / "x.json").write_text('{"text": "x"}\n')
    with pytest.raises(ValueError, match="x.json has no column 'id', only text"):
        inferno.ray.remaining(prompts, str(tmp_path))


def test_conversations_are_answered_under_a_schema(cluster, model):
    schema = {"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}
    messages = [
        [{"role": "user", "content": "Is a dog good?"}],
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Is rain good?"}],
    ]
    dataset = ray.data.from_items([{"messages": each} for each in messages])
    options = {"json_schema": schema, "temperature": 0, "enable_thinking": False}
    rows = inferno.ray.chat(dataset, load=LOAD, num_cpus=0.5, **options).take_all()
    assert [row["answer"] for row in rows] == [model.chat(each, **options).text for each in messages]
    assert all(isinstance(json.loads(row["answer"])["good"], bool) for row in rows)


def test_texts_are_embedded(cluster, model):
    texts = [f"a small animal, number {index}" for index in range(20)]
    dataset = ray.data.from_items([{"text": text} for text in texts])
    rows = inferno.ray.embed(dataset, load=LOAD, num_cpus=0.5).take_all()
    assert np.array_equal(np.stack([row["embedding"] for row in rows]), model.embed(texts))


def test_invalid_rows_are_reported_in_a_column_or_end_the_job(cluster):
    dataset = ray.data.from_items([{"prompt": "Once"}, {"prompt": "word " * 2000}, {"prompt": None}])
    options = {"load": LOAD, "num_cpus": 0.5, "max_tokens": 2}
    rows = inferno.ray.generate(dataset, errors="error", **options).take_all()
    assert [row["error"] is None for row in rows] == [True, False, False]
    assert "tokens" in rows[1]["error"] and "no value" in rows[2]["error"]
    assert rows[0]["text"] and rows[1]["text"] is None
    with pytest.raises(Exception, match="inferno.errors"):
        inferno.ray.generate(dataset, **options).take_all()


@pytest.mark.parametrize(
    ("kind", "valid", "invalid"),
    [
        ("generate", ["Once", [1, 2]], [5, [1, -1], [1, None], [1, 1 << 40], [1.5], ["a"], True, b"ab", {"a": 1}]),
        ("embed", ["Once", [1, 2]], [5, [1, -1], [1, None], ["a", "b"], b"ab", []]),
        ("chat", ["Hi"], [5, {"role": "user"}, [1], [{"role": "user", "content": b"a"}], [{"role": "user"}]]),
    ],
)
def test_inputs_of_other_types_are_invalid_rows(kind, valid, invalid):
    options = {} if kind == "embed" else {"max_tokens": 1}

    def results(inputs, errors):
        actor = _Actor(None, LOAD, _Operation(kind, "input", "output", errors, options))
        # A column of Arrow has one type, but each of these occurs in one.
        compute = actor._generate if kind == "generate" else lambda values: asyncio.run(actor._answer(values))
        return compute(inputs)

    found = results(valid + invalid, "error")
    assert ["error" in result for result in found] == [False] * len(valid) + [True] * len(invalid)
    for value in invalid:
        with pytest.raises(inferno.InvalidRequestError):
            results([value], None)


@pytest.mark.parametrize(
    ("compute", "model", "options", "message"),
    [
        (inferno.ray.generate, None, {"temprature": 1}, "temprature"),
        (inferno.ray.generate, None, {"temperature": -1}, "temperature must be 0 or more"),
        (inferno.ray.generate, ENCODER, {}, "computes embeddings, not text"),
        (inferno.ray.chat, None, {"temperature": -1}, "temperature"),
        (inferno.ray.chat, None, {"tool_choice": "required"}, "tool"),
        (inferno.ray.embed, RERANKER, {}, "scores of a classifier"),
    ],
)
def test_invalid_options_end_the_job(cluster, compute, model, options, message):
    column = {"prompt": "Once", "messages": "Once", "text": "Once"}
    load = {"device": "cpu", "max_num_seqs": 8}
    result = compute(ray.data.from_items([column]), model, output="result", errors="error", load=load, num_cpus=0.5, **options)
    with pytest.raises(Exception, match=message):
        result.take_all()


def test_small_blocks_are_combined_to_large_batches(cluster):
    rows = [{"prompt": f"Number {index}"} for index in range(70)]
    dataset = ray.data.from_items(rows, override_num_blocks=35)
    result = inferno.ray.generate(dataset, load=LOAD, num_cpus=0.5, max_tokens=2)
    batches = result.iter_batches(batch_size=None)
    # Four times as many rows as the engine computes at once.
    assert [len(batch["text"]) for batch in batches] == [32, 32, 6]


@pytest.mark.parametrize(
    ("compute", "columns", "options", "name"),
    [
        (inferno.ray.generate, ["prompt", "text"], {}, "text"),
        (inferno.ray.chat, ["messages", "answer_finish_reason"], {}, "answer_finish_reason"),
        (inferno.ray.embed, ["text", "embedding"], {}, "embedding"),
        (inferno.ray.generate, ["prompt"], {"output": "x", "errors": "x_finish_reason"}, "x_finish_reason"),
    ],
)
def test_an_added_column_that_exists_already_is_an_error(cluster, compute, columns, options, name):
    dataset = ray.data.from_items([dict.fromkeys(columns, "Once")])
    with pytest.raises(ValueError, match=f"the column '{name}' exists already"):
        compute(dataset, load=LOAD, num_cpus=0.5, **options)


def test_an_actor_finds_added_columns_that_exist_already():
    actor = _Actor(None, LOAD, _Operation("generate", "prompt", "text", None, {"max_tokens": 1}))
    with pytest.raises(ValueError, match="the column 'text' exists already"):
        actor(pa.table({"prompt": ["Once"], "text": ["upon"]}))


def test_actors_that_leave_no_core_for_reading_cause_a_warning(cluster):
    dataset = ray.data.from_items([{"prompt": "One"}])
    with pytest.warns(RuntimeWarning, match="reserve 1.5 of the cluster's 2 cores") as warned:
        inferno.ray.generate(dataset, load=LOAD, num_actors=3, num_cpus=0.5)
    assert warned[0].filename == __file__


def test_rows_of_an_actor_are_computed_together():
    actor = _Actor(None, LOAD, _Operation("generate", "prompt", "text", None, {"max_tokens": 100, "ignore_eos": True}))
    batch = pa.table({"prompt": [f"Number {index}" for index in range(32)]})
    assert actor(batch).column_names == ["prompt", "text", "text_finish_reason"]
    metrics = actor._engine.metrics()
    # One request after another would need a pass for each token.
    assert metrics["steps"] < metrics["generation_tokens"] / 4
