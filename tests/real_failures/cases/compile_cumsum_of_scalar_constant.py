"""The compiler makes the cumsum of a constant a ramp along one of its dimensions; a 0-d constant has none."""

import torch

SOURCE = "pytorch/pytorch#193265"
KIND = "crash"
AXIS = "mode,attribute:shape"
MODES = ("eager", "compile")
EXPECT = {"n3@eager": "passed", "n3@compile": "passed", "scalar@eager": "passed", "scalar@compile": "crash"}

LEVEL = 2.5


def candidate(shape=(), device="cpu"):
    return torch.full(shape, LEVEL, device=device).cumsum(0)


def reference(shape=(), device="cpu"):
    steps = [LEVEL * (index + 1) for index in range(*shape)] if shape else LEVEL
    return torch.tensor(steps, device=device)


def cases(device):
    for name, shape in (("n3", (3,)), ("scalar", ())):
        yield {"id": name, "args": (), "kwargs": {"shape": shape, "device": device}}
