"""A wrong answer that depends on strides: the median along a dimension that was made by expand().

Repeated by expand(), an element is the median of its own copies. torch steps through memory as if the copies were
there, and returns the median of whatever it finds. The same values made contiguous come out right.
"""

import torch


def candidate(x):
    return torch.median(x, 0).values


def reference(x):
    return x.contiguous().sort(0).values[(x.shape[0] - 1) // 2]


def cases(device):
    scores = torch.tensor([[1.0, 4.0, 9.0], [2.0, 6.0, 5.0], [3.0, 8.0, 7.0]], device=device)
    repeated = scores[:1].expand(3, 3)
    yield {"id": "contiguous", "args": (scores,)}
    yield {"id": "transposed", "args": (scores.t(),)}
    yield {"id": "expanded", "args": (repeated,)}
    yield {"id": "expanded-made-contiguous", "args": (repeated.contiguous(),)}
