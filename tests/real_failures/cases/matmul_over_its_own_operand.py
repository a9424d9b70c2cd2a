"""A matrix product whose out= is one of its operands silently comes to something else."""

import torch

SOURCE = "pytorch/pytorch#114350"
KIND = "numerical_mismatch"
AXIS = "aliasing"
MODES = ("eager",)
EXPECT = {
    "no_out": "passed",
    "fresh_out": "passed",
    "out_is_a": "numerical_mismatch",
    "out_is_b": "numerical_mismatch",
}


def candidate(a, b, out=None):
    return torch.mm(a, b, out=out)


def reference(a, b, out=None):
    return torch.stack([(row[:, None] * b).sum(0) for row in a])


def cases(device):
    def operands():
        left = torch.linspace(-2, 2, 16, device=device).reshape(4, 4)
        return left, torch.diag(torch.full((4,), 0.5, device=device)) + 1.0

    yield {"id": "no_out", "args": operands()}
    yield {"id": "fresh_out", "args": operands(), "kwargs": {"out": torch.zeros(4, 4, device=device)}}
    a, b = operands()
    yield {"id": "out_is_a", "args": (a, b), "kwargs": {"out": a}}
    a, b = operands()
    yield {"id": "out_is_b", "args": (a, b), "kwargs": {"out": b}}
