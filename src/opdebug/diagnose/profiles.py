"""One value per case and axis, so that any two cases can be laid side by side: in which axes do they really differ?

`Profiles` holds the cases of a matrix as tuples; `difference(i, j)` is a bit mask over `Profiles.axes`. A difference
that follows from another one is not counted: given values cannot stay the same when their tensor changes its shape,
dtype, strides or layout, or becomes an alias, and an argument that turns from a constant into a tensor differs in
that attribute alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opdebug.diagnose.axes import GIVEN, attribute_text, shape_text, text, together, values_token
from opdebug.model.strides import name_of

INPUT_AXES = ("dtype", "layout", "strides", "shape", "values")
TENSOR = "<tensor>"
_PREFIX = "attribute:"


class Input(NamedTuple):
    """One tensor argument; `exact` is (strides, offset), and `values` is None where nothing is known about them."""

    dtype: str
    layout: str
    strides: str
    shape: tuple[int, ...]
    exact: tuple[Any, ...]
    values: str | None
    given: bool


class Key(NamedTuple):
    """A case's place among all: indices into `Profiles.plain` and `Profiles.inputs`. Equal keys differ in nothing."""

    plain: int
    inputs: int


class Profiles:
    """The cases of a matrix, laid out along `axes`.

    `plain` holds the distinct tuples of values on the axes that no tensor decides (mode, device, aliasing,
    attributes), `inputs` the distinct tuples of (name, Input); `keys` has one Key per case, in the order given.
    `columns[k]` numbers the values of `inputs[k]` on each of `INPUT_AXES`: equal numbers, equal values.
    """

    def __init__(self, cases: Sequence[Mapping[str, Any]]) -> None:
        attributes = sorted({f"{_PREFIX}{name}" for case in cases for name in case.get("attributes") or {}})
        self.plain_axes = ("mode", "device", "aliasing", *attributes)
        # What a caller chooses comes before what follows from it: an argument left out changes the shapes as well.
        self.axes = (*self.plain_axes, *INPUT_AXES)
        self.bit = {axis: 1 << position for position, axis in enumerate(self.axes)}
        self._plain_bits = [self.bit[axis] for axis in self.plain_axes]
        self._bases = {axis[len(_PREFIX):] for axis in attributes}
        plain: dict[tuple[str | None, ...], int] = {}
        inputs: dict[tuple[tuple[str, Input], ...], int] = {}
        self.keys: list[Key] = []
        for case in cases:
            said = tuple([(spec["name"], _input(spec)) for spec in case["inputs"]])
            self.keys.append(Key(plain.setdefault(self._plain_values(case), len(plain)),
                                 inputs.setdefault(said, len(inputs))))
        self.plain, self.inputs = list(plain), list(inputs)
        self._sizes: dict[int, float] = {}
        self.columns, self._texts = _columns(self.inputs)
        self._place = {axis: (axis in INPUT_AXES, position) for axes in (INPUT_AXES, self.plain_axes)
                       for position, axis in enumerate(axes)}

    def value(self, key: Key, axis: str) -> str | None:
        """The value on `axis` as one text; None where the case does not have this axis."""
        of_inputs, position = self._place[axis]
        if of_inputs:
            return self._texts[position][self.columns[key.inputs][position]]
        return self.plain[key.plain][position]

    def column(self, keys: Sequence[Key], axis: str) -> list[str | None]:
        """`value` of many cases at once."""
        of_inputs, position = self._place[axis]
        if of_inputs:
            texts, columns = self._texts[position], self.columns
            return [texts[columns[key.inputs][position]] for key in keys]
        return [self.plain[key.plain][position] for key in keys]

    def size(self, key: Key) -> float:
        """log2 of one more than the number of elements in all inputs of a case."""
        if key.inputs not in self._sizes:
            elements = sum(math.prod(tensor.shape) for _, tensor in self.inputs[key.inputs])
            self._sizes[key.inputs] = math.log2(1 + elements)
        return self._sizes[key.inputs]

    def difference(self, first: Key, second: Key) -> int:
        """The axes in which two cases differ of their own accord, as a mask over `bit`."""
        mask = 0
        if first.plain != second.plain:
            for bit, a, b in zip(self._plain_bits, self.plain[first.plain], self.plain[second.plain]):
                if a != b:
                    mask |= bit
        if first.inputs != second.inputs:
            mask |= self._input_difference(first, second, mask)
        return mask

    def axes_of(self, mask: int) -> list[str]:
        """The axes whose bits are set, in the order of `axes`."""
        return [axis for axis in self.axes if mask & self.bit[axis]]

    def side_by_side(self, first: Key, second: Key, mask: int) -> dict[str, list[str | None]]:
        """For each axis in `mask` the two values, input by input where their short texts are the same."""
        pairs: dict[str, list[str | None]] = {}
        for axis in self.axes_of(mask):
            a, b = self.value(first, axis), self.value(second, axis)
            if a == b:
                a, b = (_detail(self.inputs[key.inputs], axis) for key in (first, second))
            pairs[axis] = [a, b]
        return pairs

    def _plain_values(self, case: Mapping[str, Any]) -> tuple[str | None, ...]:
        said: dict[str, str] = {}
        if self._bases:
            said = {name: attribute_text(value) for name, value in (case.get("attributes") or {}).items()}
            for spec in case["inputs"]:
                base = _base(spec["name"])
                if base in self._bases:
                    said.setdefault(base, TENSOR)
        attributes = [said.get(axis[len(_PREFIX):]) for axis in self.plain_axes[3:]]
        return (case["mode"], text(case.get("device")), text(case.get("aliasing")), *attributes)

    def _input_difference(self, first: Key, second: Key, plain_mask: int) -> int:
        ours, theirs = dict(self.inputs[first.inputs]), dict(self.inputs[second.inputs])
        aliased: set[str] = set()
        if plain_mask & self.bit["aliasing"]:
            position = self.plain_axes.index("aliasing")
            aliased = {name for key in (first, second)
                       for name in re.findall(r"\w+", self.plain[key.plain][position] or "")}
        mask = 0
        for name, a in ours.items():
            b = theirs.get(name)
            if b is not None and a != b:
                mask |= self._one_input(a, b, _base(name) in aliased)
        for name in ours.keys() ^ theirs.keys():
            attribute = self.bit.get(f"{_PREFIX}{_base(name)}", 0)
            if not attribute & plain_mask:
                mask |= self.bit["shape"]
        return mask

    def _one_input(self, a: Input, b: Input, aliased: bool) -> int:
        mask = 0
        if a.dtype != b.dtype:
            mask |= self.bit["dtype"]
        if a.layout != b.layout:
            mask |= self.bit["layout"]
        if a.shape != b.shape:
            mask |= self.bit["shape"]
        if a.strides != b.strides or (a.shape == b.shape and a.exact != b.exact):
            mask |= self.bit["strides"]
        implied = (mask or aliased) and (a.given or b.given)
        if a.values != b.values and not implied:
            mask |= self.bit["values"]
        return mask


