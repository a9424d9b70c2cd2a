"""The truth of a run: one line of JSON per event, only ever appended, each line carrying the sha256 of the one before.

`Journal` is the writing end (one writer at a time, held by a lock on the file itself); `read_events` is the reading
end, which needs no lock because a line counts only once its newline is there. A line is one write: after a kill -9 it is
there whole or it is a torn tail that was never acknowledged, which readers ignore and the next writer cuts off.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opdebug.evidence.json_files import MAX_BYTES, MAX_DEPTH, compact_line, is_too_deep, parse_own, write_all
from opdebug.model.errors import OpdebugError

FIRST_PREV = "0" * 64
"""What the first line carries in place of a predecessor's sha256."""

ENVELOPE = ("seq", "event", "at", "prev")
"""The keys of every event; all others are its body."""

_CHUNK = 1 << 16
_SEQ = re.compile(rb'\{"seq":(\d{1,18}),')


@dataclass(frozen=True)
class Line:
    """One event as read: its value, its number (from 1), where its line ends in the file, and the line's sha256."""

    event: dict[str, Any]
    number: int
    end: int
    digest: str


@dataclass
class Position:
    """Where a reader stands: bytes read, lines read, sha256 of the last line read."""

    offset: int = 0
    number: int = 0
    digest: str = FIRST_PREV


def read_events(path: Path, start: Position | None = None) -> Iterator[Line]:
    """The events after `start`, in order, with the hash chain checked. A torn last line is ignored.

    Raises OpdebugError naming the line that is unreadable or out of the chain.
    """
    position = start or Position()
    offset, number, digest = position.offset, position.number, position.digest
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while (data := file.readline(MAX_BYTES + 1)).endswith(b"\n"):
                number += 1
                event = _event(data, path, number)
                if event["prev"] != digest:
                    raise OpdebugError(
                        f"{path} line {number} does not continue line {number - 1}: one of them was changed after it "
                        "was written"
                    )
                if event["seq"] != number:
                    raise OpdebugError(f"{path} line {number} carries seq {event['seq']!r}; lines are missing")
                digest = hashlib.sha256(data).hexdigest()
                offset += len(data)
                yield Line(event, number, offset, digest)
            if len(data) > MAX_BYTES:
                raise OpdebugError(f"{path} line {number + 1} is longer than {MAX_BYTES} bytes, the most that is read")
    except OSError as error:
        raise OpdebugError(f"cannot read journal {path}: {error.strerror or error}") from None


def _event(data: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        event = parse_own(data)
    except ValueError as error:
        raise OpdebugError(f"cannot read journal {path} line {number}: {error}") from None
    if not isinstance(event, dict) or not all(key in event for key in ENVELOPE):
        raise OpdebugError(f"{path} line {number} is no event: it needs {', '.join(ENVELOPE)}")
    if not isinstance(event["event"], str) or not isinstance(event["at"], str):
        raise OpdebugError(f"{path} line {number} is no event: event and at must be strings")
    return event


class Journal:
    """The writing end. `size` is the file's length in bytes, `head` the sha256 of its last line, `seq` its number."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle
        self.size = 0
        self.head = FIRST_PREV
        self.seq = 0

    @classmethod
    def create(cls, path: Path) -> Journal:
        """A new, empty, locked journal. Raises FileExistsError when the path is taken, else OSError."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        journal = cls(path, os.open(path, flags, 0o666))
        fcntl.flock(journal._handle, fcntl.LOCK_EX)
        return journal

    @classmethod
    def open(cls, path: Path, *, wait: float = 0.0) -> Journal:
        """The journal at `path`, locked; a torn last line is cut off.

        `wait` is how many seconds to wait for another writer. Raises OpdebugError when the journal cannot be opened
        for writing or another process holds it.
        """
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            cause = "it is a symbolic link" if path.is_symlink() else error.strerror or str(error)
            raise OpdebugError(f"cannot write to journal {path}: {cause}") from None
        journal = cls(path, handle)
        try:
            journal._lock(wait)
            journal._find_end()
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def lock_unfinished(cls, path: Path) -> Journal:
        """Lock a journal that has no complete event yet. Raises OpdebugError when its writer still holds it."""
        journal = cls(path, os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC))
        try:
            journal._lock(0.0)
        except BaseException:
            journal.close()
            raise
        return journal

    def begin(self, event: str, body: dict[str, Any], at: str) -> None:
        """Write the first event, whose body may be large and is known to be readable. Raises OpdebugError."""
        self._write(self._line(event, body, at))

    def append(self, event: str, body: dict[str, Any], at: str) -> dict[str, Any]:
        """Write one event and return it as a reader will see it. `body` may not use the keys of the envelope.

        Raises OpdebugError when the body is no JSON or the line cannot be written; the journal is then as before.
        """
        line = self._line(event, body, at)
        value: dict[str, Any] = parse_own(line)
        if is_too_deep(value, line):
            raise OpdebugError(f"{event} event cannot be recorded: nested deeper than {MAX_DEPTH} levels")
        self._write(line)
        return value

    def _line(self, event: str, body: dict[str, Any], at: str) -> bytes:
        taken = [key for key in ENVELOPE if key in body]
        if taken:
            raise OpdebugError(f"{event} event may not have fields named {', '.join(taken)}; they are the journal's own")
        line = compact_line({"seq": self.seq + 1, "event": event, "at": at, "prev": self.head, **body})
        if len(line) > MAX_BYTES:
            raise OpdebugError(f"{event} event takes {len(line)} bytes; at most {MAX_BYTES} can be recorded")
        return line

    def _write(self, line: bytes) -> None:
        try:
            write_all(self._handle, line)
        except OSError as error:
            os.ftruncate(self._handle, self.size)
            raise OpdebugError(
                f"cannot write to journal {self.path}: {error.strerror or error}; everything recorded before is kept"
            ) from None
        self.size += len(line)
        self.seq += 1
        self.head = hashlib.sha256(line).hexdigest()

    def rename(self, path: Path) -> None:
        """Give the file its final name. Raises OSError."""
        self.path.rename(path)
        self.path = path

    def sync(self) -> None:
        """Make what was appended survive a power failure. Raises OSError."""
        os.fsync(self._handle)

    def close(self) -> None:
        """Release the lock."""
        os.close(self._handle)

    def _lock(self, wait: float) -> None:
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if not isinstance(error, BlockingIOError):
                    raise OpdebugError(f"cannot lock journal {self.path}: {error.strerror or error}") from None
            if time.monotonic() >= deadline:
                raise OpdebugError(f"run directory is in use by another process: {self.path.parent}")
            time.sleep(0.005)

    def _find_end(self) -> None:
        size = os.fstat(self._handle).st_size
        end = self._after_newline_before(size)
        if end < size:
            os.ftruncate(self._handle, end)
        if end == 0:
            raise OpdebugError(f"journal {self.path} holds no complete event")
        start = self._after_newline_before(end - 1)
        line = b"".join(self._chunks(start, end))
        found = _SEQ.match(line)
        if found is None:
            raise OpdebugError(f"the last line of {self.path} is no event; it was changed after it was written")
        self.size, self.seq, self.head = end, int(found[1]), hashlib.sha256(line).hexdigest()

    def _after_newline_before(self, end: int) -> int:
        """The offset after the last newline in the first `end` bytes; 0 without one."""
        while end > 0:
            start = max(0, end - _CHUNK)
            found = os.pread(self._handle, end - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def _chunks(self, start: int, end: int) -> Iterator[bytes]:
        while start < end and (chunk := os.pread(self._handle, end - start, start)):
            yield chunk
            start += len(chunk)
