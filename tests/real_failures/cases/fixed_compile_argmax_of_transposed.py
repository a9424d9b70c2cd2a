"""Once wrong: compiled, the flat argmax of a transposed tensor counted along memory instead of along the view."""

import torch

SOURCE = "pytorch/pytorch#183082"
KIND = "passed"
AXIS = "mode,strides"
MODES = ("eager", "compile")
EXPECT = {"s5x7@eager": "passed", "s5x7@compile": "passed", "s16x3@eager": "passed", "s16x3@compile": "passed"}


def candidate(x):
    waves = x.clone()
    waves.sin_()
    return waves.t().argmax()


def reference(x):
    by_columns = [value for column in zip(*torch.sin(x).tolist()) for value in column]
    return torch.tensor(max(range(len(by_columns)), key=by_columns.__getitem__), device=x.device)


def cases(device):
    # The sine rises over all of these distinct values, and the largest stands at different places in the two orders.
    for name, rows, columns in (("s5x7", 5, 7), ("s16x3", 16, 3)):
        shuffled = torch.arange(rows * columns, device=device) * 13 % (rows * columns)
        yield {"id": name, "args": ((shuffled / 40.0).reshape(rows, columns),)}