@lru_cache(maxsize=4096)
def _base(name: str) -> str:
    """The argument that a tensor belongs to: `xs` for `xs[2]`."""
    return re.split(r"[\[.]", name, maxsplit=1)[0]


def _input(spec: Mapping[str, Any]) -> Input:
    shape = tuple(spec["shape"])
    strides, offset = spec.get("strides"), spec.get("storage_offset", 0)
    pattern = text(spec.get("stride_pattern"))
    exact: tuple[Any, ...] = (None, 0)
    if strides is not None:
        exact = (tuple(strides), offset)
    if pattern is None:
        pattern = "contiguous"
        if strides is not None:
            fits = len(strides) == len(shape)
            pattern = name_of(shape, tuple(strides), offset) if fits else f"[{','.join(map(str, strides))}]"
    if pattern == "contiguous":
        exact = (None, 0)
    data = spec.get("data")
    given = isinstance(data, dict) and data.get("fill") == GIVEN
    return Input(spec["dtype"], spec["layout"], pattern, shape, exact, values_token(spec), given)


def _detail(said: Sequence[tuple[str, Input]], axis: str) -> str:
    """Every input by name with its shape, or with its strides in numbers: what a short text leaves out."""
    if axis == "strides":
        return ",".join(f"{name}:{i.strides} {list(i.exact[0] or ())}+{i.exact[1]}" for name, i in said)
    return ",".join(f"{name}:{'x'.join(map(str, i.shape))}" for name, i in said)


def _columns(inputs: Sequence[tuple[tuple[str, Input], ...]]) -> tuple[list[tuple[int, ...]], list[list[str | None]]]:
    """Numbers for what each call says on each of `INPUT_AXES`, and for each axis the text of every number."""
    seen: list[dict[tuple[tuple[str, ...], tuple[Any, ...]], int]] = [{} for _ in INPUT_AXES]
    rows = []
    for said in inputs:
        names = tuple([name for name, _ in said])
        columns = (tuple([i.dtype for _, i in said]), tuple([i.layout for _, i in said]),
                   tuple([i.strides for _, i in said]), tuple([i.shape for _, i in said]),
                   tuple([i.values for _, i in said]))
        rows.append(tuple([known.setdefault((names, column), len(known)) for known, column in zip(seen, columns)]))
    texts = [[_column_text(axis, *column) for column in known] for axis, known in zip(INPUT_AXES, seen)]
    return rows, texts


def _column_text(axis: str, names: tuple[str, ...], column: tuple[Any, ...]) -> str | None:
    """One text for what all inputs of a call say on `axis`; None where nobody says anything."""
    if not any(value is not None for value in column):
        return None
    if axis == "shape":
        return shape_text([{"shape": shape} for shape in column])
    return together(list(zip(names, column)))
