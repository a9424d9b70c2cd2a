"""The vectorised compiled remainder is 0 as soon as the quotient has more digits than a float."""

import math

import torch

SOURCE = "found by a sweep over operators; pytorch/pytorch#193753 is a relative"
KIND = "numerical_mismatch"
AXIS = "mode,shape,values"
MODES = ("eager", "compile")
NEEDS = "avx2"
# The right remainder is below 1e-5, so that any absolute tolerance would accept the 0.
TOLERANCE = {"atol": 0.0, "rtol": 1e-5}
EXPECT = {
    "n1@eager": "passed",
    "n1@compile": "passed",
    "n17_small_quotient@eager": "passed",
    "n17_small_quotient@compile": "passed",
    "n17@eager": "passed",
    "n17@compile": "numerical_mismatch",
}


def candidate(dividend, divisor):
    return torch.remainder(dividend, divisor)


def reference(dividend, divisor):
    # fmod is exact, and for positive operands it is the remainder.
    exact = map(math.fmod, dividend.tolist(), divisor.tolist())
    return torch.tensor(list(exact), device=dividend.device)


def cases(device):
    for name, length, top, bottom in (
        ("n1", 1, 3e30, 1e-5),
        ("n17_small_quotient", 17, 9.25, 4.0),
        ("n17", 17, 3e30, 1e-5),
    ):
        operands = (torch.full((length,), value, device=device) for value in (top, bottom))
        yield {"id": name, "args": tuple(operands)}
