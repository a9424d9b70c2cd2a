"""Results that contradict themselves: a status and metrics that do not go together, whoever wrote them.

`contradictions(config, rows)` gives the `warnings` of an analysis as plain data. Statuses are never changed.

What max_abs and max_rel can prove: a comparison by allclose accepts where |d| ≤ atol + rtol·|r| for every element, and
the two maxima may belong to different elements. So they refute a pass only where one term is gone, where both maxima
belong to the one element there is, or where the comparison itself says that it disagrees. Otherwise, with max_abs above
atol, a pass needs |r| ≥ (max_abs - atol) / rtol where the largest difference lies; that is given as `needs_reference`
with `proved` false. Conversely max_abs ≤ atol leaves no element outside, NaN and infinities aside, which it does not
show; max_rel ≤ rtol does not, since a relative difference says nothing where the reference is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional

from opdebug.diagnose.numbers import number
from opdebug.model.words import MISMATCH, PASSED

OUTSIDE = "passed_outside_tolerance"
UNCOMPARED = "passed_without_comparison"
UNMEASURED = "mismatch_without_metric"
INSIDE = "mismatch_within_tolerance"

# Metrics are taken in float64, acceptance perhaps in the output's dtype; a difference this small decides nothing.
_ROUNDING = 1 + 1e-6
_EVIDENCE = ("max_abs", "max_rel", "cosine", "mismatched", "reason", "ulp_max", "rel_l2")

Warning_ = dict[str, Any]
# (atol, rtol); None where there is none, or where another policy than allclose decided.
_Tolerance = tuple[Optional[float], Optional[float]]


def contradictions(config: Mapping[str, Any], cases: Mapping[str, Mapping[str, Any]],
                   rows: Iterable[Mapping[str, Any]]) -> list[Warning_]:
    """{case_id, kind, output, proved, max_abs, max_rel, atol, rtol, needs_reference} in the order of the results.

    `cases` are the planned cases by id; one may carry a tolerance of its own. `output` is None where the warning is
    about the whole result; the numbers are None where there are none.
    """
    found: list[Warning_] = []
    common = _tolerance(config)
    for row in rows:
        if row["status"] not in (PASSED, MISMATCH):
            continue
        compared = [c for c in row.get("comparisons") or [] if isinstance(c, dict)]
        case = cases.get(row["case_id"], {})
        held = [_tolerance(config, case, c) if "tolerance" in case or "tolerance" in c else common for c in compared]
        if row["status"] == PASSED:
            if not compared:
                found.append(_warning(row, UNCOMPARED, {}, (None, None)))
            for comparison, tolerance in zip(compared, held):
                found += _doubt(row, comparison, tolerance)
        elif not any(_is_measured(c) for c in compared):
            found.append(_warning(row, UNMEASURED, {}, (None, None)))
        elif all(map(_is_inside, compared, held)):
            found.append(_warning(row, INSIDE, compared[0], held[0]))
    return found


def _doubt(row: Mapping[str, Any], comparison: Mapping[str, Any],
           tolerance: _Tolerance) -> list[Warning_]:
    if comparison.get("agrees") is False:
        return [_warning(row, OUTSIDE, comparison, tolerance)]
    atol, rtol = tolerance
    if atol is None or rtol is None:
        return []
    max_abs, max_rel = number(comparison.get("max_abs")), number(comparison.get("max_rel"))
    over_abs = max_abs is not None and max_abs > atol * _ROUNDING
    over_rel = max_rel is not None and max_rel > rtol * _ROUNDING
    if (over_abs and rtol == 0) or (over_rel and atol == 0):
        return [_warning(row, OUTSIDE, comparison, tolerance)]
    if not over_abs or max_abs is None or (max_rel is not None and not over_rel):
        return []
    if comparison.get("total") == 1 and max_rel and max_abs > (atol + rtol * max_abs / max_rel) * _ROUNDING:
        return [_warning(row, OUTSIDE, comparison, tolerance)]
    if "agrees" in comparison:
        return []
    return [_warning(row, OUTSIDE, comparison, tolerance, needs=(max_abs - atol) / rtol)]


def _is_measured(comparison: Mapping[str, Any]) -> bool:
    return any(comparison.get(key) is not None for key in _EVIDENCE)


def _is_inside(comparison: Mapping[str, Any], tolerance: _Tolerance) -> bool:
    """True if the metrics leave no room for an element outside; never for a comparison that judges for itself."""
    atol, max_abs = tolerance[0], number(comparison.get("max_abs"))
    if "agrees" in comparison or comparison.get("reason") is not None or atol is None or max_abs is None:
        return False
    return max_abs <= atol


def _tolerance(*holders: Mapping[str, Any]) -> _Tolerance:
    """The tolerance that config, case and comparison, in this order, come to; a later one replaces what it says."""
    given: dict[str, Any] = {}
    for holder in holders:
        said = holder.get("tolerance")
        if isinstance(said, dict):
            given.update(said)
    if given.get("policy", "allclose") != "allclose":
        return None, None
    return number(given.get("atol")), number(given.get("rtol"))


def _warning(row: Mapping[str, Any], kind: str, comparison: Mapping[str, Any],
             tolerance: _Tolerance, needs: float | None = None) -> Warning_:
    return {"case_id": row["case_id"], "kind": kind, "output": comparison.get("output"), "proved": needs is None,
            "max_abs": comparison.get("max_abs"), "max_rel": comparison.get("max_rel"),
            "atol": tolerance[0], "rtol": tolerance[1], "needs_reference": needs}
