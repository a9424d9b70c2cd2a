"""Only what the metrics prove is called a contradiction; what they leave open is told with the condition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdebug.diagnose.contradictions import contradictions


def warn(status: str, *comparisons: dict[str, Any], atol: Any = 1e-3, rtol: Any = 1e-3,
         case: dict[str, Any] | None = None) -> list[tuple[str, bool]]:
    rows = [{"case_id": "a", "status": status, "comparisons": [{"output": "o", **c} for c in comparisons]}]
    found = contradictions({"tolerance": {"atol": atol, "rtol": rtol}}, {"a": case or {}}, rows)
    return [(w["kind"], w["proved"]) for w in found]


PROVED, OPEN = [("passed_outside_tolerance", True)], [("passed_outside_tolerance", False)]


@pytest.mark.parametrize(("comparison", "tolerance", "expected"), [
    ({"max_abs": 1e-4, "max_rel": 0.5}, {}, []),
    ({"max_abs": 5.0, "max_rel": 1e-4}, {}, []),
    ({"max_abs": 5.0, "max_rel": 0.5}, {}, OPEN),
    ({"max_abs": 5.0}, {}, OPEN),
    ({"max_rel": 0.5}, {}, []),
    ({"max_abs": 5.0, "max_rel": 1e-4}, {"rtol": 0.0}, PROVED),
    ({"max_abs": 1e-9, "max_rel": 0.5}, {"atol": 0.0}, PROVED),
    ({"max_abs": 5.0, "max_rel": 0.5, "total": 1}, {}, PROVED),
    ({"max_abs": 1e-3 * (1 + 1e-8)}, {"rtol": 0}, []),
    ({"max_abs": 5.0, "max_rel": 0.5, "agrees": True}, {}, []),
    ({"agrees": False}, {}, PROVED),
    ({"max_abs": 5.0, "max_rel": 0.5, "tolerance": {"policy": "ulp", "atol": 0.0, "rtol": 0.0}}, {}, []),
    ({"max_abs": 5.0, "max_rel": 0.5, "tolerance": {"atol": 9.0, "rtol": 0.0}}, {}, []),
    ({"max_abs": 10**400}, {"rtol": 0}, PROVED),
    ({"max_abs": None}, {}, []),
])
def test_passed_results(comparison: dict[str, Any], tolerance: dict[str, Any], expected: list[Any]) -> None:
    assert warn("passed", comparison, **tolerance) == expected


def test_the_tolerance_of_the_case_replaces_that_of_the_config() -> None:
    assert warn("passed", {"max_abs": 5.0}, rtol=0, case={"tolerance": {"atol": 10}}) == []


def test_a_pass_needs_a_comparison() -> None:
    assert warn("passed") == [("passed_without_comparison", True)]


def test_a_mismatch_needs_a_metric() -> None:
    assert warn("numerical_mismatch") == [("mismatch_without_metric", True)]
    assert warn("numerical_mismatch", {"max_abs": None}) == [("mismatch_without_metric", True)]
    assert warn("numerical_mismatch", {"reason": "shape", "agrees": False}) == []
    assert warn("numerical_mismatch", {"cosine": 0.5}) == []


def test_a_mismatch_inside_its_tolerance() -> None:
    assert warn("numerical_mismatch", {"max_abs": 1e-4}) == [("mismatch_within_tolerance", True)]
    assert warn("numerical_mismatch", {"max_abs": 1e-4}, {"max_abs": 1.0}) == []
    assert warn("numerical_mismatch", {"max_abs": 1e-4, "reason": "nan_positions"}) == []


def test_crashes_and_refusals_are_left_alone() -> None:
    assert warn("crash") == warn("unsupported") == []


_sizes = st.floats(1e-6, 1e6)


@given(st.lists(st.tuples(_sizes, st.floats(0, 1)), min_size=1, max_size=5), st.sampled_from([0.0, 1e-3, 1.0]),
       st.sampled_from([0.0, 1e-3, 0.5]))
def test_no_pass_that_allclose_accepts_is_ever_refuted(elements: list[tuple[float, float]], atol: float,
                                                       rtol: float) -> None:
    pairs = [(share * (atol + rtol * size), size) for size, share in elements]
    metrics = {"max_abs": max(d for d, _ in pairs), "max_rel": max(d / size for d, size in pairs), "total": len(pairs)}
    assert ("passed_outside_tolerance", True) not in warn("passed", metrics, atol=atol, rtol=rtol)
