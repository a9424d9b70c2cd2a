"""The values behind a fill: elements that depend on seed and input name alone, on no global state.

`elements` makes them for any dtype; `bits` shows a tensor as integers of its width, for copying and comparing what
arithmetic does not reach (NaN payloads, 8-bit and packed 4-bit floats). Values are made in float64, float32 or int64
and then rounded to the dtype once. Fills made of integers and uniform numbers are the same on every machine; the last
bit of a normal value may depend on the build of torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Callable

import torch

from opdebug.model.dtypes import BOOL, COMPLEX, DTYPES, FLOAT, UINT, DType
from opdebug.model.fills import default_options, has_negative_zero
from opdebug.model.specs import DataSpec

PART_OF_COMPLEX = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}
PACKED = "float4_e2m1fn_x2"

_WIDTHS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# The eight magnitudes of a 4-bit float (OCP MX, E2M1) lie at 0, 0.5, 1, 1.5, 2, 3, 4, 6; these are the middles between.
_PACKED_MIDDLES = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
# No normal value of torch lies farther out: 53 random bits bound Box-Muller at sqrt(2 * 53 * ln 2) = 8.6.
_NORMAL_REACH = 9.0
_REAL_ONLY = ("ones", "constant", "arange", "ramp", "bernoulli")

Options = Mapping[str, Any]


def elements(kind: DType, count: int, data: DataSpec, name: str) -> torch.Tensor:
    """`count` elements of dtype `kind` on CPU, as a vector. The fill must suit the dtype (`fills.problems`)."""
    options = {**default_options(data.fill, kind), **data.options}
    generator = torch.Generator()
    digest = hashlib.sha256(f"{data.seed}:{name}".encode()).digest()
    generator.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    make = _MAKERS[data.fill]
    if kind.kind == COMPLEX:
        part = DTYPES[PART_OF_COMPLEX[kind.name]]
        real_only = data.fill in _REAL_ONLY
        values = _rounded(make(count if real_only else 2 * count, part, options, generator), part)
        pairs = torch.stack((values, torch.zeros_like(values)), 1) if real_only else values.view(count, 2)
        return torch.view_as_complex(pairs)
    if kind.name == PACKED:
        return _packed(make(2 * count, kind, options, generator))
    return _rounded(make(count, kind, options, generator), kind)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers of the same width, strides kept; 16-byte elements have none and stay as they are."""
    width = _WIDTHS.get(tensor.element_size())
    return tensor if width is None else tensor.view(width)


def _rounded(values: torch.Tensor, kind: DType) -> torch.Tensor:
    if kind.kind == BOOL:
        return values != 0
    if kind.kind == UINT and kind.itemsize == 8:
        return values.view(torch.uint64)
    dtype: torch.dtype = getattr(torch, kind.name)
    return values.to(dtype)


def _packed(values: torch.Tensor) -> torch.Tensor:
    """Two neighbours in one byte, the first in the low half, each the nearest 4-bit float, ties toward zero."""
    magnitude = torch.bucketize(values.double().abs(), torch.tensor(_PACKED_MIDDLES, dtype=torch.float64))
    codes = (magnitude + 8 * torch.signbit(values)).to(torch.uint8).view(-1, 2)
    packed = codes[:, 0] + 16 * codes[:, 1]
    return packed.view(getattr(torch, PACKED))


def _normal(count: int, kind: DType, options: Options, generator: torch.Generator) -> torch.Tensor:
    # float64 is made wide so that its low mantissa bits are used; every other dtype is rounded from float32.
    wide = torch.float64 if kind.itemsize == 8 else torch.float32
    values = torch.randn(count, generator=generator, dtype=wide)
    mean, std = float(options["mean"]), float(options["std"])
    if (mean, std) != (0, 1):
        values = values * std + mean
    if abs(mean) + _NORMAL_REACH * std > kind.highest:
        values = values.clamp(kind.lowest, kind.highest)
    return values


def _uniform(count: int, _kind: DType, options: Options, generator: torch.Generator) -> torch.Tensor:
    share = torch.rand(count, generator=generator, dtype=torch.float64)
    low, high = float(options["low"]), float(options["high"])
    # Not low + share * (high - low), whose difference can overflow.
    return (1 - share) * low + share * high


