"""The explanation brings out the axis that decides, on matrices shaped like real operator failures."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from opdebug.diagnose.analysis import analyze_documents
from opdebug.report.markdown import render_report
from opdebug.report.terminal import render_terminal
from opdebug.report.wording import explanation_sentence

Tensor = dict[str, Any]


def tensor(name: str, shape: tuple[int, ...], values: str, dtype: str = "float32", pattern: str = "contiguous",
           layout: str = "ND") -> Tensor:
    """An input as it is described when a user's cases function gives it: digest and range instead of a fill."""
    digest = hashlib.sha256(f"{values}{shape}{dtype}".encode()).hexdigest()
    return {"name": name, "shape": list(shape), "dtype": dtype, "layout": layout, "stride_pattern": pattern,
            "data": {"fill": "given", "sha256": digest, "summary": values}}


def case(case_id: str, *inputs: Tensor, aliasing: str = "none", **attributes: Any) -> dict[str, Any]:
    return {"id": case_id, "mode": "eager", "inputs": list(inputs), "attributes": attributes, "aliasing": aliasing}


def both_modes(*cases: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**c, "id": f"{c['id']}@{mode}", "mode": mode} for c in cases for mode in ("eager", "compile")]


def analyse(cases: list[dict[str, Any]], **statuses: str) -> dict[str, Any]:
    """The extended analysis in which every case passes but those named (with @ written as _at_)."""
    told = {key.replace("_at_", "@"): status for key, status in statuses.items()}
    rows = [{"case_id": c["id"], "status": told.get(c["id"], "passed"), "error": "refused",
             "comparisons": [{"output": "output", "max_abs": 0.5}]} for c in cases]
    assert set(told) <= {c["id"] for c in cases}
    return analyze_documents({"operator": {"name": "op"}, "tolerance": {"policy": "torch"}}, {"cases": cases},
                             {"results": rows}, extended=True)


def x(*shape: int, values: str = "0..1", **options: Any) -> Tensor:
    return tensor("x", shape, values, **options)


SHIFTED_ROWS = analyse(
    both_modes(case("r1", x(2)), case("r3", x(3, 16, 16)), case("r8", x(8, 32))),
    r3_at_compile="numerical_mismatch", r8_at_compile="numerical_mismatch")

ONE_FAILING_SHAPE = analyse(both_modes(case("r1", x(2)), case("r3", x(3, 16, 16))), r3_at_compile="numerical_mismatch")

BATCH_NORM = analyse(
    [case("train_none", x(2, 3), training=True, mean=None),
     case("eval_stats", x(2, 3), tensor("mean", (3,), "0..0"), training=False),
     case("eval_none", x(2, 3), training=False, mean=None),
     case("eval_none_f64", x(2, 3, dtype="float64"), training=False, mean=None)],
    eval_none="crash", eval_none_f64="crash")

TRUNCATING_DIVISION = analyse(
    [case("trunc_i32_ok", x(2, values="-5..7", dtype="int32"), rounding="trunc"),
     case("true_i32", x(2, values="min..7", dtype="int32"), rounding=None),
     case("floor_i32", x(2, values="min..7", dtype="int32"), rounding="floor"),
     case("trunc_i16", x(2, values="min..7", dtype="int16"), rounding="trunc"),
     case("trunc_i32", x(2, values="min..7", dtype="int32"), rounding="trunc"),
     case("trunc_i64", x(2, values="min..7", dtype="int64"), rounding="trunc")],
    trunc_i32="crash", trunc_i64="crash")

FOREIGN_PIVOTS = analyse(
    [case("identity", x(3, 3), tensor("p", (3,), "1..3", "int32")),
     case("bad_f32", x(3, 3), tensor("p", (3,), "-3..1", "int32")),
     case("bad_f64", x(3, 3, dtype="float64"), tensor("p", (3,), "-3..1", "int32"))],
    bad_f32="crash", bad_f64="crash")

OUT_IS_INPUT = analyse(
    [case("no_out", x(3, 3), out=None),
     case("fresh_out", x(3, 3), tensor("out", (3, 3), "9..9")),
     case("out_is_x", x(3, 3), tensor("out", (3, 3), "0..1"), aliasing="out=x")],
    out_is_x="numerical_mismatch")

CHANNELS_LAST = analyse(
    both_modes(case("dense", x(1, 4, 31, 31)), case("last", x(1, 4, 31, 31, pattern="channels_last"))),
    last_at_compile="numerical_mismatch")

SCALAR_CONSTANT = analyse(both_modes(case("n3", shape=[3]), case("scalar", shape=[])), scalar_at_compile="crash")

NAN_BY_POSITION = analyse(
    [case("no_nan", x(64, values="-2..2")), case("nan_1", x(1, values="nan")),
     case("nan_strided", x(64, values="nan", pattern="sliced")), case("nan_64", x(64, values="nan"))],
    nan_64="numerical_mismatch")

