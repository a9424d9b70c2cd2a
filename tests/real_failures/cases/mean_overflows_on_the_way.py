"""mean adds everything up before it divides, and the sum overflows float32 where the mean itself would not."""

import torch

SOURCE = "pytorch/pytorch#44350"
KIND = "numerical_mismatch"
AXIS = "dtype,values"
MODES = ("eager",)
# A float16 sum is kept in float32 and has room; a bfloat16 sum as well, but bfloat16 reaches as far as float32.
EXPECT = {
    "f32_1": "passed",
    "f16_4e4": "passed",
    "f64_3e38": "passed",
    "f32_3e38": "numerical_mismatch",
    "bf16_3e38": "numerical_mismatch",
}


def candidate(sample):
    return torch.mean(sample)


def reference(sample):
    share = sample.to(torch.float64) / sample.numel()
    return share.sum().to(sample.dtype)


def cases(device):
    for name, dtype, level in (
        ("f32_1", torch.float32, 1.0),
        ("f16_4e4", torch.float16, 4e4),
        ("f64_3e38", torch.float64, 3e38),
        ("f32_3e38", torch.float32, 3e38),
        ("bf16_3e38", torch.bfloat16, 3e38),
    ):
        yield {"id": name, "args": (torch.tensor([level] * 5, dtype=dtype, device=device),)}