def _randint(count: int, _kind: DType, options: Options, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(options["low"], options["high"], (count,), generator=generator)


def _bernoulli(count: int, _kind: DType, options: Options, generator: torch.Generator) -> torch.Tensor:
    return (torch.rand(count, generator=generator, dtype=torch.float64) < float(options["p"])).long()


def _cycle(count: int, kind: DType, values: list[Any]) -> torch.Tensor:
    """`values` in turn: float64 for floats, otherwise int64, numbers above its range by their 64 bits."""
    if kind.kind == FLOAT:
        turn = torch.tensor([float(v) for v in values], dtype=torch.float64)
    else:
        turn = torch.tensor([(int(v) + 2**63) % 2**64 - 2**63 for v in values], dtype=torch.int64)
    return turn.repeat(-(-count // len(values)))[:count]


def _constant(count: int, kind: DType, options: Options, _generator: torch.Generator) -> torch.Tensor:
    return _cycle(count, kind, [options["value"]])


def _arange(count: int, kind: DType, options: Options, _generator: torch.Generator) -> torch.Tensor:
    if kind.kind != FLOAT:
        return torch.arange(count) * _cycle(1, kind, [options["step"]]) + _cycle(1, kind, [options["start"]])
    values = torch.arange(count, dtype=torch.float64) * float(options["step"]) + float(options["start"])
    return values.clamp(kind.lowest, kind.highest)


def _ramp(count: int, kind: DType, options: Options, _generator: torch.Generator) -> torch.Tensor:
    values = torch.linspace(options["low"], options["high"], count, dtype=torch.float64)
    return values if kind.kind == FLOAT else values.round().long()


def _special(count: int, kind: DType, _options: Options, _generator: torch.Generator) -> torch.Tensor:
    negative = kind.lowest < 0
    choices = [
        (0, not (kind.kind == FLOAT and kind.lowest > 0)), (-0.0, has_negative_zero(kind)), (1, True), (-1, negative),
        ("inf", kind.has_inf), ("-inf", kind.has_inf), ("nan", kind.has_nan),
        (kind.highest, kind.kind != BOOL), (kind.lowest, kind.kind != BOOL),
        (kind.smallest_normal, kind.kind == FLOAT), (kind.smallest_subnormal, kind.kind == FLOAT),
    ]
    return _cycle(count, kind, [value for value, has in choices if has])


def _extremes(count: int, kind: DType, _options: Options, _generator: torch.Generator) -> torch.Tensor:
    return _cycle(count, kind, [kind.lowest, kind.highest])


def _large(count: int, kind: DType, _options: Options, generator: torch.Generator) -> torch.Tensor:
    signs = _signs(count, kind)
    if kind.kind == FLOAT:
        return signs * kind.highest * (1 - torch.rand(count, generator=generator, dtype=torch.float64) / 2)
    inward = torch.randint(0, 8, (count,), generator=generator)
    ends = torch.where(signs > 0, _cycle(count, kind, [kind.highest]), _cycle(count, kind, [kind.lowest]))
    return ends - torch.where(signs > 0, inward, -inward)


def _tiny(count: int, kind: DType, _options: Options, generator: torch.Generator) -> torch.Tensor:
    steps = torch.randint(1, max(2, 2 ** (kind.mantissa or 0)), (count,), generator=generator)
    return _signs(count, kind) * steps * float(kind.smallest_subnormal or 0)


def _signs(count: int, kind: DType) -> torch.Tensor:
    """1 and -1 in turn where the dtype has negative numbers, otherwise 1."""
    signs = torch.ones(count, dtype=torch.float64)
    if kind.lowest < 0:
        signs[1::2] = -1
    return signs


def _some(value: float) -> _Maker:
    """Normal values with every n-th replaced by `value`."""

    def make(count: int, kind: DType, options: Options, generator: torch.Generator) -> torch.Tensor:
        values = _normal(count, kind, {"mean": 0, "std": 1}, generator)
        values[:: options["every"]] = value
        return values

    return make


def _always(value: int) -> _Maker:
    def make(count: int, kind: DType, _options: Options, _generator: torch.Generator) -> torch.Tensor:
        return _cycle(count, kind, [value])

    return make


_Maker = Callable[[int, DType, Options, torch.Generator], torch.Tensor]
_MAKERS: dict[str, _Maker] = {
    "normal": _normal, "uniform": _uniform, "randint": _randint, "bernoulli": _bernoulli,
    "ones": _always(1), "zeros": _always(0), "constant": _constant, "arange": _arange, "ramp": _ramp,
    "special": _special, "extremes": _extremes, "large": _large, "tiny": _tiny,
    "inf": _some(float("inf")), "neginf": _some(float("-inf")), "nan": _some(float("nan")), "negzero": _some(-0.0),
}
"""Fill to the function that makes `count` values for a dtype; the keys are those of `opdebug.model.fills.FILLS`."""
