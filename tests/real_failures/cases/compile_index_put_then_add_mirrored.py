"""Compiled, doubling rows by index_put_ is fused with adding the mirrored rows; later rows mirror finished sums."""

import torch

SOURCE = "pytorch/pytorch#198270"
KIND = "numerical_mismatch"
AXIS = "mode,shape"
MODES = ("eager", "compile")
EXPECT = {
    "one_row@eager": "passed",
    "one_row@compile": "passed",
    "rows4@eager": "passed",
    "rows4@compile": "numerical_mismatch",
}


def candidate(table):
    every_row = torch.arange(table.size(0), device=table.device)
    table.index_put_((every_row,), table * 2.0)
    table.add_(table.flip(0))
    return table


def reference(table):
    return (table + torch.flip(table, (0,))) * 2


def cases(device):
    for name, rows in (("one_row", 1), ("rows4", 4)):
        yield {"id": name, "args": (torch.linspace(1, 3 * rows, 3 * rows, device=device).reshape(rows, 3),)}
