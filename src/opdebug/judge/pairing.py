"""Candidate's and reference's output trees are walked together; every pair of leaves and every misfit is named by path.

`walk` yields a `Pair` for two leaves of one family and a `Misfit` where the trees differ; `is_empty` says whether a
tree holds no leaf at all. Lists, tuples (named ones and torch.return_types are tuples) and mappings are inner nodes;
None is the absence of a leaf; all else is a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch

MAX_DEPTH = 100

TENSOR = "tensor"
NUMBER = "number"
OTHER = "other"


class Pair(NamedTuple):
    """Two leaves of one family at `path` (`output`, `output[0]`, `output['k']`)."""

    path: str
    family: str
    candidate: Any
    reference: Any


class Misfit(NamedTuple):
    """The trees differ at `path`; `message` names what is missing, extra or of another type."""

    path: str
    message: str


def walk(candidate: Any, reference: Any, path: str, depth: int = 0) -> Iterator[Pair | Misfit]:
    """Pairs and misfits in the reference's order; a misfit ends the walk below it only where nothing can be paired."""
    kind, expected = family(candidate), family(reference)
    if kind != expected:
        yield Misfit(path, f"the candidate has {_named(candidate)}, the reference {_named(reference)}")
    elif kind == "None":
        return
    elif kind not in ("list", "tuple", "mapping"):
        yield Pair(path, kind, candidate, reference)
    elif depth >= MAX_DEPTH:
        yield Misfit(path, f"nested more than {MAX_DEPTH} levels deep")
    elif kind == "mapping":
        yield from _walk_mappings(candidate, reference, path, depth)
    else:
        if len(candidate) != len(reference):
            yield Misfit(path, _lengths(len(candidate), len(reference)))
        for index, (c, r) in enumerate(zip(candidate, reference)):
            yield from walk(c, r, f"{path}[{index}]", depth + 1)


def family(value: Any) -> str:
    """Which values may be paired: tensors, numbers, lists, tuples, mappings, None, and all else."""
    if isinstance(value, torch.Tensor):
        return TENSOR
    if value is None:
        return "None"
    if isinstance(value, Mapping):
        return "mapping"
    if isinstance(value, list):
        return "list"
    if isinstance(value, tuple):
        return "tuple"
    if isinstance(value, (bool, int, float, complex)):
        return NUMBER
    return OTHER


def is_empty(tree: Any, depth: int = 0) -> bool:
    """Whether the tree holds no leaf: None, or containers of nothing but such. A tensor without elements is a leaf."""
    kind = family(tree)
    if kind in ("list", "tuple", "mapping") and depth < MAX_DEPTH:
        return all(is_empty(child, depth + 1) for child in (tree.values() if kind == "mapping" else tree))
    return kind == "None"


def _walk_mappings(candidate: Mapping[Any, Any], reference: Mapping[Any, Any], path: str, depth: int,
                   ) -> Iterator[Pair | Misfit]:
    missing = [key for key in reference if key not in candidate]
    extra = [key for key in candidate if key not in reference]
    if missing or extra:
        named = (("missing", missing), ("extra", extra))
        texts = [f"{word} {', '.join(map(repr, keys))}" for word, keys in named if keys]
        yield Misfit(path, f"the candidate's keys differ from the reference's: {'; '.join(texts)}")
    for key in reference:
        if key in candidate:
            yield from walk(candidate[key], reference[key], f"{path}[{key!r}]", depth + 1)


def _lengths(candidate: int, reference: int) -> str:
    word, low, high = ("missing", candidate, reference) if candidate < reference else ("extra", reference, candidate)
    which = f"[{low}]" if high - low == 1 else f"[{low}] to [{high - 1}]"
    return f"the candidate has length {candidate}, the reference {reference}: {word} {which}"


def _named(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
