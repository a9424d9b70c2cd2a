"""How a host is started: the one place that knows. A launcher gives a pair of pipes and a way to end what it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

_PACKAGE_ROOT = Path(__file__).resolve().parents[2]
_CLOSE_WAIT_S = 5.0


class Connection(Protocol):
    """A started host: descriptors to read its frames from and to write ours to."""

    reading: int
    writing: int

    def close(self) -> None:
        """End the host and everything it started, and release what was made for it."""

    def obituary(self) -> str:
        """How a host that ended by itself ended, with the last lines it printed."""


class LocalLauncher:
    """Starts the host as a child process with the Python `python` on this machine."""

    def __init__(self, python: str | None = None, variables: Mapping[str, str] | None = None) -> None:
        self._python = python or sys.executable
        self._variables = dict(variables or {})

    def start(self, threads: int) -> Connection:
        """Start a host whose numerical libraries use `threads` threads. Raises OSError when it cannot be started."""
        return _LocalConnection(self._python, threads, self._variables)


class _LocalConnection:
    def __init__(self, python: str, threads: int, variables: Mapping[str, str]) -> None:
        # Compiled graphs and kernels are private to the run: a shared cache would serve what others compiled. (torch keeps
        # its precompiled C++ header elsewhere, under a name that holds the compiler's options.)
        self._scratch = tempfile.TemporaryDirectory(prefix="opdebug-cache-", ignore_cleanup_errors=True)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the host lives
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH")])),
            "TORCHINDUCTOR_CACHE_DIR": self._scratch.name, "TRITON_CACHE_DIR": str(Path(self._scratch.name) / "triton"),
            # A worker pool of the compiler does not survive the fork that makes a worker.
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads),
            **variables,
        }
        self._process = subprocess.Popen(
            [python, "-m", "opdebug.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            env=environment, start_new_session=True, bufsize=0,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.reading = self._process.stdout.fileno()
        self.writing = self._process.stdin.fileno()

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_CLOSE_WAIT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()
        self._log.close()
        self._scratch.cleanup()

    def obituary(self) -> str:
        try:
            code = self._process.wait(_CLOSE_WAIT_S)
        except subprocess.TimeoutExpired:
            return "it stopped answering"
        how = f"it was killed by {signal.Signals(-code).name}" if code < 0 else f"it exited with code {code}"
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 4000))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()[-12:]
        return "\n  ".join([how, *lines])
