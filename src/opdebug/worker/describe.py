"""What a tensor holds, in words and digests: the input document of a tensor that user code made.

`digest` identifies the elements whatever their memory order, `summary` shows their range to a person, `describe` is the
whole document.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from typing import Any

import torch

from opdebug.model.fills import GIVEN
from opdebug.model.strides import is_channels_last, is_contiguous, name_of
from opdebug.worker.fill import PACKED, bits

_SHOWN_DIGITS = 4
_SIGN_BIT = -(2**63)


def digest(tensor: torch.Tensor) -> str:
    """sha256, in hex, over the bytes of the elements in logical row-major order, conjugation and negation carried out.

    Equal tensors of one dtype have one digest under any strides, offset or device. Sparse, quantized and nested tensors
    are identified by the digests of their components. Raises ValueError for a tensor on the meta device.
    """
    if tensor.device.type == "meta":
        raise ValueError("a tensor on the meta device holds no values to identify")
    parts = _components(tensor)
    if parts is not None:
        return hashlib.sha256("".join(digest(part) for part in parts).encode()).hexdigest()
    if tensor.device.type == "cpu" and tensor.is_contiguous() and not (tensor.is_conj() or tensor.is_neg()):
        plain = tensor
    else:
        plain = bits(tensor.detach().resolve_conj().resolve_neg()).cpu().contiguous()
    size = plain.numel() * plain.element_size()
    if size == 0:
        return hashlib.sha256().hexdigest()
    return hashlib.sha256((ctypes.c_char * size).from_address(plain.data_ptr())).hexdigest()


def summary(tensor: torch.Tensor) -> str:
    """The range of the values, such as `-3.1..2.9`, and which special ones are among them: `+nan`, `+inf`, `-inf`.

    Integers are exact; complex numbers show the range of their parts; a tensor without elements is `empty`.
    """
    parts = _components(tensor)
    if parts is not None:
        return f"values {summary(parts[-1])}" if parts else "empty"
    if tensor.numel() == 0:
        return "empty"
    if str(tensor.dtype) == f"torch.{PACKED}":
        return "packed"
    plain = tensor.detach().resolve_conj().resolve_neg().cpu()
    if plain.dtype == torch.bool:
        return _range(str(bool(plain.all())).lower(), str(bool(plain.any())).lower())
    if not plain.dtype.is_floating_point and not plain.dtype.is_complex:
        return _range(*_whole_ends(plain))
    return _float_summary(plain)


def describe(tensor: torch.Tensor, name: str) -> dict[str, Any]:
    """The input document of `tensor`, its values identified by digest and summary.

    `layout` is ND; NHWC or NDHWC for a dense channels-last tensor that is not contiguous as well; the name of the
    storage scheme for others (sparse_coo, …); `,neg` and `,conj` are appended where that bit is set.
    """
    shape = tuple(int(size) for size in (tensor.shape if not tensor.is_nested else (tensor.size(0),)))
    layout, offset = str(tensor.layout).replace("torch.", ""), 0
    strides: tuple[int, ...] | None = None
    if layout == "strided" and not tensor.is_nested:
        strides, offset = tensor.stride(), int(tensor.storage_offset())
        last = is_channels_last(shape, strides) and not is_contiguous(shape, strides)
        layout = {4: "NHWC", 5: "NDHWC"}[len(shape)] if last else "ND"
    elif tensor.is_nested:
        layout = "nested"
    layout += (",neg" if strides is not None and tensor.is_neg() else "") + (",conj" if tensor.is_conj() else "")
    document: dict[str, Any] = {
        "name": name,
        "shape": list(shape),
        "strides": None if strides is None else list(strides),
        "storage_offset": offset,
        "dtype": str(tensor.dtype).replace("torch.", ""),
        "layout": layout,
        "data": {"fill": GIVEN, "sha256": digest(tensor), "summary": summary(tensor)},
    }
    if strides is not None:
        document["stride_pattern"] = name_of(shape, strides, offset)
    return document


def _components(tensor: torch.Tensor) -> list[torch.Tensor] | None:
    """The plain tensors that an unusual one is made of, its values last; None for a plain one."""
    if tensor.is_nested:
        return list(tensor.unbind())
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    if tensor.layout != torch.strided:
        return [tensor.to_dense()]
    if tensor.is_quantized:
        return [*_quantization(tensor), tensor.int_repr()]
    return None


def _quantization(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return [torch.tensor([tensor.q_scale(), tensor.q_zero_point()], dtype=torch.float64)]
    return [tensor.q_per_channel_scales(), tensor.q_per_channel_zero_points()]


def _whole_ends(tensor: torch.Tensor) -> tuple[str, str]:
    """Least and greatest integer. torch finds no minimum of the wider unsigned types, so they are compared as int64."""
    if tensor.dtype == torch.uint64:
        # Flipping the top bit maps the order of uint64 onto that of int64.
        low, high = (tensor.view(torch.int64) ^ _SIGN_BIT).aminmax()
        return str(int(low) + 2**63), str(int(high) + 2**63)
    low, high = tensor.long().aminmax()
    return str(int(low)), str(int(high))


def _float_summary(tensor: torch.Tensor) -> str:
    parts = torch.view_as_real(tensor) if tensor.dtype.is_complex else tensor
    wide = parts if parts.dtype in (torch.float32, torch.float64) else parts.float()
    low, high = (float(end) for end in wide.aminmax())
    if math.isfinite(low) and math.isfinite(high):
        return _range(_shown(low), _shown(high))
    finite = wide[torch.isfinite(wide)]
    words = [_range(*(_shown(float(end)) for end in finite.aminmax()))] if finite.numel() else []
    words += ["+nan"] if bool(torch.isnan(wide).any()) else []
    words += ["+inf"] if bool(torch.isposinf(wide).any()) else []
    words += ["-inf"] if bool(torch.isneginf(wide).any()) else []
    return " ".join(words)


def _range(low: str, high: str) -> str:
    return f"{low}..{high}"


def _shown(value: float) -> str:
    return f"{value:.{_SHOWN_DIGITS}g}"
