"""Two tensors of one shape are read in blocks of bounded size, so that judging a large output needs little memory.

`pairs` walks candidate and reference together in logical row-major order and gives flat blocks on the CPU; a strided
or expanded tensor is copied a block at a time and never whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

# Elements in a block. About fifteen float64 temporaries of this size are alive at once: some 30 MiB.
BLOCK = 1 << 18

Block = tuple[int, torch.Tensor, torch.Tensor]


def pairs(candidate: torch.Tensor, reference: torch.Tensor, start: int = 0) -> Iterator[Block]:
    """Yield (index of the first element, candidate block, reference block); nothing for tensors without elements."""
    count = candidate.numel()
    if count == 0:
        return
    if count <= BLOCK:
        yield start, _flat(candidate), _flat(reference)
        return
    if candidate.is_contiguous() and reference.is_contiguous():
        flat_candidate, flat_reference = candidate.view(-1), reference.view(-1)
        for at in range(0, count, BLOCK):
            yield start + at, _flat(flat_candidate[at : at + BLOCK]), _flat(flat_reference[at : at + BLOCK])
        return
    inner = count // candidate.shape[0]
    rows = max(1, BLOCK // inner)
    for row in range(0, candidate.shape[0], rows):
        part = slice(row, row + rows) if inner <= BLOCK else row
        yield from pairs(candidate[part], reference[part], start + row * inner)


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor if tensor.dim() == 1 else tensor.reshape(-1)
    if not flat.is_cpu:
        flat = flat.cpu()
    if flat.is_conj():
        flat = flat.resolve_conj()
    return flat.resolve_neg() if flat.is_neg() else flat
