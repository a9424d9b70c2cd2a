"""One host for one run: started, loaded, asked, restarted once if it dies, and always ended.

`Session` is what a command uses; it hides how the host is launched and how cases reach its workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from opdebug.execute.launch import LocalLauncher
from opdebug.execute.link import HostDied, Link
from opdebug.execute.pool import Attempt, Conclusion, Pool, Task
from opdebug.model.errors import OpdebugError
from opdebug.worker import protocol

Document = dict[str, Any]


class Session:
    """A loaded host. `request` is the load request without `op` and `protocol`; use as a context manager."""

    def __init__(self, request: Document, launcher: LocalLauncher, lanes: int = 1) -> None:
        self._request = {"op": "load", "protocol": protocol.PROTOCOL, **request}
        self._launcher = launcher
        self._lanes = lanes
        self._link: Link | None = None
        self._pool: Pool | None = None
        self.ready: Document = {}
        self.start_up_s = 0.0

    def __enter__(self) -> Session:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _start(self) -> None:
        began = time.monotonic()
        try:
            self._link = Link(self._launcher.start(self._request["threads"]))
            self._link.send(0, self._request)
            _, self.ready = self._link.receive(self._request["start_timeout_s"])[0]
        except OSError as error:
            raise OpdebugError(f"the worker cannot be started: {error}") from None
        except HostDied as death:
            self._end()
            raise OpdebugError(f"the worker died while it loaded torch and the sources: {death}") from None
        if self.ready["type"] == "refused":
            self._end()
            raise OpdebugError(self.ready["problems"])
        self.start_up_s = time.monotonic() - began
        self._pool = Pool(self._link, self._request, self._lanes)

    def _end(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = self._pool = None

    def collect(self) -> Document:
        """The cases that the user's cases function gives, described: {"cases", "error", "tolerance"}.

        Raises OpdebugError when the worker that asked for them died.
        """
        assert self._pool is not None
        try:
            reply = self._pool.ask({"op": "collect"})
        except HostDied as death:
            raise OpdebugError(f"the worker died while it called the cases function: {death}") from None
        if "cases" not in reply:
            raise OpdebugError(f"the worker was lost while it called the cases function: {reply['no_evidence']}")
        return reply

    def run(self, tasks: Iterable[Task]) -> Iterator[Attempt | Conclusion]:
        """Run every task. A host that dies is restarted once; after that the remaining cases have no evidence."""
        remaining = list(tasks)
        for restart in (False, True):
            assert self._pool is not None
            pool = self._pool
            try:
                yield from pool.run(remaining)
                return
            except HostDied as death:
                remaining, reason = pool.unfinished(), str(death)
            self._end()
            if not restart:
                try:
                    self._start()
                except OpdebugError as error:
                    reason = str(error)
                    break
        for task in remaining:
            yield Conclusion(task.id, None, f"the worker host was lost: {reason}", "")
