"""Inputs are built exactly as their specs say, or not at all."""

import subprocess
import sys
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opdebug.model.dtypes import DTYPES
from opdebug.model.fills import default_fill
from opdebug.model.specs import DataSpec, TensorSpec, extent
from opdebug.model.strides import never_overlaps
from opdebug.plan.grammar import parse_input, parse_inputs
from opdebug.plan.strides import applicable
from opdebug.worker.fill import bits
from opdebug.worker.inputs import POISON_BYTE, CannotBuild, build, digest, verify

warnings.filterwarnings("ignore", message="ComplexHalf")
CPU = torch.device("cpu")


def built(text, device=CPU):
    spec = parse_input(text)
    return build([spec], device)[spec.name]


def storage_of(tensor):
    return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (4, 3), (2, 3, 2, 4)])
def test_every_pattern_and_dtype_is_built_exactly(dtype, shape):
    plain = built(f"x={dtype}[{','.join(map(str, shape))}]")
    for pattern in applicable(shape):
        spec = parse_input(f"x={dtype}[{','.join(map(str, shape))}];strides={pattern}")
        tensor = build([spec], CPU)["x"]
        assert (tuple(tensor.shape), tensor.stride(), tensor.storage_offset()) == (
            spec.shape, spec.actual_strides, spec.storage_offset)
        assert tensor.dtype == getattr(torch, dtype)
        if never_overlaps(spec.shape, spec.actual_strides):
            assert digest(tensor) == digest(plain)


def test_repeated_elements_repeat_and_overlapping_windows_share():
    tensor = built("x=float32[3,4];strides=expanded")
    assert torch.equal(tensor, tensor[:1].expand(3, 4))
    windows = built("x=int32[3,4];strides=overlapping;fill=arange")
    assert windows.tolist() == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]


@settings(max_examples=150, deadline=None)
@given(
    dims=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=4),
    offset=st.integers(0, 9),
    dtype=st.sampled_from(sorted(DTYPES)),
    seed=st.integers(0, 2**63 - 1),
)
def test_any_strides_are_built_and_the_digest_does_not_depend_on_them(dims, offset, dtype, seed):
    shape, strides = tuple(size for size, _ in dims), tuple(stride for _, stride in dims)
    data = DataSpec(default_fill(dtype), seed)
    spec = TensorSpec("x", shape, dtype, strides=strides, storage_offset=offset, data=data)
    tensor = build([spec], CPU)["x"]
    verify(tensor, spec, CPU)
    assert tensor.untyped_storage().nbytes() == extent(shape, strides, offset) * tensor.element_size()
    assert digest(tensor) == digest(bits(tensor).clone(memory_format=torch.contiguous_format))
    if never_overlaps(shape, strides):
        assert digest(tensor) == digest(build([TensorSpec("x", shape, dtype, data=data)], CPU)["x"])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "complex64"])
def test_gaps_of_floats_hold_nan(dtype):
    tensor = built(f"x={dtype}[4,3];strides=padded;offset=2;fill=ones")
    storage = storage_of(tensor)
    wide = storage if storage.dtype.is_complex else storage.float()
    assert torch.isnan(wide).sum() == len(storage) - 12
    assert torch.isnan(wide[:2]).all()


def test_gaps_of_integers_hold_a_pattern():
    storage = storage_of(built("x=int64[4,3];strides=sliced;fill=ones"))
    poison = int.from_bytes(bytes([POISON_BYTE] * 8), "little", signed=True)
    assert storage[1::2].tolist() == [poison] * 11


def test_inputs_over_one_storage_share_it():
    tensors = build(parse_inputs(["a=float32[4];storage=s;fill=zeros", "b=float32[3];storage=s;offset=2;fill=ones",
                                  "c=float32[4];fill=zeros"]), CPU)
    assert tensors["a"].data_ptr() + 8 == tensors["b"].data_ptr()
    assert tensors["a"].tolist() == [0, 0, 1, 1]
    assert tensors["c"].tolist() == [0, 0, 0, 0]
    assert list(tensors) == ["a", "b", "c"]


def test_a_fixed_digest_holds_in_every_process():
    text = "x=float16[5,7];strides=padded;fill=uniform(low=-3,high=3);seed=42"
    expected = "c46b7d9d8cd1b13b8bdf6b129d947c9e99a93fcc735e197173377f3ccc0793b6"
    assert digest(built(text)) == expected
    program = ("import torch; from opdebug.plan.grammar import parse_input; from opdebug.worker.inputs import *; "
               f"print(digest(build([parse_input({text!r})], torch.device('cpu'))['x']))")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == expected


def test_another_device_gets_the_same_views():
    specs = parse_inputs(["x=float32[4,3];strides=transposed;offset=2", "y=float32[4,3]"])
    for spec, tensor in zip(specs, build(specs, torch.device("meta")).values()):
        verify(tensor, spec, torch.device("meta"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dtype": "float17"}, "has no dtype 'float17'"),
        ({"data": DataSpec("given", 0, {"sha256": "0"})}, "given by user code"),
        ({"data": DataSpec("gauss")}, "fill 'gauss' is unknown"),
        ({"data": DataSpec("constant")}, "needs the option 'value'"),
        ({"strides": (1,)}, "do not fit the shape"),
        ({"strides": (-1, 1)}, "RuntimeError"),
        ({"layout": "FRACTAL_NZ"}, "layout 'FRACTAL_NZ'"),
        ({"layout": "NHWC"}, "layout 'NHWC'"),
        ({"shape": (2**40, 2**20)}, "input 'x'"),
    ],
)
def test_what_cannot_be_built_exactly_is_not_built(changes, reason):
    spec = TensorSpec(**{"name": "x", "shape": (2, 3), "dtype": "float32", **changes})
    with pytest.raises(CannotBuild, match="input 'x'") as caught:
        build([spec], CPU)
    assert reason in str(caught.value)


def test_inputs_that_contradict_each_other_are_not_built():
    with pytest.raises(CannotBuild, match="given twice"):
        build([parse_input("x=float32[2]")] * 2, CPU)
    with pytest.raises(CannotBuild, match="storage 's'"):
        build([parse_input("x=float32[2];storage=s"), parse_input("y=int32[2];storage=s")], CPU)


def test_layouts_that_are_memory_orders_are_built():
    tensor = built("x=float32[2,3,4,4];strides=channels_last;layout=NHWC")
    assert tensor.is_contiguous(memory_format=torch.channels_last)
    assert built("x=float32[2,3,4,4];layout=NCHW").is_contiguous()


@pytest.mark.parametrize(
    "other", [torch.zeros(2, 3), torch.zeros(3, 2).t(), torch.zeros(7)[1:].view(3, 2), torch.zeros(3, 2).double()]
)
def test_verification_sees_every_difference(other):
    with pytest.raises(CannotBuild, match="otherwise than asked"):
        verify(other, parse_input("x=float32[3,2]"), CPU)
    with pytest.raises(CannotBuild, match="device is cpu and not meta"):
        verify(torch.zeros(3, 2), parse_input("x=float32[3,2]"), torch.device("meta"))
