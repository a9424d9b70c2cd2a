"""What makes a process safe to lose: its own session, its own log, no core file, a memory limit, a parent that reaps it.

`enter(...)` turns the calling process into such a worker. `Marker` is the write-ahead note of what a worker is doing: a
byte for the stage and a text for what is known so far, in memory that outlives it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1

STAGES = {b"-": "start", b"i": "inputs", b"r": "reference", b"c": "candidate", b"j": "comparison", b"d": "idle"}
LONGEST_NOTE = 2**20
_HEADER = 8
_LETTERS = {name: letter for letter, name in STAGES.items()}


class Marker:
    """What one worker is doing, in memory that it shares with its host: the stage in the first byte, then a note.

    The memory is that of an open file, which a spawned worker inherits like a forked one. It costs no system call, so
    every stage of every case can be marked.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.ftruncate(descriptor, _HEADER + LONGEST_NOTE)
        self._memory = mmap.mmap(descriptor, _HEADER + LONGEST_NOTE)

    def set(self, stage: str) -> None:
        self._memory[0:1] = _LETTERS[stage]

    def get(self) -> str:
        return STAGES.get(self._memory[0:1], "start")

    def write_note(self, note: bytes) -> None:
        """Leave `note`, of at most `LONGEST_NOTE` bytes; a longer one is left out."""
        if len(note) > LONGEST_NOTE:
            note = b""
        self._memory[_HEADER : _HEADER + len(note)] = note
        self._memory[1:_HEADER] = len(note).to_bytes(_HEADER - 1, "big")

    def read_note(self) -> bytes:
        """The note last written; empty where there is none."""
        length = int.from_bytes(self._memory[1:_HEADER], "big")
        return self._memory[_HEADER : _HEADER + min(length, LONGEST_NOTE)]

    def close(self) -> None:
        self._memory.close()
        os.close(self._descriptor)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies (Linux; elsewhere the closed pipe has to do)."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def virtual_size() -> int:
    """Bytes of address space in use now; 0 where the platform does not say."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def resident_size(pid: int) -> int:
    """Bytes of memory that process `pid` holds; 0 where the platform does not say or it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def enter(log: int, memory_limit: int, limit_address_space: bool) -> None:
    """Make this process a worker: session of its own, stdin closed, output and crash stacks to `log` (a descriptor).

    `memory_limit` is in bytes, 0 for none. The address-space limit counts from what is mapped now; it is left out
    beside accelerators, whose drivers reserve address space far beyond what they use.
    """
    os.setsid()
    die_with_parent()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the process-wide streams live as long as the process
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_limit and limit_address_space:
        limit = virtual_size() + memory_limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    faulthandler.enable(file=log, all_threads=False)
    faulthandler.register(signal.SIGUSR1, file=log, all_threads=True, chain=False)
