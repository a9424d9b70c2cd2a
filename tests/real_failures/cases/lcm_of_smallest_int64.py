"""lcm divides by the gcd, which can come out as -1 for the smallest int64; x86 traps that division."""

import math

import torch

SOURCE = "pytorch/pytorch#121343"
KIND = "crash"
AXIS = "values"
MODES = ("eager",)
NEEDS = "x86_64"
EXPECT = {"small": "passed", "big_positive": "passed", "int64_min": "crash"}


def candidate(a, b):
    return torch.lcm(a, b)


def reference(a, b):
    exact = [math.lcm(left, right) for left, right in zip(a.tolist(), b.tolist())]
    return torch.tensor([(n + (1 << 63)) % (1 << 64) - (1 << 63) for n in exact], device=a.device)


def cases(device):
    pairs = {
        "small": ([12, -10, 7], [8, 4, 21]),
        "big_positive": ([1 << 61], [6]),
        "int64_min": ([-(1 << 63)], [215]),
    }
    for name, (left, right) in pairs.items():
        yield {"id": name, "args": (torch.tensor(left, device=device), torch.tensor(right, device=device))}
