"""A tensor and a call, said completely: nothing about a case is implied by anything outside it.

`TensorSpec` is one tensor input, `DataSpec` where its values come from, `Case` one explicit call. Each reads from and
writes to the plain documents of the config; keys this version does not know travel along in `extra` untouched.
The documents are trusted here to have the right types: `plan` checks what comes from a user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opdebug.model.fills import default_fill

Document = dict[str, Any]


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements, as torch gives them: a dimension of size 0 counts as 1."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def extent(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> int:
    """How many elements a storage must hold for this view to lie inside it (0 for a view of no elements)."""
    if 0 in shape:
        return 0
    return offset + sum((size - 1) * stride for size, stride in zip(shape, strides)) + 1


@dataclass(frozen=True)
class DataSpec:
    """Where values come from: a named fill, its seed and its options (`low`, `high`, `value`, …)."""

    fill: str = "normal"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> DataSpec:
        options = {k: v for k, v in document.items() if k not in ("fill", "seed")}
        return cls(document.get("fill", "normal"), document.get("seed", 0), options)

    def to_document(self) -> Document:
        return {"fill": self.fill, "seed": self.seed, **self.options}


@dataclass(frozen=True)
class TensorSpec:
    """One tensor input: shape, strides and offset in elements; `strides` None means contiguous.

    `stride_pattern` is the name under which the strides were chosen, for people and for the `strides` axis; `storage`
    names a storage that several inputs share (None: a storage of its own).
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    layout: str = "ND"
    strides: tuple[int, ...] | None = None
    storage_offset: int = 0
    stride_pattern: str | None = None
    storage: str | None = None
    data: DataSpec = field(default_factory=DataSpec)
    extra: Mapping[str, Any] = field(default_factory=dict)

    _KEYS = ("name", "shape", "dtype", "layout", "strides", "storage_offset", "stride_pattern", "storage", "data")

    @property
    def actual_strides(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape) if self.strides is None else self.strides

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> TensorSpec:
        strides = document.get("strides")
        return cls(
            name=document["name"],
            shape=tuple(document["shape"]),
            dtype=document["dtype"],
            layout=document.get("layout", "ND"),
            strides=None if strides is None else tuple(strides),
            storage_offset=document.get("storage_offset", 0),
            stride_pattern=document.get("stride_pattern"),
            storage=document.get("storage"),
            data=DataSpec.from_document({"fill": default_fill(document["dtype"]), **(document.get("data") or {})}),
            extra={k: v for k, v in document.items() if k not in cls._KEYS},
        )

    def to_document(self) -> Document:
        document: Document = {
            "name": self.name, "shape": list(self.shape), "strides": list(self.actual_strides),
            "storage_offset": self.storage_offset, "dtype": self.dtype, "layout": self.layout,
            "data": self.data.to_document(),
        }
        if self.stride_pattern is not None:
            document["stride_pattern"] = self.stride_pattern
        if self.storage is not None:
            document["storage"] = self.storage
        document.update(self.extra)
        return document


@dataclass(frozen=True)
class Case:
    """One explicit call.

    `changes` names the axis in which a generated case differs from its base case: `{"axis", "value", "from"}`.
    `device` None means the run's device.
    """

    id: str
    mode: str
    inputs: tuple[TensorSpec, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    changes: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    _KEYS = ("id", "mode", "inputs", "attributes", "device", "changes")

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Case:
        return cls(
            id=document["id"],
            mode=document["mode"],
            inputs=tuple(TensorSpec.from_document(i) for i in document["inputs"]),
            attributes=dict(document.get("attributes") or {}),
            device=document.get("device"),
            changes=document.get("changes"),
            extra={k: v for k, v in document.items() if k not in cls._KEYS},
        )

    def to_document(self) -> Document:
        document: Document = {
            "id": self.id, "mode": self.mode, "attributes": dict(self.attributes),
            "inputs": [spec.to_document() for spec in self.inputs],
        }
        if self.device is not None:
            document["device"] = self.device
        if self.changes is not None:
            document["changes"] = dict(self.changes)
        document.update(self.extra)
        return document
