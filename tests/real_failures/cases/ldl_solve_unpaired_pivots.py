"""ldl_solve accepts a negative pivot without its partner and then swaps rows that lie in front of its buffer."""

import torch

SOURCE = "pytorch/pytorch#91590"
KIND = "crash"
AXIS = "values"
MODES = ("eager",)
EXPECT = {"identity": "passed", "from_factor": "passed", "bad_pivot_f32": "crash", "bad_pivot_f64": "crash"}


def candidate(factor, pivots, rhs):
    solution = torch.linalg.ldl_solve(factor, pivots, rhs)
    # The damaged buffer is freed before this returns, so that the allocator complains within the call.
    copied = solution.clone()
    del solution
    return copied


def reference(factor, pivots, rhs):
    blocks = pivots[pivots < 0]
    if blocks.numel() % 2 or not torch.equal(blocks[::2], blocks[1::2]):
        raise ValueError("a 2x2 block shows as two equal negative pivots")
    below = factor.double().tril(-1)
    below.diagonal().fill_(1.0)
    matrix = below * factor.double().diagonal() @ below.mT
    return torch.linalg.inv(matrix).matmul(rhs.double()).to(rhs.dtype)


def cases(device):
    eye = torch.eye(3, device=device)
    column = torch.tensor([[1.0], [2.0], [-1.0]], device=device)
    factor = torch.tensor([[2.0, 0.0, 0.0], [0.5, 3.0, 0.0], [-0.25, 0.125, 4.0]], device=device)
    in_order = torch.tensor([1, 2, 3], dtype=torch.int32, device=device)
    unpaired = torch.tensor([-3, 1, 1], dtype=torch.int32, device=device)
    yield {"id": "identity", "args": (eye, in_order, column)}
    yield {"id": "from_factor", "args": (factor, in_order, column)}
    yield {"id": "bad_pivot_f32", "args": (eye, unpaired, column)}
    yield {"id": "bad_pivot_f64", "args": (eye.double(), unpaired, column.double())}
