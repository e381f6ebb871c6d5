"""Prompts: a text, or the ids of its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_prompt(value: Any) -> bool:
    """Whether it is one prompt, not a list of them. An empty list is a list of no prompts."""
    if isinstance(value, str):
        return True
    _check_list(value)
    return len(value) > 0 and _is_id(value[0])


def token_ids(prompt: Any) -> list[int]:
    """Returns the ids of a prompt that is no text."""
    _check_list(prompt)
    ids = list(prompt)
    if ids and not _is_id(ids[0]):
        found = type(ids[0]).__name__
        raise TypeError(f"a prompt is a text or a list of token ids, not a list of {found}; pass one prompt at a time")
    return ids


def text_or_ids(prompt: Any) -> str | list[int]:
    """Returns a prompt as the extension module accepts it."""
    return prompt if isinstance(prompt, str) else token_ids(prompt)


def _is_id(value: Any) -> bool:
    return hasattr(value, "__index__")


def _check_list(value: Any) -> None:
    is_list = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    if not is_list or isinstance(value, (bytes, bytearray, memoryview, Mapping)):
        raise TypeError(f"a prompt is a text or a list of token ids, not {type(value).__name__}")
