"""Keeping the views in step with the journal: whole while a run is small, in place once it is large.

`write_whole` rewrites every view that differs; `patch` adds new results in constant time through the index;
`write_head` notes where the journal ended. Views that someone else changed are noticed: `look` says what they claim, so
that a result is not recorded against them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opdebug.evidence import names
from opdebug.evidence.index import Index, IndexUnusable, Summary, discard, identities
from opdebug.evidence.journal import Journal
from opdebug.evidence.json_files import document_bytes, read_json, write_atomic
from opdebug.evidence.patch import append_results, mark_recorded, restored_indent
from opdebug.evidence.state import PENDING, RECORDED, RunState
from opdebug.evidence.views import RESULTS_TAIL, RESULTS_TAIL_EMPTY, PlanText, result_bytes, view_bytes
from opdebug.model.errors import OpdebugError

SMALL_RUN = 128 * 1024
"""Up to this length of its journal, in bytes, a run is read and its views are rewritten whole at each command."""


@dataclass(frozen=True)
class Claims:
    """What the views on disk say: the status of each case, and which cases have a result."""

    statuses: Mapping[str, Any]
    recorded: frozenset[str]

    def are_behind(self, state: RunState) -> bool:
        """Whether a process was killed between recording and showing: a result is not shown, and none is made up."""
        marked = {case_id for case_id, status in self.statuses.items() if status == RECORDED}
        shown = state.result_of.keys()
        return marked <= shown and self.recorded <= shown and not (shown <= marked and shown <= self.recorded)


def look(directory: Path) -> Claims:
    """Read the matrix and the results as they stand. Raises OpdebugError when one cannot be read."""
    cases = _rows(directory / names.MATRIX, "case matrix", "cases")
    results = _rows(directory / names.RESULTS, "results", "results")
    return Claims(
        {case["id"]: case.get("status") for case in cases if isinstance(case.get("id"), str)},
        frozenset(row["case_id"] for row in results if isinstance(row.get("case_id"), str)),
    )


def check_claims(claims: Claims, case_id: str) -> None:
    """Raises OpdebugError when the views say that the case has been dealt with."""
    if case_id in claims.recorded:
        raise OpdebugError(f"case already recorded: {case_id}")
    if claims.statuses.get(case_id, PENDING) != PENDING:
        raise OpdebugError(f"case is not pending: {case_id}")


def write_whole(directory: Path, journal: Journal, state: RunState, text: PlanText, *, sync: bool) -> None:
    """Write every view of `state` that is not on disk already, and the index. Raises OSError.

    Without `sync` a power failure may cost the views, which the journal gives back.
    """
    views, places = view_bytes(state, text)
    for name, data in views.items():
        _write_if_changed(directory / name, data, sync=sync)
    write_index(directory, journal, state, places, len(views[names.RESULTS]))


def write_index(directory: Path, journal: Journal, state: RunState, places: list[int], results_size: int) -> None:
    """Write the index of a large run whose views have just been written whole; a small run has none."""
    try:
        if journal.size <= SMALL_RUN:
            discard(directory)
            return
        end = results_size - len(RESULTS_TAIL if state.result_of else RESULTS_TAIL_EMPTY)
        summary = Summary(journal.size, journal.head, state.manifest, state.pending, len(state.result_of), end,
                          identities(directory))
        Index.build(directory / names.INDEX, state, places, summary)
    except (IndexUnusable, OSError):
        # Without it the next command reads the whole run, and tries again.
        discard(directory)


def patch(directory: Path, journal: Journal, index: Index) -> bool:
    """Add the results noted in `index` to the views in place; False when the views are not as the index knows them."""
    summary = index.summary
    rows = [result_bytes(row) for row in index.new_results.values()]
    try:
        if rows:
            places = [index.place(case_id) for case_id in index.new_results]
            if not mark_recorded(directory / names.MATRIX, places):
                return False
            end = append_results(directory / names.RESULTS, summary.results_end, rows, empty=summary.results == 0)
            if end is None:
                return False
            summary.results_end = end
            summary.results += len(rows)
        _write_if_changed(directory / names.MANIFEST, document_bytes(summary.manifest), sync=False)
        summary.covered, summary.head = journal.size, journal.head
        summary.views = identities(directory)
        index.commit()
    except IndexUnusable:
        return False
    return True


def straighten(directory: Path, index: Index | None) -> None:
    """Give the matrix its canonical form, which marking cases in place costs it. Raises OSError."""
    matrix = directory / names.MATRIX
    _write_if_changed(matrix, restored_indent(matrix.read_bytes()), sync=True)
    if index is not None:
        index.summary.views = identities(directory)
        try:
            index.commit()
        except IndexUnusable:
            discard(directory)


def write_head(directory: Path, journal: Journal) -> None:
    """Note how long the journal is and the sha256 of its last line, which no later line vouches for. Raises OSError."""
    _write_if_changed(directory / names.HEAD, f"{journal.size} {journal.head}\n".encode(), sync=False)


def _write_if_changed(path: Path, data: bytes, *, sync: bool) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        write_atomic(path, data, sync=sync)


def _rows(path: Path, what: str, key: str) -> list[dict[str, Any]]:
    document = read_json(path, what)
    rows = document.get(key) if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise OpdebugError(f"cannot read {what} {path}: it must be an object with an array of objects `{key}`")
    return rows
