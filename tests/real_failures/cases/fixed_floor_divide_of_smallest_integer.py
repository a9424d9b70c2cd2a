"""Once wrong: floor division of the smallest integer by -1 trapped."""

import torch

SOURCE = "pytorch/pytorch#127804, pytorch/pytorch#190042"
KIND = "passed"
AXIS = "values,dtype"
MODES = ("eager",)
EXPECT = {"i32": "passed", "i64": "passed"}


def candidate(a, b):
    return torch.floor_divide(a, b)


def reference(a, b):
    info = torch.iinfo(a.dtype)
    wrapped = [(x // y - info.min) % (1 << info.bits) + info.min for x, y in zip(a.tolist(), b.tolist())]
    return torch.tensor(wrapped, dtype=a.dtype, device=a.device)


def cases(device):
    for name, dtype in (("i32", torch.int32), ("i64", torch.int64)):
        dividends = torch.tensor([torch.iinfo(dtype).min, -9], dtype=dtype, device=device)
        yield {"id": name, "args": (dividends, torch.tensor([-1, 4], dtype=dtype, device=device))}
