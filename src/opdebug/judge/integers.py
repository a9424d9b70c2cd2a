"""Integers and booleans are exact: differences are taken in 64-bit integer arithmetic that cannot overflow.

`add_integers` compares a block after mapping both sides to int64 by a map that keeps order and distance: the identity,
or for uint64 the shift by 2**63. Dtypes that torch cannot convert (sub-byte and packed ones) are compared by their
bits.
"""

from __future__ import annotations

import torch

from opdebug.judge.metrics import INT64_MIN, SLACK, integer_gaps, max_relative
from opdebug.judge.tally import Element, Tally

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_CONVERTIBLE = tuple(
    getattr(torch, name)
    for name in ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
    if hasattr(torch, name)
)
_UINT64 = getattr(torch, "uint64", None)


def is_exact(dtype: torch.dtype) -> bool:
    """Whether values of this dtype are compared for equality as integers."""
    return dtype in _CONVERTIBLE


def as_bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as unsigned bytes, or as integers of the same width."""
    return tensor.view(_BITS[tensor.dtype.itemsize])


def comparable(candidate: torch.dtype, reference: torch.dtype) -> bool:
    """Whether one order-keeping map serves both dtypes."""
    return is_exact(candidate) and is_exact(reference) and (candidate == _UINT64) == (reference == _UINT64)


def add_integers(tally: Tally, start: int, candidate: torch.Tensor, reference: torch.Tensor) -> None:
    """Add a flat CPU block of two dtypes that `comparable` accepts."""
    shift = -INT64_MIN if candidate.dtype == _UINT64 else 0
    c, r = _keys(candidate), _keys(reference)
    wide_r = reference.to(torch.float64)
    if torch.equal(c, r):
        tally.add_distances(0, 0.0 if bool(wide_r.any()) else None, None)
        tally.sums.add(wide_r, wide_r, None)
        return
    gaps = integer_gaps(c, r)
    widest, at = gaps.max(0)
    max_abs = int(widest.item()) - INT64_MIN
    # The gap as float64: bit 63 is worth 2**63, and the rest fits into int64.
    gap = (gaps ^ INT64_MIN).to(torch.float64)
    gap = torch.where(gap < 0, gap + 2.0**64, gap)
    size = wide_r.abs()
    tally.add_distances(max_abs, max_relative(gap, size)[0], None)
    tally.sums.add(candidate.to(torch.float64), wide_r, gap)

    wrong = (c != r).nonzero().view(-1)
    tally.mismatched += len(wrong)
    tally.add_worst(_element(int(at.item()), start, c, r, shift, candidate.dtype, max_abs))
    tally.add_first(_element(int(wrong[0].item()), start, c, r, shift, candidate.dtype))
    tally.add_needed(max_abs, (gap[wrong] / size[wrong]).max().item() * SLACK)


def _keys(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype == _UINT64:
        return tensor.view(torch.int64) ^ INT64_MIN
    return tensor.to(torch.int64)


def _element(at: int, start: int, c: torch.Tensor, r: torch.Tensor, shift: int, dtype: torch.dtype,
             weight: int = 0) -> Element:
    values = [int(keys[at].item()) + shift for keys in (c, r)]
    if dtype == torch.bool:
        values = [bool(value) for value in values]
    return Element(start + at, values[0], values[1], weight)
