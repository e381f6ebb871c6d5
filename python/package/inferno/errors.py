"""Exceptions of the engine and its server, all of which are `InfernoError`s.

Arguments of the wrong type and unknown options raise `TypeError`, as everywhere in Python; a session that is in use and a model
that was loaded before a fork raise `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class InfernoError(Exception):
    """A model could not be loaded, or a request failed.

    `kind` is the name of the engine's error, such as ``"PromptTooLong"``; `fields` are its details.

    >>> import inferno
    >>> try:
    ...     inferno.Model().generate("Hello", temperature=-1)
    ... except inferno.InfernoError as error:
    ...     print(error, error.kind, error.fields["field"])
    temperature must be 0 or more, but is -1 ParamOutOfRange temperature
    """

    kind: str
    fields: Mapping[str, Any]

    def __init__(self, message: str, kind: str = "", fields: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.fields = fields or {}


class ModelFileError(InfernoError):
    """A model file is missing, damaged or not supported."""


class HubError(InfernoError):
    """A model could not be found or downloaded from the Hugging Face Hub."""


class DeviceError(InfernoError):
    """A device or backend is not available, or it failed."""


class SavedStateError(InfernoError):
    """A saved session could not be written, or does not belong to this model or to its format of the KV cache."""


class InvalidRequestError(InfernoError, ValueError):
    """A parameter or a message of a request is invalid."""


class ContextLengthError(InvalidRequestError):
    """A prompt or a requested context is longer than the model supports."""


class QueueFullError(InfernoError):
    """Too many requests are waiting or being prepared. Retry later."""


class EngineStoppedError(InfernoError):
    """The engine has stopped and accepts no more requests."""


_CLASSES_BY_CODE: dict[str, type[InfernoError]] = {
    "context_length_exceeded": ContextLengthError,
    "engine_stopped": EngineStoppedError,
    "model_file_changed": ModelFileError,
    "overloaded": QueueFullError,
    "queue_full": QueueFullError,
    "shutting_down": EngineStoppedError,
}
_SERVER_TYPES = ("server_error", "timeout_error", "not_supported_error")
"""The types of errors that are not those of the request."""


def api_error(status: int | None, error: Mapping[str, Any]) -> InfernoError:
    """Returns the exception for an error of the server's OpenAI API. An error within a stream has no status."""
    code, kind = error.get("code"), error.get("type")
    by_type = InfernoError if kind in _SERVER_TYPES else InvalidRequestError
    exception = _CLASSES_BY_CODE.get(str(code), by_type)
    fields = {"status": status, "param": error.get("param"), "code": code}
    return exception(str(error.get("message", "")), str(code or kind or ""), fields)
