"""Compiled std keeps its squares in float32: large values overflow to infinity, small ones vanish."""

import torch

SOURCE = "pytorch/pytorch#197089"
KIND = "numerical_mismatch"
AXIS = "mode,values,dtype"
MODES = ("eager", "compile")
# Any absolute tolerance would accept the 0 that comes instead of about 1e-30.
TOLERANCE = {"atol": 0.0, "rtol": 1e-5}
EXPECT = {
    "scale_1@eager": "passed",
    "scale_1@compile": "passed",
    "scale_1e30@eager": "passed",
    "scale_1e30@compile": "numerical_mismatch",
    "scale_1e-30@eager": "passed",
    "scale_1e-30@compile": "numerical_mismatch",
    "scale_1e30_f64@eager": "passed",
    "scale_1e30_f64@compile": "passed",
}


def candidate(sample):
    return sample.std()


def reference(sample):
    centred = sample.double() - sample.double().sum() / sample.numel()
    return torch.sqrt(centred.dot(centred) / (sample.numel() - 1)).to(sample.dtype)


def cases(device):
    plain = torch.linspace(-1, 2, 48, device=device)
    yield {"id": "scale_1", "args": (plain,)}
    yield {"id": "scale_1e30", "args": (plain * 1e30,)}
    yield {"id": "scale_1e-30", "args": (plain * 1e-30,)}
    yield {"id": "scale_1e30_f64", "args": (plain.double() * 1e30,)}
