"""What each torch dtype can hold, known without torch, so that a matrix can be planned anywhere.

`DTYPES` maps the torch name (without `torch.`) to a `DType`; `dtype(name)` also accepts the short names people type.
Ranges follow IEEE 754-2019 for binary16/32/64, the bfloat16 and OCP 8-bit float (OFP8, MX) formats for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from opdebug.model.errors import OpdebugError

FLOAT = "float"
COMPLEX = "complex"
INT = "int"
UINT = "uint"
BOOL = "bool"


@dataclass(frozen=True)
class DType:
    """One torch dtype. `itemsize` is in bytes; `mantissa` counts the stored significand bits (None: no float)."""

    name: str
    kind: str
    itemsize: int
    lowest: float | int
    highest: float | int
    mantissa: int | None = None
    smallest_normal: float | None = None
    smallest_subnormal: float | None = None
    has_inf: bool = False
    has_nan: bool = False

    @property
    def is_floating(self) -> bool:
        return self.kind in (FLOAT, COMPLEX)


def _float(name: str, size: int, mantissa: int, highest: float, min_exponent: int, *,
           inf: bool = True, subnormal: bool = True) -> DType:
    normal = 2.0**min_exponent
    tiny = 2.0 ** (min_exponent - mantissa) if subnormal else normal
    return DType(name, FLOAT, size, -highest, highest, mantissa, normal, tiny, inf, True)


def _complex(name: str, part: DType) -> DType:
    return DType(name, COMPLEX, 2 * part.itemsize, part.lowest, part.highest, part.mantissa, part.smallest_normal,
                 part.smallest_subnormal, part.has_inf, part.has_nan)


def _all() -> dict[str, DType]:
    f64 = _float("float64", 8, 52, (2 - 2.0**-52) * 2.0**1023, -1022)
    f32 = _float("float32", 4, 23, (2 - 2.0**-23) * 2.0**127, -126)
    f16 = _float("float16", 2, 10, 65504.0, -14)
    table = [
        f64, f32, f16,
        _float("bfloat16", 2, 7, (2 - 2.0**-7) * 2.0**127, -126),
        _float("float8_e4m3fn", 1, 3, 448.0, -6, inf=False),
        _float("float8_e5m2", 1, 2, 57344.0, -14),
        _float("float8_e4m3fnuz", 1, 3, 240.0, -7, inf=False),
        _float("float8_e5m2fnuz", 1, 2, 57344.0, -15, inf=False),
        # A power of two and nothing else: no sign, no zero, no fraction.
        DType("float8_e8m0fnu", FLOAT, 1, 2.0**-127, 2.0**127, 0, 2.0**-127, 2.0**-127, False, True),
        # Two 4-bit values in a byte; the shape counts bytes.
        DType("float4_e2m1fn_x2", FLOAT, 1, -6.0, 6.0, 1, 1.0, 0.5, False, False),
        _complex("complex128", f64), _complex("complex64", f32), _complex("complex32", f16),
        DType("bool", BOOL, 1, 0, 1),
    ]
    for bits in (8, 16, 32, 64):
        table.append(DType(f"int{bits}", INT, bits // 8, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
        table.append(DType(f"uint{bits}", UINT, bits // 8, 0, 2**bits - 1))
    return {entry.name: entry for entry in table}


DTYPES: dict[str, DType] = _all()

ALIASES = {
    "double": "float64", "f64": "float64", "fp64": "float64",
    "float": "float32", "f32": "float32", "fp32": "float32",
    "half": "float16", "f16": "float16", "fp16": "float16",
    "bf16": "bfloat16",
    "fp8_e4m3": "float8_e4m3fn", "e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "e5m2": "float8_e5m2",
    "c128": "complex128", "cdouble": "complex128", "c64": "complex64", "cfloat": "complex64",
    "c32": "complex32", "chalf": "complex32",
    "long": "int64", "i64": "int64", "int": "int32", "i32": "int32", "short": "int16", "i16": "int16",
    "char": "int8", "i8": "int8", "byte": "uint8", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "b8": "bool",
}


def dtype(name: str) -> DType:
    """The dtype called `name` (torch's name, with or without `torch.`, or a usual short name).

    Raises OpdebugError naming the accepted dtypes.
    """
    plain = name.removeprefix("torch.") if hasattr(name, "removeprefix") else name
    found = DTYPES.get(ALIASES.get(plain, plain))
    if found is None:
        accepted = ", ".join(sorted(DTYPES))
        raise OpdebugError(f"dtype {name!r} is not a torch dtype that can be built; accepted: {accepted}")
    return found
