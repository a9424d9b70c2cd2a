"""The shape axis: the sizes at which kernels go wrong, one dimension symbol at a time.

Dimensions of equal size are one symbol and change together, within a shape and across inputs, because that keeps most
calls valid: in a product of x[2,4] and w[4,3] both 4s become 5. `shape_variants` yields the variants; each says in
`changes["dims"]` which dimensions moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case, TensorSpec, extent
from opdebug.model.strides import layout_agrees
from opdebug.plan.grammar import BYTES_LIMIT
from opdebug.plan.variants import Variant, restrided

ELEMENTS_LIMIT = 2**22
"""How many elements all inputs of a generated case may have together (twice the base's if that is more)."""

OUTPUT_LIMIT = 2**25
"""How many elements an outer product over a large size may have."""

TILES = (16, 32, 64, 128)
LARGE = (65537, 16411, 4099, 1031)
"""Large sizes, the largest that fits is taken; primes, so that no tile divides them."""

Shape = tuple[int, ...]


def shape_variants(base: Case, sizes: list[str] | None) -> Iterator[Variant]:
    """Every symbol through its sizes (or those given as text), then a leading dimension of 1 and of 2.

    Raises OpdebugError if the case has no dimension to vary or a size is no whole number.
    """
    symbols = _symbols(base)
    if not base.inputs or (sizes is not None and not symbols):
        raise OpdebugError("axis 'shape': the case has no tensor with a dimension to vary")
    given = None if sizes is None else [_size(text) for text in sizes]
    for size, dims in symbols.items():
        for new in usual_sizes(size, base) if given is None else given:
            shapes = tuple(tuple(new if (i, d) in dims else n for d, n in enumerate(spec.shape))
                           for i, spec in enumerate(base.inputs))
            if new != size:
                yield from _variant(base, shapes, [f"{base.inputs[i].name}[{d}]" for i, d in dims])
    if given is None:
        yield from _leading(base)


def usual_sizes(size: int, base: Case) -> list[int]:
    """The sizes to try in place of `size`: empty, one, odd, prime, around tiles, powers of two, large.

    "Around tiles" is one below and one above the multiple of each tile that is nearest to `size`.
    """
    edges = [max(tile, round(size / tile) * tile) + step for tile in TILES for step in (-1, 1)]
    power = 1 << max(size, 1).bit_length()
    places = sum(spec.shape.count(size) for spec in base.inputs)
    # A size that stands in two places may stand twice in the output, as in an outer product.
    large = next((n for n in LARGE if n > size and _elements_with(base, size, n) <= ELEMENTS_LIMIT
                  and n ** min(places, 2) <= OUTPUT_LIMIT), size)
    wanted = [0, 1, 3, *edges, _next_prime(size), power, large]
    return [n for n in dict.fromkeys(wanted) if n != size]


def _symbols(base: Case) -> dict[int, list[tuple[int, int]]]:
    """Size to the (input, dimension) pairs that have it, in order of first appearance."""
    symbols: dict[int, list[tuple[int, int]]] = {}
    for i, spec in enumerate(base.inputs):
        for d, size in enumerate(spec.shape):
            symbols.setdefault(size, []).append((i, d))
    return symbols


def _leading(base: Case) -> Iterator[Variant]:
    rank = max(len(spec.shape) for spec in base.inputs)
    for extra in (1, 2):
        shapes = tuple((extra, *spec.shape) if len(spec.shape) == rank else spec.shape for spec in base.inputs)
        dims = [f"{spec.name}: one more in front" for spec in base.inputs if len(spec.shape) == rank]
        yield from _variant(base, shapes, dims)


def _variant(base: Case, shapes: tuple[Shape, ...], dims: list[str]) -> Iterator[Variant]:
    """The variant with these shapes, or none: too large, or at odds with a named physical layout."""
    elements = sum(math.prod(shape) for shape in shapes)
    if elements > max(ELEMENTS_LIMIT, 2 * sum(math.prod(spec.shape) for spec in base.inputs)):
        return
    inputs, notes = [], []
    for spec, shape in zip(base.inputs, shapes):
        changed, note = (spec, None) if shape == spec.shape else restrided(spec, shape)
        inputs.append(changed)
        notes += [note] if note else []
    if not all(_buildable(spec) for spec in inputs):
        return
    value, before = (text_of(shapes_) for shapes_ in (shapes, tuple(spec.shape for spec in base.inputs)))
    changes = {"axis": "shape", "value": value, "from": before, "dims": dims, **({"notes": notes} if notes else {})}
    yield Variant(f"shape={value}", replace(base, inputs=tuple(inputs)), changes)


def text_of(shapes: tuple[Shape, ...]) -> str:
    """Sizes joined with x, inputs with a comma: the form of the shape axis in analyses."""
    return ",".join("x".join(str(size) for size in shape) for shape in shapes)


def _buildable(spec: TensorSpec) -> bool:
    # 16 bytes is the widest element.
    fits = extent(spec.shape, spec.actual_strides, spec.storage_offset) * 16 <= BYTES_LIMIT
    return fits and layout_agrees(spec.layout, spec.shape, spec.actual_strides)


def _elements_with(base: Case, size: int, new: int) -> int:
    return sum(math.prod(new if n == size else n for n in spec.shape) for spec in base.inputs)


def _next_prime(size: int) -> int:
    number = max(size + 1, 5)
    while any(number % divisor == 0 for divisor in range(2, math.isqrt(number) + 1)):
        number += 1
    return number


def _size(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise OpdebugError(f"axis 'shape': size {text!r} must be a whole number of at least 0, such as 4097")
    return int(text)
