"""Inputs are what their specs say: built exactly, verified after building, or not built at all.

`build` makes the tensors of a case with their strides, offsets, overlaps and shared storages; `CannotBuild` carries the
reason where that is impossible, and the case then has no result. What a kernel must not read is poisoned: the gaps
between elements hold NaN, or for other dtypes a fixed pattern, so that reading them shows. `digest`, `summary` and
`describe` (from `opdebug.worker.describe`) say what a tensor holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import torch

from opdebug.model.dtypes import BOOL, COMPLEX, DTYPES, FLOAT, DType
from opdebug.model.fills import GIVEN, problems
from opdebug.model.specs import TensorSpec, extent
from opdebug.model.strides import STRIDED_LAYOUTS, is_contiguous, layout_agrees, never_overlaps
from opdebug.worker.describe import describe, digest, summary
from opdebug.worker.fill import PART_OF_COMPLEX, bits, elements

__all__ = ["CannotBuild", "build", "describe", "digest", "summary", "verify"]

POISON_BYTE = 0xA5
"""Fills the gaps of integer tensors: far outside of any index range, and negative where there is a sign."""


class CannotBuild(Exception):
    """The input cannot be made exactly as its spec says; the text gives the reason."""


def build(case_inputs: Iterable[TensorSpec], device: torch.device) -> dict[str, torch.Tensor]:
    """The tensors of a case by input name, on `device`, verified against their specs.

    Elements are filled in logical order, so that the same values appear under any strides; dimensions of stride 0
    repeat them; where windows overlap, the storage itself is filled in order. Inputs that name one storage share it,
    and where they meet the later input's values stay. Raises CannotBuild.
    """
    specs = list(case_inputs)
    groups: dict[str, list[TensorSpec]] = {}
    for spec in specs:
        groups.setdefault(f"input {spec.name}" if spec.storage is None else f"storage {spec.storage}", []).append(spec)
    if len({spec.name for spec in specs}) < len(specs):
        raise CannotBuild(f"input {_repeated(spec.name for spec in specs)!r} is given twice")
    built: dict[str, torch.Tensor] = {}
    for group in groups.values():
        kinds = [_kind(spec) for spec in group]
        for spec in group:
            if spec.dtype != group[0].dtype:
                raise CannotBuild(f"input {spec.name!r} is {spec.dtype}, but the storage {spec.storage!r} it shares "
                                  f"holds {group[0].dtype}")
        try:
            tensors = _on_device(_on_host(group, kinds[0]), group, device)
        except (RuntimeError, MemoryError, TypeError, NotImplementedError) as error:
            names = ", ".join(repr(spec.name) for spec in group)
            raise CannotBuild(f"input {names}: {type(error).__name__}: {error}") from error
        for spec, tensor in zip(group, tensors):
            verify(tensor, spec, device)
            built[spec.name] = tensor
    return {spec.name: built[spec.name] for spec in specs}


def verify(tensor: torch.Tensor, spec: TensorSpec, device: torch.device) -> None:
    """Raise CannotBuild unless `tensor` has exactly the shape, strides, offset, dtype and device asked for."""
    wrong = [
        f"{what} is {have} and not {want}"
        for what, have, want in (
            ("shape", tuple(tensor.shape), spec.shape),
            ("strides", tensor.stride(), spec.actual_strides),
            ("storage_offset", tensor.storage_offset(), spec.storage_offset),
            ("dtype", str(tensor.dtype), f"torch.{spec.dtype}"),
            ("device", tensor.device.type, device.type),
            ("device index", tensor.device.index, tensor.device.index if device.index is None else device.index),
        )
        if have != want
    ]
    if wrong:
        raise CannotBuild(f"input {spec.name!r} came out otherwise than asked: {', '.join(wrong)}")


def _repeated(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]


def _kind(spec: TensorSpec) -> DType:
    """The dtype of a spec that can be built; raises CannotBuild with the reason for any other."""
    where = f"input {spec.name!r}"
    kind = DTYPES.get(spec.dtype)
    if kind is None or not hasattr(torch, kind.name):
        raise CannotBuild(f"{where}: torch {torch.__version__} has no dtype {spec.dtype!r}")
    if spec.data.fill == GIVEN:
        raise CannotBuild(f"{where}: its values were given by user code and cannot be made from this document")
    found = problems(kind, spec.data.fill, spec.data.options)
    if found:
        raise CannotBuild(f"{where}: {'; '.join(found)}")
    if len(spec.actual_strides) != len(spec.shape):
        raise CannotBuild(f"{where}: strides {spec.actual_strides} do not fit the shape {spec.shape}")
    if spec.layout in STRIDED_LAYOUTS and layout_agrees(spec.layout, spec.shape, spec.actual_strides):
        return kind
    raise CannotBuild(f"{where}: layout {spec.layout!r} of shape {spec.shape} and strides {spec.actual_strides} cannot "
                      "be stored as a strided tensor; ND can, NCHW and NCDHW of rank 4 and 5, NHWC and NDHWC with "
                      "channels_last strides")


def _on_host(group: list[TensorSpec], kind: DType) -> list[torch.Tensor]:
    """The tensors of one storage on CPU."""
    first = group[0]
    if len(group) == 1 and first.storage_offset == 0 and is_contiguous(first.shape, first.actual_strides):
        count = extent(first.shape, first.actual_strides)
        values = elements(kind, count, first.data, first.name)
        return [_view(values, first)]
    size = max(extent(spec.shape, spec.actual_strides, spec.storage_offset) for spec in group)
    holder = _poisoned(size, kind)
    views = [_view(holder, spec) for spec in group]
    for spec, view in zip(group, views):
        _write(view, spec, kind)
    return views


def _on_device(tensors: list[torch.Tensor], group: list[TensorSpec], device: torch.device) -> list[torch.Tensor]:
    """The same views over a copy of their one storage; byte for byte, since a tensor copy may drop strides and gaps."""
    if device.type == "cpu":
        return tensors
    storage = tensors[0].untyped_storage()
    host = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
    holder = torch.empty(storage.nbytes(), dtype=torch.uint8, device=device)
    holder.copy_(host)
    return [_view(holder, spec) for spec in group]


def _view(holder: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
    """The tensor of `spec` over the storage of `holder`."""
    empty = torch.empty(0, dtype=getattr(torch, spec.dtype), device=holder.device)
    return empty.set_(holder.untyped_storage(), spec.storage_offset, spec.shape, spec.actual_strides)


def _write(view: torch.Tensor, spec: TensorSpec, kind: DType) -> None:
    """Fill the elements of `view`, its repeated ones once."""
    if view.numel() == 0:
        return
    once = view
    for dim, stride in enumerate(view.stride()):
        if stride == 0:
            once = once.narrow(dim, 0, 1)
    if never_overlaps(tuple(once.shape), once.stride()):
        bits(once).copy_(bits(elements(kind, once.numel(), spec.data, spec.name)).view(once.shape))
        return
    reach = extent(spec.shape, spec.actual_strides)
    flat = torch.empty(0, dtype=view.dtype).set_(view.untyped_storage(), spec.storage_offset, (reach,), (1,))
    bits(flat).copy_(bits(elements(kind, reach, spec.data, spec.name)))


def _poisoned(size: int, kind: DType) -> torch.Tensor:
    """`size` elements that no kernel should read, as a vector of bytes or of something wider."""
    if kind.kind in (FLOAT, COMPLEX) and kind.has_nan:
        part = PART_OF_COMPLEX.get(kind.name, kind.name)
        nan = bits(torch.tensor([float("nan")]).to(getattr(torch, part)))
        return nan.repeat(size * (2 if kind.kind == COMPLEX else 1))
    return torch.full((size * kind.itemsize,), 1 if kind.kind == BOOL else POISON_BYTE, dtype=torch.uint8)
