"""Naming the memory order of a tensor: from shape and strides back to the word a person would use.

`name_of` gives that word; `is_contiguous`, `is_channels_last`, `is_overlapping` and `never_overlaps` are the questions
it asks; `layout_agrees` holds the word of a physical layout against the strides. As in torch, a dimension of size 1 has
no say, and a tensor without elements is contiguous. Strides and offsets are in elements.
"""

from __future__ import annotations

import math

from opdebug.model.specs import contiguous_strides

CHANNELS_LAST_ORDER = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}

STRIDED_LAYOUTS = {"ND": None, "NCHW": 4, "NCDHW": 5, "NHWC": 4, "NDHWC": 5}
"""The layouts that are memory orders of strided tensors, with the rank that each demands (None: any)."""


def in_order(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a dense tensor whose dimensions lie in memory in `order`, the outermost first."""
    inner = contiguous_strides(tuple(shape[dim] for dim in order))
    strides = [0] * len(shape)
    for dim, stride in zip(order, inner):
        strides[dim] = stride
    return tuple(strides)


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Row-major and dense."""
    return _is_dense_in(shape, strides, tuple(range(len(shape))))


def is_channels_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Dense with the channel dimension innermost; only ranks 4 and 5 have such an order."""
    order = CHANNELS_LAST_ORDER.get(len(shape))
    return order is not None and _is_dense_in(shape, strides, order)


def layout_agrees(layout: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """False if the layout word is untrue of this shape and these strides; a word of another scheme claims nothing."""
    rank = STRIDED_LAYOUTS.get(layout)
    if rank is None:
        return True
    return len(shape) == rank and (layout not in ("NHWC", "NDHWC") or is_channels_last(shape, strides))


def is_overlapping(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """True if two dimensions alone make two different indices meet in one element.

    Steps a along dimension i and b along j meet when a*stride_i = b*stride_j; the smallest such pair is
    (stride_j/g, stride_i/g) with g their greatest common divisor, and it must fit into both sizes. Layouts that need
    three dimensions to meet are not found.
    """
    if 0 in shape:
        return False
    dims = [(size, stride) for size, stride in zip(shape, strides) if size > 1]
    for position, (size, stride) in enumerate(dims):
        if stride == 0:
            return True
        for other_size, other_stride in dims[:position]:
            common = math.gcd(stride, other_stride)
            if other_stride // common < size and stride // common < other_size:
                return True
    return False


def never_overlaps(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """True if nesting proves it: sorted by stride, each dimension steps over everything that lies inside it.

    False proves nothing, since interleaved layouts such as shape (2, 3) with strides (3, 2) do not nest.
    """
    if 0 in shape:
        return True
    reach = 0
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides) if size > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True


def name_of(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> str:
    """The pattern that these strides show.

    One of contiguous, offset (contiguous, but not from the start of its storage), expanded, channels_last, transposed
    (the last two dimensions swapped in memory), reversed, permuted (any other order), overlapping, sliced (row-major,
    elements apart within a row), padded (row-major, rows apart), strided (none of them). Gaps between elements do not
    matter to the middle three.
    """
    if is_contiguous(shape, strides):
        return "offset" if offset else "contiguous"
    kept = [(size, stride) for size, stride in zip(shape, strides) if size > 1]
    if any(stride == 0 for _, stride in kept):
        return "expanded"
    if is_channels_last(shape, strides):
        return "channels_last"
    sizes, steps = tuple(size for size, _ in kept), tuple(stride for _, stride in kept)
    if is_overlapping(sizes, steps):
        return "overlapping"
    if not never_overlaps(sizes, steps):
        return "strided"
    rank = len(sizes)
    order = tuple(sorted(range(rank), key=lambda dim: -steps[dim]))
    if order == tuple(range(rank)):
        return "sliced" if steps[-1] > 1 else "padded"
    if order == (*range(rank - 2), rank - 1, rank - 2):
        return "transposed"
    return "reversed" if order == tuple(reversed(range(rank))) else "permuted"


def _is_dense_in(shape: tuple[int, ...], strides: tuple[int, ...], order: tuple[int, ...]) -> bool:
    if 0 in shape:
        return True
    expected = in_order(shape, order)
    return all(size == 1 or have == want for size, have, want in zip(shape, strides, expected))
