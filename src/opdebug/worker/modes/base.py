"""What a mode has to do: execute a callable its way and prove that it happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opdebug.worker.devices.base import Device


class ModeRefused(Exception):
    """The mode did not happen: the case is unsupported, never a silent eager pass. `kind` goes to `failure.kind`."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class Executed:
    """An output and the proof of how it came about (JSON values only)."""

    output: Any
    proof: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call to execute. `settings` are the run's choices for the mode (such as the compile backend)."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    device: Device
    settings: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)
