"""Coverage first, failures second: which cases have no result, and what the recorded statuses add up to.

`missing` lists the cases without a result, `status_counts` counts all four statuses, `verdict` is the one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opdebug.model.words import DIAGNOSED, FAILING, INCONCLUSIVE, PASSED, STATUSES, UNSUPPORTED


def missing(matrix_ids: Iterable[str], results: Iterable[Mapping[str, Any]]) -> list[str]:
    """The planned cases without a result, in the order of the matrix."""
    recorded = {row["case_id"] for row in results}
    return [case_id for case_id in matrix_ids if case_id not in recorded]


def status_counts(results: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How often each of the four statuses was recorded, zeros included."""
    counts = dict.fromkeys(STATUSES, 0)
    for row in results:
        counts[row["status"]] += 1
    return counts


def verdict(matrix_ids: Iterable[str], results: Sequence[Mapping[str, Any]]) -> str:
    """The first that applies: a missing case is inconclusive, a failure diagnosed, a refusal inconclusive, else passed.

    A missing case comes first even where a crash is already recorded: absence is never success, nor is it a diagnosis.
    """
    if missing(matrix_ids, results):
        return INCONCLUSIVE
    counts = status_counts(results)
    if any(counts[status] for status in FAILING):
        return DIAGNOSED
    return INCONCLUSIVE if counts[UNSUPPORTED] else PASSED
