"""One axis at a time: every generated case differs from its base in exactly the axis that it names."""

import pytest

from opdebug.model.dtypes import DTYPES
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case
from opdebug.plan.attributes import parse_attributes
from opdebug.plan.checks import check_case, check_unique
from opdebug.plan.grammar import parse_inputs
from opdebug.plan.shape_axis import ELEMENTS_LIMIT
from opdebug.plan.variants import pattern_of
from opdebug.plan.vary import split_axes, vary

ALL = ["dtype", "shape", "strides", "mode", "values"]


def case(*inputs, attributes=(), id="base"):  # noqa: A002
    return Case(id, "eager", parse_inputs(inputs), parse_attributes(attributes))


BASES = [
    case("x=float16[2,4096]", attributes=["dim=-1"]),
    case("x=float16[2,4];strides=transposed", "w=float16[4,3]"),
    case("x=int32[5];fill=arange"),
    case("x=float32[8,16]", "index=int64[3];fill=randint(low=0,high=8)", attributes=["flag=true"]),
    case("x=bfloat16[2,3,4,4];strides=channels_last;layout=NHWC"),
    case("s=float32[]"),
    case("x=complex64[4,4];strides=[1,5]"),
    case("xs[0]=float32[3,2];strides=offset", "xs[1]=float32[3,2];offset=7", "m=bool[3]"),
    case("q=float16[2,8];storage=s", "k=float16[2,8];storage=s;offset=4"),
]


def axes_that_differ(base, other):
    differ = set()
    for before, after in zip(base.inputs, other.inputs):
        assert (before.name, before.storage) == (after.name, after.storage)
        differ |= {"dtype"} if before.dtype != after.dtype else set()
        differ |= {"shape"} if before.shape != after.shape else set()
        place, moved = [(s.actual_strides, s.storage_offset) for s in (before, after)]
        if before.shape == after.shape and place != moved:
            differ.add("strides")
        if before.data != after.data and before.dtype == after.dtype:
            differ.add("values")
    differ |= {"mode"} if base.mode != other.mode else set()
    for name in base.attributes:
        differ |= {f"attribute:{name}"} if repr(base.attributes[name]) != repr(other.attributes[name]) else set()
    return differ


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.inputs[0].name + base.inputs[0].dtype)
def test_every_case_differs_in_exactly_its_axis_and_can_be_run(base):
    axes = [*ALL, *(f"attribute:{name}=0,1,false" for name in base.attributes)]
    cases = vary(base, axes)
    assert cases[0] is base
    assert len(cases) > 5
    assert check_unique(cases) == []
    for index, other in enumerate(cases):
        assert check_case(other, f"cases[{index}]") == []
    for other in cases[1:]:
        assert axes_that_differ(base, other) == {other.changes["axis"]}, other.id
        assert other.id.startswith(other.changes["axis"])
        assert {"axis", "value", "from"} <= set(other.changes)
        assert not set(other.id) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=x+-")


def test_ids_are_readable():
    ids = [c.id for c in vary(BASES[0], [*ALL, "attribute:dim=0"])]
    for expected in ("base", "dtype=bfloat16", "shape=2x4097", "strides=transposed", "mode=compile", "values=nan",
                     "attribute:dim=0"):
        assert expected in ids
    assert "strides:w=sliced" in [c.id for c in vary(BASES[1], ["strides"])]


def test_another_base_id_stands_in_front():
    assert [c.id for c in vary(case("x=float32[2]", id="gelu"), ["mode"])] == ["gelu", "gelu:mode=compile"]


def test_floating_inputs_change_their_dtype_together_and_indexes_do_not():
    dtypes = [[spec.dtype for spec in c.inputs] for c in vary(BASES[3], ["dtype"])]
    assert dtypes == [[d, "int64"] for d in ("float32", "float16", "bfloat16")]
    assert [c.inputs[0].dtype for c in vary(BASES[2], ["dtype"])] == ["int32", "int64", "int16", "int8", "uint8"]


def test_default_values_follow_the_dtype():
    changed = vary(case("x=int32[4]"), ["dtype=uint8"])[1]
    assert dict(changed.inputs[0].data.options) == {"low": 0, "high": 8}
    assert "notes" not in changed.changes


def test_values_that_the_new_dtype_cannot_hold_give_way_and_it_is_said():
    changed = vary(case("x=float32[4];fill=inf"), ["dtype=float8_e4m3fn"])[1]
    assert changed.inputs[0].data.fill == "normal"
    assert "float8_e4m3fn cannot hold inf" in changed.changes["notes"][0]


def test_equal_sizes_change_together():
    shapes = {tuple(spec.shape for spec in c.inputs) for c in vary(BASES[1], ["shape=5"])[1:]}
    assert shapes == {((5, 4), (4, 3)), ((2, 5), (5, 3)), ((2, 4), (4, 5))}
    square = vary(case("x=float32[4,4]"), ["shape=5"])[1]
    assert (square.inputs[0].shape, square.changes["dims"]) == ((5, 5), ["x[0]", "x[1]"])


