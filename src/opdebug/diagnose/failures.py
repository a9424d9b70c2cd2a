"""One failing case in brief: what failed, by how much, how surely, and beside which passing case.

`failure_entries` makes the `failures` of an analysis, `refusals` its list of unsupported cases; `worst_comparison`
picks the comparison that an entry quotes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opdebug.diagnose.neighbours import Neighbours
from opdebug.diagnose.numbers import number
from opdebug.diagnose.profiles import Profiles
from opdebug.model.words import STATUSES

Row = Mapping[str, Any]

_QUOTED = ("output", "reason", "message", "dtype", "shape", "total", "mismatched", "mismatched_share", "max_abs",
           "max_rel", "cosine", "rel_l2", "ulp_max", "nan", "inf", "worst", "first", "tolerance", "passing_tolerance")
_STRUCTURAL = ("structure", "shape", "dtype", "device", "empty")


def failure_entries(profiles: Profiles, ids: Sequence[str], failing: Mapping[int, Row],
                    neighbours: Neighbours) -> list[dict[str, Any]]:
    """One entry per failing case, in the order of the matrix.

    `nearest_passing` is {case_id, differs: {axis: [failing value, passing value]}} or None if nothing passed; a value
    None means that the case does not have that axis. `contrasts` are {axes, case_id}, no set of axes containing
    another. `attempts` counts how many of the recorded runs ended like this one.
    """
    entries = []
    for index in sorted(failing):
        row, key = failing[index], profiles.keys[index]
        found = neighbours.of(key)
        nearest = None
        if found.nearest is not None:
            other = profiles.keys[found.nearest]
            nearest = {"case_id": ids[found.nearest], "differs": profiles.side_by_side(key, other, found.mask)}
        comparison = worst_comparison(row)
        entries.append({
            **summary(row),
            "metrics": None if comparison is None else {k: comparison[k] for k in _QUOTED if k in comparison},
            "nearest_passing": nearest,
            "contrasts": [{"axes": profiles.axes_of(mask), "case_id": ids[other]} for mask, other in found.contrasts],
        })
    return entries


def refusals(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """{case_id, kind, message} of every unsupported case among `rows`, in their order."""
    return [{key: entry[key] for key in ("case_id", "kind", "message")} for entry in map(summary, rows)]


def summary(row: Row) -> dict[str, Any]:
    """What a result says about its failure, in fixed keys; None where it says nothing."""
    failure = row.get("failure")
    failure = failure if isinstance(failure, Mapping) else {}
    recorded = row.get("attempts")
    # A run without a reference says nothing about how often the candidate fails.
    attempts = [a for a in recorded if isinstance(a, Mapping) and a.get("status") in STATUSES] \
        if isinstance(recorded, list) else []
    return {
        "case_id": row["case_id"], "status": row["status"], "kind": failure.get("kind"),
        "message": failure.get("message") or row.get("error"),
        "exception": failure.get("exception"), "signal": failure.get("signal"), "exit_code": failure.get("exit_code"),
        "signature": failure.get("signature"), "flaky": failure.get("flaky") is True,
        "confirmed": failure.get("confirmed"),
        "attempts": {"total": len(attempts), "same": sum(a.get("status") == row["status"] for a in attempts)},
        "log": row.get("log"),
    }


def worst_comparison(row: Row) -> Mapping[str, Any] | None:
    """The comparison to quote: of those that disagree, a structural one first, then the largest share, then max_abs.

    Results made elsewhere do not say which comparisons disagree; then all are considered.
    """
    compared = [c for c in row.get("comparisons") or [] if isinstance(c, Mapping)]
    candidates = [c for c in compared if c.get("agrees") is False] or compared

    def badness(comparison: Mapping[str, Any]) -> tuple[bool, float, float]:
        share, size = number(comparison.get("mismatched_share")), number(comparison.get("max_abs"))
        return comparison.get("reason") in _STRUCTURAL, -1.0 if share is None else share, -1.0 if size is None else size

    return max(candidates, key=badness, default=None)
