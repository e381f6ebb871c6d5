"""inferno on Ray: replicas behind one address with Ray Serve, and offline inference with Ray Data.

Requires `ray`, which `pip install './python[ray]'` in a clone installs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Loaded when they are first used: Serve and Data take seconds to import, and few programs need both.
_MODULES = {
    "app": "application",
    "pipeline": "pipelines",
    "serve_app": "serve",
    "chat": "data",
    "embed": "data",
    "generate": "data",
    "remaining": "resume",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
