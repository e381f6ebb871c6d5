"""What the reserved resources of a process mean for its model."""

from __future__ import annotations

from typing import Any


def load_options(num_cpus: float, num_gpus: float) -> dict[str, Any]:
    """Returns options of `Model`: the reserved cores as threads, and the device, a GPU if one is reserved."""
    return {"device": "gpu" if num_gpus else None, "threads": max(1, int(num_cpus))}
