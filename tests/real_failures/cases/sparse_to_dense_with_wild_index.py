"""to_dense of a sparse tensor made without invariant checks writes to whatever address its indices come to."""

import torch

SOURCE = "pytorch/pytorch#182662"
KIND = "crash"
AXIS = "values"
MODES = ("eager",)
EXPECT = {"in_range": "passed", "duplicate": "passed", "far_index": "crash", "negative_far": "crash"}


def candidate(indices, entries, size=4):
    return torch.sparse_coo_tensor(indices, entries, (size,), check_invariants=False).to_dense()


def reference(indices, entries, size=4):
    where = indices[0]
    if bool(((where < 0) | (where >= size)).any()):
        raise IndexError(f"every index must lie in 0..{size - 1}")
    dense = torch.zeros(size, dtype=entries.dtype, device=entries.device)
    for index, entry in zip(where.tolist(), entries):
        dense[index] += entry
    return dense


def cases(device):
    for name, indices, entries in (
        ("in_range", [1, 3], [0.5, -2.0]),
        ("duplicate", [2, 2], [0.5, 4.0]),
        ("far_index", [3 * 10**12], [1.5]),
        ("negative_far", [-2 * 10**13], [1.5]),
    ):
        yield {"id": name, "args": (torch.tensor([indices], device=device), torch.tensor(entries, device=device))}
