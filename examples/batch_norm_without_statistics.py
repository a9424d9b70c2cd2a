"""A crash: batch norm asked for inference, but not given the running statistics that inference needs.

torch could refuse such a call with an error. It follows a null pointer instead and takes the whole process with it, so
each case has to run where it can do no harm.
"""

import torch


def candidate(x, running_mean=None, running_var=None, training=False):
    return torch.native_batch_norm(x, None, None, running_mean, running_var, training, 0.1, 1e-5)[0]


def reference(x, running_mean=None, running_var=None, training=False):
    """The textbook formula; without statistics it refuses, as the operator should."""
    if training:
        running_mean, running_var = x.mean(0), x.var(0, unbiased=False)
    if running_mean is None or running_var is None:
        raise ValueError("inference needs running_mean and running_var")
    return (x - running_mean) / (running_var + 1e-5).sqrt()


def cases(device):
    x = torch.randn(8, 3, device=device)
    mean, var = torch.zeros(3, device=device), torch.ones(3, device=device)
    yield {"id": "training", "args": (x,), "kwargs": {"training": True}}
    yield {"id": "inference", "args": (x, mean, var)}
    yield {"id": "inference-without-statistics", "args": (x,)}
    yield {"id": "inference-without-statistics-float64", "args": (x.double(),)}
