"""Resuming an offline job from the rows in its output folder."""

from __future__ import annotations

import io
import json
import logging
import os
import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as compute
import ray
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

if TYPE_CHECKING:
    from ray.data import Dataset

logger = logging.getLogger(__name__)

_SET_ASIDE = "_incomplete_"


def remaining(dataset: Dataset, folder: str, *, key: str = "id") -> Dataset:
    """Returns the rows of a dataset that are not in an output folder yet, by the values of their column `key`.

    The folder contains what `Dataset.write_parquet` or `Dataset.write_json` wrote; it need not exist. A file of an interrupted
    job that cannot be read is renamed, so that its name begins with ``_incomplete_``, and its rows are computed again. Keys
    are compared as text.
    """
    finished = _finished_keys(folder, key)
    if len(finished) == 0:
        return dataset
    reference = ray.put(finished)

    def unfinished(batch: pa.Table) -> pa.Table:
        known: Any = ray.get(reference)
        keys = batch.column(key)
        is_finished = compute.is_in(_texts(keys), value_set=known)
        if pa.types.is_timestamp(keys.type):
            # In JSON, Ray writes milliseconds.
            numbers = keys.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
            is_finished = compute.or_(is_finished, compute.is_in(_texts(numbers), value_set=known))
        return batch.filter(compute.invert(is_finished))

    return dataset.map_batches(unfinished, batch_size=None, batch_format="pyarrow")


def _finished_keys(folder: str, key: str) -> pa.ChunkedArray:
    """Returns the keys of all rows in the files of a folder, as `_texts` returns them.

    **Errors**: `ValueError` for a file without the column.
    """
    if "://" in folder:
        filesystem, path = FileSystem.from_uri(folder)
    else:
        filesystem, path = LocalFileSystem(), os.path.abspath(folder)
    chunks: list[pa.Array] = []
    for file in filesystem.get_file_info(FileSelector(path, recursive=True, allow_not_found=True)):
        name = posixpath.basename(file.path)
        reader = _READERS.get(posixpath.splitext(name)[1])
        if file.type is not FileType.File or reader is None or name.startswith(("_", ".")):
            continue
        try:
            with filesystem.open_input_file(file.path) as stream:
                columns, keys = reader(stream, key)
        except ValueError as error:
            logger.warning("%s was not written to its end (%s); its rows are computed again", file.path, error)
            filesystem.move(file.path, posixpath.join(posixpath.dirname(file.path), _SET_ASIDE + name))
            continue
        if keys is None:
            found = ", ".join(columns)
            raise ValueError(f"{file.path} has no column {key!r}, only {found}; write the output with the column")
        chunks += _texts(keys).chunks
    return pa.chunked_array(chunks, pa.large_binary())


_Keys = tuple[list[str], "pa.ChunkedArray | None"]
"""The names of the columns of a file, and the values in that of the key, if there is one."""


def _parquet_keys(stream: Any, key: str) -> _Keys:
    file = parquet.ParquetFile(stream)
    columns = file.schema_arrow.names
    return columns, file.read([key]).column(0) if key in columns else None


def _json_keys(stream: Any, key: str) -> _Keys:
    """Reads lines of JSON, without Arrow: it converts strings that look like dates, and limits the size of a row."""
    keys: list[Any] = []
    for line in io.TextIOWrapper(stream, encoding="utf-8"):
        if line.isspace():
            continue
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError("a line is not an object")
        if key not in row:
            return list(row), None
        keys.append(row[key])
    return [key], pa.chunked_array([pa.array(map(_json_text, keys), pa.string())])


# Readers of files by their extensions; files whose names begin with an underscore are ignored, as Ray does.
_READERS: dict[str, Callable[[Any, str], _Keys]] = {
    ".parquet": _parquet_keys,
    ".json": _json_keys,
    ".jsonl": _json_keys,
}


def _texts(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns keys as bytes of text, so that those of files and datasets with other types can be compared."""
    if pa.types.is_timestamp(keys.type):
        # The unit is not a part of the text.
        keys = keys.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    is_binary = pa.types.is_binary(keys.type) or pa.types.is_large_binary(keys.type)
    if not is_binary and not pa.types.is_fixed_size_binary(keys.type):
        keys = keys.cast(pa.large_string())
    return keys.cast(pa.large_binary())


def _json_text(key: Any) -> str | None:
    """Returns a key from JSON as `_texts` returns it."""
    if key is None or isinstance(key, str):
        return key
    if type(key) is int:
        # Arrow's integers may be too small.
        return str(key)
    text: str = pa.scalar(key).cast(pa.string()).as_py()
    return text
