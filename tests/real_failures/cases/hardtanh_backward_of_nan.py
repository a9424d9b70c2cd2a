"""Where the input is NaN, hardtanh_backward passes the gradient in its scalar loop and drops it in its vector loop."""

import math

import torch

SOURCE = "pytorch/pytorch#195075"
KIND = "numerical_mismatch"
AXIS = "values,shape,strides"
MODES = ("eager",)
NEEDS = "avx2"
# The scalar loop is taken to be right: NaN does not lie beyond either limit.
EXPECT = {
    "no_nan": "passed",
    "nan_n1": "passed",
    "nan_n64_strided": "passed",
    "nan_n64": "numerical_mismatch",
    "nan_n64_f64": "numerical_mismatch",
}

LOW, HIGH = -0.5, 2.0


def candidate(grad, x):
    return torch.ops.aten.hardtanh_backward(grad, x, LOW, HIGH)


def reference(grad, x):
    return grad.masked_fill(x.le(LOW).logical_or(x.ge(HIGH)), 0.0)


def cases(device):
    def filled(shape, value, dtype=torch.float32):
        return torch.full(shape, value, dtype=dtype, device=device)

    ramp = torch.linspace(-1.5, 3.5, 64, device=device)
    yield {"id": "no_nan", "args": (filled((64,), 0.75), ramp)}
    yield {"id": "nan_n1", "args": (filled((1,), 0.75), filled((1,), math.nan))}
    yield {"id": "nan_n64_strided", "args": (filled((64, 2), 0.75)[:, 1], filled((64, 2), math.nan)[:, 1])}
    yield {"id": "nan_n64", "args": (filled((64,), 0.75), filled((64,), math.nan))}
    double = torch.float64
    yield {"id": "nan_n64_f64", "args": (filled((64,), 0.75, double), filled((64,), math.nan, double))}
