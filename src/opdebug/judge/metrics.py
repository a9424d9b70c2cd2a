"""The arithmetic of a difference, on flat CPU tensors: nothing here knows a tolerance or an output's name.

`Sums` and the cosine and relative l2 norm made of them, `ulp_distance`, the exact integer distance `widest_gap`, the
smallest tolerances that would have covered a set of differences (`needed_tolerances`), and `plain`, which writes a
number so that JSON can hold it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

import torch

INT64_MIN = -(2**63)

Pair = tuple[torch.Tensor, torch.Tensor]

# More than the roundings of a quotient, a product and a sum can take away from a ratio that ought to be enough.
SLACK = 1 + 2.0**-50

# Below this a sum of float64 squares has lost digits to gradual underflow (the smallest normal is about 2.2e-308).
_UNDERFLOW = 1e-280

_SIGNED_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_MAGNITUDE = {1: 0x7F, 2: 0x7FFF, 4: 0x7FFF_FFFF, 8: 0x7FFF_FFFF_FFFF_FFFF}


def _named(*names: str) -> frozenset[torch.dtype]:
    return frozenset(getattr(torch, name) for name in names if hasattr(torch, name))


# Bit patterns made of a sign and a magnitude that grows with the value.
SIGN_MAGNITUDE = _named("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
                        "float8_e4m3fnuz", "float8_e5m2fnuz")
# Bit patterns that are a magnitude alone.
MAGNITUDE_ONLY = _named("float8_e8m0fnu")


@dataclass
class Sums:
    """Sums over finite pairs, complex values counted as two reals: candidate·reference, the squares of both, and the
    square of the distance. Values may have been divided by some scale beforehand, a different one for each; `stretch`
    is the distance's scale over the reference's."""

    cross: float = 0.0
    candidate: float = 0.0
    reference: float = 0.0
    gap: float = 0.0
    stretch: float = 1.0

    def add(self, candidate: torch.Tensor, reference: torch.Tensor, gap: torch.Tensor | None) -> None:
        """Add float64 or complex128 values and their float64 distance; None where the two sides are equal."""
        if candidate.is_complex():
            candidate, reference = torch.view_as_real(candidate).view(-1), torch.view_as_real(reference).view(-1)
        squares = torch.dot(reference, reference).item()
        self.reference += squares
        if gap is None:
            self.cross += squares
            self.candidate += squares
            return
        self.cross += torch.dot(candidate, reference).item()
        self.candidate += torch.dot(candidate, candidate).item()
        self.gap += torch.dot(gap, gap).item()

    def trustworthy(self, has_gap: bool) -> bool:
        """False where a square may have overflowed or lost digits: the sums must then be taken over scaled values.
        `has_gap` says whether anything differs at all, so that a zero distance is a true zero."""
        squares = (self.candidate, self.reference) + ((self.gap,) if has_gap else ())
        return math.isfinite(self.cross) and all(_UNDERFLOW < square < math.inf for square in squares)

    @property
    def cosine(self) -> float | None:
        """cross / (‖candidate‖·‖reference‖); None where either is all zero. Scales cancel."""
        if not (self.candidate and self.reference):
            return None
        return max(-1.0, min(1.0, self.cross / (math.sqrt(self.candidate) * math.sqrt(self.reference))))

    @property
    def rel_l2(self) -> float | None:
        """‖candidate - reference‖ / ‖reference‖; 0 where nothing differs, None where only the reference is 0."""
        if not self.gap:
            return 0.0
        if not self.reference:
            return None
        return math.sqrt(self.gap) / math.sqrt(self.reference) * self.stretch


def needed_tolerances(
    gap: torch.Tensor, size: torch.Tensor, top: float, linear: tuple[float, float]
) -> tuple[float, float]:
    """The smallest atol that covers `gap` with this rtol, and the smallest rtol with this atol; inf where none does.

    `gap` is |candidate - reference|, `top` the largest of it, `size` |reference|, all float64 and not empty, and
    `linear` is (atol, rtol). An answer that was rounded is moved up by a few units in the last place, so that
    atol + rtol·size evaluated in float64 does reach every gap.
    """
    atol, rtol = linear
    if not math.isfinite(top):
        return math.inf, math.inf
    atol_needed = top
    if rtol > 0 and top > 0:
        atol_needed = max(0.0, (size * -rtol).add_(gap).max().item())
        atol_needed += math.ulp(atol_needed) if atol_needed > 0 else 0.0
    if top <= atol:
        return atol_needed, 0.0
    over = gap > atol
    rtol_needed = ((gap[over] - atol) / size[over]).max().item()
    return atol_needed, rtol_needed * SLACK


def max_relative(gap: torch.Tensor, size: torch.Tensor) -> tuple[float | None, bool]:
    """The largest gap/size over the elements whose size is not zero (None where there is none), and whether that was
    every element."""
    largest = (gap / size).max().item()
    if math.isfinite(largest):
        return float(largest), True
    nonzero = size > 0
    return ((gap[nonzero] / size[nonzero]).max().item() if bool(nonzero.any()) else None), False


def ulp_distance(candidate: torch.Tensor, rounded: torch.Tensor, same_signs: bool = False) -> int | None:
    """How many representable values of the dtype lie between the two sides at most, -0 and 0 being one value.

    Both tensors have the same real floating dtype and hold no NaN. `same_signs` says that no pair differs in sign,
    where that is known. None for a dtype whose bits are not ordered so.
    """
    size = candidate.dtype.itemsize
    if candidate.dtype in MAGNITUDE_ONLY:
        first, second = candidate.view(torch.uint8).to(torch.int64), rounded.view(torch.uint8).to(torch.int64)
        return widest_gap(first, second)
    if candidate.dtype not in SIGN_MAGNITUDE:
        return None
    first, second = candidate.view(_SIGNED_BITS[size]), rounded.view(_SIGNED_BITS[size])
    if same_signs or (first ^ second).min().item() >= 0:
        # The sign bits cancel and the difference cannot overflow.
        least, most = (first - second).aminmax()
        return max(-int(least.item()), int(most.item()))
    return widest_gap(_ordered(first, size), _ordered(second, size))


def _ordered(bits: torch.Tensor, size: int) -> torch.Tensor:
    magnitude = bits.to(torch.int64) & _MAGNITUDE[size]
    return torch.where(bits < 0, -magnitude, magnitude)


def integer_gaps(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """|first - second| of int64 tensors, exact, shifted down by 2**63 so that int64 holds it and its order is kept."""
    return (torch.maximum(first, second) - torch.minimum(first, second)) ^ INT64_MIN


def widest_gap(first: torch.Tensor, second: torch.Tensor) -> int:
    """The largest |first - second| of two int64 tensors, exact up to 2**64 - 1."""
    return int(integer_gaps(first, second).max().item()) - INT64_MIN


def scaled_sums(pairs: Callable[[], Iterable[Pair]]) -> Sums:
    """The sums over finite pairs with each side, and the distance, divided by its largest magnitude beforehand.

    For values whose squares do not fit into float64. `pairs()` is walked three times, so that memory stays that of one
    block. The distance is taken between values divided by the larger side's magnitude, where it cannot overflow.
    """
    own = [_top(pair[side] for pair in pairs()) for side in (0, 1)]
    common = max(own)
    widest = _top(c / common - r / common for c, r in pairs())
    sums = Sums(stretch=widest * (common / own[1]))
    for c, r in pairs():
        sums.add(c / own[0], r / own[1], (c / common - r / common).abs() / widest)
    return sums


def _top(values: Iterable[torch.Tensor]) -> float:
    """The largest magnitude, held to what float64 can say; 1 where there is nothing but zeros."""
    return min(max((float(v.abs().max().item()) for v in values), default=0.0) or 1.0, sys.float_info.max)


def plain(value: Any) -> Any:
    """A Python number as JSON can hold it: non-finite floats as "nan", "inf", "-inf", complex as "1+2j"."""
    if isinstance(value, complex):
        return str(value).strip("()")
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def is_finite(value: int | float) -> bool:
    """Whether the number is finite; an integer is, however large."""
    return isinstance(value, int) or math.isfinite(value)


def finite(value: int | float | None) -> int | float | None:
    """The number, or None where it is not finite."""
    return value if value is not None and is_finite(value) else None


def ratio(distance: int | float, size: int | float) -> float | None:
    """distance/size; None for a zero or infinite size and where float64 cannot hold the ratio."""
    try:
        quotient = distance / size
    except (ZeroDivisionError, OverflowError):
        return None
    return quotient if is_finite(size) and math.isfinite(quotient) else None
