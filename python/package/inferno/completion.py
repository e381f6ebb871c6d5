"""Completions: the chunks of a generation, put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ._inferno import Chunk, ChunkStream, Timings, TokenLogprob, Usage


@dataclass
class Completion:
    """A generated text."""

    text: str = ""
    """The text, without the prompt."""
    tokens: list[int] = field(default_factory=list)
    """The generated tokens, including one that ended the generation."""
    finish_reason: str = ""
    """`stop`, `length`, `context_full`, `cancelled` or `deadline_exceeded`."""
    usage: Usage = field(default_factory=lambda: Usage(0, 0, 0))
    """The number of tokens."""
    logprobs: list[TokenLogprob] | None = None
    """The log-probabilities of the tokens, if they were requested."""
    prompt_logprobs: list[TokenLogprob] | None = None
    """The log-probabilities of the prompt from its second token on, if they were requested."""
    timings: Timings | None = None
    """The times of the request; not for sessions."""
    seed: int = 0
    """The seed that reproduces the text."""


def complete(chunks: Iterable[Chunk], seed: int) -> Completion:
    """Puts the chunks of a generation together."""
    completion, texts, logprobs = Completion(seed=seed), [], []
    for chunk in chunks:
        texts.append(chunk.text)
        if chunk.token is not None:
            completion.tokens.append(chunk.token)
        if chunk.logprob is not None:
            logprobs.append(chunk.logprob)
        if chunk.prompt_logprobs is not None:
            completion.prompt_logprobs = chunk.prompt_logprobs
        completion.finish_reason = chunk.finish_reason or completion.finish_reason
        completion.usage = chunk.usage or completion.usage
        completion.timings = chunk.timings or completion.timings
    completion.text = "".join(texts)
    completion.logprobs = logprobs or None
    return completion


def completed(stream: ChunkStream) -> Completion:
    """Waits for the end of a generation. An exception, such as that of Ctrl-C, cancels it."""
    try:
        return complete(stream.rest(), stream.seed)
    finally:
        stream.close()
