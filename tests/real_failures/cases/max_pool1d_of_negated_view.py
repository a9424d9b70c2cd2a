"""max_pool1d reads the memory of a tensor whose negation is still pending, and so takes the wrong sign's maximum."""

import torch
from torch.nn import functional

SOURCE = "found by a sweep over operators"
KIND = "numerical_mismatch"
AXIS = "layout"
MODES = ("eager",)
# The pending sign is all there is to it: a copy of the values cannot show it. Only a dense view keeps it up to the
# kernel, which x.conj().imag is not.
EXPECT = {"plain": "passed", "neg_view_resolved": "passed", "neg_view": "numerical_mismatch"}


def candidate(signal):
    return functional.max_pool1d(signal, kernel_size=2)


def reference(signal):
    windows = signal.resolve_neg().unfold(-1, 2, 2)
    return torch.maximum(windows[..., 0], windows[..., 1])


def cases(device):
    signal = torch.tensor([[[0.5, 2.0, -1.0, 3.0, 4.0, -6.0]]], device=device)
    negated = torch._neg_view(signal.neg())
    yield {"id": "plain", "args": (signal,)}
    yield {"id": "neg_view_resolved", "args": (negated.resolve_neg(),)}
    yield {"id": "neg_view", "args": (negated,)}
