"""What the cases ran on: versions, processor, threads and the variables that change numerics or dispatch. No secrets."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import torch

from opdebug.worker.devices.base import Device

# An allow-list: an environment holds tokens and passwords under names nobody can foresee.
_VARIABLES = (
    "ACL_OP_INIT_MODE", "ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_LAUNCH_BLOCKING", "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_SLOG_PRINT_TO_STDOUT", "ATEN_CPU_CAPABILITY", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES", "KMP_AFFINITY", "MKL_NUM_THREADS", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF", "TASK_QUEUE_ENABLE",
    "TORCH_DEVICE_BACKEND_AUTOLOAD", "TORCHINDUCTOR_COMPILE_THREADS", "TORCH_NPU_FALLBACK_CPU_DISABLE", "TRITON_INTERPRET",
)


def collect(device: Device) -> dict[str, Any]:
    """The environment document of this process: JSON values only."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "byteorder": sys.byteorder,
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "device": device.describe(),
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }
