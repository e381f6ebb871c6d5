"""Models that are divided between processes.

>>> import inferno
>>> key = "a secret that all processes know"
>>> stages = [inferno.Stage(None, layers, key=key) for layers in inferno.divide(None, 2)]  # usually on other machines
>>> addresses = inferno.StageAddresses([stage.address for stage in stages], key=key)
>>> model = inferno.Model.from_stages(None, addresses)
>>> text = model.generate("Once upon a time", max_tokens=8, temperature=0).text
>>> text == inferno.Model().generate("Once upon a time", max_tokens=8, temperature=0).text
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _inferno
from .errors import InvalidRequestError

if TYPE_CHECKING:
    from .options import AnyPath


class Stage:
    """Computes some layers of a model for programs that use it by `Model.from_stages`, until it is closed.

    `source` is as for `Model`; only the weights of `layers` are loaded, a range without gaps. Programs that know `key` can
    connect to `address`, of which port 0 selects a free one. Connections are not encrypted. `threads`, `device` and
    `requantize` are the only options of `Model` that matter to a stage; the others are those of the programs that use it.
    """

    def __init__(
        self,
        source: AnyPath | None,
        layers: range,
        *,
        key: str,
        address: str = "127.0.0.1:0",
        device: str | int | None = None,
        threads: int | None = None,
        requantize: str | None = None,
    ) -> None:
        if layers.step != 1:
            raise InvalidRequestError(f"layers must be a range without gaps, but are {layers}", "Argument")
        options: dict[str, Any] = {
            "device": None if device is None else str(device),
            "threads": threads,
            "requantize": requantize,
        }
        self.layers = layers
        self._stage = _inferno.Stage.start(source, layers.start, layers.stop, address, key, **options)

    @property
    def address(self) -> str:
        """The address on which it listens; empty after it was closed."""
        return self._stage.address or ""

    @property
    def has_stopped(self) -> bool:
        """Whether it was closed, or its device failed for good: its process should then be replaced."""
        return self._stage.has_stopped

    def close(self) -> None:
        """Closes all connections and releases the weights."""
        self._stage.close()


class StageAddresses:
    """The addresses of the stages of a model, in the order of their layers.

    A stage that is lost may return at the same address, or at another one that `set` announces. Its requests wait for it
    for `recovery_timeout` seconds, and are then computed again; none is lost.
    """

    def __init__(self, addresses: Sequence[str], *, key: str, recovery_timeout: float = 600.0) -> None:
        self._addresses = _inferno.StageAddresses(addresses, key, recovery_timeout)

    def __len__(self) -> int:
        return len(self._addresses)

    def set(self, index: int, address: str) -> None:
        """Sets where stage `index` runs after it was lost."""
        self._addresses.set(index, address)

    @property
    def is_used(self) -> bool:
        """Whether a model, or a session or an application of one, uses them."""
        return self._addresses.is_used

    def close(self) -> None:
        """Announces that the stages end and do not return.

        Requests that wait for a lost stage fail at once with `EngineStoppedError`, as do later ones.
        """
        self._addresses.close()


def divide(source: AnyPath | None, num_stages: int) -> list[range]:
    """Divides the layers of a model between stages, so that the largest is as small as possible.

    >>> import inferno
    >>> [len(layers) for layers in inferno.divide(None, 2)]
    [5, 3]
    """
    return [range(first, end) for first, end in _inferno.divide(source, num_stages)]
