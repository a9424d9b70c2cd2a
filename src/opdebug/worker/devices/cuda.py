"""NVIDIA GPUs (and AMD's, which present themselves as `cuda`) through torch.cuda."""

from __future__ import annotations

from typing import Any

import torch

from opdebug.worker.devices.base import AcceleratorDevice, version_text


class CudaDevice(AcceleratorDevice):
    kind = "cuda"
    graph_class = "CUDAGraph"

    def describe(self) -> dict[str, Any]:
        major, minor = torch.cuda.get_device_capability(self.index or 0)
        return {
            **super().describe(), "capability": f"{major}.{minor}", "cuda": torch.version.cuda, "hip": torch.version.hip,
            "driver": version_text("/proc/driver/nvidia/version"), "arch_list": torch.cuda.get_arch_list(),
        }
