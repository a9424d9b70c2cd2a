"""The same arguments in a wider precision: what a reference needs to be more accurate than what it judges.

`lift(tree, device)` converts floating tensors to float64 and complex ones to complex128. For a reference of the user's
it does so storage by storage, so that strides, offsets, overlap and aliasing are those of the original. A candidate that
serves as its own reference gets `canonical` copies instead, contiguous and apart: with the layout of the original it
would repeat a layout bug and agree with it.
"""

from __future__ import annotations

from typing import Any

import torch

from opdebug.worker.trees import map_tensors

_WIDE = {True: torch.complex128, False: torch.float64}


def is_narrow(tensor: torch.Tensor) -> bool:
    """Whether lifting would change this tensor's dtype."""
    return (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype not in _WIDE.values()


def is_canonical(tensor: torch.Tensor) -> bool:
    """Whether a canonical copy would be laid out as the tensor is: contiguous, alone at the start of its storage."""
    return (tensor.layout == torch.strided and not tensor.is_conj() and not tensor.is_neg() and tensor.is_contiguous()
            and tensor.storage_offset() == 0)


def lift(tree: Any, device: torch.device, canonical: bool = False) -> Any:
    """A copy of `tree` on `device` in which every floating tensor is float64 and every complex one complex128.

    Tensors without strides (sparse, quantized, nested) are converted as values. Raises what torch raises where a
    conversion does not exist.
    """
    storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def one(tensor: torch.Tensor) -> torch.Tensor:
        wide = _WIDE[tensor.is_complex()] if is_narrow(tensor) else tensor.dtype
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
            return tensor.to(device=device, dtype=wide)
        if tensor.is_conj() or tensor.is_neg():
            return tensor.resolve_conj().resolve_neg().to(device=device, dtype=wide)
        if canonical:
            return tensor.to(device=device, dtype=wide, copy=True).contiguous()
        storage = tensor.untyped_storage()
        key = (storage.data_ptr(), tensor.dtype)
        if key not in storages or storage.nbytes() == 0:
            whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(
                storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))
            storages[key] = whole.to(device=device, dtype=wide, copy=True)
        return storages[key].as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())

    return map_tensors(one, tree)
