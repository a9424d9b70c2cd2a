"""Subtracting a matrix's own first column in place goes on with the column it has just changed, without a word."""

import torch

SOURCE = "pytorch/pytorch#135487"
KIND = "numerical_mismatch"
AXIS = "aliasing"
MODES = ("eager",)
# The same with a row is recognised as an overlap and refused, as it should be.
EXPECT = {"separate": "passed", "own_column_2x2": "numerical_mismatch", "own_row_2x3": "unsupported"}


def candidate(x, y):
    return x.sub_(y)


def reference(x, y):
    return torch.sub(x, y)


def cases(device):
    apart = torch.tensor([[4.0, 9.0], [5.0, 7.0]], device=device)
    yield {"id": "separate", "args": (apart, torch.tensor([[4.0], [5.0]], device=device))}
    square = apart.clone()
    yield {"id": "own_column_2x2", "args": (square, square[:, :1])}
    wide = torch.tensor([[4.0, 9.0, 2.0], [5.0, 7.0, 1.0]], device=device)
    yield {"id": "own_row_2x3", "args": (wide, wide[:1])}
