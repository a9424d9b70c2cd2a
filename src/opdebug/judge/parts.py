"""A tensor that is not a plain strided one is judged by the dense parts that define its values.

`dense_parts` gives, for two tensors of one layout, the named pairs of strided tensors to compare. Sparse tensors are
checked first: their indices come from the code under suspicion, and torch's kernels trust them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

# Up to this many elements a sparse tensor is written out dense, so that explicit zeros do not count as differences.
DENSIFY = 10_000_000

_BY_ROW = (torch.sparse_csr, torch.sparse_bsr)


class Part(NamedTuple):
    """`suffix` is how the part is read from the tensor; `exact` is set where no tolerance applies to it."""

    suffix: str
    candidate: torch.Tensor
    reference: torch.Tensor
    exact: bool = False


class IncomparableError(Exception):
    """The two tensors have no parts to compare; the text says why."""


def dense_parts(candidate: torch.Tensor, reference: torch.Tensor) -> list[Part]:
    """The pairs to compare, for equal layout and shape. Raises IncomparableError, saying why, where there are none."""
    if candidate.is_quantized:
        return _quantized(candidate, reference)
    if candidate.layout == torch.strided:
        return [Part("", candidate, reference)]
    try:
        sides = [_checked(side.detach().cpu(), name) for side, name in
                 ((candidate, "candidate"), (reference, "reference"))]
        if candidate.numel() < DENSIFY:
            return [Part("", sides[0].to_dense(), sides[1].to_dense())]
        return _sparse(sides[0], sides[1])
    except (RuntimeError, NotImplementedError) as error:
        raise IncomparableError(f"layout {candidate.layout} cannot be read here: {_first_line(error)}") from None


def _checked(tensor: torch.Tensor, side: str) -> torch.Tensor:
    try:
        if tensor.layout == torch.sparse_coo:
            return torch.sparse_coo_tensor(tensor._indices(), tensor._values(), tensor.shape, check_invariants=True,
                                           is_coalesced=tensor.is_coalesced())
        if tensor.layout in (torch.sparse_csr, torch.sparse_bsr, torch.sparse_csc, torch.sparse_bsc):
            outer, inner = _compressed_indices(tensor)
            return torch.sparse_compressed_tensor(outer, inner, tensor.values(), tensor.shape, layout=tensor.layout,
                                                  check_invariants=True)
    except RuntimeError as error:
        raise IncomparableError(f"the {side} is no valid {tensor.layout} tensor: {_first_line(error)}") from None
    return tensor


def _compressed_indices(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if tensor.layout in _BY_ROW:
        return tensor.crow_indices(), tensor.col_indices()
    return tensor.ccol_indices(), tensor.row_indices()


def _sparse(candidate: torch.Tensor, reference: torch.Tensor) -> list[Part]:
    if candidate.layout == torch.sparse_coo:
        c, r = candidate.coalesce(), reference.coalesce()
        return [Part(".indices()", c.indices(), r.indices(), True), Part(".values()", c.values(), r.values())]
    names = (".crow_indices()", ".col_indices()") if candidate.layout in _BY_ROW else (
        ".ccol_indices()", ".row_indices()")
    indices = zip(names, _compressed_indices(candidate), _compressed_indices(reference))
    return [*(Part(name, c, r, True) for name, c, r in indices),
            Part(".values()", candidate.values(), reference.values())]


def _quantized(candidate: torch.Tensor, reference: torch.Tensor) -> list[Part]:
    """Stored integers, then what turns them into numbers; all exact."""
    schemes = candidate.qscheme(), reference.qscheme()
    if schemes[0] != schemes[1]:
        raise IncomparableError(f"the candidate is quantized {schemes[0]}, the reference {schemes[1]}")
    parts = [Part(".int_repr()", candidate.int_repr(), reference.int_repr(), True)]
    if candidate.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        scales = [torch.tensor(t.q_scale(), dtype=torch.float64, device="cpu") for t in (candidate, reference)]
        zeros = [torch.tensor(t.q_zero_point(), dtype=torch.int64, device="cpu") for t in (candidate, reference)]
        return [*parts, Part(".q_scale()", scales[0], scales[1], True),
                Part(".q_zero_point()", zeros[0], zeros[1], True)]
    if candidate.q_per_channel_axis() != reference.q_per_channel_axis():
        raise IncomparableError(f"the candidate is quantized along dimension {candidate.q_per_channel_axis()}, "
                                f"the reference along {reference.q_per_channel_axis()}")
    return [
        *parts,
        Part(".q_per_channel_scales()", candidate.q_per_channel_scales(), reference.q_per_channel_scales(), True),
        Part(".q_per_channel_zero_points()", candidate.q_per_channel_zero_points(),
             reference.q_per_channel_zero_points(), True),
    ]


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
