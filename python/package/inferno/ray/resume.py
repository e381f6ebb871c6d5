"""Resuming an offline job from the rows in its output folder."""

from __future__ import annotations

import logging
import os
import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as compute
import ray
from pyarrow import json, parquet
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

if TYPE_CHECKING:
    from ray.data import Dataset

logger = logging.getLogger(__name__)

# Readers of files by their extensions; they ignore files whose names begin with an underscore, as Ray does.
_READERS: dict[str, Callable[..., pa.Table]] = {
    ".parquet": parquet.read_table,
    ".json": json.read_json,
    ".jsonl": json.read_json,
}
_SET_ASIDE = "_incomplete_"


def remaining(dataset: Dataset, folder: str, *, key: str = "id") -> Dataset:
    """Returns the rows of a dataset that are not in an output folder yet, by the values of their column `key`.

    The folder contains what `Dataset.write_parquet` or `Dataset.write_json` wrote; it need not exist. A file of an interrupted
    job that cannot be read is renamed, so that its name begins with ``_incomplete_``, and its rows are computed again.
    """
    finished = _finished_keys(folder, key)
    if len(finished) == 0:
        return dataset
    reference = ray.put(finished)

    def unfinished(batch: pa.Table) -> pa.Table:
        keys = batch.column(key)
        known: Any = ray.get(reference).cast(keys.type)
        return batch.filter(compute.invert(compute.is_in(keys, value_set=known)))

    return dataset.map_batches(unfinished, batch_size=None, batch_format="pyarrow")


def _finished_keys(folder: str, key: str) -> pa.ChunkedArray:
    """Returns the keys of all rows in the files of a folder.

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
                table = reader(stream)
        except pa.ArrowInvalid as error:
            logger.warning("%s was not written to its end (%s); its rows are computed again", file.path, error)
            filesystem.move(file.path, posixpath.join(posixpath.dirname(file.path), _SET_ASIDE + name))
            continue
        if key not in table.column_names:
            found = ", ".join(table.column_names)
            raise ValueError(f"{file.path} has no column {key!r}, only {found}; write the output with the column")
        chunks += table.column(key).chunks
    return pa.chunked_array(chunks) if chunks else pa.chunked_array([], pa.null())
