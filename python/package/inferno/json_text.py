"""Values of callers as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_json(value: Any) -> str:
    """Returns a value as JSON. Unlike `json.dumps`, it accepts any mapping, not only dictionaries."""
    return json.dumps(value, default=_dictionary)


def _dictionary(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON serializable")
