"""A Serve application: replicas of a model behind OpenAI's and Anthropic's APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ray import serve
from ray.serve import Application
from ray.serve.config import RequestRouterConfig
from typing_extensions import Unpack

from ..asgi import server_options
from ..options import LoadOptions
from .ingress import Ingress
from .replica import Replica
from .reservation import load_options

_INGRESS = "InfernoIngress"
_REPLICA = "InfernoReplica"
# Requests that an ingress passes on and that wait for it, which limits its memory.
_MAX_INGRESS_REQUESTS = 1024
_DEFAULT_SEQUENCES = 64


def serve_app(
    model: str | None = None,
    *,
    num_replicas: int = 1,
    autoscaling: Mapping[str, Any] | None = None,
    num_ingress_replicas: int = 1,
    num_cpus: float = 1,
    num_gpus: float = 0,
    resources: Mapping[str, float] | None = None,
    drain_timeout: float = 600,
    health_check_period: float = 10,
    prefix_routing: bool = True,
    max_load_difference: int = 8,
    api_keys: Sequence[str] = (),
    allowed_hosts: Sequence[str] = ("*",),
    allowed_origins: Sequence[str] = (),
    strict_fields: bool = False,
    allow_priority: bool = False,
    max_body_bytes: int | None = None,
    device: str | None = None,
    **options: Unpack[LoadOptions],
) -> Application:
    """Returns a Serve application whose replicas hold one engine each, for `ray.serve.run`.

    `model` and `options` are those of `inferno.Model`; every node that runs a replica loads it. `autoscaling` has the fields of
    Serve's `AutoscalingConfig`, such as `min_replicas` and `max_replicas`, and replaces `num_replicas`. A replica reserves
    `num_cpus` cores, which it also uses as threads by default, `num_gpus` GPUs, on which it then computes unless `device` is
    another one, and other `resources` of the cluster.

    A replica that is removed first completes its requests, for `drain_timeout` seconds at most. A request is passed to the
    replica whose prefix cache has the longest part of its prompt, unless that has `max_load_difference` requests more than
    another; without `prefix_routing`, only by load. `health_check_period` is in seconds. Other arguments are those of
    `inferno.asgi_app`.
    """
    uses_prefixes = prefix_routing and options.get("prefix_cache", True)
    model_options = {**load_options(num_cpus, num_gpus), **options}
    if device is not None:
        model_options["device"] = device
    options_of_server = server_options(
        api_keys=api_keys,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        strict_fields=strict_fields,
        allow_priority=allow_priority,
        max_body_bytes=max_body_bytes,
    )
    num_sequences = options.get("max_num_seqs", _DEFAULT_SEQUENCES)
    lifetime = {"graceful_shutdown_timeout_s": drain_timeout, "health_check_period_s": health_check_period}
    replicas = serve.deployment(Replica).options(
        name=_REPLICA,
        **_scaling(num_replicas, autoscaling, num_sequences),
        ray_actor_options={"num_cpus": num_cpus, "num_gpus": num_gpus, "resources": dict(resources or {})},
        # Further requests wait in the ingress, which passes them to the first replica with room.
        max_ongoing_requests=2 * num_sequences,
        **({"request_router_config": _router(max_load_difference)} if uses_prefixes else {}),
        **lifetime,
    )
    ingress = serve.deployment(Ingress).options(
        name=_INGRESS,
        num_replicas=num_ingress_replicas,
        ray_actor_options={"num_cpus": 0},
        max_ongoing_requests=_MAX_INGRESS_REQUESTS,
        max_queued_requests=_MAX_INGRESS_REQUESTS,
        **lifetime,
    )
    bound = replicas.bind(model, model_options, options_of_server, _INGRESS if uses_prefixes else None)
    return ingress.bind(bound)


def _scaling(
    num_replicas: int, autoscaling: Mapping[str, Any] | None, num_sequences: int
) -> dict[str, Any]:
    """Returns how many replicas there are."""
    if autoscaling is None:
        return {"num_replicas": num_replicas}
    # Serve's default is for replicas that compute one request at a time.
    return {"autoscaling_config": {"target_ongoing_requests": max(1, num_sequences // 2), **autoscaling}}


def _router(max_load_difference: int) -> RequestRouterConfig:
    return RequestRouterConfig(
        request_router_class="inferno.ray.routing.PrefixRouter",
        request_router_kwargs={"max_load_difference": max_load_difference},
    )
