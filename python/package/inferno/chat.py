"""Chat completions: conversations in OpenAI's format, answered by the server's route in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from ._inferno import Response, Usage
from .errors import EngineStoppedError, api_error
from .json_text import to_json
from .streams import read, read_async

Messages = Union[str, Sequence[Mapping[str, Any]]]
"""A message of the user, or messages in OpenAI's format, the oldest first."""


PATH = "/v1/chat/completions"
TEMPLATE_PATH = "/apply-template"


@dataclass
class ToolCall:
    """A function that the model calls."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """The parsed arguments; `None` if the answer was cut off within them."""
    raw_arguments: str
    """The arguments as the model generated them, which are JSON unless they were cut off."""


@dataclass
class ToolCallDelta:
    """A part of a tool call in a stream. The strings of all parts with the same index make up the call."""

    index: int
    id: str
    name: str
    arguments: str
    """A part of the arguments, which are JSON."""


@dataclass
class ChatCompletion:
    """The answer to a conversation."""

    text: str
    """The answer, without reasoning and tool calls."""
    reasoning: str
    """The reasoning before the answer."""
    tool_calls: list[ToolCall]
    """The functions that the model calls."""
    finish_reason: str
    """`stop`, `length` or `tool_calls`."""
    usage: Usage
    """The number of tokens."""
    message: dict[str, Any] = field(repr=False)
    """The answer as a message in OpenAI's format, to append to the conversation."""
    response: dict[str, Any] = field(repr=False)
    """The whole response in OpenAI's format, with log-probabilities if they were requested."""


@dataclass
class ChatChunk:
    """A part of an answer."""

    text: str
    reasoning: str
    tool_calls: list[ToolCallDelta]
    finish_reason: str | None
    usage: Usage | None
    """The number of tokens; at the end."""
    response: dict[str, Any] = field(repr=False)
    """The whole chunk in OpenAI's format, with log-probabilities if they were requested."""


def request_body(
    messages: Messages,
    tools: Sequence[Mapping[str, Any]] | None,
    json_schema: Mapping[str, Any] | None,
    stream: bool,
    options: Mapping[str, Any],
) -> bytes:
    """Returns the body of a request. `options` are further fields of OpenAI's API."""
    if "stream" in options:
        raise TypeError("stream is not an option: chat returns a whole answer, and stream_chat yields its parts")
    if options.get("n", 1) != 1:
        raise TypeError("n must be 1: an answer has one choice")
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    body: dict[str, Any] = {"messages": list(messages), **options}
    if tools is not None:
        body["tools"] = list(tools)
    if json_schema is not None:
        if "response_format" in options:
            raise TypeError("pass json_schema or response_format, not both")
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": json_schema},
        }
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return to_json(body).encode()


def headers(body: bytes) -> list[tuple[str, bytes]]:
    """Returns the headers of a request with a JSON body."""
    return [
        ("host", b"localhost"),
        ("content-type", b"application/json"),
        ("content-length", str(len(body)).encode()),
    ]


def read_completion(response: Response) -> ChatCompletion:
    """Waits for a whole answer."""
    return _completion(_body(list(read(response))))


def read_prompt(response: Response) -> str:
    """Waits for a prompt that the chat template renders."""
    prompt: str = _body(list(read(response)))["prompt"]
    return prompt


async def read_completion_async(response: Response) -> ChatCompletion:
    """Waits for a whole answer on the event loop."""
    return _completion(_body([part async for part in read_async(response)]))


def read_chunks(response: Response) -> Iterator[ChatChunk]:
    """Yields the chunks of an answer."""
    events = _Events()
    for part in read(response):
        yield from events.add(part)
    events.finish()


async def read_chunks_async(response: Response) -> AsyncIterator[ChatChunk]:
    """Yields the chunks of an answer on the event loop."""
    events = _Events()
    parts = read_async(response)
    try:
        async for part in parts:
            for chunk in events.add(part):
                yield chunk
        events.finish()
    finally:
        await parts.aclose()  # type: ignore[attr-defined]


def _body(parts: list[Any]) -> dict[str, Any]:
    """Puts a response together, and raises the error that it reports."""
    if not parts:
        raise _cut_off()
    (status, _), *rest = parts
    body = _parsed(b"".join(rest))
    if status >= 400:
        raise api_error(status, body["error"])
    return body


def _parsed(body: bytes) -> dict[str, Any]:
    """Parses a body. The server's are JSON, unless they are cut off."""
    try:
        parsed: dict[str, Any] = json.loads(body)
    except ValueError:
        raise _cut_off() from None
    return parsed


def _cut_off() -> EngineStoppedError:
    return EngineStoppedError("the server stopped before its answer was complete", "EngineStopped")


def _completion(response: dict[str, Any]) -> ChatCompletion:
    choice = response["choices"][0]
    message: dict[str, Any] = choice["message"]
    calls = message.get("tool_calls") or []
    return ChatCompletion(
        text=message.get("content") or "",
        reasoning=message.get("reasoning_content") or "",
        tool_calls=[_tool_call(call) for call in calls],
        finish_reason=choice["finish_reason"],
        usage=_usage(response["usage"]),
        message=message,
        response=response,
    )


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    raw_arguments = call["function"]["arguments"]
    try:
        arguments = json.loads(raw_arguments)
    except json.JSONDecodeError:
        arguments = None
    return ToolCall(call["id"], call["function"]["name"], arguments, raw_arguments)


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(usage["prompt_tokens"], cached, usage["completion_tokens"])


def _chunk(event: dict[str, Any]) -> ChatChunk:
    choice = event["choices"][0] if event["choices"] else {}
    delta = choice.get("delta") or {}
    calls = [
        ToolCallDelta(
            index=call["index"],
            id=call.get("id") or "",
            name=call["function"].get("name") or "",
            arguments=call["function"].get("arguments") or "",
        )
        for call in delta.get("tool_calls") or []
    ]
    return ChatChunk(
        text=delta.get("content") or "",
        reasoning=delta.get("reasoning_content") or "",
        tool_calls=calls,
        finish_reason=choice.get("finish_reason"),
        usage=_usage(event["usage"]) if event.get("usage") else None,
        response=event,
    )


class _Events:
    """Splits a streamed response into server-sent events."""

    def __init__(self) -> None:
        self._status = 0
        self._received = b""
        self._is_complete = False

    def add(self, part: Any) -> Iterator[ChatChunk]:
        """Yields the chunks that `part` completes."""
        if not isinstance(part, bytes):
            self._status = part[0]
            return
        self._received += part
        if self._status >= 400:
            return
        *events, self._received = self._received.split(b"\n\n")
        for event in events:
            if event == b"data: [DONE]":
                self._is_complete = True
            if self._is_complete or not event.startswith(b"data: "):
                continue
            data = json.loads(event.removeprefix(b"data: "))
            if "error" in data:
                raise api_error(None, data["error"])
            yield _chunk(data)

    def finish(self) -> None:
        """Raises the error that the response reports instead of a stream, and one for a stream that was cut off."""
        if self._status >= 400:
            raise api_error(self._status, _parsed(self._received)["error"])
        if not self._is_complete:
            raise _cut_off()
