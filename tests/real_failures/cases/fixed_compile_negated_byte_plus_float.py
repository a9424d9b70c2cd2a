"""Once wrong: compiled code made a byte a float before negating it, so that it did not wrap around."""

import torch

SOURCE = "pytorch/pytorch#161763, pytorch/pytorch#93829"
KIND = "passed"
AXIS = "mode,dtype"
MODES = ("eager", "compile")
EXPECT = {
    "u8@eager": "passed",
    "u8@compile": "passed",
    "i8@eager": "passed",
    "i8@compile": "passed",
    "i32@eager": "passed",
    "i32@compile": "passed",
}


def candidate(count, offsets):
    return torch.neg(count) + offsets


def reference(count, offsets):
    negated = 256 - int(count) if count.dtype is torch.uint8 else -int(count)
    return torch.tensor([negated + offset for offset in offsets.tolist()], device=offsets.device)


def cases(device):
    offsets = torch.tensor([0.75, -2.5, 8.0], device=device)
    for name, dtype in (("u8", torch.uint8), ("i8", torch.int8), ("i32", torch.int32)):
        yield {"id": name, "args": (torch.tensor(12, dtype=dtype, device=device), offsets)}
