"""What the fills mean before any value exists: their options, the dtypes they suit, and what is wrong with a request.

`FILLS` is the table; `default_fill` and `default_options` say what an input gets when nothing was asked for,
`problems` what stands against a fill, and `suitable` which fills a dtype can have. The values are made by the worker.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opdebug.model.dtypes import BOOL, COMPLEX, DTYPES, FLOAT, INT, UINT, DType

GIVEN = "given"
"""The fill of a tensor that user code made: its values are identified by `sha256`, not made from this document."""

NON_FINITE = ("inf", "-inf", "nan")
"""How documents, which hold finite numbers only, write the other values."""

_REAL = (FLOAT, INT, UINT)
_NUMBERS = (FLOAT, COMPLEX, INT, UINT)
_ALL = (*_NUMBERS, BOOL)


@dataclass(frozen=True)
class Fill:
    """One way of making values: the kinds of dtype that can hold them and the options with their defaults.

    An option whose default is None must be given; one whose default is "by dtype" is settled by `default_options`.
    """

    kinds: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


_EVERY = {"every": 1}

FILLS: dict[str, Fill] = {
    "normal": Fill((FLOAT, COMPLEX), {"mean": 0.0, "std": 1.0}),
    "uniform": Fill((FLOAT, COMPLEX), {"low": 0.0, "high": 1.0}),
    # Whole numbers, low <= v < high.
    "randint": Fill(_NUMBERS, {"low": "by dtype", "high": "by dtype"}),
    # 1 (True) with probability p.
    "bernoulli": Fill(_ALL, {"p": 0.5}),
    "ones": Fill(_ALL),
    "zeros": Fill(_ALL),
    "constant": Fill(_ALL, {"value": None}),
    # start, start + step, …; integers wrap around.
    "arange": Fill(_NUMBERS, {"start": 0, "step": 1}),
    # Evenly spaced from low to high, both included.
    "ramp": Fill(_NUMBERS, {"low": "by dtype", "high": "by dtype"}),
    # In turn what the dtype has of: 0, -0, 1, -1, inf, -inf, nan, highest, lowest, smallest normal and subnormal.
    "special": Fill(_ALL),
    # The lowest and the highest value in turn.
    "extremes": Fill(_NUMBERS),
    # Within a factor 2 (integers: within 8) of the lowest or highest value.
    "large": Fill(_NUMBERS),
    # Subnormal numbers of both signs.
    "tiny": Fill((FLOAT, COMPLEX)),
    # One element in `every` is the value named, the first included; the rest are standard normal.
    "inf": Fill((FLOAT, COMPLEX), _EVERY),
    "neginf": Fill((FLOAT, COMPLEX), _EVERY),
    "nan": Fill((FLOAT, COMPLEX), _EVERY),
    "negzero": Fill((FLOAT, COMPLEX), _EVERY),
}


def default_fill(dtype_name: str) -> str:
    """The fill of an input that asks for none; "normal" for a dtype that is not known."""
    dtype = DTYPES.get(dtype_name)
    if dtype is None:
        return "normal"
    if _is_exponent_only(dtype):
        return "uniform"
    return {BOOL: "bernoulli", INT: "randint", UINT: "randint"}.get(dtype.kind, "normal")


def default_options(fill: str, dtype: DType) -> dict[str, Any]:
    """The options of `fill` with every default settled for `dtype`; one that must be given is left out."""
    options = {name: value for name, value in FILLS[fill].options.items() if value is not None}
    if fill == "randint":
        options.update(low=max(-8, int(dtype.lowest)), high=min(8, int(dtype.highest)))
    elif fill == "ramp":
        options.update({"low": -1.0, "high": 1.0} if dtype.is_floating else {"low": max(-8, dtype.lowest), "high": 8})
    if _is_exponent_only(dtype) and fill in ("uniform", "ramp"):
        options["low"] = 0.25
    return options


def suitable(dtype: DType) -> list[str]:
    """The fills that `dtype` can hold, in the table's order."""
    return [name for name in FILLS if _misfit(name, dtype) is None]


