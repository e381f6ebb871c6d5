"""Judges an answer by the check of its chat."""

import json
import re

from ember.chats.chat import Check

_THINK_END = "</think>"
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?][\"'”’)]*$")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_REPEATED_WORDS = 8


def judge(check: Check, answer: str) -> str | None:
    """None when `answer` meets every condition of `check`, else the first that it misses, in words."""
    _, mark, after = answer.partition(_THINK_END)
    text = (after if mark else answer).strip()
    for part in check.contains:
        if not _stands_in(part, text):
            return f"lacks {part!r}"
    for part in check.lacks:
        if _stands_in(part, text):
            return f"contains {part!r}"
    if check.json is not None and (reason := _judge_json(check.json, text)):
        return reason
    if check.tool_calls and (reason := _judge_calls(list(check.tool_calls), text)):
        return reason
    if check.min_words:
        return _judge_length(check.min_words, text)
    return None


def _stands_in(part: str, text: str) -> bool:
    """Whether `part` stands in `text` with no letter or digit directly before or after it."""
    part, text = part.casefold(), text.casefold()
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            return True
        start = text.find(part, start + 1)
    return False


def _judge_json(expected: object, text: str) -> str | None:
    fenced = _FENCE.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except ValueError as error:
        return f"is not JSON: {error}"
    return None if _equal(value, expected) else f"is {json.dumps(value)}, not {json.dumps(expected)}"


def _judge_calls(expected: list[dict], text: str) -> str | None:
    bodies = _CALL.findall(text)
    if text.count("<tool_call>") != len(bodies):
        return "has a tool call that does not end"
    try:
        calls = [json.loads(body) for body in bodies]
    except ValueError as error:
        return f"has a tool call that is not JSON: {error}"
    return None if _equal(calls, expected) else f"calls {json.dumps(calls)}, not {json.dumps(expected)}"


def _judge_length(min_words: int, text: str) -> str | None:
    words = _WORD.findall(text.casefold())
    if len(words) < min_words:
        return f"has {len(words)} words, not {min_words}"
    if not _SENTENCE_END.search(text):
        return "does not end a sentence"
    runs = [tuple(words[i : i + _REPEATED_WORDS]) for i in range(len(words) - _REPEATED_WORDS + 1)]
    return "repeats itself" if len(set(runs)) < len(runs) else None


def _equal(left: object, right: object) -> bool:
    """Equality of JSON values, in which `true` is not `1`."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right
