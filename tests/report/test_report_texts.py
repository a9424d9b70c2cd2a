"""Numbers and sentences as people read them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdebug.report.columns import fill, fit, pad, width
from opdebug.report.failure_wording import failure_sentence
from opdebug.report.numbers import at_least, count, element, integer, number, percent, share
from opdebug.report.wording import (
    absence_sentence,
    absences,
    explanation_sentence,
    neighbour_sentence,
    verdict_sentence,
    warning_sentence,
)


def test_numbers() -> None:
    assert share(2, 4096, "elements") == "2 of 4 096 elements (0.0488 %)"
    assert share(0, 0, "elements") == "0 of 0 elements"
    assert (count(1, "crash", "crashes"), count(2, "crash", "crashes")) == ("1 crash", "2 crashes")
    assert (number(17), number(0.0012345), number("nan"), number(None)) == ("17", "0.00123", "nan", "None")
    assert (element(1.0), element(0.1), element(2**70), element("1+2j")) == ("1.0", "0.1", str(2**70), "1+2j")
    assert integer(10**50) == f"({(10**50).bit_length()}-bit integer)"
    assert (percent(0.02), percent(0.0), percent(1.0)) == ("2 %", "0 %", "100 %")
    assert (percent(1e-9), percent(1 - 1e-9)) == ("under 0.01 %", "over 99.9 %")


@given(st.floats(1e-300, 1e300))
def test_a_tolerance_that_is_said_to_suffice_does(value: float) -> None:
    assert value <= float(at_least(value)) <= value * 1.11


@given(st.text(alphabet="ab 漢é"), st.integers(4, 30))
def test_filled_lines_keep_within_the_columns_and_lose_no_letter(text: str, columns: int) -> None:
    lines = fill(text, columns, "- ", "  ")
    assert all(width(line) <= columns for line in lines)
    assert "".join(line[2:] for line in lines).replace(" ", "") == text.replace(" ", "")


def test_columns_count_wide_characters_twice_and_combining_ones_not_at_all() -> None:
    assert (width("漢a"), width("e\u0301"), pad("漢", 4)) == (3, 1, "漢  ")
    assert width(fit("漢" * 30, 11)) <= 11
    assert fit("abcdefghijkl", 7) == "abcd…kl"


def failing(**changes: Any) -> dict[str, Any]:
    base = {"case_id": "c", "status": "crash", "kind": None, "message": None, "exception": None, "signal": None,
            "exit_code": None, "flaky": False, "confirmed": None, "attempts": {"total": 0, "same": 0}, "metrics": None,
            "nearest_passing": None, "contrasts": []}
    return {**base, **changes}


MEASURED = {"output": "output", "reason": "values", "total": 4096, "mismatched": 2, "max_abs": 0.02, "max_rel": 0.02,
            "ulp_max": 17, "worst": {"index": [3, 17], "candidate": 1.02, "reference": 1.0},
            "passing_tolerance": {"atol": 0.0199, "rtol": 0.02}}


@pytest.mark.parametrize(("failure", "sentence"), [
    (failing(kind="signal", signal="SIGSEGV", attempts={"total": 2, "same": 2}), "crash: SIGSEGV, seen in 2 of 2 runs"),
    (failing(kind="timeout", message="60 s"), "crash: ran into the time limit: 60 s"),
    (failing(kind="exit", exit_code=7), "crash: the process ended with exit code 7"),
    (failing(kind="exception", exception="ValueError", message="bad dim"), "crash: ValueError: bad dim"),
    (failing(message="ValueError: bad", exception="ValueError"), "crash: ValueError: bad"),
    (failing(), "crash: no message was recorded"),
    (failing(signal="SIGFPE", flaky=True, attempts={"total": 2, "same": 1}),
     "crash: SIGFPE, seen in 1 of 2 runs (flaky: not reproduced when run alone)"),
    (failing(status="numerical_mismatch", metrics=MEASURED),
     "values: 2 of 4 096 elements (0.0488 %) outside; worst at [3, 17]: got 1.02, expected 1.0; "
     "max abs 0.02, max rel 2 %, 17 ULP; atol 0.02 or rtol 0.02 would have passed"),
    (failing(status="numerical_mismatch", metrics={"output": "output[1]", "reason": "dtype", "message": "not f32"}),
     "output[1]: dtype differs: not f32"),
    (failing(status="numerical_mismatch", metrics={"output": "o", "reason": "nan_positions",
                                                   "nan": {"candidate": 3, "reference": 0}}),
     "o: values: NaN in 3 elements of the candidate and 0 of the reference"),
    (failing(status="numerical_mismatch", metrics={"output": "output"}),
     "the outputs disagree, without metrics"),
    (failing(status="numerical_mismatch"), "the outputs disagree, without any comparison recorded"),
    (failing(status="numerical_mismatch", kind="mutation", metrics={"output": "input:x", "max_abs": 1.0}),
     "changed an input that the reference leaves alone: input:x: values: max abs 1"),
])
def test_failure_sentences(failure: dict[str, Any], sentence: str) -> None:
    assert failure_sentence(failure) == sentence


def entry(kind: str, of: str = "failed", axis: str = "mode", **more: Any) -> dict[str, Any]:
    values = [{"value": "compile", "passed": 0, "failed": 2, "unsupported": 0},
              {"value": "eager", "passed": 3, "failed": 0, "unsupported": 0}]
    return {"axis": axis, "kind": kind, "of": of, "with": ["compile"], "without": ["eager"], "values": values,
            "more_values": 0, "moves_with": [], **more}


@pytest.mark.parametrize(("data", "sentence"), [
    (entry("only"), "fails only with mode=compile (2 of 2); never with mode=eager (0 of 3)"),
    (entry("always"), "every failure has mode=compile (2 of 2); none has mode=eager (0 of 3)"),
    (entry("never"), "no failure has mode=eager (0 of 3); some have mode=compile (2 of 2)"),
    (entry("only", of="unsupported", axis="strides"),
     "is refused only with memory layout strides=compile (0 of 2); never with memory layout strides=eager (0 of 3)"),
    (entry("only", moves_with=["layout", "shape"], more_values=1),
     "fails only with mode=compile (2 of 2); never with mode=eager (0 of 3); 1 more value not listed "
     "(layout and shape change along with it in every case)"),
    ({"kind": "together", "of": "failed", "axes": {"mode": ["compile"], "shape": ["", "3"]}},
     "fails only where these come together: mode=compile and shape=(scalar) or 3"),
    ({"kind": "contrast", "of": "failed", "axes": ["mode", "strides"], "count": 3,
      "example": {"failing": "a", "passing": "b"}},
     "a fails and b passes, differing only in mode, strides (memory layout) (one of 3 such failing cases)"),
])
def test_explanation_sentences(data: dict[str, Any], sentence: str) -> None:
    assert explanation_sentence(data) == sentence


def test_many_values_are_counted_beyond_the_first_few() -> None:
    told = explanation_sentence({"kind": "together", "of": "failed", "axes": {"shape": [str(n) for n in range(9)]}})
    assert told.endswith("shape=0 or 1 or 2 or 3 and 5 others")


def test_neighbour_sentences() -> None:
    near = {"case_id": "n", "differs": {"mode": ["compile", "eager"], "attribute:dim": [None, "0"]}}
    assert neighbour_sentence(failing(nearest_passing=near)) == (
        "n passes and differs in mode compile → eager; attribute:dim (absent) → 0")
    assert "although" in neighbour_sentence(failing(nearest_passing={"case_id": "n", "differs": {}}))
    assert "no case passed" in neighbour_sentence(failing())


def verdict_of(status: str, missing: int = 0, **counts: int) -> str:
    zeros = {"crash": 0, "numerical_mismatch": 0, "passed": 0, "unsupported": 0}
    return verdict_sentence({"status": status, "missing_cases": ["m"] * missing, "status_counts": {**zeros, **counts}})


def test_verdict_sentences() -> None:
    assert verdict_of("passed", passed=2).startswith("passed: 2 of 2 cases agree")
    assert verdict_of("diagnosed", crash=1, numerical_mismatch=2, passed=3) == (
        "diagnosed: 3 of 6 cases failed (1 crash, 2 numerical mismatches)")
    assert verdict_of("inconclusive", missing=1, crash=1) == (
        "inconclusive: 1 of 2 cases has no result, and absence is not success; 1 of 2 cases failed (1 crash)")
    assert verdict_of("inconclusive", unsupported=1, passed=1) == (
        "inconclusive: 1 of 2 cases is unsupported, and no case that ran failed")


def test_warning_sentences_say_what_would_have_to_hold() -> None:
    base = {"case_id": "c", "kind": "passed_outside_tolerance", "output": "o", "max_abs": 5.0, "max_rel": None,
            "atol": 1.0, "rtol": 0.5}
    assert warning_sentence({**base, "proved": True, "needs_reference": None}) == (
        "c (o) is recorded as passed, but max abs 5 cannot lie within atol 1, rtol 0.5")
    assert warning_sentence({**base, "proved": False, "needs_reference": 8.0}).endswith(
        "right only if the reference is at least 8 in magnitude where the difference is largest")


def test_absence_gives_the_reason_or_says_that_there_is_none() -> None:
    grouped = absences(["a", "b", "c"], {"a": "npu:0 is absent", "c": "npu:0 is absent"})
    assert [absence_sentence(ids, reason) for ids, reason in grouped] == [
        "a, c: npu:0 is absent", "b: no result was recorded"]
    assert absence_sentence([str(i) for i in range(11)], "x") == "0, 1, 2, 3, 4, 5, 6, 7 and 3 more: x"