def problems(dtype: DType, fill: str, options: Mapping[str, Any]) -> list[str]:
    """Everything that stands against filling `dtype` this way; empty if nothing does."""
    if fill == GIVEN:
        return []
    if not isinstance(fill, str) or fill not in FILLS:
        return [f"fill {fill!r} is unknown; accepted for {dtype.name}: {', '.join(suitable(dtype))}"]
    misfit = _misfit(fill, dtype)
    if misfit is not None:
        return [f"fill {fill!r} is impossible for {dtype.name}: {misfit}; accepted: {', '.join(suitable(dtype))}"]
    known = FILLS[fill].options
    found = []
    for name in options:
        if name not in known:
            accepted = ", ".join(known) or "none"
            found.append(f"unknown keys in options of fill {fill!r}: {name!r}; accepted: {accepted}")
    settled = {**default_options(fill, dtype), **{k: v for k, v in options.items() if k in known}}
    for name, value in settled.items():
        problem = _option_problem(fill, name, value, dtype)
        if problem is not None:
            found.append(f"option {name!r} of fill {fill!r} is {value!r}; {problem}")
    for name in known:
        if name not in settled:
            found.append(f"fill {fill!r} needs the option {name!r}, for example {fill}({name}=1)")
    if not found and "low" in settled:
        low, high = settled["low"], settled["high"]
        if low > high or (fill == "randint" and low == high):
            found.append(f"fill {fill!r} has low={low!r} and high={high!r}; low must lie below high")
    return found


def _misfit(fill: str, dtype: DType) -> str | None:
    """Why `dtype` cannot hold the values of `fill`, whatever its options; None if it can."""
    if dtype.kind not in FILLS[fill].kinds:
        return f"it is meant for {', '.join(FILLS[fill].kinds)} dtypes"
    if fill in ("inf", "neginf") and not dtype.has_inf:
        return "the dtype has no infinity"
    if fill == "nan" and not dtype.has_nan:
        return "the dtype has no NaN"
    if fill == "negzero" and not has_negative_zero(dtype):
        return "the dtype has no negative zero"
    if _is_exponent_only(dtype) and fill in ("zeros", "normal", "randint", "bernoulli", "arange"):
        return "the dtype holds positive powers of two only"
    return None


def has_negative_zero(dtype: DType) -> bool:
    """Whether -0 differs from 0: true of floats, except the 8-bit formats that give its code to NaN."""
    return dtype.is_floating and not dtype.name.endswith("uz") and not _is_exponent_only(dtype)


def _is_exponent_only(dtype: DType) -> bool:
    return dtype.name == "float8_e8m0fnu"


def _option_problem(fill: str, name: str, value: Any, dtype: DType) -> str | None:
    if fill == "constant" and isinstance(value, str) and value in NON_FINITE:
        has = dtype.has_nan if value == "nan" else dtype.has_inf
        return None if has else f"{dtype.name} has no such value"
    if fill == "constant" and isinstance(value, bool) and dtype.kind == BOOL:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == math.inf:
        return "a finite number is needed"
    if name == "every":
        return None if isinstance(value, int) and value >= 1 else "a whole number of at least 1 is needed"
    if name == "p":
        return None if 0 <= value <= 1 else "a probability from 0 to 1 is needed"
    if name == "std":
        return None if value >= 0 else "a number of at least 0 is needed"
    if (not dtype.is_floating or fill == "randint") and not isinstance(value, int):
        return f"a whole number is needed for {dtype.name}" if not dtype.is_floating else "a whole number is needed"
    if name == "step":
        return None if -(2**63) <= value < 2**63 else "a number within 64 bits is needed"
    # The upper end of randint is exclusive and may therefore lie one above the highest value.
    if fill == "randint" and not -(2**63) <= value < 2**63:
        return "a whole number within int64 is needed"
    highest = dtype.highest + 1 if fill == "randint" and name == "high" else dtype.highest
    if not dtype.lowest <= value <= highest:
        return f"{dtype.name} holds {dtype.lowest!r} to {dtype.highest!r}"
    if _is_exponent_only(dtype) and value <= 0:
        return f"{dtype.name} holds positive powers of two only"
    return None
