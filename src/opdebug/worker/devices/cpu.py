"""The CPU: always there, synchronous, without graphs."""

from __future__ import annotations

import platform
from typing import Any

import torch

from opdebug.worker.devices.base import Device


def _model_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
            for line in info:
                if line.lower().startswith(("model name", "hardware", "cpu model")):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class CpuDevice(Device):
    kind = "cpu"

    def unavailable(self) -> str | None:
        return None if not self.index else f"there is one cpu device, not cpu:{self.index}"

    def describe(self) -> dict[str, Any]:
        return {"kind": "cpu", "name": _model_name(), "capability": torch.backends.cpu.get_cpu_capability()}
