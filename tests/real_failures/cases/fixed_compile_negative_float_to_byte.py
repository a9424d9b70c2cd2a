"""Once wrong: a negative float became another byte compiled than eager."""

import math

import torch

SOURCE = "pytorch/pytorch#156788"
KIND = "passed"
AXIS = "mode,values,shape"
MODES = ("eager", "compile")
# C++ leaves such a conversion open; by now both modes wrap around.
EXPECT = {"short@eager": "passed", "short@compile": "passed", "long@eager": "passed", "long@compile": "passed"}


def candidate(x):
    return x.to(torch.uint8)


def reference(x):
    wrapped = [math.trunc(value) % 256 for value in x.tolist()]
    return torch.tensor(wrapped, dtype=torch.uint8, device=x.device)


def cases(device):
    yield {"id": "short", "args": (torch.tensor([-0.75, 3.25, -1.5, -7.0, 0.5], device=device),)}
    yield {"id": "long", "args": (torch.linspace(-20, 20, 47, device=device),)}
