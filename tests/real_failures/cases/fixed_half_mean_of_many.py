"""Once wrong: the mean of many float16 numbers was summed in float16, where it stalls or overflows."""

import torch

SOURCE = "pytorch/pytorch#91597"
KIND = "passed"
AXIS = "dtype,shape"
MODES = ("eager",)
EXPECT = {"f16": "passed", "bf16": "passed", "f32": "passed"}


def candidate(sample):
    return torch.mean(sample)


def reference(sample):
    return sample.double().sum().div(sample.numel()).to(sample.dtype)


def cases(device):
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)):
        yield {"id": name, "args": (torch.full((300, 400), 1.5, dtype=dtype, device=device),)}
