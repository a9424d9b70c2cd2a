"""Ascend NPUs through the torch_npu plug-in. Written against its documented interface."""

from __future__ import annotations

import importlib
from typing import Any

from opdebug.worker.devices.base import AcceleratorDevice, version_text


class NpuDevice(AcceleratorDevice):
    kind = "npu"
    plugin = "torch_npu"
    graph_class = "NPUGraph"

    def describe(self) -> dict[str, Any]:
        plugin = importlib.import_module("torch_npu")
        return {**super().describe(), "torch_npu": getattr(plugin, "__version__", None),
                "driver": version_text("/usr/local/Ascend/driver/version.info"),
                "cann": version_text("/usr/local/Ascend/ascend-toolkit/latest/version.cfg")}
