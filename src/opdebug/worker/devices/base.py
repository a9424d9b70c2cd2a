"""What a device has to answer. Nothing outside this package asks which device it is.

`Device` is the interface; `AcceleratorDevice` serves every torch backend that has a `torch.<name>` module with the usual
functions, which is how both CUDA and the NPU plug-in present themselves.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, Protocol

import torch


class Graph(Protocol):
    """A captured device graph."""

    def replay(self) -> None: ...


def version_text(path: str) -> str | None:
    """The first lines of a driver's version file, or None where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(400).strip() or None
    except OSError:
        return None


class Device:
    """The device that cases run on, as `kind` ("cpu", "cuda", "npu") and `index` (None: the current one)."""

    kind = "cpu"

    def __init__(self, index: int | None = None) -> None:
        self.index = index

    @functools.cached_property
    def torch_device(self) -> torch.device:
        return torch.device(self.kind) if self.index is None else torch.device(self.kind, self.index)

    def unavailable(self) -> str | None:
        """Why no case can run here, or None. There is no fallback to another device."""
        raise NotImplementedError

    def select(self) -> None:
        """Make this the current device of the process."""

    def synchronize(self) -> None:
        """Wait for all queued work, so that an asynchronous error surfaces in the case that caused it."""

    def is_initialized(self) -> bool:
        """Whether the process holds a device context, which a fork would break."""
        return False

    def describe(self) -> dict[str, Any]:
        """Facts for the environment document: JSON values only."""
        raise NotImplementedError

    def capture(self, function: Callable[[], Any]) -> tuple[Graph, Any]:
        """Capture `function()` into a graph; returns the graph and the (static) outputs.

        Raises NotImplementedError, with the reason, where the device has no graphs.
        """
        raise NotImplementedError(f"{self.kind} has no device graphs")

    # A context on an accelerator reserves address space far beyond what is used, so a limit on it would refuse to start.
    limits_address_space = True


class AcceleratorDevice(Device):
    """A device behind a `torch.<kind>` module. `plugin` is imported first where the backend is not part of torch."""

    plugin: str | None = None
    graph_class = ""
    limits_address_space = False

    def _module(self) -> Any:
        if self.plugin is not None:
            importlib.import_module(self.plugin)
        return getattr(torch, self.kind)

    def unavailable(self) -> str | None:
        try:
            module = self._module()
            if not module.is_available():
                return f"torch.{self.kind}.is_available() is False"
            count = module.device_count()
        except (ImportError, AttributeError, OSError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
        if self.index is not None and self.index >= count:
            return f"there are {count} {self.kind} devices, numbered from 0"
        return None

    def select(self) -> None:
        self._module().set_device(self.index or 0)

    def synchronize(self) -> None:
        self._module().synchronize()

    def is_initialized(self) -> bool:
        module = getattr(torch, self.kind, None)
        return bool(module is not None and module.is_initialized())

    def describe(self) -> dict[str, Any]:
        module = self._module()
        index = self.index or 0
        free, total = module.mem_get_info(index)
        return {"kind": self.kind, "index": index, "name": module.get_device_name(index),
                "count": module.device_count(), "memory_total": int(total), "memory_free": int(free)}

    def capture(self, function: Callable[[], Any]) -> tuple[Graph, Any]:
        module = self._module()
        side = module.Stream()
        side.wait_stream(module.current_stream())
        # Lazy initialisation (workspaces, autotuning) is not allowed while a capture is in progress.
        with module.stream(side):
            function()
        module.current_stream().wait_stream(side)
        self.synchronize()
        graph = getattr(module, self.graph_class)()
        with module.graph(graph):
            output = function()
        return graph, output
