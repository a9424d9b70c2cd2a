"""A matrix product of booleans is not implemented on the CPU."""

import torch

SOURCE = "pytorch/pytorch#191693"
KIND = "unsupported"
AXIS = "dtype"
MODES = ("eager",)
EXPECT = {"f32": "passed", "u8": "passed", "bool": "unsupported"}


def candidate(a, b):
    return torch.mm(a, b)


def reference(a, b):
    product = [[sum(x * y for x, y in zip(row, column)) for column in zip(*b.tolist())] for row in a.tolist()]
    return torch.tensor(product, device=a.device).to(a.dtype)


def cases(device):
    bits = torch.tensor([[1, 0], [1, 1]], device=device)
    for name, dtype in (("f32", torch.float32), ("u8", torch.uint8), ("bool", torch.bool)):
        yield {"id": name, "args": (bits.to(dtype), bits.T.to(dtype))}
