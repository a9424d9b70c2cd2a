"""The search for neighbours beyond the size at which every pair is compared."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from opdebug.diagnose import neighbours
from opdebug.diagnose.neighbours import Neighbours
from opdebug.diagnose.profiles import Profiles


def matrix() -> list[dict[str, Any]]:
    """All combinations of mode, dtype, shape, fill and an attribute: 2·3·6·2·2 = 144 cases, the failing one last."""
    return [{"mode": mode, "attributes": {"dim": dim},
             "inputs": [{"name": "x", "shape": [n], "dtype": dtype, "layout": "ND", "data": {"fill": fill}}]}
            for mode, dtype, n, fill, dim in itertools.product(
                ("eager", "compile"), ("float32", "float16", "int8"), (1, 2, 16, 100, 1000, 17), ("ones", "normal"),
                (0, 1))]


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "PAIRS", 5)


def test_large_matrices_still_find_every_neighbour_in_one_axis(tight: None) -> None:
    cases = matrix()
    profiles = Profiles(cases)
    last = len(cases) - 1
    search = Neighbours(profiles, [last], range(last))
    found = search.of(profiles.keys[last])
    assert not search.exhaustive
    assert search.sampled <= 5
    singles = {profiles.axes_of(mask)[0]: index for mask, index in found.contrasts if mask.bit_count() == 1}
    assert singles.keys() == {"mode", "attribute:dim", "dtype", "shape", "values"}
    assert cases[singles["shape"]]["inputs"][0]["shape"] == [16]
    for axis, index in singles.items():
        assert profiles.axes_of(profiles.difference(profiles.keys[last], profiles.keys[index])) == [axis]


def test_sampling_answers_as_comparing_everything_does_where_one_axis_suffices(
        tight: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = matrix()
    profiles = Profiles(cases)
    failing = list(range(0, len(cases), 7))
    passing = [i for i in range(len(cases)) if i % 7]
    sampled = Neighbours(profiles, failing, passing)
    monkeypatch.setattr(neighbours, "PAIRS", len(cases) ** 2)
    complete = Neighbours(profiles, failing, passing)
    assert (sampled.exhaustive, complete.exhaustive) == (False, True)
    for index in failing:
        ours, theirs = sampled.of(profiles.keys[index]), complete.of(profiles.keys[index])
        assert theirs.mask.bit_count() == 1
        assert ours.mask.bit_count() == 1
        assert {m for m, _ in theirs.contrasts} == {m for m, _ in ours.contrasts}


def test_no_contrast_contains_another() -> None:
    cases = matrix()
    profiles = Profiles(cases)
    search = Neighbours(profiles, range(5), range(100, len(cases)))
    for index in range(5):
        masks = [mask for mask, _ in search.of(profiles.keys[index]).contrasts]
        assert masks
        assert not any(a & b == a for a, b in itertools.permutations(masks, 2))
