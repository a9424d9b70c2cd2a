"""The CPU flash attention kernel takes the elements of a head to lie side by side, whatever their stride."""

import math

import torch

SOURCE = "pytorch/pytorch#187506"
KIND = "numerical_mismatch"
AXIS = "strides"
MODES = ("eager",)
EXPECT = {
    "dense": "passed",
    "bshd_view": "passed",
    "q_inner": "numerical_mismatch",
    "k_inner": "numerical_mismatch",
    "v_inner": "numerical_mismatch",
}

BATCH, HEADS, LENGTH, WIDTH = 1, 2, 6, 16


def candidate(q, k, v):
    output, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
    return output


def reference(q, k, v):
    q64, k64, v64 = q.double(), k.double(), v.double()
    scores = torch.einsum("bhqd,bhkd->bhqk", q64, k64) / math.sqrt(WIDTH)
    return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(dim=-1), v64).to(q.dtype)


def heads_inside(tensor):
    """The same values, laid out as batch, length, heads, width: every head is still dense."""
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def every_other(tensor):
    """The same values with the head dimension at stride 2, the gaps filled with something else."""
    room = torch.full((*tensor.shape[:-1], 2 * tensor.shape[-1]), 3.0, device=tensor.device)
    room[..., ::2] = tensor
    return room[..., ::2]


def cases(device):
    count = BATCH * HEADS * LENGTH * WIDTH
    q, k, v = (torch.linspace(start, start + 40, count, device=device).cos().reshape(BATCH, HEADS, LENGTH, WIDTH)
               for start in (0.0, 1.0, 2.0))
    yield {"id": "dense", "args": (q, k, v)}
    yield {"id": "bshd_view", "args": (heads_inside(q), heads_inside(k), heads_inside(v))}
    yield {"id": "q_inner", "args": (every_other(q), k, v)}
    yield {"id": "k_inner", "args": (q, every_other(k), v)}
    yield {"id": "v_inner", "args": (q, k, every_other(v))}
