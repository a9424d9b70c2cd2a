"""Compiled, `x[1:] = x[:-1].clone()` loses its clone as redundant, and rows are read after they were overwritten."""

import torch

SOURCE = "pytorch/pytorch#197829"
KIND = "numerical_mismatch"
AXIS = "mode,shape"
MODES = ("eager", "compile")
EXPECT = {
    "r1_2@eager": "passed",
    "r1_2@compile": "passed",
    "r3_16x16@eager": "passed",
    "r3_16x16@compile": "numerical_mismatch",
    "r8x32@eager": "passed",
    "r8x32@compile": "numerical_mismatch",
}


def candidate(rows):
    rows[1:] = rows[:-1].clone()
    return rows


def reference(rows):
    before = [max(index - 1, 0) for index in range(rows.shape[0])]
    return rows.index_select(0, torch.tensor(before, device=rows.device))


def cases(device):
    for name, shape in (("r1_2", (2,)), ("r3_16x16", (3, 16, 16)), ("r8x32", (8, 32))):
        rows = torch.ones(shape, device=device).cumsum(0)
        yield {"id": name, "args": (rows,)}
