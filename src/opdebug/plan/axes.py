"""The axes dtype, strides, mode, values and attribute: what a base case may be changed in, one thing at a time.

Each axis is a function from a base case and the values asked for (None: the usual ones) to its variants; `AXES` lists
them, `shape` (a module of its own) included. A value asked for that no input can take is an error; a usual one that an
input cannot take is left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opdebug.model import fills
from opdebug.model.dtypes import BOOL, COMPLEX, DTYPES, FLOAT, INT, UINT, DType, dtype
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case, DataSpec, TensorSpec
from opdebug.model.strides import layout_agrees
from opdebug.model.words import MODES
from opdebug.plan.attributes import parse_value
from opdebug.plan.grammar import parse_fill
from opdebug.plan.shape_axis import shape_variants
from opdebug.plan.strides import PATTERNS, applicable, pattern_strides
from opdebug.plan.variants import Axis, Variant, has_own_offset, pattern_of, replace_input, tensor_label

# float64 and complex128 only when asked for: a candidate that is its own reference is lifted to them.
USUAL_DTYPES = {
    FLOAT: ("float32", "float16", "bfloat16"),
    COMPLEX: ("complex64", "complex32"),
    INT: ("int32", "int64", "int16", "int8", "uint8"),
}
USUAL_MODES = ("eager", "compile")
USUAL_VALUES = {
    FLOAT: ("zeros", "ones", "large", "tiny", "inf(every=7)", "neginf(every=7)", "nan(every=7)", "negzero", "extremes",
            "ramp"),
    INT: ("zeros", "ones", "large", "extremes", "ramp"),
    BOOL: ("zeros", "ones"),
}
"""A few non-finite elements among ordinary ones show where they spread to; a tensor full of them shows nothing."""


def dtype_variants(base: Case, names: list[str] | None) -> Iterator[Variant]:
    """All inputs of the commonest dtype change together, index-like integers beside floats stay as they are."""
    current = _main_dtype(base)
    if current is None:
        raise OpdebugError("axis 'dtype': the case has no input of a floating, complex or integer dtype")
    usual = USUAL_DTYPES[INT if current.kind == UINT else current.kind]
    for name in usual if names is None else names:
        wanted = dtype(name)
        if wanted == current:
            continue
        notes: list[str] = []
        inputs = tuple(_with_dtype(spec, wanted, notes) if spec.dtype == current.name else spec for spec in base.inputs)
        changes = {"axis": "dtype", "value": wanted.name, "from": current.name, **({"notes": notes} if notes else {})}
        yield Variant(f"dtype={wanted.name}", replace(base, inputs=inputs), changes)


def strides_variants(base: Case, names: list[str] | None) -> Iterator[Variant]:
    """One input at a time through every stride pattern that its shape can have and that it does not have already."""
    for name in names or []:
        if not any(name in applicable(spec.shape) for spec in base.inputs):
            _raise_inapplicable(base, name)
    for position, spec in enumerate(base.inputs):
        seen = {(spec.actual_strides, spec.storage_offset)}
        kept_offset = 0 if has_own_offset(spec) else spec.storage_offset
        for name in applicable(spec.shape):
            layout = pattern_strides(name, spec.shape)
            place = (layout.strides, layout.offset or kept_offset)
            if (names is not None and name not in names) or place in seen:
                continue
            seen.add(place)
            # The physical layout names a memory order; under other strides it would be untrue.
            plain = spec.layout if layout_agrees(spec.layout, spec.shape, place[0]) else "ND"
            changed = replace(spec, strides=place[0], storage_offset=place[1], stride_pattern=name, layout=plain)
            changes = {"axis": "strides", "value": name, "from": pattern_of(spec) or str(list(spec.actual_strides)),
                       "input": spec.name}
            yield Variant(f"strides{tensor_label(base, position)}={name}", replace_input(base, position, changed),
                          changes)


def mode_variants(base: Case, names: list[str] | None) -> Iterator[Variant]:
    """Eager and compile; graph only if it is asked for."""
    for name in USUAL_MODES if names is None else names:
        if name not in MODES:
            raise OpdebugError(f"axis 'mode': {name!r} is unknown; accepted: {', '.join(MODES)}")
        if name != base.mode:
            yield Variant(f"mode={name}", replace(base, mode=name),
                          {"axis": "mode", "value": name, "from": base.mode})


def values_variants(base: Case, texts: list[str] | None) -> Iterator[Variant]:
    """One input at a time through other fills; index-like integers beside floats stay as they are."""
    positions = _value_positions(base)
    if not positions:
        raise OpdebugError("axis 'values': the case has no tensor input")
    for text in texts or []:
        refusals = [_refusal(text, base.inputs[position]) for position in positions]
        if all(refusals):
            raise OpdebugError(f"axis 'values': {refusals[0]}")
    for position in positions:
        spec = base.inputs[position]
        kind = dtype(spec.dtype)
        usual = USUAL_VALUES[{COMPLEX: FLOAT, UINT: INT}.get(kind.kind, kind.kind)]
        for text in usual if texts is None else texts:
            if _refusal(text, spec):
                continue
            data = parse_fill(text, kind, spec.data.seed)
            if data == spec.data:
                continue
            label = data.fill if texts is None else text
            changes = {"axis": "values", "value": text, "from": _fill_text(spec.data), "input": spec.name}
            yield Variant(f"values{tensor_label(base, position)}={label}",
                          replace_input(base, position, replace(spec, data=data)), changes)


def attribute_variants(name: str, base: Case, texts: list[str] | None) -> Iterator[Variant]:
    """One attribute through the values given; a boolean one without values is flipped."""
    axis = f"attribute:{name}"
    if name not in base.attributes:
        accepted = ", ".join(base.attributes) or "none, the case has no attributes"
        raise OpdebugError(f"axis {axis!r}: the case has no such attribute; accepted: {accepted}")
    current = base.attributes[name]
    if texts is None and not isinstance(current, bool):
        raise OpdebugError(f"axis {axis!r} needs values, as in {axis}=0,1")
    values = [not current] if texts is None else [parse_value(text, f"axis {axis!r}") for text in texts]
    for value in values:
        if _dump(value) == _dump(current):
            continue
        yield Variant(f"{axis}={value if isinstance(value, str) else _dump(value)}",
                      replace(base, attributes={**base.attributes, name: value}),
                      {"axis": axis, "value": value, "from": current})


AXES: dict[str, Axis] = {
    "dtype": dtype_variants,
    "shape": shape_variants,
    "strides": strides_variants,
    "mode": mode_variants,
    "values": values_variants,
}
"""Axis word to its function; `attribute:<name>` is handled by `attribute_variants`."""


def _main_dtype(base: Case) -> DType | None:
    """The commonest dtype of the first of float, complex, integer that the inputs have."""
    kinds = [DTYPES[spec.dtype] for spec in base.inputs if spec.dtype in DTYPES]
    for group in ((FLOAT,), (COMPLEX,), (INT, UINT)):
        counted = Counter(kind.name for kind in kinds if kind.kind in group)
        if counted:
            return DTYPES[counted.most_common(1)[0][0]]
    return None


def _with_dtype(spec: TensorSpec, wanted: DType, notes: list[str]) -> TensorSpec:
    """`spec` in another dtype with its fill, whose defaults follow the dtype; a fill it cannot hold gives way."""
    before = dtype(spec.dtype)
    data = spec.data
    if data.fill in fills.FILLS:
        usual = fills.default_options(data.fill, before)
        chosen = {k: v for k, v in data.options.items() if k not in usual or v != usual[k]}
        if not fills.problems(wanted, data.fill, chosen):
            options = {**fills.default_options(data.fill, wanted), **chosen}
            return replace(spec, dtype=wanted.name, data=DataSpec(data.fill, data.seed, options))
    replaced = parse_fill(None, wanted, data.seed)
    notes.append(f"the values of {spec.name} are {_fill_text(replaced)}: {wanted.name} cannot hold {_fill_text(data)}")
    return replace(spec, dtype=wanted.name, data=replaced)


def _raise_inapplicable(base: Case, name: str) -> None:
    if name not in PATTERNS:
        raise OpdebugError(f"axis 'strides': {name!r} is unknown; accepted: {', '.join(PATTERNS)}")
    reasons = []
    for spec in base.inputs:
        try:
            pattern_strides(name, spec.shape)
        except OpdebugError as error:
            reasons.append(f"{spec.name}: {error.problems[0]}")
    raise OpdebugError(f"axis 'strides': no input can be {name} ({', '.join(reasons) or 'there is no tensor input'})")


def _value_positions(base: Case) -> list[int]:
    """The inputs whose values may change: all, or the floating ones if there are any (the others may be indexes)."""
    floating = [i for i, spec in enumerate(base.inputs) if dtype(spec.dtype).is_floating]
    return floating or list(range(len(base.inputs)))


def _refusal(text: str, spec: TensorSpec) -> str | None:
    try:
        parse_fill(text, dtype(spec.dtype))
    except OpdebugError as error:
        return error.problems[0]
    return None


def _fill_text(data: DataSpec) -> str:
    options = ",".join(f"{key}={value}" for key, value in data.options.items())
    return f"{data.fill}({options})" if options else data.fill


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
