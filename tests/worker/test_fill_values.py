"""The values behind each fill, element by element."""

import math
import warnings

import pytest
import torch

from opdebug.model.dtypes import DTYPES
from opdebug.model.fills import FILLS, suitable
from opdebug.model.specs import DataSpec
from opdebug.worker.fill import _MAKERS, bits, elements

warnings.filterwarnings("ignore", message="ComplexHalf")


def values(dtype, fill, count=12, seed=0, name="x", **options):
    return elements(DTYPES[dtype], count, DataSpec(fill, seed, options), name)


def test_every_fill_of_the_table_can_be_made():
    assert set(_MAKERS) == set(FILLS)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_every_suitable_fill_gives_that_many_elements_of_that_dtype(dtype):
    for fill in suitable(DTYPES[dtype]):
        options = {"value": 1} if fill == "constant" else {}
        for count in (0, 1, 7):
            made = values(dtype, fill, count, **options)
            assert (made.shape, made.dtype) == ((count,), getattr(torch, dtype))


@pytest.mark.parametrize("fill", ["normal", "uniform", "large", "tiny", "randint"])
def test_seed_and_name_decide_and_nothing_else(fill):
    first = values("float32", fill, 100)
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    assert torch.equal(bits(first), bits(values("float32", fill, 100)))
    assert torch.equal(state, torch.random.get_rng_state())
    assert not torch.equal(bits(first), bits(values("float32", fill, 100, seed=1)))
    assert not torch.equal(bits(first), bits(values("float32", fill, 100, name="y")))


def test_low_precision_is_float32_rounded_once():
    assert torch.equal(values("bfloat16", "normal", 50), values("float32", "normal", 50).bfloat16())


def test_float64_uses_its_whole_mantissa():
    made = values("float64", "normal", 50)
    assert not torch.equal(made, made.float().double())


def test_normal_and_uniform_follow_their_options():
    normal = values("float64", "normal", 20000, mean=3.0, std=0.5)
    assert abs(normal.mean() - 3) < 0.02
    assert abs(normal.std() - 0.5) < 0.02
    uniform = values("float64", "uniform", 20000, low=-2, high=4)
    assert -2 <= uniform.min() < -1.9
    assert 3.9 < uniform.max() < 4


def test_whole_numbers():
    assert set(values("int8", "randint", 500).tolist()) == set(range(-8, 8))
    assert set(values("uint16", "randint", 500, low=2, high=4).tolist()) == {2, 3}
    assert values("int8", "arange", 4, start=126).tolist() == [126, 127, -128, -127]
    assert values("float16", "arange", 3, start=1, step=0.5).tolist() == [1, 1.5, 2]
    assert values("float8_e4m3fn", "arange", 600).float().max() == 448
    assert values("int32", "ramp", 3).tolist() == [-8, 0, 8]
    assert values("float32", "ramp", 3, low=0, high=1).tolist() == [0, 0.5, 1]
    assert set(values("bool", "bernoulli", 100).tolist()) == {False, True}


def test_constants():
    assert values("uint64", "constant", 1, value=2**64 - 1).tolist() == [2**64 - 1]
    assert values("float32", "constant", 1, value="-inf").tolist() == [-math.inf]
    assert values("complex64", "ones", 2).tolist() == [1, 1]
    assert values("bool", "constant", 1, value=True).tolist() == [True]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "uint32"])
def test_the_ends_of_integer_ranges(dtype):
    kind = DTYPES[dtype]
    assert values(dtype, "extremes", 3).tolist() == [kind.lowest, kind.highest, kind.lowest]
    for value in values(dtype, "large", 40).tolist():
        assert min(value - kind.lowest, kind.highest - value) < 8
    assert {0, 1, kind.lowest, kind.highest} <= set(values(dtype, "special").tolist())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_the_ends_of_floating_ranges(dtype):
    kind = DTYPES[dtype]
    wide = [values(dtype, fill, 40).double() for fill in ("extremes", "large", "tiny", "negzero")]
    assert wide[0].tolist() == [kind.lowest, kind.highest] * 20
    assert ((wide[1].abs() >= kind.highest / 2) & (wide[1].abs() <= kind.highest)).all()
    assert ((wide[2].abs() >= kind.smallest_subnormal) & (wide[2].abs() < kind.smallest_normal)).all()
    assert (wide[3] == 0).all()
    assert torch.signbit(wide[3]).all()


def test_special_values_of_float16():
    made = values("float16", "special", 11).tolist()
    assert made[:4] == [0, 0, 1, -1]
    assert math.copysign(1, made[1]) == -1
    assert made[4:6] == [math.inf, -math.inf]
    assert math.isnan(made[6])
    assert made[7:] == [65504, -65504, 2.0**-14, 2.0**-24]


def test_one_in_every():
    made = values("float32", "nan", 15, every=7)
    assert torch.isnan(made).nonzero().flatten().tolist() == [0, 7, 14]
    assert torch.isnan(values("float32", "nan", 15)).all()


def test_packed_floats_round_to_the_nearest_and_fill_both_halves():
    assert values("float4_e2m1fn_x2", "extremes", 1).view(torch.uint8).tolist() == [0x7F]
    assert values("float4_e2m1fn_x2", "arange", 4, step=0.5).view(torch.uint8).tolist() == [0x10, 0x32, 0x44, 0x55]


def test_exponent_only_floats_are_powers_of_two():
    made = values("float8_e8m0fnu", "uniform", 50).float()
    assert set(made.tolist()) <= {0.25, 0.5, 1.0}
