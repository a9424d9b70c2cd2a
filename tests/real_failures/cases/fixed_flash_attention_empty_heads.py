"""Once wrong: the CPU flash attention kernel divided by the head dimension, which may be 0."""

import torch

SOURCE = "pytorch/pytorch#141219, pytorch/pytorch#141218"
KIND = "passed"
AXIS = "shape"
MODES = ("eager",)
EXPECT = {"d4": "passed", "d0": "passed"}


def candidate(q, k, v):
    output, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
    return output


def reference(q, k, v):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / max(q.shape[-1], 1) ** 0.5
    return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(dim=-1), v)


def cases(device):
    for name, width in (("d4", 4), ("d0", 0)):
        shape = (2, 1, 5, width)
        ramp = torch.linspace(0, 9, 10 * width, device=device).reshape(shape)
        yield {"id": name, "args": (ramp.sin(), ramp.cos(), ramp - 4.5)}
