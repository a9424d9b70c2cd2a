"""Beside every failing case the passing one most like it, and each way in which passing cases differ from it.

`Neighbours.of(key)` gives a `Found`. All passing cases are compared while failing times passing distinct cases stay
within `PAIRS`; beyond that, those that differ in one axis are looked up (exactly, `WINDOW` per axis) and only an even
sample of the others is compared, so that the cost stays linear; `exhaustive` says which of the two happened.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from opdebug.diagnose.profiles import Input, Key, Profiles

PAIRS = 50_000
WINDOW = 8
CONTRASTS = 12


@dataclass(frozen=True)
class Found:
    """Indices into the matrix. `contrasts` are (mask of axes, passing case), none of the masks containing another."""

    nearest: int | None
    mask: int
    contrasts: tuple[tuple[int, int], ...]


class Neighbours:
    """The passing cases of a matrix, made ready to be asked for the neighbours of the failing ones."""

    def __init__(self, profiles: Profiles, failing: Sequence[int], passing: Sequence[int]) -> None:
        self._profiles = profiles
        first: dict[Key, int] = {}
        for index in passing:
            first.setdefault(profiles.keys[index], index)
        self._passing = list(first.values())
        asked = {profiles.keys[index] for index in failing}
        self.exhaustive = len(asked) * len(self._passing) <= PAIRS
        self._answers: dict[Key, Found] = {}
        self._buckets: dict[Hashable, list[int]] = defaultdict(list)
        self._values: list[int] = []
        self._open_plain: list[list[int]] = []
        self._compared = self._passing
        if not self.exhaustive:
            step = -(-len(self._passing) // max(1, PAIRS // len(asked)))
            self._compared = self._passing[::step]
            self._index(asked)

    @property
    def sampled(self) -> int:
        """How many distinct passing cases every failing one is compared with in full."""
        return len(self._compared)

    def of(self, key: Key) -> Found:
        """The neighbours of a failing case; ties go to the closer size, then to the order of the matrix."""
        if key not in self._answers:
            self._answers[key] = self._search(key)
        return self._answers[key]

    def _search(self, key: Key) -> Found:
        profiles, size = self._profiles, self._profiles.size(key)
        best: dict[int, tuple[float, int]] = {}
        for index in self._candidates(key):
            other = profiles.keys[index]
            mask = profiles.difference(key, other)
            rank = (abs(profiles.size(other) - size), index)
            if mask not in best or rank < best[mask]:
                best[mask] = rank
        if not best:
            return Found(None, 0, ())
        order = sorted(best, key=lambda mask: (mask.bit_count(), best[mask]))
        minimal: list[int] = []
        for mask in order:
            if mask and len(minimal) < CONTRASTS and not any(kept & mask == kept for kept in minimal):
                minimal.append(mask)
        return Found(best[order[0]][1], order[0], tuple((mask, best[mask][1]) for mask in minimal))

    def _candidates(self, key: Key) -> Iterator[int]:
        yield from self._compared
        if self.exhaustive:
            return
        size = self._profiles.size(key)
        for name in self._names(key):
            bucket = self._buckets.get(name, ())
            middle = bisect_left(bucket, size, key=self._size)
            yield from bucket[max(0, middle - WINDOW // 2):middle + WINDOW // 2]

    def _index(self, asked: set[Key]) -> None:
        """Put every passing case that some failing one may ask for under its names with one axis left open."""
        profiles = self._profiles
        self._values = _generated_values(profiles.inputs)
        for position in range(len(profiles.plain_axes)):
            seen: dict[Hashable, int] = {}
            self._open_plain.append([seen.setdefault(said[:position] + said[position + 1:], len(seen))
                                     for said in profiles.plain])
        needed = {name for key in asked for name in self._names(key)}
        for index in self._passing:
            for name in self._names(profiles.keys[index]):
                if name in needed:
                    self._buckets[name].append(index)
        for bucket in self._buckets.values():
            bucket.sort(key=self._size)

    def _size(self, index: int) -> float:
        return self._profiles.size(self._profiles.keys[index])

    def _names(self, key: Key) -> Iterator[Hashable]:
        """A name per axis under which this case is one with all that differ from it in that axis alone.

        Exact strides and given values may follow from the open axis, so a name of an input's axis is silent on them.
        """
        for position, others in enumerate(self._open_plain):
            yield position, others[key.plain], key.inputs
        dtype, layout, strides, shape, _ = self._profiles.columns[key.inputs]
        plain, values = key.plain, self._values[key.inputs]
        yield "dtype", plain, layout, strides, shape, values
        yield "layout", plain, dtype, strides, shape, values
        yield "strides", plain, dtype, layout, shape, values
        yield "shape", plain, dtype, layout, strides, values
        yield "values", plain, dtype, layout, strides, shape


def _generated_values(inputs: Sequence[tuple[tuple[str, Input], ...]]) -> list[int]:
    """A number for the values that each call generates; given ones do not count."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(tuple([None if i.given else i.values for _, i in said]), len(seen)) for said in inputs]
