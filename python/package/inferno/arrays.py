"""Arrays of single-precision values: NumPy's if it is installed, memory views otherwise."""

from __future__ import annotations

from typing import Any


def array(values: bytes, *shape: int) -> Any:
    """Returns `values` with this shape, without copying them. An empty memory view has one dimension."""
    try:
        import numpy
    except ImportError:
        return memoryview(values).cast("f", shape) if values else memoryview(values).cast("f")
    return numpy.frombuffer(values, dtype=numpy.float32).reshape(shape)
