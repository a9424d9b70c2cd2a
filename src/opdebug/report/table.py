"""The matrix of cases as a compact table: id, mode, dtype, shape, strides, status, and the one figure that matters.

`case_table(analysis, columns)` gives rows of (status, line). A column in which no case says anything is left out, and
above `COLLAPSE_ABOVE` cases those that passed are only counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opdebug.model import words
from opdebug.report.columns import fit, pad, width
from opdebug.report.failure_wording import certainty
from opdebug.report.hostile import identifier, prose
from opdebug.report.numbers import count, integer, number, percent
from opdebug.report.wording import axis_value, status_word

Analysis = Mapping[str, Any]
Row = Mapping[str, Any]
Line = tuple[str, str]

COLLAPSE_ABOVE = 40
LISTED = 200
HEADER = "header"
_AXES = ("mode", "dtype", "shape", "strides")
# The widest a column may get before its texts are cut in the middle.
_WIDEST = {"case": 34, "mode": 8, "dtype": 18, "shape": 22, "strides": 18}
_GAP = "  "
_NARROWEST_NOTE = 12


def case_table(analysis: Analysis, columns: int) -> list[Line]:
    """Lines of at most `columns`, each with the status it is about (None without a result, `HEADER` for the rest)."""
    cases = analysis["cases"]
    passed = analysis["status_counts"][words.PASSED]
    total = sum(analysis["status_counts"].values()) + len(analysis["missing_cases"])
    collapsed = total > COLLAPSE_ABOVE
    if collapsed:
        cases = [case for case in cases if case["status"] != words.PASSED]
    shown, hidden = cases[:LISTED], len(cases) - LISTED
    rows = {case["case_id"]: case for case in analysis["results"]}
    failures = {failure["case_id"]: failure for failure in analysis["failures"]}
    cells = [_cells(case, rows.get(case["case_id"]), failures.get(case["case_id"]), analysis) for case in shown]
    lines = _aligned(cells, [case["status"] for case in shown], columns) if shown else []
    if hidden > 0:
        lines.append((HEADER, f"and {count(hidden, 'more case')} that did not pass"))
    if collapsed:
        lines.append((words.PASSED, f"{integer(passed)} of {count(total, 'case')} passed (not listed)"))
    return lines


def _cells(case: Row, row: Row | None, failure: Row | None, analysis: Analysis) -> dict[str, str]:
    said = case["axes"]
    cells = {"case": identifier(case["case_id"])}
    cells.update({axis: identifier(axis_value(said[axis])) if axis in said else "" for axis in _AXES})
    cells["status"] = status_word(case["status"])
    cells["worst"] = _note(row, failure, analysis["no_evidence"].get(case["case_id"]))
    return cells


def _note(row: Row | None, failure: Row | None, reason: str | None) -> str:
    """The worst metric of a passing or mismatching case, the signature of a crash, the reason of anything else."""
    if row is None:
        return prose(reason, 80) if reason else ""
    if row["status"] == words.UNSUPPORTED:
        return prose(row.get("error") or "", 80)
    if row["status"] == words.CRASH and failure is not None:
        what = failure.get("signal") or failure.get("exception") or failure.get("kind") or failure.get("message") or ""
        return prose(what, 60) + certainty(failure)
    metrics = failure["metrics"] if failure is not None else _largest(row.get("comparisons") or [])
    note = _figure(metrics) if metrics else ""
    return note + certainty(failure) if failure is not None else note


def _largest(comparisons: Sequence[Row]) -> Row | None:
    measured = [c for c in comparisons if isinstance(c.get("max_abs"), (int, float))]
    return max(measured, key=lambda c: c["max_abs"], default=None)


def _figure(metrics: Row) -> str:
    if metrics.get("reason") in ("structure", "shape", "dtype", "device", "empty"):
        return f"{metrics['reason']} differs"
    parts = []
    if metrics.get("max_abs") is not None:
        parts.append(f"max abs {number(metrics['max_abs'])}")
    share = metrics.get("mismatched_share")
    if isinstance(share, (int, float)) and share:
        parts.append(f"{percent(share)} outside")
    return ", ".join(parts)


def _aligned(cells: list[dict[str, str]], statuses: Sequence[str | None], columns: int) -> list[Line]:
    names = [name for name in ("case", *_AXES, "status") if any(row[name] for row in cells)]
    wide = {name: min(_WIDEST.get(name, 99), max(len(name), *(width(row[name]) for row in cells))) for name in names}
    # On a narrow terminal the widest columns give way first; the status never does.
    while sum(wide.values()) + len(_GAP) * len(names) > columns:
        widest = max((name for name in names if name != "status"), key=wide.__getitem__)
        if wide[widest] <= 2:
            break
        wide[widest] -= 1
    room = columns - sum(wide.values()) - len(_GAP) * len(names)
    lines: list[Line] = [(HEADER, _GAP.join(pad(fit(name, wide[name]), wide[name]) for name in names).rstrip())]
    for row, status in zip(cells, statuses):
        line = _GAP.join(pad(fit(row[name], wide[name]), wide[name]) for name in names)
        if room >= _NARROWEST_NOTE and row["worst"]:
            line += _GAP + fit(row["worst"], room)
        lines.append((str(status) if status is not None else "", line.rstrip()))
    return lines
