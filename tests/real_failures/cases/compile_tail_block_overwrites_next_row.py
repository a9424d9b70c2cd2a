"""A compiled reduction over 2-D tiles stores the last tile of a row at full vector width, over the next row's start."""

import torch
from torch.nn import functional

SOURCE = "pytorch/pytorch#196681"
KIND = "numerical_mismatch"
AXIS = "mode,layout"
MODES = ("eager", "compile")
NEEDS = "avx2"
EXPECT = {
    "contiguous@eager": "passed",
    "contiguous@compile": "passed",
    "channels_last@eager": "passed",
    "channels_last@compile": "numerical_mismatch",
}

CHANNELS = 4
# One less than a multiple of the vector width: with more surplus lanes the last row's stores also corrupt the heap.
SIZE = 31


def candidate(x):
    activated = functional.gelu(x)
    missing = SIZE - CHANNELS
    right = functional.pad(activated.permute(3, 2, 1, 0), (0, 0, 0, missing), value=0.25)
    left = functional.pad(activated, (0, 0, 0, 0, 0, missing), value=0.25)
    return torch.matmul(left, right)


def reference(x):
    image = x[0].contiguous().double()
    padded = torch.full((SIZE, SIZE, SIZE), 0.25, dtype=torch.float64, device=x.device)
    padded[:CHANNELS] = image * torch.special.ndtr(image)
    return torch.einsum("crk,kcw->wcr", padded, padded).unsqueeze(-1).to(x.dtype)


def cases(device):
    image = torch.linspace(0, 500, CHANNELS * SIZE * SIZE, device=device).cos().reshape(1, CHANNELS, SIZE, SIZE)
    yield {"id": "contiguous", "args": (image,)}
    yield {"id": "channels_last", "args": (image.to(memory_format=torch.channels_last),)}
