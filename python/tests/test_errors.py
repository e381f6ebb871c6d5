"""Errors as exceptions."""

import json
import re
from pathlib import Path

import pytest

import inferno
from inferno.chat import read_chunks, read_completion

CASES = [
    ("context_length_exceeded", "invalid_request_error", 400, inferno.ContextLengthError),
    ("invalid_grammar", "invalid_request_error", 400, inferno.InvalidRequestError),
    ("queue_full", "rate_limit_error", 429, inferno.QueueFullError),
    ("overloaded", "server_error", 503, inferno.QueueFullError),
    ("engine_stopped", "server_error", 503, inferno.EngineStoppedError),
    ("shutting_down", "server_error", 503, inferno.EngineStoppedError),
    ("model_file_changed", "server_error", 503, inferno.ModelFileError),
    (None, "server_error", 500, inferno.InfernoError),
    (None, "timeout_error", 504, inferno.InfernoError),
    (None, "not_found_error", 404, inferno.InvalidRequestError),
]


class Response:
    """A response of the server."""

    def __init__(self, *parts):
        self._parts = iter(parts)

    def next(self):
        return next(self._parts, None)

    def close(self):
        pass


@pytest.mark.parametrize(("code", "kind", "status", "exception"), CASES)
def test_the_code_and_the_type_of_an_error_select_the_exception(code, kind, status, exception):
    body = json.dumps({"error": {"message": "failed", "type": kind, "param": None, "code": code}}).encode()
    for call, parts, found_status in [
        (read_completion, [(status, []), body], status),
        (lambda response: list(read_chunks(response)), [(status, []), body], status),
        (lambda response: list(read_chunks(response)), [(200, []), b"data: " + body + b"\n\n"], None),
    ]:
        with pytest.raises(inferno.InfernoError, match="failed") as raised:
            call(Response(*parts))
        assert type(raised.value) is exception
        assert raised.value.kind == (code or kind)
        assert raised.value.fields == {"status": found_status, "param": None, "code": code}


CHUNK = b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n'


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (read_completion, []),
        (read_completion, [(200, []), b'{"choices": [']),
        (read_completion, [(503, []), b'{"error"']),
        (lambda response: list(read_chunks(response)), []),
        (lambda response: list(read_chunks(response)), [(200, []), CHUNK]),
        (lambda response: list(read_chunks(response)), [(503, []), b'{"error"']),
    ],
)
def test_an_answer_that_is_cut_off_is_an_error(call, parts):
    with pytest.raises(inferno.EngineStoppedError, match="stopped before its answer was complete") as raised:
        call(Response(*parts))
    assert raised.value.kind == "EngineStopped"


def test_a_stream_with_its_end_is_complete():
    assert [chunk.text for chunk in read_chunks(Response((200, []), CHUNK, b"data: [DONE]\n\n"))] == ["Hi"]


def test_every_error_of_the_engine_has_a_class():
    source = Path(__file__).parents[1] / "src/errors.rs"
    engine = Path(__file__).parents[2] / "crates/inferno-engine/src/error.rs"
    (variants,) = re.findall(r"pub enum EngineError \{(.*?)\n\}", engine.read_text(), re.DOTALL)
    names = re.findall(r"^    (\w+)(?: \{|\(|,)", variants, re.MULTILINE)
    (matched,) = re.findall(r"fn engine_class(.*?)\n\}", source.read_text(), re.DOTALL)
    assert len(names) > 40
    assert sorted(names) == sorted(re.findall(r"EngineError::(\w+)", matched))


def overcommits() -> bool:
    """Returns whether Linux provides any amount of memory, until it is used."""
    setting = Path("/proc/sys/vm/overcommit_memory")
    return setting.exists() and setting.read_text().strip() == "1"


@pytest.mark.skipif(overcommits(), reason="the system does not refuse memory")
@pytest.mark.parametrize(
    ("options", "kind"),
    [({"max_num_batched_tokens": 1 << 36}, "Model"), ({"kv_cache_tokens": 1 << 36}, "Backend")],
)
def test_no_memory_for_activations_or_the_cache_is_an_error_of_the_device(options, kind):
    with pytest.raises(inferno.DeviceError, match="not enough memory") as raised:
        inferno.Model(device="cpu", **options)
    assert raised.value.kind == kind


def test_a_folder_without_a_checkpoint_is_an_error_of_the_file(tmp_path):
    with pytest.raises(inferno.ModelFileError, match=r"config\.json not found"):
        inferno.Model(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "cpu", "gpu_layers": 3}, "the parallel backend does not support gpu_layers; remove it"),
        ({"device": "reference", "threads": 2}, "the reference backend does not support threads; remove it"),
    ],
)
def test_messages_name_arguments_instead_of_options_of_the_command(options, message):
    with pytest.raises(inferno.DeviceError, match=message) as raised:
        inferno.Model(**options)
    assert "--" not in str(raised.value)
