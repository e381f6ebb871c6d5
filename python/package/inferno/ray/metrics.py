"""The engine's state and counters as metrics of Ray, which each node exports to Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from ray.serve.metrics import Counter, Gauge

# The metric for each entry of `Model.metrics`. Ray adds the prefix `ray_`, and `_total` to counters.
_GAUGES = {
    "num_running": ("inferno_requests_running", "Requests that are being computed."),
    "num_waiting": ("inferno_requests_waiting", "Requests that wait for the engine."),
    "kv_cache_usage": ("inferno_kv_cache_usage", "Share of the KV cache in use, from 0 to 1."),
}
_COUNTERS = {
    "prompt_tokens": ("inferno_prompt_tokens", "Prompt tokens."),
    "generation_tokens": ("inferno_generation_tokens", "Generated tokens."),
    "prefix_cache_queries": ("inferno_prefix_cache_queries", "Prompt tokens looked up in the prefix cache."),
    "prefix_cache_hits": ("inferno_prefix_cache_hits", "Prompt tokens found in the prefix cache."),
    "preemptions": ("inferno_preemptions", "Times that a running request lost its place in the KV cache."),
    "failed_steps": ("inferno_failed_steps", "Forward passes that failed."),
}


class EngineMetrics:
    """The metrics of a replica, tagged with its deployment, its id and the model."""

    def __init__(self, model: str) -> None:
        tags = {"model": model}
        self._gauges = {key: Gauge(*metric, tag_keys=("model",)) for key, metric in _GAUGES.items()}
        self._counters = {key: Counter(*metric, tag_keys=("model",)) for key, metric in _COUNTERS.items()}
        for metric in (*self._gauges.values(), *self._counters.values()):
            metric.set_default_tags(dict(tags))
        self._totals = dict.fromkeys(_COUNTERS, 0.0)

    def update(self, state: Mapping[str, int | float]) -> None:
        """Exports what `Model.metrics` returned."""
        for key, gauge in self._gauges.items():
            gauge.set(state[key])
        for key, counter in self._counters.items():
            if state[key] > self._totals[key]:
                counter.inc(state[key] - self._totals[key])
                self._totals[key] = state[key]
