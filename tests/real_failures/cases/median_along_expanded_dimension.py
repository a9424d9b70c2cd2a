"""median along an expanded dimension steps through memory as if it were dense, and so looks at other elements."""

import torch

SOURCE = "found by a sweep over operators"
KIND = "numerical_mismatch"
AXIS = "strides"
MODES = ("eager",)
EXPECT = {
    "contiguous": "passed",
    "transposed": "passed",
    "sliced": "passed",
    "expand_non_reduced_dim": "passed",
    "expand_dim0": "numerical_mismatch",
    "expand_1d": "numerical_mismatch",
    "expand_i64": "numerical_mismatch",
}


def candidate(x, dim=0):
    return torch.median(x, dim)[0]


def reference(x, dim=0):
    ordered = torch.sort(x.clone(memory_format=torch.contiguous_format), dim=dim)[0]
    return ordered.select(dim, (ordered.shape[dim] - 1) // 2)


def cases(device):
    # Whole tables are expanded from their first row or column, so that every stray read finds a defined element.
    table = torch.tensor([[2.0, 7.0, 1.0, 8.0], [9.0, 4.0, 5.0, 6.0], [10.0, 3.0, 12.0, 11.0]], device=device)
    yield {"id": "contiguous", "args": (table,)}
    yield {"id": "transposed", "args": (table.mT,)}
    yield {"id": "sliced", "args": (table[:, 1::2],)}
    yield {"id": "expand_non_reduced_dim", "args": (table[:, :1].expand_as(table),)}
    yield {"id": "expand_dim0", "args": (table[:1].expand_as(table),)}
    yield {"id": "expand_1d", "args": (table.flatten()[:1].expand(5),)}
    yield {"id": "expand_i64", "args": (table.to(torch.int64)[:1].expand_as(table),)}
