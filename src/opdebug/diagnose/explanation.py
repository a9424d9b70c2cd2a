"""Along which axes the affected cases part from the others, as plain data; the sentences are made in `report`.

`explain(...)` gives a list of entries, each with `of` (what is explained: "failed", "unsupported", "passed") and a
`kind`:

- only: every affected case has a value of `with`, and no other case has one of them
- together: no single axis parts them, but these do: no other case has such a value on every one of `axes`
- always: every affected case has the one value in `with`, and so do some others
- never: with a value of `without` no case is affected, while with others some are
- contrast: `count` affected cases have an other case that differs from them in exactly `axes`; `example` is one pair
- covered: nothing failed; these are the values that passed

`values` counts {passed, failed, unsupported} per value, the affected ones first, `VALUES` at most. `moves_with` names
axes that change whenever this one does: they cannot be told apart from it and share its entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Optional

from opdebug.diagnose.neighbours import Neighbours
from opdebug.diagnose.profiles import Key, Profiles

# In this order: an outcome is explained against those before it.
OUTCOMES = PASSED, FAILED, UNSUPPORTED = "passed", "failed", "unsupported"
VALUES = 20
CONTRASTS = 12
_SMALL = 3

Entry = dict[str, Any]
# How many cases came out as each of OUTCOMES, in that order.
_Tally = list[int]
_Counts = dict[str, dict[Optional[str], _Tally]]


def explain(profiles: Profiles, ids: Sequence[str], outcomes: Mapping[int, str], neighbours: Neighbours) -> list[Entry]:
    """Entries about the failing cases first, then about the unsupported ones; about what passed if nothing failed.

    `outcomes` maps an index into the matrix to failed, passed or unsupported; a case without a result is not in it.
    """
    keys = [profiles.keys[index] for index in outcomes]
    came_out = [OUTCOMES.index(outcome) for outcome in outcomes.values()]
    seen = set(outcomes.values())
    counts = {axis: _count(profiles.column(keys, axis), came_out) for axis in profiles.axes}
    varied = [axis for axis in profiles.axes if len(counts[axis]) > 1]
    twins = _moving_together(profiles, keys, counts, varied)
    entries: list[Entry] = []
    for of in (FAILED, UNSUPPORTED):
        if of in seen:
            entries += _separations(profiles, keys, came_out, counts, varied, twins, of)
        if of == FAILED:
            failing = [index for index, outcome in outcomes.items() if outcome == FAILED]
            entries += _contrasts(profiles, ids, failing, neighbours)
    if FAILED not in seen and PASSED in seen:
        entries += [{"axis": axis, "kind": "covered", "of": PASSED, **_table(counts[axis], PASSED)}
                    for axis in profiles.axes if _is_said(counts[axis])]
    return entries


def _count(values: Iterable[str | None], came_out: Iterable[int]) -> dict[str | None, _Tally]:
    """Value to how many cases with it came out in each way."""
    counts: dict[str | None, _Tally] = {}
    for (value, outcome), count in Counter(zip(values, came_out)).items():
        counts.setdefault(value, [0, 0, 0])[outcome] = count
    return counts


def _is_said(counts: Mapping[str | None, _Tally]) -> bool:
    return any(value is not None for value in counts)


def _moving_together(profiles: Profiles, keys: Sequence[Key], counts: _Counts,
                     varied: Sequence[str]) -> dict[str, list[str]]:
    """For each axis the others whose values stand one to one with its own over all decided cases."""
    twins: dict[str, list[str]] = {axis: [] for axis in varied}
    alike = [(a, b) for a, b in combinations(varied, 2) if len(counts[a]) == len(counts[b])]
    labels = {axis: profiles.column(keys, axis) for axis in {axis for pair in alike for axis in pair}}
    for a, b in alike:
        if len(set(zip(labels[a], labels[b]))) == len(counts[a]):
            twins[a].append(b)
            twins[b].append(a)
    return twins


def _separations(profiles: Profiles, keys: Sequence[Key], came_out: Sequence[int], counts: _Counts,
                 varied: Sequence[str], twins: Mapping[str, list[str]], of: str) -> list[Entry]:
    found: dict[str, list[Entry]] = {"only": [], "always": [], "never": []}
    hit: dict[str, set[str | None]] = {}
    at = OUTCOMES.index(of)
    for axis in varied:
        per_value = counts[axis]
        hit[axis] = {value for value, tally in per_value.items() if tally[at]}
        if any(axis in twins[earlier] for earlier in varied[:varied.index(axis)]):
            continue
        if not any(_others(tally, at) for value, tally in per_value.items() if value not in hit[axis]):
            continue
        alone = not any(_others(per_value[value], at) for value in hit[axis])
        kind = "only" if alone else "always" if len(hit[axis]) == 1 else "never"
        found[kind].append({"axis": axis, "kind": kind, "of": of, **_table(per_value, of), "moves_with": twins[axis]})
    entries = found["only"]
    against = [key for key, outcome in zip(keys, came_out) if outcome < at]
    combination = [] if entries else _combination(profiles, against, hit)
    if combination:
        entries = [{"kind": "together", "of": of,
                    "axes": {axis: _listed(counts[axis], of)[:VALUES] for axis in combination}}]
    return entries + found["always"] + found["never"]


def _others(tally: _Tally, at: int) -> int:
    """How many cases are held against the affected ones: a refusal says nothing about where it would have failed."""
    return sum(tally[:at])


def _table(per_value: Mapping[str | None, _Tally], of: str) -> Entry:
    """`with` and `without` the values where something is and is not affected, and the counts, each list bounded."""
    at = OUTCOMES.index(of)
    affected = _listed(per_value, of)
    clean = sorted((v for v, tally in per_value.items() if not tally[at] and _others(tally, at)),
                   key=lambda v: (-_others(per_value[v], at), str(v)))
    shown = [*affected, *clean][:VALUES]
    return {
        "with": affected[:VALUES], "without": clean[:VALUES],
        "values": [{"value": value, **dict(zip(OUTCOMES, per_value[value]))} for value in shown],
        "more_values": len(affected) + len(clean) - len(shown),
    }


def _listed(per_value: Mapping[str | None, _Tally], of: str) -> list[str | None]:
    at = OUTCOMES.index(of)
    return sorted((v for v in per_value if per_value[v][at]), key=lambda v: (-per_value[v][at], str(v)))


def _combination(profiles: Profiles, against: Sequence[Key], hit: Mapping[str, set[str | None]]) -> list[str]:
    """The fewest axes whose affected values, taken together, no case of `against` has; [] if not even all of them.

    A case that escapes on an axis has a value there with which nothing is affected, so the axes wanted are a smallest
    set that meets the escapes of every unaffected case: tried exactly up to `_SMALL` axes, then built greedily. Axes
    earlier in `profiles.axes` are preferred.
    """
    masks = [0] * len(against)
    for axis, values in hit.items():
        bit = profiles.bit[axis]
        masks = [mask if value in values else mask | bit for mask, value in zip(masks, profiles.column(against, axis))]
    escapes = set(masks)
    if not escapes or 0 in escapes:
        return []
    useful = [profiles.bit[axis] for axis in hit if any(profiles.bit[axis] & escape for escape in escapes)]
    for size in range(2, _SMALL + 1):
        for chosen in combinations(useful, size):
            if all(escape & sum(chosen) for escape in escapes):
                return profiles.axes_of(sum(chosen))
    greedy = 0
    while escapes:
        best = max(useful, key=lambda bit: sum(1 for escape in escapes if bit & escape))
        greedy |= best
        escapes = {escape for escape in escapes if not best & escape}
    return profiles.axes_of(greedy)


def _contrasts(profiles: Profiles, ids: Sequence[str], failing: Iterable[int], neighbours: Neighbours) -> list[Entry]:
    """What tells failing cases from passing ones, pair by pair: fewest axes first, then the most failing cases."""
    counts: Counter[int] = Counter()
    example: dict[int, tuple[int, int]] = {}
    for index in failing:
        for mask, other in neighbours.of(profiles.keys[index]).contrasts:
            counts[mask] += 1
            example.setdefault(mask, (index, other))
    order = sorted(counts, key=lambda mask: (mask.bit_count(), -counts[mask], mask))
    return [{"kind": "contrast", "of": FAILED, "axes": profiles.axes_of(mask), "count": counts[mask],
             "example": {"failing": ids[example[mask][0]], "passing": ids[example[mask][1]]}}
            for mask in order[:CONTRASTS]]
