"""From a matrix and its results to one document that says what they show: `analyze_documents`.

Its first keys are those of the drop-in contract, in that order; `warnings` lists results that contradict themselves;
`extended=True` adds what our own reports are made of. The document holds data only: sentences are made in `report`.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opdebug.diagnose import coverage
from opdebug.diagnose.axes import case_axes
from opdebug.diagnose.contradictions import contradictions
from opdebug.diagnose.explanation import FAILED, PASSED, UNSUPPORTED, explain
from opdebug.diagnose.failures import failure_entries, refusals
from opdebug.diagnose.neighbours import Neighbours
from opdebug.diagnose.profiles import Profiles
from opdebug.model import words

INTEGRATION_HINT = "isolated-operator-cases-pass-check-integration-boundary"
# A longer matrix lists only its cases that did not pass, so that the document stays readable and small.
LISTED_CASES = 1000

Row = Mapping[str, Any]
Document = dict[str, Any]


def analyze_documents(config: Mapping[str, Any], matrix: Mapping[str, Any], results: Mapping[str, Any], *,
                      no_evidence: Mapping[str, str] | None = None, extended: bool = False) -> Document:
    """The analysis of `results` over `matrix`; all three documents are taken as already validated.

    `no_evidence` gives the reason why a case has no result. With `extended` the document also has

    - `no_evidence` {case: reason}, for missing cases alone
    - `failures` (see failures.failure_entries) and `refusals` {case_id, kind, message}
    - `explanation` (see explanation.explain)
    - `neighbour_search` {exhaustive, compared}: with how many distinct passing cases each failing one was compared
    - `cases` {case_id, status or None, axes {axis: value}}: all of them up to `LISTED_CASES`, else those not passed
    """
    cases, rows = matrix["cases"], results["results"]
    ids = [case["id"] for case in cases]
    planned = dict(zip(ids, cases))
    verdict = coverage.verdict(ids, rows)
    by_status: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_status[row["status"]].append(row["case_id"])
    document: Document = {
        "schema_version": words.SCHEMA_VERSION,
        "status": verdict,
        "operator": config["operator"]["name"],
        "missing_cases": coverage.missing(ids, rows),
        "crash_cases": sorted(by_status[words.CRASH]),
        "mismatch_cases": sorted(by_status[words.MISMATCH]),
        "unsupported_cases": sorted(by_status[words.UNSUPPORTED]),
        "status_counts": coverage.status_counts(rows),
        "failure_axes": _failure_axes(planned, rows),
        "integration_hint":
            INTEGRATION_HINT if verdict == words.PASSED and config.get("source_model_failure") else None,
        "results": list(rows),
        "warnings": contradictions(config, planned, rows),
    }
    if extended:
        reasons = no_evidence or {}
        document["no_evidence"] = {case: reasons[case] for case in document["missing_cases"] if case in reasons}
        with _collector_paused():
            document.update(_extension(cases, ids, rows))
    return document


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No cyclic garbage collection meanwhile: nothing here makes cycles, and each pass would walk all documents again.

    With 100 000 results the collector takes a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _failure_axes(planned: Mapping[str, Row], rows: Sequence[Row]) -> dict[str, dict[str, list[str]]]:
    axes: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for case_id in sorted(row["case_id"] for row in rows if row["status"] in words.FAILING):
        for axis, values in case_axes(planned[case_id]).items():
            for value in values:
                axes[axis][value].append(case_id)
    return {axis: dict(values) for axis, values in axes.items()}


def _extension(cases: Sequence[Row], ids: Sequence[str], rows: Sequence[Row]) -> Document:
    profiles = Profiles(cases)
    position = {case_id: index for index, case_id in enumerate(ids)}
    of_status = {words.PASSED: PASSED, words.UNSUPPORTED: UNSUPPORTED, words.CRASH: FAILED, words.MISMATCH: FAILED}
    row_of = {position[row["case_id"]]: row for row in rows}
    outcomes = {index: of_status[row_of[index]["status"]] for index in sorted(row_of)}
    failing = {index: row_of[index] for index, outcome in outcomes.items() if outcome == FAILED}
    refused = [row_of[index] for index, outcome in outcomes.items() if outcome == UNSUPPORTED]
    neighbours = Neighbours(profiles, list(failing), [i for i, outcome in outcomes.items() if outcome == PASSED])
    return {
        "failures": failure_entries(profiles, ids, failing, neighbours),
        "refusals": refusals(refused),
        "explanation": explain(profiles, ids, outcomes, neighbours),
        "neighbour_search": {"exhaustive": neighbours.exhaustive, "compared": neighbours.sampled},
        "cases": [_listing(profiles, index, case_id, row_of.get(index)) for index, case_id in enumerate(ids)
                  if len(ids) <= LISTED_CASES or outcomes.get(index) != PASSED],
    }


def _listing(profiles: Profiles, index: int, case_id: str, row: Row | None) -> Document:
    said = {axis: profiles.value(profiles.keys[index], axis) for axis in profiles.axes}
    return {"case_id": case_id, "status": None if row is None else row["status"],
            "axes": {axis: value for axis, value in said.items() if value is not None}}