UNSIGNED = analyse([case(d, x(2, dtype=d)) for d in ("uint8", "int16", "uint16", "uint32")],
                   uint16="unsupported", uint32="unsupported")

ALL_PASS = analyse(both_modes(case("u8", x(3, dtype="uint8")), case("i8", x(3, dtype="int8"))))


@pytest.mark.parametrize(("analysis", "deciding"), [
    pytest.param(SHIFTED_ROWS, "mode,shape", id="shifted-rows"),
    pytest.param(ONE_FAILING_SHAPE, "mode,shape", id="one-failing-shape"),
    pytest.param(BATCH_NORM, "attribute:training,attribute:mean", id="batch-norm"),
    pytest.param(TRUNCATING_DIVISION, "attribute:rounding,dtype,values", id="truncating-division"),
    pytest.param(FOREIGN_PIVOTS, "values", id="foreign-pivots"),
    pytest.param(OUT_IS_INPUT, "aliasing", id="out-is-input"),
    pytest.param(CHANNELS_LAST, "mode,strides", id="channels-last"),
    pytest.param(SCALAR_CONSTANT, "mode,attribute:shape", id="scalar-constant"),
    pytest.param(NAN_BY_POSITION, "values,shape,strides", id="nan-by-position"),
    pytest.param(UNSIGNED, "dtype", id="unsupported-dtypes"),
    pytest.param(ALL_PASS, "mode,dtype", id="all-pass"),
])
def test_explanation_names_the_deciding_axes(analysis: dict[str, Any], deciding: str) -> None:
    named: set[str] = set()
    for entry in analysis["explanation"]:
        named |= {entry["axis"], *entry.get("moves_with", ())} if "axis" in entry else set(entry["axes"])
    assert set(deciding.split(",")) <= named
    text = "\n".join(map(explanation_sentence, analysis["explanation"]))
    for axis in deciding.split(","):
        assert axis in text
        assert axis in render_report(analysis).split("## Explanation")[1]
        assert axis in render_terminal(analysis, width=300, colour=False).split("Explanation")[1]


def differing_sets(analysis: dict[str, Any], case_id: str) -> dict[str, str]:
    """Of one failure: the sets of axes in which passing cases differ, and the case that shows each."""
    failure = next(f for f in analysis["failures"] if f["case_id"] == case_id)
    return {",".join(contrast["axes"]): contrast["case_id"] for contrast in failure["contrasts"]}


def test_contrasts_isolate_mode_and_shape_without_the_values_that_follow() -> None:
    assert differing_sets(ONE_FAILING_SHAPE, "r3@compile") == {"mode": "r3@eager", "shape": "r1@compile"}


def test_together_names_the_combination_that_no_passing_case_has() -> None:
    entry = next(e for e in ONE_FAILING_SHAPE["explanation"] if e["kind"] == "together")
    assert entry["axes"] == {"mode": ["compile"], "shape": ["3x16x16"]}


def test_a_refusal_is_not_held_against_a_combination() -> None:
    cases = both_modes(case("small", x(2), n=0), case("large", x(64), n=0), case("refused", x(64), n=1))
    analysis = analyse(cases, large_at_compile="crash", refused_at_compile="unsupported")
    entry = next(e for e in analysis["explanation"] if e["kind"] == "together" and e["of"] == "failed")
    assert entry["axes"] == {"mode": ["compile"], "shape": ["64"]}


def test_an_argument_that_becomes_a_tensor_differs_in_that_attribute_alone() -> None:
    assert differing_sets(BATCH_NORM, "eval_none") == {
        "attribute:training": "train_none", "attribute:mean": "eval_stats"}


def test_values_of_an_input_that_keeps_its_dtype_are_not_implied_by_another_input() -> None:
    assert differing_sets(FOREIGN_PIVOTS, "bad_f64") == {"dtype,values": "identity"}


def test_aliasing_accounts_for_the_values_of_the_alias() -> None:
    assert differing_sets(OUT_IS_INPUT, "out_is_x")["aliasing"] == "fresh_out"


def test_three_axes_each_isolated_by_a_neighbour_of_its_own() -> None:
    assert differing_sets(NAN_BY_POSITION, "nan_64") == {
        "strides": "nan_strided", "shape": "nan_1", "values": "no_nan"}


def test_only_names_the_refused_dtypes() -> None:
    entry = next(e for e in UNSIGNED["explanation"] if e["of"] == "unsupported" and e["axis"] == "dtype")
    assert (entry["kind"], entry["with"], entry["without"]) == ("only", ["uint16", "uint32"], ["int16", "uint8"])


def test_strides_and_layout_that_change_together_are_both_named() -> None:
    analysis = analyse([case("nd", x(4, 4)), case("nz", x(4, 4, pattern="padded", layout="NZ"))], nz="crash")
    entry, = (e for e in analysis["explanation"] if e["kind"] == "only")
    assert (entry["axis"], entry["moves_with"]) == ("layout", ["strides"])
    assert differing_sets(analysis, "nz") == {"layout,strides": "nd"}
