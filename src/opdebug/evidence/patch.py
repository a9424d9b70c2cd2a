"""Bringing the two growing documents up to date in time that does not depend on how large they have become.

`append_results` overwrites the closing lines of results.json with the new rows and the closing lines again.
`mark_recorded` changes a status in case-matrix.json where it stands; the longer word takes one space of the indent, so
nothing moves. Both look first, and change nothing when the file is not what they expect. The exact layout comes back
when the views are next written whole; `restored_indent` undoes the difference for a comparison.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from opdebug.evidence.json_files import write_all
from opdebug.evidence.views import RESULTS_TAIL, RESULTS_TAIL_EMPTY

_PENDING = b' "status": "pending"'
_RECORDED = b'"status": "recorded"'
_SHORT_INDENT = b'\n     "status": "recorded"'


def append_results(path: Path, end: int, rows: list[bytes], *, empty: bool) -> int | None:
    """Add `rows` to results.json, whose last row ends at offset `end`; returns the new end.

    None: the file is not as expected there, and unchanged. Raises OSError, with the file as it was.
    """
    tail = RESULTS_TAIL_EMPTY if empty else RESULTS_TAIL
    addition = (b"" if empty else b",") + b",".join(rows)
    with _opened(path) as handle:
        if os.fstat(handle).st_size != end + len(tail) or os.pread(handle, len(tail), end) != tail:
            return None
        os.lseek(handle, end, os.SEEK_SET)
        try:
            write_all(handle, addition + RESULTS_TAIL)
        except OSError:
            # The old closing lines fit where they were: their blocks are still there.
            os.lseek(handle, end, os.SEEK_SET)
            write_all(handle, tail)
            os.ftruncate(handle, end + len(tail))
            raise
    return end + len(addition)


def mark_recorded(path: Path, places: Iterable[int]) -> bool:
    """Turn the status at each offset of case-matrix.json from pending into recorded; False when one is not pending."""
    with _opened(path) as handle:
        for place in places:
            if os.pread(handle, len(_PENDING), place - 1) != _PENDING:
                return False
            os.pwrite(handle, _RECORDED, place - 1)
    return True


def restored_indent(matrix: bytes) -> bytes:
    """The matrix as it is when written whole."""
    return matrix.replace(_SHORT_INDENT, b'\n      "status": "recorded"')


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        with suppress(OSError):
            os.close(handle)
