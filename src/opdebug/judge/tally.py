"""What has been found out about one output so far; blocks add to it, and at the end it becomes document fields.

`Tally` holds the running totals, `Element` one position with both values. Positions are flat logical indices until
the document is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from opdebug.judge.metrics import Sums, finite, is_finite, plain, ratio

Number = Union[int, float]


@dataclass(frozen=True)
class Element:
    """One position and its two values. `weight` ranks it among others: the excess over the bound, or the distance."""

    index: int
    candidate: Any
    reference: Any
    weight: Number = 0


@dataclass
class Positions:
    """How many elements are NaN (or infinite) on each side, and at how many positions the two sides disagree on it."""

    candidate: int = 0
    reference: int = 0
    differing: int = 0

    def add(self, candidate: int, reference: int, differing: int) -> None:
        self.candidate += candidate
        self.reference += reference
        self.differing += differing

    def to_document(self) -> dict[str, int]:
        return {"candidate": self.candidate, "reference": self.reference, "differing": self.differing}


@dataclass
class Tally:
    """Totals over all blocks of one output. Distances count finite pairs only; None means that there was none.

    `worst` is the element furthest beyond the bound, `largest` the one with the largest distance, `first` the first
    that disagrees. The needed tolerances are inf where no number would do.
    """

    total: int = 0
    mismatched: int = 0
    max_abs: Number | None = None
    max_rel: float | None = None
    ulp_max: int | None = None
    sums: Sums = field(default_factory=Sums)
    nan: Positions = field(default_factory=Positions)
    inf: Positions = field(default_factory=Positions)
    worst: Element | None = None
    largest: Element | None = None
    first: Element | None = None
    atol_needed: Number = 0
    rtol_needed: float = 0.0

    def add_distances(self, max_abs: Number, max_rel: float | None, ulp_max: int | None) -> None:
        self.max_abs = max_abs if self.max_abs is None else max(self.max_abs, max_abs)
        if max_rel is not None:
            self.max_rel = max_rel if self.max_rel is None else max(self.max_rel, max_rel)
        if ulp_max is not None:
            self.ulp_max = ulp_max if self.ulp_max is None else max(self.ulp_max, ulp_max)

    def add_needed(self, atol: Number, rtol: float) -> None:
        self.atol_needed = max(self.atol_needed, atol)
        self.rtol_needed = max(self.rtol_needed, rtol)

    def add_worst(self, element: Element) -> None:
        if self.worst is None or element.weight > self.worst.weight:
            self.worst = element

    def add_largest(self, element: Element) -> None:
        if self.largest is None or element.weight > self.largest.weight:
            self.largest = element

    def add_first(self, element: Element) -> None:
        if self.first is None:
            self.first = element

    @property
    def reason(self) -> str | None:
        if self.nan.differing:
            return "nan_positions"
        if self.inf.differing:
            return "inf_positions"
        return "values" if self.mismatched else None

    @property
    def shown(self) -> Element | None:
        """The element to show as the worst: a finite one if any is at fault, else the first at fault, else the one
        with the largest distance; None where nothing differs."""
        return self.worst or self.first or self.largest

    def fields(self, shape: tuple[int, ...], linear: bool) -> dict[str, Any]:
        """The value fields of a comparison document; `linear` says whether the bound has a passing tolerance."""
        shown, first = self.shown, self.first
        compared = self.max_abs is not None
        return {
            "total": self.total,
            "mismatched": self.mismatched,
            "mismatched_share": self.mismatched / self.total if self.total else 0.0,
            "max_abs": finite(self.max_abs),
            "max_rel": finite(self.max_rel),
            "cosine": self.sums.cosine if compared else None,
            "rel_l2": finite(self.sums.rel_l2) if compared else None,
            "ulp_max": self.ulp_max,
            "nan": self.nan.to_document(),
            "inf": self.inf.to_document(),
            "worst": None if shown is None else element_document(shown, shape),
            "first": None if first is None else element_document(first, shape),
            "passing_tolerance": self._passing() if linear else None,
        }

    def _passing(self) -> dict[str, Number | None] | None:
        if self.nan.differing or self.inf.differing or not is_finite(self.atol_needed):
            return None
        return {"atol": self.atol_needed, "rtol": finite(self.rtol_needed)}


def element_document(element: Element, shape: tuple[int, ...]) -> dict[str, Any]:
    """The element with its index in `shape`, its distance and its distance relative to the reference."""
    index, rest = [], element.index
    for size in reversed(shape):
        rest, at = divmod(rest, size)
        index.append(at)
    distance, relative = _distances(element.candidate, element.reference)
    return {"index": index[::-1], "candidate": plain(element.candidate), "reference": plain(element.reference),
            "abs": distance, "rel": relative}


def _distances(candidate: Any, reference: Any) -> tuple[Number | None, float | None]:
    try:
        distance, size = abs(candidate - reference), abs(reference)
    except OverflowError:  # the magnitude of a complex number that float64 cannot hold
        return None, None
    if not is_finite(distance):
        return None, None
    return distance, ratio(distance, size)
