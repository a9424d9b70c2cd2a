"""A call's arguments, kept and copied exactly: strides, offsets, overlap, and which tensors share memory.

`Snapshot.take(tree)` keeps a private copy and `copy()` hands out further ones, so that no call sees what another did
to its inputs. `changed` names the tensors whose memory differs between two copies, `aliasing` says in words which
arguments share memory, `shares_storage` whether two trees do. A tree is any nesting of lists, tuples, named tuples and
dicts.
"""

from __future__ import annotations

import copy as copying
from collections.abc import Iterator
from typing import Any, Callable, cast

import torch

from opdebug.model.specs import extent
from opdebug.worker.describe import digest
from opdebug.worker.fill import bits
from opdebug.worker.trees import named_tensors

WHOLE_STORAGE_LIMIT = 64 * 2**20
"""Bytes. Of a larger storage only the part that the tensors reach is copied; the rest of the copy is left unset."""

_INTEGERS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}

Leaf = Callable[[Any], Any]


class Snapshot:
    """A private copy of a tree of arguments: `tree`, to be read and never passed to a call."""

    def __init__(self, tree: Any) -> None:
        """Keep `tree` itself; `take` is what copies."""
        self.tree = tree

    @classmethod
    def take(cls, tree: Any) -> Snapshot:
        """Keep a copy of `tree` as it is now."""
        return cls(_copied(tree))

    def copy(self) -> Any:
        """A fresh tree: the same values in the same memory order, sharing memory with nothing outside itself.

        Tensors that share a storage in the original share one in the copy, and one tensor in two places stays one.
        Conjugation and negation bits, requires_grad and Parameters are kept; sparse, quantized and nested tensors are
        cloned; other leaves are deep-copied, or passed on where they refuse that (modules of Python, some callables).
        """
        return _copied(self.tree)


def changed(original: Any, other: Any) -> list[str]:
    """Paths of the tensors of `original` that differ in `other`: in metadata, or in any byte of the memory they span.

    The comparison is bitwise and covers the gaps between elements. Both trees should be copies of one snapshot; a
    tensor that is missing in `other` counts as changed. Top-level keys of a dict are written bare: `x`, `args[0]`,
    `kwargs['out']`.
    """
    others = dict(tensors_in(other))
    return [path for path, tensor in tensors_in(original) if not _same(tensor, others.get(path))]


def aliasing(tree_named: dict[str, Any]) -> str:
    """Which arguments share memory: "none", or relations in order of name, joined by commas.

    `out=a`: `out` is the same view as `a`. `y⊂x`: `y` lies in the storage of `x` as another view; `x` is the argument
    that spans most of that storage, the first such.
    """
    groups: dict[Any, list[tuple[str, torch.Tensor]]] = {}
    for path, tensor in tensors_in(tree_named):
        if _is_plain(tensor) and tensor.untyped_storage().nbytes():
            groups.setdefault(_storage_key(tensor), []).append((path, tensor))
    relations = []
    for group in groups.values():
        root = max(range(len(group)), key=lambda i: (_span(group[i][1])[1] - _span(group[i][1])[0], -i))
        for i, (path, tensor) in enumerate(group):
            twin = next((p for p, t in group[:i] if _metadata(t) == _metadata(tensor)), None)
            if twin is not None:
                relations.append(f"{path}={twin}")
            elif i != root:
                relations.append(f"{path}⊂{group[root][0]}")
    return ",".join(sorted(relations)) or "none"


def shares_storage(a_tree: Any, b_tree: Any) -> bool:
    """Whether any tensor of one tree lies in the storage of one of the other."""
    keys = [
        {_storage_key(t) for _, t in tensors_in(tree) if _is_plain(t) and t.untyped_storage().nbytes()}
        for tree in (a_tree, b_tree)
    ]
    return not keys[0].isdisjoint(keys[1])


