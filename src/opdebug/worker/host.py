"""The process beside the device: loads torch and the user's code once, forks workers from that, relays, and buries.

A forked worker costs milliseconds where a new process costs seconds, so every failure can be confirmed alone in a fresh
one. Where a fork would be unsafe (the user's imports started threads or touched the device) workers are spawned.
The host enforces the time and memory limits itself and never runs a case. It speaks frames on its stdin and stdout:
channel 0 is the host's, channel n its worker n; it passes what belongs to a worker through unread.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from opdebug.worker import protocol, sandbox

_LOG_TAIL = 64 * 1024
_TICK_S = 0.05
_HEARTBEAT_S = 5.0
_STACK_WAIT_S = 0.3
_LAST_WORDS_S = 1.0


class _Worker:
    """One worker as the host sees it. `waiting` counts the messages it has not answered."""

    def __init__(self, channel: int, pid: int, stream: socket.socket, log: int, marker: sandbox.Marker) -> None:
        self.channel = channel
        self.pid = pid
        self.stream = stream
        self.log = log
        self.marker = marker
        self.outgoing = bytearray()
        self.decoder = protocol.Decoder()
        self.waiting = 0
        self.stage = "start"
        self.is_blocked = False
        self.since = time.monotonic()
        self.killed_for: str | None = None

    def log_tail(self) -> str:
        size = os.fstat(self.log).st_size
        start = max(0, size - _LOG_TAIL)
        return os.pread(self.log, size - start, start).decode("utf-8", "backslashreplace")


class Host:
    """The relay. `run()` returns when the controller closes its end."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._decoder = protocol.Decoder()
        self._pending = bytearray()
        self._is_blocked = False
        self._selector = selectors.DefaultSelector()
        self._workers: dict[int, _Worker] = {}
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._request: dict[str, Any] = {}
        self._sources: Any = None
        self._forkable = False
        self._closing = False
        self._last_sent = time.monotonic()
        self._last_looked = time.monotonic()

    # -- life ---------------------------------------------------------------------------------------------------

    def run(self) -> None:
        os.set_blocking(self._incoming, False)
        os.set_blocking(self._outgoing, False)
        self._selector.register(self._incoming, selectors.EVENT_READ, None)
        try:
            while not self._closing:
                self._step()
        finally:
            for worker in list(self._workers.values()):
                self._kill(worker)

    def _step(self) -> None:
        busy = any(w.waiting for w in self._workers.values())
        for key, events in self._selector.select(_TICK_S if busy else _HEARTBEAT_S):
            if key.fd == self._incoming:
                self._read_controller()
            elif key.fd == self._outgoing:
                self._flush()
            elif key.data in self._workers:
                if events & selectors.EVENT_WRITE:
                    self._write_worker(self._workers[key.data])
                if events & selectors.EVENT_READ and key.data in self._workers:
                    self._read_worker(self._workers[key.data])
        now = time.monotonic()
        if now - self._last_looked >= _TICK_S:
            self._last_looked = now
            self._enforce()
        if now - self._last_sent > _HEARTBEAT_S:
            self._send({"type": "alive"})

    def _send(self, document: Mapping[str, Any]) -> None:
        self._relay(protocol.encode(protocol.CONTROL, dict(document)))

    def _relay(self, frame: bytes) -> None:
        self._pending += frame
        self._last_sent = time.monotonic()
        self._flush()

    def _flush(self) -> None:
        try:
            while self._pending:
                del self._pending[: os.write(self._outgoing, self._pending)]
        except BlockingIOError:
            pass
        except OSError:
            self._closing = True
        if self._pending and not self._is_blocked:
            self._selector.register(self._outgoing, selectors.EVENT_WRITE, None)
        elif not self._pending and self._is_blocked:
            self._selector.unregister(self._outgoing)
        self._is_blocked = bool(self._pending)

    # -- the controller -----------------------------------------------------------------------------------------

    def _read_controller(self) -> None:
        try:
            data = os.read(self._incoming, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self._closing = True
            return
        for channel, payload in self._decoder.feed(data):
            if channel == protocol.CONTROL:
                self._obey(protocol.parse(payload))
            elif channel in self._workers:
                worker = self._workers[channel]
                if not worker.waiting:
                    worker.since = time.monotonic()
                worker.waiting += 1
                worker.outgoing += protocol.pack(channel, payload)
                self._write_worker(worker)

    def _obey(self, message: dict[str, Any]) -> None:
        if message["op"] == "load":
            self._send(self._load(message))
        elif message["op"] == "start":
            self._start(message["worker"])
        elif message["op"] == "stop" and message["worker"] in self._workers:
            worker = self._workers[message["worker"]]
            self._kill(worker)
            self._forget(worker)

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        self._request = request
        if request.get("protocol") != protocol.PROTOCOL:
            return {"type": "refused", "problems": [
                f"the worker speaks protocol {protocol.PROTOCOL}, the controller {request.get('protocol')}"]}
        # Before the user's code can change where imports come from.
        from opdebug.worker import loading, serve  # noqa: F401

        process = os.getpid()
        loaded = loading.load(request)
        if os.getpid() != process:
            # The user's import forked; two hosts cannot speak on one pipe.
            os._exit(0)
        if loaded.problems:
            return {"type": "refused", "problems": loaded.problems}
        self._sources = loaded.sources
        self._forkable = loaded.forkable
        return {"type": "ready", "protocol": protocol.PROTOCOL, "environment": loaded.environment,
                "forks": self._forkable, "pid": os.getpid()}

    # -- the workers --------------------------------------------------------------------------------------------

    def _start(self, channel: int) -> None:
        ours, theirs = socket.socketpair()
        log, note = _scratch(), _scratch()
        pid = self._fork(theirs, log, note) if self._forkable else self._spawn(theirs, log, note)
        theirs.close()
        ours.setblocking(False)
        worker = _Worker(channel, pid, ours, log, sandbox.Marker(note))
        self._workers[channel] = worker
        self._selector.register(ours, selectors.EVENT_READ, channel)
        if not self._forkable:
            worker.outgoing += protocol.encode(protocol.CONTROL, self._request)
            self._write_worker(worker)
        self._send({"type": "started", "worker": channel, "pid": pid})

    def _fork(self, stream: socket.socket, log: int, note: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        status = 70
        try:
            os.close(self._incoming)
            os.close(self._outgoing)
            self._selector.close()
            for other in self._workers.values():
                other.stream.close()
            enter_and_serve(stream, self._sources, self._request, log, note)
            status = 0
        finally:
            # Neither the host's exit handlers nor the candidate's may run here a second time.
            os._exit(status)

    def _spawn(self, stream: socket.socket, log: int, note: int) -> int:
        numbers = [stream.fileno(), log, note]
        child = subprocess.Popen([sys.executable, "-m", "opdebug.worker", "worker", *map(str, numbers)], pass_fds=numbers)
        self._children[child.pid] = child
        return child.pid

    def _write_worker(self, worker: _Worker) -> None:
        try:
            while worker.outgoing:
                del worker.outgoing[: worker.stream.send(worker.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            worker.outgoing.clear()
        if bool(worker.outgoing) != worker.is_blocked:
            worker.is_blocked = bool(worker.outgoing)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.is_blocked else 0)
            self._selector.modify(worker.stream, events, worker.channel)

    def _read_worker(self, worker: _Worker) -> None:
        try:
            data = worker.stream.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._bury(worker)
            return
        try:
            for _, payload in worker.decoder.feed(data):
                worker.waiting -= 1
                worker.since = time.monotonic()
                self._relay(protocol.pack(worker.channel, payload))
        except protocol.ProtocolError:
            worker.killed_for = "protocol"
            self._bury(worker)

    def _enforce(self) -> None:
        limit_bytes = self._request.get("memory_limit", 0)
        for worker in list(self._workers.values()):
            if not worker.waiting:
                continue
            stage = worker.marker.get()
            if stage != worker.stage:
                # Each stage has the whole limit: a slow reference must not be charged to the candidate.
                worker.stage, worker.since = stage, time.monotonic()
            limit_s = self._request["start_timeout_s" if stage == "start" else "timeout_s"]
            if time.monotonic() - worker.since > limit_s:
                worker.killed_for = "timeout"
                # The stack of a hang is worth a moment: it says where the candidate was waiting.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGUSR1)
                time.sleep(_STACK_WAIT_S)
            elif limit_bytes and sandbox.resident_size(worker.pid) > limit_bytes:
                worker.killed_for = "memory"
            elif not self._exited(worker.pid):
                continue
            self._bury(worker)

    @staticmethod
    def _exited(pid: int) -> bool:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None

    def _kill(self, worker: _Worker) -> int:
        """Kill the worker's whole process group; returns its wait status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        _, status = os.waitpid(worker.pid, 0)
        child = self._children.pop(worker.pid, None)
        if child is not None:
            child.returncode = os.waitstatus_to_exitcode(status)
        return status

    def _bury(self, worker: _Worker) -> None:
        # A worker that closed its stream may still be on its way out with a status of its own.
        deadline = time.monotonic() + (_LAST_WORDS_S if worker.killed_for is None else 0.0)
        while not self._exited(worker.pid) and time.monotonic() < deadline:
            time.sleep(0.002)
        status = self._kill(worker)
        # What we killed it for is judged by the stage seen then, not by how far it came until the kill took effect.
        stage = worker.stage if worker.killed_for == "timeout" else worker.marker.get()
        message: dict[str, Any] = {
            "type": "died", "worker": worker.channel, "stage": stage, "killed_for": worker.killed_for,
            "signal": signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None,
            "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "log": worker.log_tail(), "note": worker.marker.read_note().decode("utf-8"),
        }
        self._forget(worker)
        self._send(message)

    def _forget(self, worker: _Worker) -> None:
        self._selector.unregister(worker.stream)
        worker.stream.close()
        os.close(worker.log)
        worker.marker.close()
        del self._workers[worker.channel]


def _scratch() -> int:
    descriptor, path = tempfile.mkstemp(prefix="opdebug-")
    os.unlink(path)
    return descriptor


def enter_and_serve(stream: socket.socket, sources: Any, request: Mapping[str, Any], log: int, note: int) -> None:
    """Turn this process into a worker and serve until the host closes the stream."""
    from opdebug.worker.devices import device
    from opdebug.worker.serve import messages, serve

    sandbox.enter(log, request["memory_limit"], device(request["device"]).limits_address_space)
    serve(messages(stream), stream, sources, request, sandbox.Marker(note), log)


def spawned_worker(numbers: list[str]) -> None:
    """The main program of a worker that was started anew: it gets the load request as its first message."""
    from opdebug.worker import loading
    from opdebug.worker.devices import device
    from opdebug.worker.serve import messages, serve

    descriptor, log, note = map(int, numbers)
    stream = socket.socket(fileno=descriptor)
    incoming = messages(stream)
    request = protocol.parse(next(incoming))
    sandbox.enter(log, request["memory_limit"], device(request["device"]).limits_address_space)
    loaded = loading.load(request)
    if loaded.sources is None:
        raise SystemExit("; ".join(loaded.problems))
    serve(incoming, stream, loaded.sources, request, sandbox.Marker(note), log)


def host_main() -> None:
    """The main program of the host: keep the frames' pipes for itself, give prints to stderr, and relay."""
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    # The controller decides what an interrupt means; it closes the pipe when the host should end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Host(incoming, outgoing).run()
    # Taking down an interpreter that holds torch costs a second or two, and every run would wait for it.
    sys.stderr.flush()
    os._exit(0)
