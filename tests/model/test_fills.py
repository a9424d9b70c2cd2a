"""Which values a dtype can hold, and how a fill is refused."""

import pytest

from opdebug.model.dtypes import DTYPES
from opdebug.model.fills import FILLS, default_fill, default_options, problems, suitable


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_defaults_are_accepted_for_every_suitable_fill(name):
    dtype = DTYPES[name]
    assert default_fill(name) in suitable(dtype)
    for fill in suitable(dtype):
        given = {"value": 1} if fill == "constant" else {}
        assert problems(dtype, fill, given) == []
        assert set(default_options(fill, dtype)) | set(given) == set(FILLS[fill].options)


@pytest.mark.parametrize(
    ("dtype", "refused"),
    [
        ("int32", {"nan", "inf", "negzero", "tiny", "normal"}), ("bool", {"randint", "ramp", "extremes", "nan"}),
        ("float8_e4m3fn", {"inf", "neginf"}), ("float8_e5m2fnuz", {"negzero", "inf"}),
        ("float4_e2m1fn_x2", {"nan", "inf"}), ("float8_e8m0fnu", {"zeros", "normal", "negzero", "inf"}),
    ],
)
def test_what_a_dtype_cannot_hold(dtype, refused):
    assert refused <= set(FILLS) - set(suitable(DTYPES[dtype]))
    for fill in refused:
        assert "accepted: " in problems(DTYPES[dtype], fill, {})[0]


@pytest.mark.parametrize(
    ("fill", "options"),
    [
        ("uniform", {"low": float("nan")}), ("uniform", {"low": True}), ("uniform", {"low": "x"}),
        ("normal", {"std": -1}), ("bernoulli", {"p": 2}), ("nan", {"every": 0}),
        ("normal", {"std": -1}), ("bernoulli", {"p": 2}), ("nan", {"every": 0}), ("constant", {"value": 10**400}),
        ("constant", {"value": None}),
        ("randint", {"low": 3, "high": 3}), ("randint", {"low": 0.5}), ("ones", {"value": 1}), (["ones"], {}),
    ],
)
def test_bad_options_are_refused(fill, options):
    assert len(problems(DTYPES["float32"], fill, options)) == 1


def test_an_unknown_dtype_has_a_default_fill_too():
    assert default_fill("hifloat8") == "normal"
