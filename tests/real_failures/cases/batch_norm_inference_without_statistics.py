"""Batch norm asked for inference, but given no running statistics, reads through a null pointer."""

import torch

SOURCE = "pytorch/pytorch#194014, pytorch/pytorch#141203"
KIND = "crash"
AXIS = "attribute:training,attribute:running_mean"
MODES = ("eager",)
EXPECT = {
    "train_none": "passed",
    "eval_stats": "passed",
    "eval_none": "crash",
    "eval_none_f64": "crash",
}

MOMENTUM, EPSILON = 0.2, 1e-4


def candidate(x, running_mean=None, running_var=None, training=False):
    output, _, _ = torch.native_batch_norm(x, None, None, running_mean, running_var, training, MOMENTUM, EPSILON)
    return output


def reference(x, running_mean=None, running_var=None, training=False):
    if training:
        variance, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0)
    elif running_mean is None or running_var is None:
        raise ValueError("inference normalises by running_mean and running_var; both are needed")
    else:
        mean, variance = running_mean, running_var
    return (x - mean[:, None, None]) * torch.rsqrt(variance[:, None, None] + EPSILON)


def cases(device):
    images = torch.linspace(-3, 3, 2 * 4 * 3 * 5, device=device).reshape(2, 4, 3, 5)
    mean = torch.tensor([0.0, 0.5, -0.5, 1.0], device=device)
    yield {"id": "train_none", "args": (images,), "kwargs": {"training": True}}
    yield {"id": "eval_stats", "args": (images,), "kwargs": {"running_mean": mean, "running_var": mean + 2}}
    yield {"id": "eval_none", "args": (images,)}
    yield {"id": "eval_none_f64", "args": (images.double(),)}
