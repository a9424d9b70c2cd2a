"""Compiled, a float beyond int8 becomes the largest or smallest int8; eager, it wraps around."""

import math

import torch

SOURCE = "found by a sweep over operators; pytorch/pytorch#156788 was the uint8 relative"
KIND = "numerical_mismatch"
AXIS = "mode,attribute:dtype,values"
MODES = ("eager", "compile")
NEEDS = "avx2"
# C++ leaves such a conversion open; what eager does is taken for the rule.
EXPECT = {
    "to_i8_in_range@eager": "passed",
    "to_i8_in_range@compile": "passed",
    "to_u8@eager": "passed",
    "to_u8@compile": "passed",
    "to_i32@eager": "passed",
    "to_i32@compile": "passed",
    "to_i8_out_of_range@eager": "passed",
    "to_i8_out_of_range@compile": "numerical_mismatch",
}


def candidate(x, dtype=torch.int8):
    return x.to(dtype)


def reference(x, dtype=torch.int8):
    info = torch.iinfo(dtype)
    wrapped = [(math.trunc(value) - info.min) % (1 << info.bits) + info.min for value in x.tolist()]
    return torch.tensor(wrapped, dtype=dtype, device=x.device)


def cases(device):
    outside = torch.tensor([260.5, -140.0, 7.25], device=device)
    inside = torch.tensor([90.0, -127.5, 7.25], device=device)
    yield {"id": "to_i8_in_range", "args": (inside,)}
    yield {"id": "to_u8", "args": (outside,), "kwargs": {"dtype": torch.uint8}}
    yield {"id": "to_i32", "args": (outside,), "kwargs": {"dtype": torch.int32}}
    yield {"id": "to_i8_out_of_range", "args": (outside,)}
