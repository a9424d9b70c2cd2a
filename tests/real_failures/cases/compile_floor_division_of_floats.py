"""Compiled floor division rounds the quotient to a float and then takes the floor: 1 // 0.1 becomes 10 instead of 9."""

import math
from fractions import Fraction

import torch

SOURCE = "pytorch/pytorch#197895"
KIND = "numerical_mismatch"
AXIS = "mode,attribute:rounding_mode,values"
MODES = ("eager", "compile")
EXPECT = {
    "none@eager": "passed",
    "none@compile": "passed",
    "floor_exact@eager": "passed",
    "floor_exact@compile": "passed",
    "floor_f32@eager": "passed",
    "floor_f32@compile": "numerical_mismatch",
    "floor_f64@eager": "passed",
    "floor_f64@compile": "numerical_mismatch",
}


def candidate(a, b, rounding_mode=None):
    return torch.div(a, b, rounding_mode=rounding_mode)


def reference(a, b, rounding_mode=None):
    quotients = [Fraction(x) / Fraction(y) for x, y in zip(a.tolist(), b.tolist())]
    exact = [math.floor(q) if rounding_mode == "floor" else float(q) for q in quotients]
    return torch.tensor(exact, dtype=a.dtype, device=a.device)


def cases(device):
    def vector(values, dtype=torch.float32):
        return torch.tensor(values, dtype=dtype, device=device)

    above, below, exact = [1.0, 3.0, 0.25], [0.1, 0.1, 0.125], [0.25, 1.5, 0.125]
    floor = {"rounding_mode": "floor"}
    yield {"id": "none", "args": (vector(above), vector(below))}
    yield {"id": "floor_exact", "args": (vector(above), vector(exact)), "kwargs": floor}
    yield {"id": "floor_f32", "args": (vector(above), vector(below)), "kwargs": floor}
    yield {"id": "floor_f64", "args": (vector(above, torch.float64), vector(below, torch.float64)), "kwargs": floor}
