"""The axes of a case: exactly the contract's for a foreign case, and ours only where the case says more."""

from __future__ import annotations

from typing import Any

from opdebug.diagnose.axes import case_axes, values_token


def spec(name: str = "x", **changes: Any) -> dict[str, Any]:
    return {"name": name, "shape": [2, 3], "dtype": "float32", "layout": "ND", **changes}


def axes(*inputs: dict[str, Any], **changes: Any) -> dict[str, list[str]]:
    return case_axes({"id": "c", "mode": "eager", "inputs": list(inputs), **changes})


def test_a_foreign_case_has_exactly_the_axes_of_the_contract() -> None:
    got = axes(spec(strides=[3, 1], note="kept"), spec("y", shape=[4], dtype="int64", layout="NZ"),
               attributes={"dim": -1, "keep": False, "o": {"b": 1, "a": None}}, extra=1)
    assert got == {"mode": ["eager"], "dtype": ["float32", "int64"], "layout": ["ND", "NZ"], "shape": ["2x3,4"],
                   "attribute:dim": ["-1"], "attribute:keep": ["false"], "attribute:o": ['{"a": null, "b": 1}']}


def test_equal_dtypes_count_once() -> None:
    assert axes(spec(), spec("y"))["dtype"] == ["float32"]


def test_shape_of_a_scalar_is_empty() -> None:
    assert axes(spec(shape=[]), spec("y", shape=[3]))["shape"] == [",3"]


def test_a_call_without_tensors_has_no_axes_of_tensors() -> None:
    assert axes(attributes={"n": 3}) == {"mode": ["eager"], "attribute:n": ["3"]}


def test_strides_name_the_inputs_only_where_they_differ() -> None:
    assert axes(spec(stride_pattern="transposed"))["strides"] == ["transposed"]
    two = axes(spec(stride_pattern="transposed"), spec("y", stride_pattern="contiguous"))
    assert two["strides"] == ["x:transposed,y:contiguous"]
    assert axes(spec(stride_pattern="sliced"), spec("y", stride_pattern="sliced"))["strides"] == ["sliced"]


def test_values_leave_the_seed_out() -> None:
    first, second = ({"fill": "uniform", "seed": seed, "low": 0, "high": 2} for seed in (1, 2))
    assert axes(spec(data=first))["values"] == axes(spec(data=second))["values"] == ["uniform(high=2,low=0)"]


def test_given_values_are_a_summary_and_the_beginning_of_the_digest() -> None:
    given = {"fill": "given", "sha256": "0123456789abcdef" * 4, "summary": "-1..4"}
    assert axes(spec(data=given))["values"] == ["-1..4#01234567"]


def test_long_options_stay_short_and_tellable_apart() -> None:
    tokens = {values_token(spec(data={"fill": "list", "values": [*range(1000), last]})) for last in (1, 2)}
    assert len(tokens) == 2
    assert all(token is not None and len(token) < 160 for token in tokens)


def test_zero_and_minus_zero_are_two_values_of_an_attribute() -> None:
    assert axes(attributes={"a": 0.0})["attribute:a"] != axes(attributes={"a": -0.0})["attribute:a"]
    assert axes(attributes={"a": 1})["attribute:a"] != axes(attributes={"a": True})["attribute:a"]


def test_annotations_of_another_type_are_passed_over() -> None:
    got = axes(spec(stride_pattern=7, data="random"), aliasing=["x"], device=0)
    assert got.keys() == {"mode", "dtype", "layout", "shape"}


def test_aliasing_and_device_are_axes_where_the_case_says_them() -> None:
    got = axes(spec(), aliasing="out=x", device="npu:0")
    assert (got["aliasing"], got["device"]) == (["out=x"], ["npu:0"])
