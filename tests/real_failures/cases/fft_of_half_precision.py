"""The CPU FFT turns float16 away with a RuntimeError, where other operators raise NotImplementedError."""

import cmath

import torch

SOURCE = "found by a sweep over operators"
KIND = "unsupported"
AXIS = "dtype"
MODES = ("eager",)
EXPECT = {"f32": "passed", "f64": "passed", "f16": "unsupported"}


def candidate(signal):
    return torch.fft.fft(signal)


def reference(signal):
    samples = signal.tolist()
    turn = -2j * cmath.pi / len(samples)
    bins = [sum(s * cmath.exp(turn * k * n) for n, s in enumerate(samples)) for k in range(len(samples))]
    wide = signal.dtype is torch.float64
    return torch.tensor(bins, dtype=torch.complex128 if wide else torch.complex64, device=signal.device)


def cases(device):
    signal = torch.tensor([0.5, -1.5, 3.0, 0.25, 2.0, 1.0, -4.0, 0.0], device=device)
    for name, dtype in (("f32", torch.float32), ("f64", torch.float64), ("f16", torch.float16)):
        yield {"id": name, "args": (signal.to(dtype),)}
