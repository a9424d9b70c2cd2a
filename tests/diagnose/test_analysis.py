"""The analysis document: the contract's keys and verdicts, the extension, and the document of a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opdebug.diagnose.analysis import INTEGRATION_HINT, LISTED_CASES, analyze_documents
from opdebug.diagnose.coverage import verdict
from opdebug.diagnose.summary import exit_code, run_document

KEYS = ["schema_version", "status", "operator", "missing_cases", "crash_cases", "mismatch_cases", "unsupported_cases",
        "status_counts", "failure_axes", "integration_hint", "results", "warnings"]


def case(case_id: str, dtype: str = "float32", mode: str = "eager") -> dict[str, Any]:
    return {"id": case_id, "mode": mode, "attributes": {"dim": -1},
            "inputs": [{"name": "x", "shape": [4, 8], "dtype": dtype, "layout": "ND"}]}


def row(case_id: str, status: str, **more: Any) -> dict[str, Any]:
    return {"case_id": case_id, "status": status, "error": "died", "comparisons": [{"output": "o", "max_abs": 0.5}],
            **more}


def analyse(cases: list[dict[str, Any]], rows: list[dict[str, Any]], extended: bool = False, **config: Any) -> Any:
    whole = {"operator": {"name": "op"}, "tolerance": {"atol": 1.0, "rtol": 0.0}, **config}
    return analyze_documents(whole, {"cases": cases}, {"results": rows}, extended=extended)


def test_document_has_the_keys_of_the_contract_in_order() -> None:
    assert list(analyse([case("a")], [row("a", "passed")])) == KEYS


def test_lists_are_sorted_except_what_is_missing() -> None:
    ids = ["z", "b", "y", "a", "x", "c", "m1", "k2"]
    rows = [row("z", "crash"), row("b", "crash"), row("y", "numerical_mismatch"), row("a", "numerical_mismatch"),
            row("x", "unsupported"), row("c", "unsupported")]
    got = analyse([case(i) for i in ids], rows)
    assert got["crash_cases"] == ["b", "z"]
    assert got["mismatch_cases"] == ["a", "y"]
    assert got["unsupported_cases"] == ["c", "x"]
    assert got["missing_cases"] == ["m1", "k2"]
    assert got["status_counts"] == {"crash": 2, "numerical_mismatch": 2, "passed": 0, "unsupported": 2}


def test_only_failures_contribute_to_the_failure_axes() -> None:
    got = analyse([case("b"), case("a", "float16", "compile"), case("c", "int8"), case("d")],
                  [row("b", "crash"), row("a", "numerical_mismatch"), row("c", "unsupported"), row("d", "passed")])
    assert got["failure_axes"] == {
        "mode": {"compile": ["a"], "eager": ["b"]}, "dtype": {"float16": ["a"], "float32": ["b"]},
        "layout": {"ND": ["a", "b"]}, "shape": {"4x8": ["a", "b"]}, "attribute:dim": {"-1": ["a", "b"]}}


@pytest.mark.parametrize(("statuses", "expected", "code"), [
    ({"a": "passed", "b": "passed"}, "passed", 0),
    ({"a": "passed", "b": "unsupported"}, "inconclusive", 3),
    ({"a": "crash", "b": "unsupported"}, "diagnosed", 1),
    ({"a": "numerical_mismatch", "b": "passed"}, "diagnosed", 1),
    ({"a": "crash"}, "inconclusive", 3),
    ({}, "inconclusive", 3),
])
def test_verdict_takes_coverage_before_failures(statuses: dict[str, str], expected: str, code: int) -> None:
    rows = [row(case_id, status) for case_id, status in statuses.items()]
    assert verdict(["a", "b"], rows) == expected
    assert exit_code(analyse([case("a"), case("b")], rows)) == code


def test_integration_hint_needs_a_pass_and_a_model_that_fails() -> None:
    one = [case("a")]
    assert analyse(one, [row("a", "passed")], source_model_failure="bad")["integration_hint"] == INTEGRATION_HINT
    assert analyse(one, [row("a", "passed")], source_model_failure="")["integration_hint"] is None
    assert analyse(one, [row("a", "crash")], source_model_failure="bad")["integration_hint"] is None


def test_results_are_kept_with_unknown_fields() -> None:
    assert analyse([case("a")], [row("a", "passed", mine=[1])])["results"][0]["mine"] == [1]


def test_failure_entry_says_what_how_surely_and_beside_what() -> None:
    failure = {"kind": "signal", "signal": "SIGSEGV", "message": "died at 0x0", "flaky": False, "confirmed": True}
    attempts = [{"status": "crash", "alone": False}, {"status": "crash", "alone": True}]
    got = analyse([case("a"), case("b", mode="compile")],
                  [row("a", "passed"), row("b", "crash", failure=failure, attempts=attempts)], extended=True)
    entry, = got["failures"]
    assert (entry["signal"], entry["kind"], entry["confirmed"]) == ("SIGSEGV", "signal", True)
    assert entry["attempts"] == {"total": 2, "same": 2}
    assert entry["nearest_passing"] == {"case_id": "a", "differs": {"mode": ["compile", "eager"]}}


def test_nearest_of_equal_rank_is_the_closest_in_size_then_the_first() -> None:
    def sized(case_id: str, n: int) -> dict[str, Any]:
        made = case(case_id)
        made["inputs"][0]["shape"] = [n]
        return made

    sizes = {"one": 1, "thousand": 1000, "sixteen": 16, "bad": 17}
    cases = [sized(name, n) for name, n in sizes.items()]
    rows = [row(name, "crash" if name == "bad" else "passed") for name in sizes]
    assert analyse(cases, rows, extended=True)["failures"][0]["nearest_passing"]["case_id"] == "sixteen"
    same = [case("bad", "int8"), case("first", "int16"), case("second", "int32")]
    rows = [row("bad", "crash"), row("second", "passed"), row("first", "passed")]
    assert analyse(same, rows, extended=True)["failures"][0]["nearest_passing"]["case_id"] == "first"


def test_no_pass_leaves_no_neighbour() -> None:
    assert analyse([case("a")], [row("a", "crash")], extended=True)["failures"][0]["nearest_passing"] is None


def test_two_cases_that_agree_on_every_axis_differ_in_nothing() -> None:
    got = analyse([case("a"), case("b")], [row("a", "passed"), row("b", "crash")], extended=True)
    assert got["failures"][0]["nearest_passing"] == {"case_id": "a", "differs": {}}


def test_explicit_strides_without_a_pattern_tell_cases_apart() -> None:
    strided = case("b")
    strided["inputs"][0]["strides"] = [1, 4]
    got = analyse([case("a"), strided], [row("a", "passed"), row("b", "crash")], extended=True)
    assert got["failures"][0]["nearest_passing"]["differs"] == {"strides": ["transposed", "contiguous"]}


def test_strides_of_one_name_are_told_apart_by_their_numbers() -> None:
    cases = [case("a"), case("b")]
    for made, strides in zip(cases, ([16, 2], [32, 2])):
        made["inputs"][0] |= {"strides": strides, "stride_pattern": "sliced"}
    got = analyse(cases, [row("a", "passed"), row("b", "crash")], extended=True)
    assert got["failures"][0]["nearest_passing"]["differs"] == {
        "strides": ["x:sliced [32, 2]+0", "x:sliced [16, 2]+0"]}


def test_another_number_of_inputs_is_another_shape() -> None:
    pair = case("b")
    pair["inputs"].append({"name": "y", "shape": [4, 8], "dtype": "float32", "layout": "ND"})
    got = analyse([case("a"), pair], [row("a", "passed"), row("b", "crash")], extended=True)
    assert got["failures"][0]["nearest_passing"]["differs"] == {"shape": ["4x8,4x8", "4x8"]}


def test_the_worst_comparison_is_the_one_that_disagrees() -> None:
    comparisons = [{"output": "big", "agrees": True, "max_abs": 9.0, "mismatched_share": 0.0},
                   {"output": "small", "agrees": False, "max_abs": 0.5, "mismatched_share": 0.25}]
    got = analyse([case("a")], [row("a", "numerical_mismatch", comparisons=comparisons)], extended=True)
    assert got["failures"][0]["metrics"]["output"] == "small"


def test_reasons_are_kept_for_missing_cases_alone() -> None:
    got = analyze_documents({"operator": {"name": "op"}, "tolerance": {}}, {"cases": [case("a"), case("b"), case("c")]},
                            {"results": [row("a", "passed")]}, no_evidence={"a": "stale", "b": "no device"},
                            extended=True)
    assert got["no_evidence"] == {"b": "no device"}
    assert [c["status"] for c in got["cases"]] == ["passed", None, None]


def test_a_long_matrix_lists_only_what_did_not_pass() -> None:
    cases = [case(f"c{i}") for i in range(LISTED_CASES + 1)]
    rows = [row(c["id"], "crash" if c["id"] == "c7" else "passed") for c in cases]
    assert [c["case_id"] for c in analyse(cases, rows, extended=True)["cases"]] == ["c7"]


def test_run_document_is_json_and_points_at_the_evidence() -> None:
    got = run_document(analyse([case("a")], [row("a", "crash")], extended=True), run_id="r", output_dir="/d",
                       analysis_path="/d/analysis.json", report_path="/d/report.md", manifest_path="/d/manifest.json")
    assert {"status", "run_id", "operator", "output_dir", "status_counts", "crash_cases", "mismatch_cases",
            "unsupported_cases", "missing_cases", "no_evidence", "failure_axes", "failures", "analysis", "report",
            "manifest_ref"} <= got.keys()
    assert json.loads(json.dumps(got))["manifest_ref"] == "/d/manifest.json"
