"""Is the evidence what was recorded? Every view derived again and compared byte for byte, every file digested again.

`verify` returns findings in words, none for a sound run. It reads only, believes nothing but the journal, and of the
journal only what its hash chain holds together.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from opdebug.evidence import names
from opdebug.evidence.journal import Position, read_events
from opdebug.evidence.json_files import collector_paused, read_bytes
from opdebug.evidence.manifest import sha256_file
from opdebug.evidence.patch import restored_indent
from opdebug.evidence.state import RunState
from opdebug.evidence.views import plan_text, view_bytes
from opdebug.model.errors import OpdebugError

_HEAD = re.compile(rb"([1-9]\d{0,17}) ([0-9a-f]{64})\n")


def verify(directory: str | os.PathLike[str]) -> list[str]:
    """What in the run directory is not as it was recorded: each finding names the file and where in it.

    Raises OpdebugError when there is no journal to compare with.
    """
    path = Path(directory)
    journal = path / names.JOURNAL
    if not journal.is_file():
        raise OpdebugError(f"{path} is not a run directory: it has no {names.JOURNAL}")
    findings: list[str] = []
    with collector_paused():
        state = _replayed(journal, findings)
        if not findings or state.config:
            findings += state.problems
            findings += _changed_views(path, state)
            findings += _changed_files(path, state)
    return findings


def _replayed(journal: Path, findings: list[str]) -> RunState:
    """The state of the events up to the first that is not sound."""
    state, position, ends = RunState(), Position(), dict[int, str]()
    try:
        for line in read_events(journal, position):
            state.apply(line.event)
            position = Position(line.end, line.number, line.digest)
            ends[line.end] = line.digest
    except OpdebugError as error:
        findings.append(f"{names.JOURNAL}: {error}; what follows from later lines is not checked")
        return state
    size = journal.stat().st_size
    if position.offset < size:
        findings.append(
            f"{names.JOURNAL}: the last {size - position.offset} bytes are no complete line; they were never "
            "acknowledged and are cut off when the run is next written"
        )
    if not state.events:
        findings.append(f"{names.JOURNAL}: holds no complete event")
    findings += _unvouched(journal.parent / names.HEAD, ends, position)
    return state


def _unvouched(path: Path, ends: dict[int, str], position: Position) -> list[str]:
    """The last line has no successor that carries its digest; the note of where the journal ended does."""
    try:
        found = _HEAD.fullmatch(read_bytes(path, 1000))
    except (OSError, ValueError):
        return [f"{names.HEAD}: cannot be read, so nothing vouches for the last line of {names.JOURNAL}"]
    if found is None:
        return [f"{names.HEAD}: was changed, so nothing vouches for the last line of {names.JOURNAL}"]
    size, digest = int(found[1]), found[2].decode()
    if size > position.offset:
        return [f"{names.JOURNAL}: {size - position.offset} bytes are missing at its end, by {names.HEAD}"]
    if ends.get(size) != digest:
        return [f"{names.JOURNAL}: the line that ends at byte {size} is not the one noted in {names.HEAD}"]
    return []


def _changed_views(directory: Path, state: RunState) -> list[str]:
    findings = []
    views, _ = view_bytes(state, plan_text(state.config))
    for name, expected in views.items():
        try:
            actual = (directory / name).read_bytes()
        except OSError as error:
            findings.append(f"{name}: cannot be read: {error.strerror or error}")
            continue
        if name == names.MATRIX:
            actual = restored_indent(actual)
        if actual != expected:
            findings.append(f"{name}: {_where(actual, expected)} differs from what the journal says")
    return findings


def _where(actual: bytes, expected: bytes) -> str:
    pairs = enumerate(zip(actual, expected, strict=False))
    at = next((index for index, (one, other) in pairs if one != other), min(len(actual), len(expected)))
    return f"byte {at} (line {expected.count(10, 0, at) + 1})"


def _changed_files(directory: Path, state: RunState) -> list[str]:
    findings = []
    for name, digest in sorted(state.files.items()):
        try:
            actual = sha256_file(directory / name)
        except (OSError, ValueError) as error:
            findings.append(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}")
            continue
        if actual != digest:
            size = (directory / name).stat().st_size
            findings.append(f"{name}: its {size} bytes have sha256 {actual}, recorded was {digest}")
    return findings
