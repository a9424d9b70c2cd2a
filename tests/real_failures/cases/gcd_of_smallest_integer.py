"""gcd of the smallest value of a signed type is negative: its magnitude has no place in the type."""

import math

import torch

SOURCE = "pytorch/pytorch#187338"
KIND = "numerical_mismatch"
AXIS = "values"
MODES = ("eager",)
EXPECT = {
    "i8_ok": "passed",
    "u8": "passed",
    "i8_min": "numerical_mismatch",
    "i64_min": "numerical_mismatch",
}


def candidate(a, b):
    return torch.gcd(a, b)


def reference(a, b):
    divisors = [math.gcd(*pair) for pair in zip(a.tolist(), b.tolist())]
    return torch.tensor(divisors, dtype=a.dtype, device=a.device)


def cases(device):
    for name, dtype, left, right in (
        ("i8_ok", torch.int8, [-120, 96], [84, 36]),
        ("u8", torch.uint8, [128, 240], [96, 200]),
        ("i8_min", torch.int8, [-128, 96], [124, 36]),
        ("i64_min", torch.int64, [-(1 << 63)], [215]),
    ):
        pair = (torch.tensor(values, dtype=dtype, device=device) for values in (left, right))
        yield {"id": name, "args": tuple(pair)}
