"""The one-line form of inputs: what it means, and that every mistake is named with what would be accepted."""

import pytest

from opdebug.model.errors import OpdebugError
from opdebug.model.specs import DataSpec
from opdebug.plan.grammar import parse_input, parse_inputs


def problems_of(*texts):
    with pytest.raises(OpdebugError) as caught:
        parse_inputs(texts)
    return caught.value.problems


def test_a_plain_input_is_written_out_completely():
    spec = parse_input("x=float16[2,4096]")
    assert (spec.name, spec.shape, spec.dtype, spec.actual_strides) == ("x", (2, 4096), "float16", (4096, 1))
    assert (spec.storage_offset, spec.layout, spec.storage, spec.stride_pattern) == (0, "ND", None, None)
    assert spec.data == DataSpec("normal", 0, {"mean": 0.0, "std": 1.0})


@pytest.mark.parametrize(
    ("text", "shape"), [("s=float32[]", ()), ("s=f32[0]", (0,)), ("s = fp32 [ 3, 0 ,2 ]", (3, 0, 2))]
)
def test_zero_dimensions_zero_sizes_and_spaces(text, shape):
    spec = parse_input(text)
    assert (spec.name, spec.shape, spec.dtype) == ("s", shape, "float32")


def test_every_option():
    spec = parse_input("x=bf16[2,3];strides=transposed;offset=5;fill=uniform(low=-1,high=2.5);seed=7;layout=ND"
                       ";storage=s")
    assert (spec.dtype, spec.strides, spec.storage_offset, spec.stride_pattern) == ("bfloat16", (1, 2), 5, "transposed")
    assert (spec.layout, spec.storage) == ("ND", "s")
    assert spec.data == DataSpec("uniform", 7, {"low": -1, "high": 2.5})


def test_explicit_strides_have_no_pattern_name():
    spec = parse_input("x=float16[2,3];strides=[1,2]")
    assert (spec.strides, spec.stride_pattern) == ((1, 2), None)


def test_the_offset_pattern_can_be_moved():
    assert parse_input("x=float16[4];strides=offset").storage_offset == 3
    assert parse_input("x=float16[4];strides=offset;offset=1").storage_offset == 1


@pytest.mark.parametrize(
    ("dtype", "data"),
    [
        ("int8", DataSpec("randint", 0, {"low": -8, "high": 8})),
        ("uint64", DataSpec("randint", 0, {"low": 0, "high": 8})),
        ("bool", DataSpec("bernoulli", 0, {"p": 0.5})),
        ("complex64", DataSpec("normal", 0, {"mean": 0.0, "std": 1.0})),
        ("float8_e8m0fnu", DataSpec("uniform", 0, {"low": 0.25, "high": 1.0})),
    ],
)
def test_default_values_suit_the_dtype(dtype, data):
    assert parse_input(f"x={dtype}[2]").data == data


def test_non_finite_constants_stay_text_as_documents_hold_them():
    assert parse_input("x=float16[2];fill=constant(value=-inf)").data.options == {"value": "-inf"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "accepted: NAME=DTYPE[SHAPE]"),
        ("lambda=float16[2]", "no keyword"),
        ("1x=float16[2]", "Python identifier"),
        ("x=float17[2]", "accepted: bfloat16, bool"),
        ("x=float16[2,-4]", "shape holds '-4'"),
        ("x=float16[2,]", "shape holds ''"),
        ("x=float16[99999999999999999999]", "2**63 - 1"),
        ("x=float32[99999,99999]", "needs a storage of 39,999,200,004 bytes; the limit is 2,147,483,648"),
        ("x=float32[2];offset=9999999999", "needs a storage of"),
        ("x=float16[2];stride=offset", "option 'stride' is unknown; accepted: strides, offset, fill, seed"),
        ("x=float16[2];seed=1;seed=2", "option 'seed' is given twice"),
        ("x=float16[2];seed", "option 'seed' needs a value"),
        ("x=float16[2];seed=-1", "seed holds '-1'"),
        ("x=float16[2];strides=diagonal", "'diagonal' is unknown; accepted: contiguous, transposed"),
        ("x=float16[2];strides=transposed", "cannot be transposed: it needs rank at least 2; it can be: contiguous"),
        ("x=float16[2,3];strides=[1]", "one number for each of 2 dimensions"),
        ("x=float16[2];strides=[a]", "strides holds 'a'"),
        ("x=float16[2];fill=gauss", "fill 'gauss' is unknown; accepted for float16: normal, uniform"),
        ("x=int32[2];fill=nan", "fill 'nan' is impossible for int32"),
        ("x=float8_e4m3fn[2];fill=inf", "the dtype has no infinity; accepted: normal"),
        ("x=float16[2];fill=uniform(lo=1)", "unknown keys in options of fill 'uniform': 'lo'; accepted: low, high"),
        ("x=float16[2];fill=uniform(low=1,low=2)", "is given twice"),
        ("x=float16[2];fill=uniform(low=2,high=1)", "low must lie below high"),
        ("x=float16[2];fill=constant", "needs the option 'value'"),
        ("x=float16[2];fill=constant(value=70000)", "float16 holds -65504.0 to 65504.0"),
        ("x=int8[2];fill=randint(low=-200,high=3)", "int8 holds -128 to 127"),
        ("x=int8[2];fill=constant(value=1.5)", "a whole number is needed"),
        ("x=float16[2];fill=given", "values made by user code"),
        ("x=float16[2];layout=a b", "must be one word"),
    ],
)
def test_mistakes_are_named(text, message):
    found = problems_of(text)
    assert len(found) == 1
    assert message in found[0]


def test_all_problems_of_all_inputs_come_at_once():
    found = problems_of("x=float16[-1];foo=1;seed=a", "y=int32[2];fill=nan")
    assert [text.partition(":")[0] for text in found] == ["input 'x'", "input 'x'", "input 'x'", "input 'y'"]


def test_lists_of_tensors_are_named_by_index():
    specs = parse_inputs(["xs[0]=float32[2]", "w=float32[2]", "xs[1]=float32[3]"])
    assert [spec.name for spec in specs] == ["xs[0]", "w", "xs[1]"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["x", "x"], "input 'x' is given twice"),
        (["xs[0]", "xs[2]"], "indexes [0, 2]"),
        (["xs[1]", "xs[0]"], "indexes [1, 0]"),
        (["xs", "xs[0]"], "both as a tensor and as a list"),
    ],
)
def test_names_must_fit_together(names, message):
    assert message in problems_of(*(f"{name}=float32[2]" for name in names))[0]
