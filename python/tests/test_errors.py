"""Errors of the server's routes as exceptions."""

import json

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
