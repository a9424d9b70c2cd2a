"""A tolerance is a policy fixed in advance: it turns one output's place and dtypes into a bound, and knows no values.

`policy(document)` reads a config's `tolerance` object. A `Policy` answers with a `Bound`, and a bound answers with the
largest |candidate - reference| allowed at each element. A bound that is the same formula everywhere is a `Linear` one;
a bound computed beforehand per element is another class with the same three members, and nothing else changes.
A new policy is one class and one line in `POLICIES`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, Protocol

import torch

from opdebug.model.errors import OpdebugError

Document = dict[str, Any]

# (atol, rtol) that torch.testing.assert_close uses where none is given (torch.testing._comparison, torch 2.13).
# Dtypes that are not listed (integers, bool, the 8-bit floats and narrower) have zero for both.
TORCH_SOURCE = "torch.testing.assert_close, per-dtype defaults (torch 2.13)"
TORCH_DEFAULTS: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-5, 1e-3),
    torch.bfloat16: (1e-5, 1.6e-2),
    torch.float32: (1e-5, 1.3e-6),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-5, 1e-3),
    torch.complex64: (1e-5, 1.3e-6),
    torch.complex128: (1e-7, 1e-7),
}


class Bound(Protocol):
    """What one output may differ by.

    `linear` is (atol, rtol) where the bound is atol + rtol·|reference|, and None for any other kind: only a linear
    bound has a passing tolerance to report.
    """

    @property
    def linear(self) -> tuple[float, float] | None: ...

    def limits(self, size: torch.Tensor, start: int) -> torch.Tensor:
        """The largest allowed |candidate - reference| for elements `start` to `start + len(size)`.

        `size` is |reference| there: flat, float64, on the CPU, in logical row-major order. The answer is a new tensor
        of its shape, which the caller may overwrite.
        """

    def to_document(self) -> Document: ...


class Policy(Protocol):
    """A named way to choose a bound. `source` says where its numbers come from, for the evidence."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    def bound(self, output: str, candidate: torch.dtype, reference: torch.dtype) -> Bound:
        """The bound for the output called `output` (`output[0]`), whose two sides have these dtypes."""

    def to_document(self) -> Document: ...


@dataclass(frozen=True)
class Linear:
    """|candidate - reference| <= atol + rtol·|reference|, both numbers finite and not negative."""

    policy: str
    atol: float
    rtol: float

    @property
    def linear(self) -> tuple[float, float] | None:
        return self.atol, self.rtol

    def limits(self, size: torch.Tensor, start: int) -> torch.Tensor:  # noqa: ARG002 - the same at every element
        return (size * self.rtol).add_(self.atol)

    def to_document(self) -> Document:
        return {"policy": self.policy, "atol": self.atol, "rtol": self.rtol}


EXACT = Linear("exact", 0.0, 0.0)


@dataclass(frozen=True)
class Allclose:
    """The same atol and rtol for every output of floating or complex dtype."""

    atol: float
    rtol: float
    name: str = "allclose"
    source: str = "the configuration"

    def bound(self, output: str, candidate: torch.dtype, reference: torch.dtype) -> Bound:  # noqa: ARG002
        return Linear(self.name, self.atol, self.rtol)

    def to_document(self) -> Document:
        return {"policy": self.name, "atol": self.atol, "rtol": self.rtol}


@dataclass(frozen=True)
class TorchDefault:
    """The atol and rtol that torch itself uses for the dtype; the looser of each where the two dtypes differ."""

    name: str = "torch-default"
    source: str = TORCH_SOURCE

    def bound(self, output: str, candidate: torch.dtype, reference: torch.dtype) -> Bound:  # noqa: ARG002
        first = TORCH_DEFAULTS.get(candidate, (0.0, 0.0))
        second = TORCH_DEFAULTS.get(reference, (0.0, 0.0))
        return Linear(self.name, max(first[0], second[0]), max(first[1], second[1]))

    def to_document(self) -> Document:
        return {"policy": self.name}


@dataclass(frozen=True)
class Exact:
    """Equal values: -0 equals 0, NaN equals NaN."""

    name: str = "exact"
    source: str = "equality"

    def bound(self, output: str, candidate: torch.dtype, reference: torch.dtype) -> Bound:  # noqa: ARG002
        return EXACT

    def to_document(self) -> Document:
        return {"policy": self.name}


def _allclose(numbers: Mapping[str, float]) -> Policy:
    if not numbers:
        return TorchDefault()
    missing = [key for key in ("atol", "rtol") if key not in numbers]
    if missing:
        raise OpdebugError(f"tolerance.{missing[0]} is missing; give both atol and rtol, or neither")
    return Allclose(numbers["atol"], numbers["rtol"])


@dataclass(frozen=True)
class _Entry:
    """`keys` are the numbers that the policy accepts beside its name; `make` builds it from those given."""

    keys: tuple[str, ...]
    make: Callable[[Mapping[str, float]], Policy]


POLICIES: dict[str, _Entry] = {
    "allclose": _Entry(("atol", "rtol"), _allclose),
    "torch-default": _Entry((), lambda _numbers: TorchDefault()),
    "exact": _Entry((), lambda _numbers: Exact()),
}


def policy(document: Mapping[str, Any]) -> Policy:
    """The policy that a `tolerance` object describes; without `policy` it is `allclose`.

    Raises OpdebugError with every problem: an unknown policy or key, a number that is negative or not finite.
    """
    name = document.get("policy", "allclose")
    entry = POLICIES.get(name) if isinstance(name, str) else None
    if entry is None:
        raise OpdebugError(f"tolerance.policy {name!r} is unknown; accepted: {', '.join(sorted(POLICIES))}")
    problems, numbers = [], {}
    for key, value in document.items():
        if key == "policy":
            continue
        if key not in entry.keys:
            accepted = ", ".join(("policy", *entry.keys))
            problems.append(f"tolerance.{key} {value!r} is not known to the policy {name}; accepted: {accepted}")
        elif not _is_tolerance(value):
            problems.append(f"tolerance.{key} {value!r} is refused; accepted: a finite number that is not negative")
        else:
            numbers[key] = float(value)
    if problems:
        raise OpdebugError(problems)
    return entry.make(numbers)


def _is_tolerance(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(float(value)) and value >= 0
    except OverflowError:
        return False
