"""Addition is not implemented for unsigned integers of more than one byte."""

import torch

SOURCE = "pytorch/pytorch#176298, pytorch/pytorch#58734"
KIND = "unsupported"
AXIS = "dtype"
MODES = ("eager",)
EXPECT = {"u8": "passed", "i16": "passed", "u16": "unsupported", "u32": "unsupported", "u64": "unsupported"}

DTYPES = {"u8": torch.uint8, "i16": torch.int16, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64}


def candidate(a, b):
    return torch.add(a, b)


def reference(a, b):
    sums = map(sum, zip(a.tolist(), b.tolist()))
    return torch.tensor(list(sums), dtype=a.dtype, device=a.device)


def cases(device):
    for name, dtype in DTYPES.items():
        left = torch.tensor([5, 0, 17], dtype=dtype, device=device)
        right = torch.tensor([8, 0, 100], dtype=dtype, device=device)
        yield {"id": name, "args": (left, right)}
