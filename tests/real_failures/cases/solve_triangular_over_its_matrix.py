"""A triangular solve that puts its result into the matrix it solves with returns nonsense."""

import torch

SOURCE = "found by a sweep over operators"
KIND = "numerical_mismatch"
AXIS = "aliasing"
MODES = ("eager",)
EXPECT = {"no_out": "passed", "out_is_rhs": "passed", "out_is_matrix": "numerical_mismatch"}


def candidate(matrix, rhs, out=None):
    if out is None:
        return torch.linalg.solve_triangular(matrix, rhs, upper=True)
    return torch.linalg.solve_triangular(matrix, rhs, upper=True, out=out)


def reference(matrix, rhs, out=None):
    solved = torch.zeros_like(rhs, dtype=torch.float64)
    for row in reversed(range(len(matrix))):
        known = matrix[row, row + 1:].double() @ solved[row + 1:]
        solved[row] = (rhs[row].double() - known) / matrix[row, row].double()
    return solved.to(rhs.dtype)


def cases(device):
    def system():
        matrix = torch.tensor([[2.0, 1.0, -1.0], [0.0, 4.0, 3.0], [0.0, 0.0, 5.0]], device=device)
        return matrix, torch.tensor([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0], [7.0, 9.0, 8.0]], device=device)

    yield {"id": "no_out", "args": system()}
    matrix, rhs = system()
    yield {"id": "out_is_rhs", "args": (matrix, rhs), "kwargs": {"out": rhs}}
    matrix, rhs = system()
    yield {"id": "out_is_matrix", "args": (matrix, rhs), "kwargs": {"out": matrix}}
