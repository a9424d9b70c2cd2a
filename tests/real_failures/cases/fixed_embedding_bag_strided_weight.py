"""Once wrong: embedding_bag in mean mode read a sliced weight as if its rows followed each other without gaps."""

import torch
from torch.nn import functional

SOURCE = "pytorch/pytorch#43723"
KIND = "passed"
AXIS = "strides"
MODES = ("eager",)
EXPECT = {"contiguous": "passed", "sliced": "passed", "transposed": "passed"}


def candidate(index, weight, offsets):
    return functional.embedding_bag(index, weight, offsets, mode="mean")


def reference(index, weight, offsets):
    bags = torch.tensor_split(index, offsets[1:].cpu())
    return torch.stack([weight.index_select(0, bag).sum(0) / len(bag) for bag in bags])


def cases(device):
    weight = torch.linspace(-1, 1, 25, device=device).reshape(5, 5)
    index, offsets = torch.tensor([4, 0, 2, 2, 1], device=device), torch.tensor([0, 3], device=device)
    yield {"id": "contiguous", "args": (index, weight, offsets)}
    yield {"id": "sliced", "args": (index, weight[:, 1:4], offsets)}
    yield {"id": "transposed", "args": (index, weight.T, offsets)}
