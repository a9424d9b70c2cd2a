"""Floating and complex values: widened to float64 (complex128), compared against the bound, a block at a time.

`add_floats` tells four kinds of block apart, the common and cheap ones first: equal; finite and within the bound;
finite with elements beyond it; and holding NaN or infinities, which are judged by position before the remaining pairs
are judged by value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from opdebug.judge.metrics import MAGNITUDE_ONLY, SIGN_MAGNITUDE, SLACK, max_relative, needed_tolerances, ulp_distance
from opdebug.judge.policies import Bound
from opdebug.judge.tally import Element, Tally

# Dtypes for which torch has an equality kernel on the CPU.
_EQUALITY = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128)
_FLOATING = SIGN_MAGNITUDE | MAGNITUDE_ONLY | {torch.complex32, torch.complex64, torch.complex128}


def is_float(dtype: torch.dtype) -> bool:
    """Whether torch can widen values of this dtype to float64 or complex128, and they are not integers."""
    return dtype in _FLOATING


def widened(candidate: torch.Tensor, reference: torch.Tensor) -> torch.dtype:
    """The dtype in which two floating or complex tensors are compared."""
    return torch.complex128 if candidate.is_complex() or reference.is_complex() else torch.float64


class _Block(NamedTuple):
    """One block: both sides as they came, and as float64 or complex128."""

    start: int
    raw_candidate: torch.Tensor
    raw_reference: torch.Tensor
    candidate: torch.Tensor
    reference: torch.Tensor

    def element(self, at: int, weight: float = 0.0) -> Element:
        return Element(self.start + at, self.candidate[at].item(), self.reference[at].item(), weight)

    def rounded(self) -> torch.Tensor | None:
        """The reference in the candidate's dtype; None where the candidate's dtype cannot take it as a float."""
        dtype = self.raw_candidate.dtype
        if not is_float(dtype) or (self.reference.is_complex() and not dtype.is_complex):
            return None
        return self.raw_reference.to(dtype)

    def correctly_rounded(self) -> torch.Tensor | None:
        """Where the candidate is the reference rounded to its dtype, NaN and infinities included."""
        rounded = self.rounded()
        if rounded is None:
            return None
        nearest = rounded.to(self.candidate.dtype)
        return (self.candidate == nearest) | (self.candidate.isnan() & nearest.isnan())


def add_floats(tally: Tally, start: int, candidate: torch.Tensor, reference: torch.Tensor, bound: Bound,
               reference_is_wider: bool) -> None:
    """Add a flat CPU block. With `reference_is_wider`, an element also agrees where the reference rounded to the
    candidate's dtype is the candidate's value: no implementation can do better than the correctly rounded result."""
    wide = widened(candidate, reference)
    r = reference.to(wide)
    if candidate.dtype == reference.dtype and candidate.dtype in _EQUALITY and torch.equal(candidate, reference):
        top = r.abs().max().item()
        if math.isfinite(top):
            tally.add_distances(0.0, 0.0 if top else None, None if wide.is_complex else 0)
            tally.sums.add(r, r, None)
            return
    c = candidate.to(wide)
    block = _Block(start, candidate, reference, c, r)
    gap, size = (c - r).abs(), r.abs()
    top = gap.max().item()
    if math.isfinite(top) and _all_within(bound, gap, size, top, start):
        _add_agreeing(tally, block, gap, size, top, bound)
        return
    excused = block.correctly_rounded() if reference_is_wider else None
    finite = math.isfinite(top)
    wrong = _add_finite(tally, block, bound, None, excused) if finite else _add_any(tally, block, bound, excused)
    count = _count(wrong)
    if count:
        tally.mismatched += count
        tally.add_first(block.element(int(wrong.view(torch.uint8).argmax().item())))


def _all_within(bound: Bound, gap: torch.Tensor, size: torch.Tensor, top: float, start: int) -> bool:
    if bound.linear is not None and top <= bound.linear[0]:
        return True
    return bool(bound.limits(size, start).sub_(gap).min().item() >= 0)


def _add_agreeing(tally: Tally, block: _Block, gap: torch.Tensor, size: torch.Tensor, top: float,
                  bound: Bound) -> None:
    rounded = block.rounded()
    relative, complete = max_relative(gap, size)
    # Closer to each reference value than that is to zero: the signs are the same.
    same_signs = complete and relative is not None and relative < 1
    ulps = None if rounded is None else ulp_distance(block.raw_candidate, rounded, same_signs)
    tally.add_distances(top, relative, ulps)
    tally.sums.add(block.candidate, block.reference, gap)
    if bound.linear is not None and not (complete and _either_suffices(top, relative, bound.linear)):
        tally.add_needed(*needed_tolerances(gap, size, top, bound.linear))
    if top and (tally.largest is None or top > tally.largest.weight):
        tally.add_largest(block.element(int(gap.argmax().item()), top))


def _either_suffices(top: float, relative: float | None, linear: tuple[float, float]) -> bool:
    """Whether the given atol alone, and the given rtol alone, cover every gap, rounding included."""
    return top <= linear[0] and relative is not None and relative * SLACK <= linear[1]


def _add_any(tally: Tally, block: _Block, bound: Bound, excused: torch.Tensor | None) -> torch.Tensor:
    """Add a block that may hold NaN and infinities; the elements that disagree are True in the answer."""
    c, r = block.candidate, block.reference
    nan_c, nan_r = c.isnan(), r.isnan()
    any_nan = nan_c | nan_r
    inf_c, inf_r = c.isinf() & ~nan_c, r.isinf() & ~nan_r
    any_inf = (inf_c | inf_r) & ~any_nan
    nan_differs, inf_differs = nan_c ^ nan_r, any_inf & ~_same_infinity(c, r)
    if excused is not None:
        nan_differs &= ~excused
        inf_differs &= ~excused
    tally.nan.add(_count(nan_c), _count(nan_r), _count(nan_differs))
    tally.inf.add(_count(inf_c), _count(inf_r), _count(inf_differs))
    wrong = nan_differs | inf_differs
    places = (~(any_nan | any_inf)).nonzero().view(-1)
    if len(places):
        wrong[places] = _add_finite(tally, block, bound, places, excused)
    return wrong


def _same_infinity(c: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """Where the infinite parts of both are equal. A complex value with an infinite part is an infinity whatever its
    other part is (ISO C, annex G), so a finite part beside an infinite one is not compared."""
    if not c.is_complex():
        return c == r
    c_parts, r_parts = torch.view_as_real(c), torch.view_as_real(r)
    finite = ~(c_parts.isinf() | r_parts.isinf())
    return ((c_parts == r_parts) | finite).all(-1)


def _add_finite(tally: Tally, block: _Block, bound: Bound, places: torch.Tensor | None,
                excused: torch.Tensor | None) -> torch.Tensor:
    """Add the finite pairs at `places` (None: all of them); those that disagree are True in the answer."""

    def here(values: torch.Tensor) -> torch.Tensor:
        return values if places is None else values[places]

    c, r = here(block.candidate), here(block.reference)
    gap, size = (c - r).abs(), r.abs()
    top = gap.max().item()
    tally.add_distances(top, max_relative(gap, size)[0], _ulps(block, places))
    tally.sums.add(c, r, gap)

    limits = here(bound.limits(block.reference.abs(), block.start))
    beyond = gap > limits
    judged = None
    if excused is not None:
        judged = ~here(excused)
        beyond &= judged
    ranking, note = gap, tally.add_largest
    if bool(beyond.any()):
        ranking, note = torch.where(beyond, gap - limits, -1.0), tally.add_worst
    weight, at = ranking.max(0)
    if top:
        flat = at if places is None else places[at]
        note(block.element(int(flat.item()), weight.item()))

    if judged is not None:
        gap, size = gap[judged], size[judged]
    if bound.linear is not None and len(gap):
        tally.add_needed(*needed_tolerances(gap, size, gap.max().item(), bound.linear))
    return beyond


def _ulps(block: _Block, places: torch.Tensor | None) -> int | None:
    rounded, raw = block.rounded(), block.raw_candidate
    if rounded is None:
        return None
    # Rounding may turn a finite reference into NaN where the dtype has no infinity.
    comparable = ~rounded.to(block.candidate.dtype).isnan()
    if places is not None:
        comparable, rounded, raw = comparable[places], rounded[places], raw[places]
    if not bool(comparable.all()):
        rounded, raw = rounded[comparable], raw[comparable]
    return ulp_distance(raw, rounded) if len(raw) else None


def _count(mask: torch.Tensor) -> int:
    return int(torch.count_nonzero(mask).item())
