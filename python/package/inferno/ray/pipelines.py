"""A model that is larger than a host: its stages are actors of a Ray cluster.

>>> import ray
>>> from inferno.ray.pipelines import pipeline
>>> with pipeline("hf:Qwen/Qwen3-8B-GGUF:Q4_K_M", num_stages=2) as engine:  # doctest: +SKIP
...     await engine.generate("Once upon a time", max_tokens=64)
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from .. import _inferno
from ..engine import Engine
from ..model import Model
from ..stages import Stage, StageAddresses, divide
from .reservation import load_options

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..options import LoadOptions

_LOGGER = logging.getLogger(__name__)

_MONITOR_INTERVAL = 0.5
"""Seconds between two checks of the stages."""
_ROOM_WARNING_DELAY = 5.0
"""Seconds that the reservation of resources may take without a warning."""


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
    """An `Engine` whose model is divided between actors; see `pipeline`.

    A context manager that shuts it down at its end. One that is no longer referenced is shut down, too.
    """

    def __init__(self, model: Model, stages: list[Any], group: Any, addresses: StageAddresses) -> None:
        super().__init__(model)
        self.stages = stages
        self._addresses = addresses
        self._is_stopped = threading.Event()
        # The thread has no reference to the pipeline or its model, so that it notices when they are no longer used.
        self._monitor = threading.Thread(
            target=_monitor,
            args=(stages, group, addresses, self._is_stopped),
            name="inferno-pipeline",
            daemon=True,
        )
        self._monitor.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.shut_down()

    def shut_down(self) -> None:
        """Ends the actors. Requests that have not ended, and later ones, fail with `EngineStoppedError`."""
        self._addresses.close()
        self._is_stopped.set()
        self._monitor.join()


def _monitor(stages: list[Any], group: Any, addresses: StageAddresses, is_stopped: threading.Event) -> None:
    """Announces the addresses of stages that Ray has restarted, until the pipeline is stopped or no longer used. Ends the
    actors then.
    """
    pending: dict[Any, int] = {}
    try:
        # Without the check, the calls would start a cluster after the program has left its own.
        while addresses.is_used and not is_stopped.wait(_MONITOR_INTERVAL) and ray.is_initialized():
            try:
                _follow_restarts(stages, addresses, pending)
            except Exception as error:
                _LOGGER.warning("the stages could not be checked: %r", error)
    finally:
        _end_actors(stages, group)


def _follow_restarts(stages: list[Any], addresses: StageAddresses, pending: dict[Any, int]) -> None:
    """Announces the addresses that stages have reported. `pending` has the stage of each call that has not ended."""
    for index in set(range(len(stages))) - set(pending.values()):
        pending[stages[index].address.remote()] = index
    ready, _ = ray.wait(list(pending), num_returns=len(pending), timeout=_MONITOR_INTERVAL)
    for reference in ready:
        index = pending.pop(reference)
        try:
            addresses.set(index, ray.get(reference))
        except ray.exceptions.RayError as error:
            _LOGGER.warning("stage %d does not answer: %s", index, error)


def _end_actors(stages: list[Any], group: Any) -> None:
    if not ray.is_initialized():
        return
    try:
        for stage in stages:
            ray.kill(stage)
        remove_placement_group(group)
    except Exception as error:
        _LOGGER.warning("the actors of the stages could not be ended: %r", error)


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
    tokens on GPUs. If the cluster has no room for the actors, a warning is issued, and the call waits.

    A stage whose process ends is restarted by Ray. Requests wait up to `recovery_timeout` seconds for it, and are then
    computed again; none is lost and no token is sent twice. `num_lanes` is the number of requests' groups that travel
    through the stages at the same time (default: one more than there are stages). `threads` defaults to
    `num_cpus_per_stage`, rounded down; the other options are those of `Model.from_stages`.
    """
    if requantize is not None:
        options["requantize"] = requantize
    num_lanes = num_stages + 1 if num_lanes is None else num_lanes
    _inferno.check_stage_options(num_lanes, **options)
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
    try:
        _wait_for_room(group, resources, num_stages, strategy)
        stages = [
            StageActor.options(
                num_cpus=num_cpus_per_stage,
                num_gpus=num_gpus_per_stage,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index),
            ).remote(path, index, num_stages, stage_options)
            for index in range(num_stages)
        ]
        found = ray.get([stage.address.remote() for stage in stages])
        addresses = StageAddresses(found, key=key, recovery_timeout=recovery_timeout)
        model = Model.from_stages(path, addresses, num_lanes=num_lanes, **options)
    except BaseException:
        remove_placement_group(group)
        raise
    return Pipeline(model, stages, group, addresses)


def _wait_for_room(group: Any, resources: Mapping[str, float], num_stages: int, strategy: str) -> None:
    """Waits until the cluster has reserved the resources of the stages, and warns if that takes long."""
    if group.wait(_ROOM_WARNING_DELAY):
        return
    available = ray.available_resources()
    each = " and ".join(
        f"{amount:g} {kind} ({available.get(kind, 0):g} available)" for kind, amount in resources.items()
    )
    warnings.warn(
        f"the cluster has no room for {num_stages} stages with the strategy {strategy}, each of which reserves {each}; "
        "waiting until nodes are added or other actors end",
        RuntimeWarning,
        stacklevel=3,
    )
    ray.get(group.ready())