def test_shapes_visit_the_sizes_that_find_bugs():
    shapes = [c.inputs[0].shape for c in vary(case("x=float32[100]"), ["shape"])[1:]]
    sizes = {shape[0] for shape in shapes if len(shape) == 1}
    assert {0, 1, 3, 95, 97, 127, 129, 101, 128, 65537} <= sizes
    assert len(sizes) <= 16
    assert shapes[-2:] == [(1, 100), (2, 100)]


def test_shapes_stay_small():
    for other in vary(case("x=float32[64,4096]", "y=float32[4096,64]"), ["shape"]):
        assert sum(spec.shape[0] * spec.shape[1] for spec in other.inputs) <= ELEMENTS_LIMIT


def test_patterns_are_derived_again_for_new_shapes():
    for other in vary(BASES[1], ["shape=5,7"]):
        assert pattern_of(other.inputs[0]) == other.inputs[0].stride_pattern == "transposed"


def test_a_pattern_that_a_shape_cannot_have_is_dropped_and_it_is_said():
    changed = vary(BASES[1], ["shape=1"])[1]
    assert (changed.inputs[0].shape, changed.inputs[0].stride_pattern) == ((1, 4), "contiguous")
    assert "cannot be transposed" in changed.changes["notes"][0]


def test_strides_without_a_pattern_are_dropped_for_new_shapes_and_it_is_said():
    changed = vary(BASES[6], ["shape=5"])[1]
    assert changed.inputs[0].strides == (5, 1)
    assert "follow no pattern" in changed.changes["notes"][0]


def test_modes_can_be_chosen():
    assert [c.mode for c in vary(BASES[0], ["mode"])] == ["eager", "compile"]
    assert [c.mode for c in vary(BASES[0], ["mode"], modes=["eager", "graph"])] == ["eager", "graph"]
    assert [c.mode for c in vary(BASES[0], ["mode=graph"])] == ["eager", "graph"]


def test_values_leave_indexes_alone_and_suit_the_dtype():
    changed = {c.changes["input"] for c in vary(BASES[3], ["values"])[1:]}
    assert changed == {"x"}
    fills = [c.inputs[0].data.fill for c in vary(BASES[2], ["values"])[1:]]
    assert fills == ["zeros", "ones", "large", "extremes", "ramp"]
    assert DTYPES["int32"].kind == "int"


def test_values_can_be_given_as_fills():
    other = vary(BASES[0], ["values=uniform(low=0,high=2),ones"])[1]
    assert other.id == "values=uniform_low=0,high=2_".strip("_")
    assert dict(other.inputs[0].data.options) == {"low": 0, "high": 2}


def test_repeated_values_make_no_second_case():
    assert len(vary(BASES[0], ["dtype=float32,float32", "dtype"])) == 3


def test_long_or_odd_values_make_distinct_safe_ids():
    long = "a" * 200
    cases = vary(case("x=float32[2]", attributes=["m=b"]), [f"attribute:m={long}1,{long}2,a/b,a?b,'a b'"])
    assert len({c.id for c in cases}) == 6
    assert check_unique(cases) == []
    assert all(check_case(c, "c") == [] for c in cases)


def test_booleans_flip_without_values():
    assert [c.attributes["flag"] for c in vary(BASES[3], ["attribute:flag"])] == [True, False]


def test_split_axes_keeps_the_values_of_an_axis_together():
    text = "dtype=float16,bfloat16,shape,strides=sliced,attribute:dims=[0,1],[1],mode"
    assert split_axes(text) == ["dtype=float16,bfloat16", "shape", "strides=sliced", "attribute:dims=[0,1],[1]", "mode"]


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("colour", "axis 'colour' is unknown; accepted: dtype, shape"),
        ("dtype=float17", "dtype 'float17'"),
        ("dtype=", "empty value"),
        ("mode=jit", "accepted: compile, eager, graph"),
        ("strides=diagonal", "'diagonal' is unknown"),
        ("strides=channels_last", "no input can be channels_last (x: shape [2, 4096]"),
        ("values=gauss", "fill 'gauss' is unknown"),
        ("shape=-1", "must be a whole number"),
        ("attribute:axis=1", "no such attribute; accepted: dim"),
        ("attribute:dim", "needs values, as in attribute:dim=0,1"),
        ("attribute:dim=inf", "JSON document cannot hold"),
    ],
)
def test_mistakes_are_named(axis, message):
    with pytest.raises(OpdebugError) as caught:
        vary(BASES[0], [axis, "mode=jit"])
    assert message in caught.value.problems[0]
    assert len(caught.value.problems) == 2


def test_inputs_of_user_code_vary_in_mode_only():
    data = {"fill": "given", "sha256": "0", "summary": "0..1"}
    document = {"name": "x", "shape": [2], "dtype": "float32", "data": data}
    base = Case.from_document({"id": "base", "mode": "eager", "inputs": [document]})
    assert len(vary(base, ["mode"])) == 2
    with pytest.raises(OpdebugError, match="accepted: mode"):
        vary(base, ["shape"])


def test_a_case_without_tensors_has_nothing_to_vary():
    for axis in ("dtype", "shape", "values"):
        with pytest.raises(OpdebugError, match=f"axis '{axis}'"):
            vary(case(), [axis])
