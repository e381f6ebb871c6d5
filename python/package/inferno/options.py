"""Keyword arguments of loading and generation, for type checkers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

Prompt = Union[str, Sequence[int]]
"""A text, or the ids of its tokens."""
AnyPath = Union[str, bytes, "os.PathLike[Any]"]
"""A path, as Python's functions accept it."""


class LoadOptions(TypedDict, total=False):
    """How a model is loaded. The defaults are those of `inferno serve`."""

    gpu_layers: int
    """Number of layers on the GPU, the last ones."""
    threads: int
    """Number of threads of the processor (default: all cores)."""
    context: int
    """Maximum number of tokens of a sequence; 0 for the model's limit (default: 4096, or the model's limit if that is
    shorter)."""
    kv_dtype: str
    """Number format of the KV cache: `i16`, `f16`, `f32` or `q8_0`."""
    kv_cache_tokens: int
    """Size of the KV cache in tokens (default: 4 times the context)."""
    max_num_seqs: int
    """Maximum number of sequences in a batch (default: 64)."""
    max_num_batched_tokens: int
    """Maximum number of tokens per forward pass (default: 256)."""
    max_num_waiting: int
    """Maximum number of waiting requests (default: 256)."""
    target_itl: int
    """Target for the time between two tokens of running streams while prompts are processed, in milliseconds
    (default: 100): prompts are split into smaller chunks to meet it; 0 disables it."""
    prefix_cache: bool
    """Reuse cached prompt prefixes (default: true)."""
    speculate: int
    """Maximum number of tokens drafted from earlier text per step, at most 64 (default: 0); outputs are unchanged."""
    draft_model: AnyPath
    """A smaller model with the same vocabulary, which drafts tokens; outputs are unchanged."""
    draft_head: bool
    """Draft tokens with the prediction head (MTP, nextn) in the model's file."""
    draft_max: int
    """Maximum number of tokens that a draft model or a prediction head drafts per step (default: 8)."""
    draft_min: int
    """Number of tokens drafted in each step even if fewer would be faster (default: 0)."""
    draft_p_min: float
    """End a draft at tokens to which the draft model assigns a lower probability (default: 0)."""
    requantize: str
    """Quantize floating-point weights to this format while loading."""
    chat_template: AnyPath
    """File with the chat template (default: the template in the model's file)."""
    warm_up: bool
    """Prepare while loading what the first requests would otherwise wait for, such as kernels of a GPU and the memory of the
    KV cache (default: false; true for the models that `asgi_app` and the deployments of `inferno.ray.serve` load)."""
    name: str
    """Name of the model in responses (default: the file name)."""


class SamplingOptions(TypedDict, total=False):
    """How tokens are sampled, and when a generation ends. Defaults come from the model's file."""

    max_tokens: int
    """Maximum number of tokens to generate (default: the rest of the context)."""
    min_tokens: int
    """Minimum number of tokens to generate."""
    temperature: float
    """Higher values are more random; 0 selects the most probable token."""
    top_k: int
    top_p: float
    min_p: float
    typical_p: float
    repetition_penalty: float
    frequency_penalty: float
    presence_penalty: float
    dry_multiplier: float
    """Penalize tokens that would continue a repetition (DRY); 0 disables it."""
    dry_base: float
    """Growth of the DRY penalty with each repeated token (default: 1.75)."""
    dry_allowed_length: int
    """Length from which on DRY penalizes repetitions, in tokens (default: 2)."""
    dry_penalty_last_n: int
    """Number of last tokens in which DRY searches repetitions (default: -1, all)."""
    dry_sequence_breakers: Sequence[str]
    """Strings that end repetitions for DRY (default: line breaks, colons, quotation marks and asterisks)."""
    logit_bias: Mapping[int, float]
    seed: int
    """Reproduces the random draws."""
    logprobs: int
    """Return the log-probability of each token, and of this many most probable ones."""
    stop: str | Sequence[str]
    """Strings that end the text."""
    stop_token_ids: Sequence[int]
    ignore_eos: bool
    include_stop_str_in_output: bool
    skip_special_tokens: bool
    json_schema: Mapping[str, Any] | str
    """Generate a JSON value that matches this schema."""
    regex: str
    """Generate text that fully matches this regular expression."""
    grammar: str
    """Generate text that matches this grammar (llama.cpp's GBNF, or llguidance's Lark dialect)."""
    choice: Sequence[str]
    """Generate one of these strings."""


class GenerationOptions(SamplingOptions, total=False):
    """The options of a request to the engine."""

    prompt_logprobs: int
    """Return the log-probability of each prompt token, and of this many most probable ones; `max_tokens` may be 0."""
    priority: int
    """Lower values are scheduled first, from -16 to 16."""
    timeout: float
    """Finish after this many seconds, with the finish reason `deadline_exceeded`."""