def tensors_in(tree: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Path and tensor of every tensor in `tree`, in order."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            bare = isinstance(key, str) and key.partition("[")[0].isidentifier()
            yield from named_tensors(value, key if bare else f"[{key!r}]")
    else:
        yield from named_tensors(tree, "")


def _copied(tree: Any) -> Any:
    tensors = [tensor for _, tensor in tensors_in(tree)]
    if all(map(_fills_its_storage, tensors)) and len({_storage_key(t) for t in tensors}) == len(tensors):
        # The everyday call, a third of the time: nothing is shared and every storage is one contiguous tensor.
        return _mapped(tree, lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else _copied_object(leaf, {}))
    spans: dict[Any, tuple[int, int]] = {}
    for tensor in tensors:
        if _is_plain(tensor):
            key, (low, high) = _storage_key(tensor), _span(tensor)
            before = spans.get(key, (low, high))
            spans[key] = (min(low, before[0]), max(high, before[1]))
    storages: dict[Any, torch.UntypedStorage] = {}
    memo: dict[int, Any] = {}

    def leaf(value: Any) -> Any:
        if id(value) not in memo:
            memo[id(value)] = _copied_leaf(value, spans, storages, memo)
        return memo[id(value)]

    return _mapped(tree, leaf)


def _mapped(tree: Any, leaf: Leaf) -> Any:
    """`tree` with `leaf` applied to everything that is no list, tuple or dict; the kinds of container are kept."""
    if isinstance(tree, dict):
        items = {key: _mapped(value, leaf) for key, value in tree.items()}
        if type(tree) is dict:
            return items
        same = copying.copy(tree)
        same.update(items)
        return same
    if isinstance(tree, (list, tuple)):
        values = [_mapped(value, leaf) for value in tree]
        if type(tree) in (list, tuple):
            return values if isinstance(tree, list) else tuple(values)
        return type(tree)(*values) if hasattr(tree, "_fields") else cast("Any", type(tree))(values)
    return leaf(tree)


def _copied_leaf(value: Any, spans: dict[Any, tuple[int, int]], storages: dict[Any, torch.UntypedStorage],
                 memo: dict[int, Any]) -> Any:
    if not isinstance(value, torch.Tensor):
        return _copied_object(value, memo)
    if not _is_plain(value):
        return value.detach().clone().requires_grad_(value.requires_grad)
    key = _storage_key(value)
    if key not in storages:
        storages[key] = _copied_storage(value, spans[key])
    view = _bare_view(value, storages[key])
    if isinstance(value, torch.nn.Parameter):
        return torch.nn.Parameter(view, requires_grad=value.requires_grad)
    return view.requires_grad_(True) if value.requires_grad else view


def _copied_object(value: Any, memo: dict[int, Any]) -> Any:
    try:
        return copying.deepcopy(value, memo)
    except Exception:  # what user code makes may refuse to be copied in any way, and is then passed on
        return value


def _fills_its_storage(tensor: torch.Tensor) -> bool:
    """Whether `clone` would copy the tensor exactly: plain, contiguous, and nothing else in its storage."""
    if type(tensor) is not torch.Tensor or tensor.requires_grad or tensor.layout != torch.strided:
        return False
    plain = not (tensor.is_nested or tensor.is_quantized or tensor.is_neg() or tensor.is_conj())
    return plain and tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.nbytes > 0


def _bare_view(tensor: torch.Tensor, storage: torch.UntypedStorage) -> torch.Tensor:
    """What `tensor` is over its own storage, over another one."""
    view = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    view.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
    if tensor.is_neg():
        view = torch._neg_view(view)
    return view.conj() if tensor.is_conj() else view


def _copied_storage(tensor: torch.Tensor, span: tuple[int, int]) -> torch.UntypedStorage:
    size = tensor.untyped_storage().nbytes()
    low, high = span if size > WHOLE_STORAGE_LIMIT else (0, size)
    copied = torch.empty(size, dtype=torch.uint8, device=tensor.device)
    copied[low:high] = _bytes(tensor, low, high)
    return copied.untyped_storage()


def _bytes(tensor: torch.Tensor, low: int, high: int, width: int = 1) -> torch.Tensor:
    """Bytes `low` to `high` of the tensor's storage, as integers of `width` bytes, which divides both."""
    view = torch.empty(0, dtype=_INTEGERS[width], device=tensor.device)
    return view.set_(tensor.untyped_storage(), low // width, ((high - low) // width,), (1,))


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """The bytes of its storage between which the elements lie."""
    if tensor.numel() == 0:
        return 0, 0
    offset, size = int(tensor.storage_offset()), tensor.element_size()
    return offset * size, extent(tuple(tensor.shape), tensor.stride(), offset) * size


def _same(tensor: torch.Tensor, other: torch.Tensor | None) -> bool:
    if other is None or _is_plain(tensor) != _is_plain(other) or tensor.dtype != other.dtype:
        return False
    if _fills_its_storage(tensor) and _fills_its_storage(other) and tensor.element_size() in _INTEGERS:
        # The everyday input, in a quarter of the time that spans and strides of the general case take.
        return tensor.shape == other.shape and tensor.device == other.device and torch.equal(bits(tensor), bits(other))
    if not _is_plain(tensor):
        # A nested tensor has no single shape; the digests of its parts stand for it.
        return (tensor.is_nested or tensor.shape == other.shape) and digest(tensor) == digest(other)
    if _metadata(tensor) != _metadata(other) or tensor.device != other.device:
        return False
    low, high = _span(tensor)
    if tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr():
        return True
    # torch compares wide integers several times faster than bytes.
    width = next(width for width in _INTEGERS if low % width == 0 and high % width == 0)
    return torch.equal(_bytes(tensor, low, high, width), _bytes(other, low, high, width))


def _metadata(tensor: torch.Tensor) -> tuple[Any, ...]:
    return (tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype, tensor.is_neg(), tensor.is_conj())


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a storage, strides and an offset say everything about the tensor."""
    known = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return known and tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized


def _storage_key(tensor: torch.Tensor) -> Any:
    """Equal for tensors in one storage, also where two storage objects were made over the same memory."""
    storage = tensor.untyped_storage()
    return (str(tensor.device), storage.data_ptr() or -storage._cdata)
