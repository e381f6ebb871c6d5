"""A model that is larger than a host: its stages are actors of a Ray cluster.

>>> import ray
>>> from inferno.ray.pipelines import pipeline
>>> engine = pipeline("hf:Qwen/Qwen3-8B-GGUF:Q4_K_M", num_stages=2)  # doctest: +SKIP
>>> await engine.generate("Once upon a time", max_tokens=64)  # doctest: +SKIP
>>> engine.shut_down()  # doctest: +SKIP
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from typing import TYPE_CHECKING, Any, Literal

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from ..engine import Engine
from ..model import Model
from ..stages import Stage, StageAddresses, divide
from .reservation import load_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options import LoadOptions

_LOGGER = logging.getLogger(__name__)

_MONITOR_INTERVAL = 0.5
"""Seconds between two checks of the stages."""


@ray.remote(max_restarts=-1, max_task_retries=-1)
class StageActor:
    """Computes one stage of a model. Ray restarts it if its process ends."""

    def __init__(self, source: str | None, index: int, num_stages: int, options: dict[str, Any]) -> None:
        layers = divide(source, num_stages)[index]
        address = f"{ray.util.get_node_ip_address()}:0"
        self._stage = Stage(source, layers, address=address, **options)

    def address(self) -> str:
        """Where the stage listens. A stage whose device has failed ends its process."""
        if self._stage.has_stopped:
            os._exit(1)
        return self._stage.address

    def pid(self) -> int:
        """The process of the stage."""
        return os.getpid()


class Pipeline(Engine):
    """An `Engine` whose model is divided between actors; see `pipeline`."""

    def __init__(self, model: Model, stages: list[Any], group: Any, addresses: StageAddresses) -> None:
        super().__init__(model)
        self.stages = stages
        self._group = group
        self._addresses = addresses
        self._is_stopped = threading.Event()
        self._monitor = threading.Thread(target=self._follow_restarts, name="inferno-pipeline", daemon=True)
        self._monitor.start()

    def shut_down(self) -> None:
        """Ends the actors. Requests that have not ended fail."""
        self._is_stopped.set()
        self._monitor.join()
        for stage in self.stages:
            ray.kill(stage)
        remove_placement_group(self._group)

    def _follow_restarts(self) -> None:
        """Announces the addresses of stages that Ray has restarted."""
        pending = {stage.address.remote(): index for index, stage in enumerate(self.stages)}
        while not self._is_stopped.wait(_MONITOR_INTERVAL):
            ready, _ = ray.wait(list(pending), num_returns=len(pending), timeout=_MONITOR_INTERVAL)
            for reference in ready:
                index = pending.pop(reference)
                try:
                    self._addresses.set(index, ray.get(reference))
                except ray.exceptions.RayError as error:
                    _LOGGER.warning("stage %d does not answer: %s", index, error)
                pending[self.stages[index].address.remote()] = index


def pipeline(
    source: str | os.PathLike[str] | None = None,
    *,
    num_stages: int = 2,
    num_lanes: int | None = None,
    num_cpus_per_stage: float = 1,
    num_gpus_per_stage: float = 0,
    strategy: Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] = "PACK",
    recovery_timeout: float = 600.0,
    device: str | int | None = None,
    threads: int | None = None,
    requantize: str | None = None,
    **options: Unpack[LoadOptions],
) -> Pipeline:
    """Divides a model between `num_stages` actors, and returns an engine that uses them.

    Each actor loads only its layers, from its own copy of `source`: a path that exists on every host, or
    ``"hf:OWNER/REPO:QUANTIZATION"``, which each host downloads. ``strategy="STRICT_SPREAD"`` places each stage on another
    host. Outputs are those of the whole model in one process with the same kind of device: bit for bit on processors, the same
    tokens on GPUs.

    A stage whose process ends is restarted by Ray. Requests wait up to `recovery_timeout` seconds for it, and are then
    computed again; none is lost and no token is sent twice. `num_lanes` is the number of requests' groups that travel
    through the stages at the same time (default: one more than there are stages). `threads` defaults to
    `num_cpus_per_stage`, rounded down; the other options are those of `Model`.
    """
    if not ray.is_initialized():
        ray.init()
    path = None if source is None else os.fspath(source)
    key = secrets.token_hex()
    stage_options = {
        "key": key,
        "requantize": requantize,
        **load_options(num_cpus_per_stage, num_gpus_per_stage),
    }
    if device is not None:
        stage_options["device"] = device
    if threads is not None:
        stage_options["threads"] = threads
    resources = {"CPU": num_cpus_per_stage, **({"GPU": num_gpus_per_stage} if num_gpus_per_stage else {})}
    group = placement_group([resources] * num_stages, strategy=strategy)
    ray.get(group.ready())
    stages = [
        StageActor.options(
            num_cpus=num_cpus_per_stage,
            num_gpus=num_gpus_per_stage,
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index),
        ).remote(path, index, num_stages, stage_options)
        for index in range(num_stages)
    ]
    try:
        found = ray.get([stage.address.remote() for stage in stages])
        addresses = StageAddresses(found, key=key, recovery_timeout=recovery_timeout)
        if requantize is not None:
            options["requantize"] = requantize
        model = Model.from_stages(path, addresses, num_lanes=num_lanes, **options)
    except BaseException:
        remove_placement_group(group)
        raise
    return Pipeline(model, stages, group, addresses)
