"""Progress on stderr: a bar that redraws itself on a terminal, one plain line per failure and now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TextIO

from opdebug.model.words import FAILING

_BAR = 24
_PLAIN_EVERY_S = 5.0


class Progress:
    """Counts conclusions out of `total`. Use as a context manager, so that the bar is cleared whatever happens."""

    def __init__(self, total: int, stream: TextIO = sys.stderr, quiet: bool = False) -> None:
        self._total = total
        self._stream = stream
        self._quiet = quiet
        self._live = stream.isatty() and not quiet
        self._done: Counter[str] = Counter()
        self._printed = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def say(self, text: str) -> None:
        """A line about something other than a case."""
        if not self._quiet:
            self._stream.write(("\r\x1b[K" if self._live else "") + text + "\n")
            self._stream.flush()

    def done(self, case_id: str, status: str) -> None:
        """One case is concluded."""
        self._done[status] += 1
        count = self._done.total()
        words = ", ".join(f"{n} {status}" for status, n in self._done.items())
        if self._live:
            filled = _BAR * count // max(self._total, 1)
            self._stream.write(f"\r\x1b[K[{'#' * filled}{'.' * (_BAR - filled)}] {count}/{self._total}  {words}"[:160])
            self._stream.flush()
        elif status in FAILING or count == self._total or time.monotonic() - self._printed > _PLAIN_EVERY_S:
            safe = case_id.encode("ascii", "backslashreplace").decode()
            self.say(f"[{count}/{self._total}] {safe}: {status}")
            self._printed = time.monotonic()
