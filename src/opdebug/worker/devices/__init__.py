"""The devices that cases can run on, in one table: a new device is a file here and a line in `DEVICES`."""

from __future__ import annotations

import re

from opdebug.model.errors import OpdebugError
from opdebug.worker.devices.base import Device
from opdebug.worker.devices.cpu import CpuDevice
from opdebug.worker.devices.cuda import CudaDevice
from opdebug.worker.devices.npu import NpuDevice

DEVICES: dict[str, type[Device]] = {"cpu": CpuDevice, "cuda": CudaDevice, "npu": NpuDevice}


def device(text: str) -> Device:
    """The device named `kind` or `kind:index`. Raises OpdebugError for any other text."""
    match = re.fullmatch(r"([a-z]+)(?::(\d{1,4}))?", text)
    if match is None or match[1] not in DEVICES:
        raise OpdebugError(f"device {text!r} is unknown; accepted: {', '.join(DEVICES)}, each with an optional :index")
    return DEVICES[match[1]](None if match[2] is None else int(match[2]))
