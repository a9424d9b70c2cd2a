"""Stride patterns by name: the memory orders in which kernels go wrong, each derived from a shape alone.

`pattern_strides` gives the `Layout` of a pattern, `applicable` the patterns a shape can have, and `name_of` (shared
with the worker) recognises a pattern in given strides. A shape *has* a pattern only if it then differs from
contiguous: a transposed row vector is just a row vector, and a case that said otherwise would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opdebug.model.errors import OpdebugError
from opdebug.model.specs import contiguous_strides, extent
from opdebug.model.strides import CHANNELS_LAST_ORDER, in_order, is_contiguous, name_of

__all__ = ["PATTERNS", "Layout", "applicable", "name_of", "pattern_strides"]

PAD = 3
"""Unused elements at the end of each padded row: odd, so that consecutive rows differ in alignment."""

MISALIGNING_OFFSET = 3
"""Elements in front of an offset tensor: odd, so that no dtype narrower than a vector register stays aligned."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Where a tensor's elements lie; all three in elements. `extent` is what the storage must hold."""

    strides: tuple[int, ...]
    offset: int
    extent: int


def pattern_strides(name: str, shape: Shape) -> Layout:
    """The layout of pattern `name` for `shape`.

    Raises OpdebugError for an unknown pattern, and for a shape that cannot have it, saying why.
    """
    if name not in PATTERNS:
        raise OpdebugError(f"stride pattern {name!r} is unknown; accepted: {', '.join(PATTERNS)}")
    reason = _refusal(name, shape)
    if reason is not None:
        possible = ", ".join(applicable(shape))
        raise OpdebugError(f"shape {list(shape)} cannot be {name}: {reason}; it can be: {possible}")
    strides, offset = PATTERNS[name](shape), MISALIGNING_OFFSET if name == "offset" else 0
    return Layout(strides, offset, extent(shape, strides, offset))


def applicable(shape: Shape) -> list[str]:
    """The patterns that `shape` can have, contiguous first."""
    return [name for name in PATTERNS if _refusal(name, shape) is None]


def _refusal(name: str, shape: Shape) -> str | None:
    if name == "contiguous":
        return None
    if 0 in shape:
        return "a tensor without elements is contiguous"
    if name == "offset":
        return None
    ranks = {"sliced": (1, None), "expanded": (1, None), "channels_last": (4, 5)}
    lowest, highest = ranks.get(name, (2, None))
    if len(shape) < lowest or (highest is not None and len(shape) > highest):
        wanted = f"at least {lowest}" if highest is None else f"{lowest} or {highest}"
        return f"it needs rank {wanted}"
    if name == "expanded":
        return None if max(shape) > 1 else "it needs a dimension larger than 1"
    if name == "overlapping" and min(shape[-2:]) < 2:
        return "it needs the last two sizes to be at least 2"
    if is_contiguous(shape, PATTERNS[name](shape)):
        return "it would be contiguous, because too many sizes are 1"
    return None


def _transposed(shape: Shape) -> Shape:
    last = len(shape) - 1
    return in_order(shape, (*range(last - 1), last, last - 1))


def _channels_last(shape: Shape) -> Shape:
    return in_order(shape, CHANNELS_LAST_ORDER[len(shape)])


def _reversed(shape: Shape) -> Shape:
    return in_order(shape, tuple(reversed(range(len(shape)))))


def _sliced(shape: Shape) -> Shape:
    return tuple(2 * stride for stride in contiguous_strides(shape))


def _padded(shape: Shape) -> Shape:
    return contiguous_strides((*shape[:-1], shape[-1] + PAD))


def _expanded(shape: Shape) -> Shape:
    first = next(dim for dim, size in enumerate(shape) if size > 1)
    strides = contiguous_strides((*shape[:first], 1, *shape[first + 1 :]))
    return (*strides[:first], 0, *strides[first + 1 :])


def _overlapping(shape: Shape) -> Shape:
    """Windows over the last dimension, each starting halfway through the one before."""
    rows, width = shape[-2:]
    step = (width + 1) // 2 if width > 2 else 1
    block = (rows - 1) * step + width
    outer = tuple(block * stride for stride in contiguous_strides(shape[:-2]))
    return (*outer, step, 1)


PATTERNS: dict[str, Callable[[Shape], Shape]] = {
    "contiguous": contiguous_strides,
    "transposed": _transposed,
    "channels_last": _channels_last,
    "sliced": _sliced,
    "offset": contiguous_strides,
    "padded": _padded,
    "expanded": _expanded,
    "overlapping": _overlapping,
    "reversed": _reversed,
}
"""Name to strides, in the order in which patterns are tried and listed."""
