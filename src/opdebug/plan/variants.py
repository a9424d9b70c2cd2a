"""A variant: the base case with one thing changed, before it has an id. Shared by the axes that `vary` walks.

`Variant` is what an axis yields, `replace_input` puts one tensor spec in place of another, and `restrided` carries a
tensor's memory order over to a new shape, saying so where it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case, TensorSpec
from opdebug.plan.strides import name_of, pattern_strides


@dataclass(frozen=True)
class Variant:
    """`case` still carries the base's id; `label` becomes the end of its own, `changes` its `changes`."""

    label: str
    case: Case
    changes: dict[str, Any]


Axis = Callable[[Case, "list[str] | None"], Iterator[Variant]]
"""The variants of a base along one axis, for the values named, or for the usual ones (None)."""


def tensor_label(base: Case, position: int) -> str:
    """`NAME=` if the case has several tensors to tell apart, otherwise nothing."""
    return f":{base.inputs[position].name}" if len(base.inputs) > 1 else ""


def replace_input(base: Case, position: int, spec: TensorSpec) -> Case:
    """`base` with its input at `position` replaced."""
    return replace(base, inputs=(*base.inputs[:position], spec, *base.inputs[position + 1 :]))


def pattern_of(spec: TensorSpec) -> str | None:
    """The pattern that gives exactly this spec's strides, by its own word or by recognition; None if none does."""
    word = spec.stride_pattern or name_of(spec.shape, spec.actual_strides, spec.storage_offset)
    try:
        layout = pattern_strides(word, spec.shape)
    except OpdebugError:
        return None
    return word if layout.strides == spec.actual_strides else None


def has_own_offset(spec: TensorSpec) -> bool:
    """Whether the storage offset comes from the pattern `offset` and not from someone who asked for it."""
    return pattern_of(spec) == "offset" and spec.storage_offset == pattern_strides("offset", spec.shape).offset


def restrided(spec: TensorSpec, shape: tuple[int, ...]) -> tuple[TensorSpec, str | None]:
    """`spec` with another shape in the same memory order, and a note if that order could not be kept.

    A pattern is derived again. Where the new shape cannot have it, and where the strides follow no pattern, the new
    tensor is contiguous and the note says why.
    """
    pattern = pattern_of(spec)
    note = None
    if pattern is None:
        note = f"the strides {list(spec.actual_strides)} of {spec.name} follow no pattern; it is contiguous here"
        layout, pattern = pattern_strides("contiguous", shape), "contiguous"
    else:
        try:
            layout = pattern_strides(pattern, shape)
        except OpdebugError as error:
            note = f"{spec.name} is contiguous here: {error.problems[0]}"
            layout, pattern = pattern_strides("contiguous", shape), "contiguous"
    offset = layout.offset if has_own_offset(spec) else spec.storage_offset
    return replace(spec, shape=shape, strides=layout.strides, storage_offset=offset,
                   stride_pattern=pattern if spec.stride_pattern is not None or note else None), note
