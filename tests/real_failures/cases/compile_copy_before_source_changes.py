"""Compiled, a copy from one argument into another happens only after a later statement has changed the source."""

import torch

SOURCE = "pytorch/pytorch#198131"
KIND = "numerical_mismatch"
AXIS = "mode,attribute:delta"
MODES = ("eager", "compile")
EXPECT = {
    "add0@eager": "passed",
    "add0@compile": "passed",
    "add1@eager": "passed",
    "add1@compile": "numerical_mismatch",
    "add1_i64@eager": "passed",
    "add1_i64@compile": "numerical_mismatch",
}


def candidate(target, source, delta=1):
    target[0:, :] = source[0:, :]
    source.add_(delta)
    return target, source


def reference(target, source, delta=1):
    return torch.clone(source), torch.add(source, delta)


def cases(device):
    for name, delta, dtype in (("add0", 0, torch.float32), ("add1", 1, torch.float32), ("add1_i64", 1, torch.int64)):
        source = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]], dtype=dtype, device=device)
        yield {"id": name, "args": (torch.zeros_like(source), source), "kwargs": {"delta": delta}}
