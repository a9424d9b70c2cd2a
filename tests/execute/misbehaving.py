"""A candidate for every way to go wrong, chosen by `what`; the reference is always right."""
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch

NOTES = Path(os.environ.get("OPDEBUG_TEST_NOTES", tempfile.gettempdir()))


def _once(name):
    """True the first time over all processes of the test."""
    try:
        (NOTES / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def candidate(x, what="nothing"):
    y = x * 2
    if what == "segfault":
        ctypes.string_at(0)
    elif what == "abort":
        os.abort()
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "exit_zero":
        os._exit(0)
    elif what == "sys_exit":
        sys.exit(7)
    elif what == "hang":
        time.sleep(1000)
    elif what == "hang_in_c":
        ctypes.PyDLL(None).sleep(1000)
    elif what == "memory":
        hoard = []
        while True:
            hoard.append(torch.ones(1 << 22))
    elif what == "python_memory":
        hoard = [0] * (1 << 24)
        while True:
            hoard = hoard + hoard
    elif what == "both_refuse":
        raise ValueError("index 9 is out of range")
    elif what == "raise":
        raise ValueError("no such thing as 42")
    elif what == "not_implemented":
        raise NotImplementedError('"frobnicate" not implemented for \'Half\'')
    elif what == "stderr":
        print("on stdout")
        print("on stderr", file=sys.stderr)
        raise RuntimeError("after printing")
    elif what == "print":
        print("hello from the candidate")
    elif what == "wrong":
        return y + 1
    elif what == "flaky_crash" and _once("crash"):
        ctypes.string_at(0)
    elif what == "flaky_value" and _once("value"):
        return y + 1
    elif what == "writes_input":
        x.add_(1)
    elif what == "returns_input":
        return x.mul_(2)
    elif what == "none":
        return None
    elif what == "wrong_dtype":
        return y.double()
    elif what == "wrong_arity":
        return y, y
    elif what == "child_holds_pipes":
        subprocess.Popen(["sleep", "1000"])
        os._exit(3)
    elif what == "closes_everything":
        faulthandler.disable()
        for descriptor in range(64):
            try:
                os.close(descriptor)
            except OSError:
                pass
    elif what == "changes_state":
        torch.manual_seed(7)
        os.chdir("/")
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(2)
        torch.set_grad_enabled(False)
    elif what == "depends_on_state":
        if (torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()) != (torch.float32, 1, True):
            return y + 1
    elif what == "forks":
        os.fork()
    elif what == "hostile_exception":
        raise Hostile
    elif what == "leaves_a_thread":
        threading.Thread(target=lambda: (time.sleep(0.2), ctypes.string_at(0)), daemon=True).start()
    elif what == "random":
        return y + torch.rand(4)
    return y


class Hostile(Exception):
    def __str__(self):
        raise RuntimeError("not even that")


def reference(x, what="nothing"):
    if what == "random":
        return x * 2 + torch.rand(4)
    if what == "both_refuse":
        raise IndexError("out of range")
    if what == "reference_raises":
        raise ArithmeticError("the reference is broken")
    if what == "reference_dies":
        ctypes.string_at(0)
    return x * 2


def cases(device):
    for what in os.environ["OPDEBUG_TEST_WHATS"].split(","):
        yield {"id": what, "args": (torch.arange(4.0, device=device),), "kwargs": {"what": what}}
