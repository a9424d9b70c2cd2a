"""What one case may change for the next: the process-wide settings of torch and Python, kept and put back.

`State.now()` notes them, `restore()` puts them back and says whether anything had changed. A worker whose state a case
changed is put right for its answer and then replaced: what this list does not hold may have changed as well.
"""

from __future__ import annotations

import os
import random
import threading
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class State:
    """The settings that alter what a later call computes or where it runs."""

    dtype: torch.dtype
    device: torch.device
    grad: bool
    inference: bool
    deterministic: tuple[bool, bool]
    threads: int
    autocast: bool
    folder: str
    python_threads: int

    @classmethod
    def now(cls) -> State:
        return cls(
            torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
            torch.get_num_threads(), torch.is_autocast_cpu_enabled(), _folder(), threading.active_count(),
        )

    def restore(self) -> bool:
        """Put back what can be put back; True if the process was not as noted."""
        found = State.now()
        if found == self:
            return False
        torch.set_default_dtype(self.dtype)
        torch.set_grad_enabled(self.grad)
        torch._C._set_deterministic_algorithms(self.deterministic[0], warn_only=self.deterministic[1])
        if found.threads != self.threads:
            torch.set_num_threads(self.threads)
        if found.device != self.device:
            torch.set_default_device(None)
        if found.folder != self.folder:
            os.chdir(self.folder)
        return True


def seed() -> None:
    """Give the next call the random numbers that the call before it had, so that reference and candidate draw alike."""
    torch.default_generator.manual_seed(0)
    random.seed(0)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"
