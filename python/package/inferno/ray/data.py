"""Offline inference over the rows of a `ray.data.Dataset`."""

from __future__ import annotations

import asyncio
import json
import reprlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray

from ..completion import completed
from ..engine import Engine
from ..errors import InvalidRequestError
from .reservation import load_options

if TYPE_CHECKING:
    from ray.data import Dataset

    from .._inferno import ChunkStream

_DEFAULT_SEQUENCES = 64
# Calls that an actor computes together: while the last rows of one are completed, the next ones keep the engine busy.
_CALLS_PER_ACTOR = 2
# Rows of a call, in multiples of the sequences that an engine computes at once.
_CALL_BATCHES = 4


@dataclass(frozen=True)
class _Operation:
    """What is computed for each row."""

    kind: str
    """`generate`, `chat` or `embed`."""
    column: str
    """The column with the input."""
    output: str
    """The column for the result."""
    errors: str | None
    """The column for error messages; without it, an invalid row ends the job."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of each request."""

    def added(self) -> list[str]:
        """Returns the names of the added columns."""
        reasons = [] if self.kind == "embed" else [f"{self.output}_finish_reason"]
        return [self.output, *reasons, *([] if self.errors is None else [self.errors])]


def generate(
    dataset: Dataset,
    model: str | None = None,
    *,
    column: str = "prompt",
    output: str = "text",
    errors: str | None = None,
    num_actors: int = 1,
    num_cpus: float = 1,
    num_gpus: float = 0,
    load: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """Generates a continuation of the prompt in each row. The rows keep their order.

    Adds the columns `output` and `output` + ``"_finish_reason"``, and with `errors` a column of that name with the reason
    why a row is invalid; without it, an invalid row ends the job. `options` are those of `Engine.generate`.

    Each of the `num_actors` actors holds one engine, loads `model` with the options in `load`, and reserves `num_cpus` cores,
    which it also uses as threads by default, and `num_gpus` GPUs, on which it then computes.
    """
    operation = _Operation("generate", column, output, errors, options)
    return _map(dataset, model, operation, num_actors, num_cpus, num_gpus, load)


def chat(
    dataset: Dataset,
    model: str | None = None,
    *,
    column: str = "messages",
    output: str = "answer",
    errors: str | None = None,
    num_actors: int = 1,
    num_cpus: float = 1,
    num_gpus: float = 0,
    load: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """Answers the conversation in each row: messages in OpenAI's format, or a string, which is a message of the user.

    `options` are those of `Engine.chat`, such as `json_schema`, with which the answers are JSON values that match it, unless
    ``max_tokens`` ends them. Other arguments and the added columns are those of `generate`.
    """
    operation = _Operation("chat", column, output, errors, options)
    return _map(dataset, model, operation, num_actors, num_cpus, num_gpus, load)


def embed(
    dataset: Dataset,
    model: str | None = None,
    *,
    column: str = "text",
    output: str = "embedding",
    errors: str | None = None,
    num_actors: int = 1,
    num_cpus: float = 1,
    num_gpus: float = 0,
    load: Mapping[str, Any] | None = None,
) -> Dataset:
    """Computes the embedding of the text in each row, in single precision and of unit length.

    Other arguments are those of `generate`.
    """
    operation = _Operation("embed", column, output, errors)
    return _map(dataset, model, operation, num_actors, num_cpus, num_gpus, load)


def _map(
    dataset: Dataset,
    model: str | None,
    operation: _Operation,
    num_actors: int,
    num_cpus: float,
    num_gpus: float,
    load: Mapping[str, Any] | None,
) -> Dataset:
    # Nobody reads the tokens one by one, so prompts are computed in the largest chunks.
    defaults = {"max_num_seqs": _DEFAULT_SEQUENCES, "target_itl": 0}
    load = {**load_options(num_cpus, num_gpus), **defaults, **(load or {})}
    # The names that are known without reading the rows; each actor checks those of its batches.
    _check_columns(dataset.columns(fetch_if_missing=False) or [], operation)
    _check_cores(num_actors * num_cpus)
    pool = ray.data.ActorPoolStrategy(
        size=num_actors, max_concurrent_calls_per_actor=_CALLS_PER_ACTOR, enable_true_multi_threading=True
    )
    # Small blocks would not fill the engine's batches. Large ones would keep their results in memory until the last row, and
    # lose them in a failure.
    blocks = dataset.repartition(target_num_rows_per_block=_CALL_BATCHES * load["max_num_seqs"], strict=True)
    result = blocks.map_batches(
        _Actor,
        batch_size=None,
        batch_format="pyarrow",
        compute=pool,
        fn_constructor_kwargs={"model": model, "load": load, "operation": operation},
        num_cpus=num_cpus,
        num_gpus=num_gpus,
    )
    result.context.execution_options.preserve_order = True
    return result


def _check_columns(names: Sequence[str], operation: _Operation) -> None:
    """Checks that no added column has the name of another one.

    **Errors**: `ValueError`.
    """
    found = list(names)
    for name in operation.added():
        if name in found:
            raise ValueError(f"the column {name!r} exists already; pass other names with output and errors, or drop it")
        found.append(name)


def _check_cores(num_reserved: float) -> None:
    """Warns if the actors leave no core for the tasks that read and combine blocks, for which they would wait forever."""
    num_cores = ray.cluster_resources().get("CPU", 0)
    if num_reserved > num_cores - 1:
        warnings.warn(
            f"the actors reserve {num_reserved:g} of the cluster's {num_cores:g} cores; Ray Data needs one more to read the rows, "
            "so the job waits until nodes are added. To compute with all cores, reserve fewer with num_cpus and pass "
            'load={"threads": …}',
            RuntimeWarning,
            stacklevel=4,
        )


class _Actor:
    """An engine, called by several threads."""

    def __init__(self, model: str | None, load: Mapping[str, Any], operation: _Operation) -> None:
        self._num_ahead = load["max_num_seqs"]
        # The queue has room for all rows of all calls.
        needed = _CALLS_PER_ACTOR * _CALL_BATCHES * self._num_ahead
        max_num_waiting = max(load.get("max_num_waiting", 0), needed)
        self._engine = Engine(model, **{**load, "max_num_waiting": max_num_waiting})
        self._operation = operation
        self._check_options()

    def _check_options(self) -> None:
        """Begins a request with the options of all rows: invalid options end the job, and are not an error of each row."""
        model, options = self._engine.model, self._operation.options
        if self._operation.kind == "generate":
            model._submit([0], options).close()
        elif self._operation.kind == "embed":
            model._submit_embedding([0]).close()
        else:
            chunks = model.stream_chat("Hello", **options)
            next(chunks)
            chunks.close()

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Adds the columns with the results to a batch of rows."""
        _check_columns(batch.column_names, self._operation)
        inputs = batch.column(self._operation.column).to_pylist()
        is_generation = self._operation.kind == "generate"
        results = self._generate(inputs) if is_generation else asyncio.run(self._answer(inputs))
        for name, values in self._columns(results).items():
            batch = batch.append_column(name, values)
        return batch

    def _columns(self, results: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
        """Returns the columns of the results, by name."""
        operation = self._operation
        columns: dict[str, pa.Array] = {}
        if operation.kind == "embed":
            type_ = pa.list_(pa.float32(), self._engine.model.embedding_size)
            columns[operation.output] = pa.array([each.get("value") for each in results], type_)
        else:
            columns[operation.output] = pa.array([each.get("value") for each in results], pa.string())
            reasons = pa.array([each.get("finish_reason") for each in results], pa.string())
            columns[f"{operation.output}_finish_reason"] = reasons
        if operation.errors is not None:
            columns[operation.errors] = pa.array([each.get("error") for each in results], pa.string())
        return columns

    def _generate(self, inputs: Sequence[Any]) -> list[dict[str, Any]]:
        """Continues prompts. A thread that waits for one after another is woken less often than an event loop for each token."""
        running: list[ChunkStream | InvalidRequestError] = []
        try:
            # All at once, so that the engine always has the next rows; it computes them in order.
            running.extend(self._submitted(value) for value in inputs)
            return [self._completed(stream) for stream in running]
        finally:
            for stream in running:
                if not isinstance(stream, InvalidRequestError):
                    stream.close()

    def _submitted(self, value: Any) -> ChunkStream | InvalidRequestError:
        try:
            return self._engine.model._submit(self._checked(value), self._operation.options)
        except InvalidRequestError as error:
            return error

    def _completed(self, stream: ChunkStream | InvalidRequestError) -> dict[str, Any]:
        if isinstance(stream, InvalidRequestError):
            return self._failed(stream)
        try:
            completion = completed(stream)
        except InvalidRequestError as error:
            return self._failed(error)
        return {"value": completion.text, "finish_reason": completion.finish_reason}

    async def _answer(self, inputs: Sequence[Any]) -> list[dict[str, Any]]:
        """Answers conversations, or embeds texts."""
        room = asyncio.Semaphore(self._num_ahead)

        async def answer(value: Any) -> dict[str, Any]:
            async with room:
                try:
                    return await self._request(_without_nulls(self._checked(value)))
                except InvalidRequestError as error:
                    return self._failed(error)

        return await asyncio.gather(*(answer(value) for value in inputs))

    async def _request(self, value: Any) -> dict[str, Any]:
        if self._operation.kind == "embed":
            return {"value": await self._engine.embed(value)}
        answer = await self._engine.chat(value, **self._operation.options)
        return {"value": answer.text, "finish_reason": answer.finish_reason}

    def _checked(self, value: Any) -> Any:
        """Returns the input of a row, if its type is one that the engine accepts."""
        column = self._operation.column
        if value is None:
            raise InvalidRequestError(f"the column {column!r} has no value", "MissingValue")
        if self._operation.kind == "chat":
            is_valid, expected = _is_conversation(value), "messages in OpenAI's format"
        else:
            is_valid, expected = _is_token_list(value), "token ids"
        if not is_valid and not isinstance(value, str):
            message = f"the column {column!r} must have a string or {expected}, but has {reprlib.repr(value)}"
            raise InvalidRequestError(message, "InputType")
        return value

    def _failed(self, error: InvalidRequestError) -> dict[str, Any]:
        """Returns the result of an invalid row, or raises its error if there is no column for it."""
        if self._operation.errors is None:
            raise error
        return {"error": str(error)}


def _is_token_list(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(type(token) is int and 0 <= token < 1 << 32 for token in value)


def _is_conversation(value: Any) -> bool:
    """Returns whether a value is a list that can be sent as JSON. The engine checks the rest."""
    try:
        return isinstance(value, list) and bool(json.dumps(value))
    except TypeError:
        return False


def _without_nulls(value: Any) -> Any:
    """Removes the fields that a row does not have: in a column, all rows have the same fields."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
