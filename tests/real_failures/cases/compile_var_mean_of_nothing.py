"""Compiled var_mean over no elements says that the mean is 0; eager says nan for both."""

import math

import torch

SOURCE = "pytorch/pytorch#197108"
KIND = "numerical_mismatch"
AXIS = "mode,shape"
MODES = ("eager", "compile")
EXPECT = {
    "n4@eager": "passed",
    "n4@compile": "passed",
    "n2@eager": "passed",
    "n2@compile": "passed",
    "n0@eager": "passed",
    "n0@compile": "numerical_mismatch",
    "n0x1@eager": "passed",
    "n0x1@compile": "numerical_mismatch",
}


def candidate(sample):
    return torch.var_mean(sample)


def reference(sample):
    numbers = sample.reshape(-1).tolist()
    if len(numbers) < 2:
        variance, mean = math.nan, math.fsum(numbers) if numbers else math.nan
    else:
        mean = math.fsum(numbers) / len(numbers)
        variance = math.fsum((n - mean) ** 2 for n in numbers) / (len(numbers) - 1)
    return sample.new_tensor(variance), sample.new_tensor(mean)


def cases(device):
    for name, shape in (("n4", (4,)), ("n2", (2,)), ("n0", (0,)), ("n0x1", (0, 1))):
        yield {"id": name, "args": (torch.full(shape, 0.5, device=device).cumsum(0),)}
