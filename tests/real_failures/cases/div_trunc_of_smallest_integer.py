"""Truncating division of the smallest int32 or int64 by -1 traps; floor division and the narrower types are guarded."""

import torch

SOURCE = "pytorch/pytorch#138425"
KIND = "crash"
AXIS = "attribute:rounding_mode,dtype,values"
MODES = ("eager",)
NEEDS = "x86_64"
EXPECT = {
    "trunc_i32_ok": "passed",
    "true_div_i32": "passed",
    "floor_i32": "passed",
    "trunc_i16": "passed",
    "trunc_i32": "crash",
    "trunc_i64": "crash",
}


def candidate(a, b, rounding_mode=None):
    return torch.div(a, b, rounding_mode=rounding_mode)


def reference(a, b, rounding_mode=None):
    pairs = list(zip(a.tolist(), b.tolist()))
    if rounding_mode is None:
        return torch.tensor([x / y for x, y in pairs], dtype=torch.float32, device=a.device)
    info = torch.iinfo(a.dtype)
    quotients = []
    for x, y in pairs:
        towards_zero = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
        exact = towards_zero if rounding_mode == "trunc" else x // y
        quotients.append((exact - info.min) % (1 << info.bits) + info.min)
    return torch.tensor(quotients, dtype=a.dtype, device=a.device)


def cases(device):
    def operands(dtype, first):
        pair = (torch.tensor(values, dtype=dtype, device=device) for values in ([first, 11], [-1, -3]))
        return tuple(pair)

    def smallest(dtype):
        return torch.iinfo(dtype).min

    trunc = {"rounding_mode": "trunc"}
    i16, i32, i64 = torch.int16, torch.int32, torch.int64
    yield {"id": "trunc_i32_ok", "args": operands(i32, smallest(i32) + 2), "kwargs": trunc}
    yield {"id": "true_div_i32", "args": operands(i32, smallest(i32))}
    yield {"id": "floor_i32", "args": operands(i32, smallest(i32)), "kwargs": {"rounding_mode": "floor"}}
    yield {"id": "trunc_i16", "args": operands(i16, smallest(i16)), "kwargs": trunc}
    yield {"id": "trunc_i32", "args": operands(i32, smallest(i32)), "kwargs": trunc}
    yield {"id": "trunc_i64", "args": operands(i64, smallest(i64)), "kwargs": trunc}
