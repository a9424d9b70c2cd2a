"""Everything that is loaded once: torch, the user's code, the compiler, and the facts about this machine.

`load(request)` never raises for what is wrong with the request or the machine: it lists the problems.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Loaded:
    """What a host holds after loading. `forkable`: whether a fork of it is safe to run torch in."""

    problems: list[str] = field(default_factory=list)
    sources: Any = None
    environment: dict[str, Any] = field(default_factory=dict)
    forkable: bool = False


def load(request: Mapping[str, Any]) -> Loaded:
    """Load what `request` names: device, sources, and the compiler if a case will need it."""
    try:
        import torch
    except Exception as error:
        return Loaded([f"torch cannot be imported by this Python: {type(error).__name__}: {error}"])
    from opdebug.judge.policies import policy
    from opdebug.model.errors import OpdebugError
    from opdebug.worker import environment, sources
    from opdebug.worker.devices import device as device_named

    torch.set_num_threads(request["threads"])
    problems: list[str] = []
    try:
        device = device_named(request["device"])
        reason = device.unavailable()
        if reason is not None:
            problems.append(f"device {request['device']} is not available: {reason}; there is no fallback to another one")
    except OpdebugError as error:
        return Loaded(list(error.problems))
    for tolerance in request["tolerances"]:
        try:
            policy(tolerance)
        except OpdebugError as error:
            problems += error.problems
    loaded = Loaded(problems)
    try:
        loaded.sources = sources.load(request)
    except OpdebugError as error:
        problems += error.problems
    if "compile" in request["modes"]:
        problems += _warm_compiler(request["mode_settings"].get("compile_backend", "inductor"))
    if not problems:
        # Describing an accelerator creates a context in this process, so ask whether a fork is safe before.
        loaded.forkable = not device.is_initialized() and _single_threaded() and hasattr(os, "fork")
        loaded.environment = environment.collect(device)
        loaded.forkable = loaded.forkable and not device.is_initialized()
    return loaded


def _single_threaded() -> bool:
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return threading.active_count() == 1


def _warm_compiler(backend: str) -> list[str]:
    """Compile something trivial, so that no worker pays again for importing the compiler and probing the machine."""
    import torch

    try:
        # Not every version has imported it by now, and its settings are read at import.
        import torch._dynamo
        from torch._dynamo.backends.registry import list_backends

        if backend != "inductor" and backend not in list_backends(exclude_tags=()):
            return [f"compile backend {backend!r} is unknown; accepted: {', '.join(sorted(list_backends(exclude_tags=())))}"]
        torch.compile(lambda x: x + 1, backend=backend, fullgraph=True)(torch.zeros(8))
        torch._dynamo.reset()
    except Exception:
        # A compiler that cannot compile this either will say so case by case, where it is evidence.
        return []
    return []
