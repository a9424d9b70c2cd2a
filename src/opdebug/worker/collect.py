"""From the user's cases function to explicit cases: each argument described, so that the matrix stands without the code.

Tensors become inputs with their exact layout and digest; everything else becomes an attribute under its parameter's
name, defaults included, so that two cases can be told apart by what they pass.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

import torch

from opdebug.worker.call import CasesFailed, GivenCases
from opdebug.worker.inputs import describe
from opdebug.worker.snapshot import aliasing
from opdebug.worker.sources import Sources
from opdebug.worker.trees import arguments_in, named_tensors

_LONGEST_ID = 128


def json_value(value: Any) -> Any:
    """`value` as JSON can hold it: torch's constants and non-finite numbers as text, unknown objects as their repr."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, (list, tuple)):
        return [json_value(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): json_value(v) for k, v in value.items()}
    if isinstance(value, torch.Tensor):
        return "<tensor>"
    return repr(value)[:200]


def _named_arguments(entry: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """Every argument by parameter name, defaults filled in; `arg<i>` where no signature tells."""
    args, kwargs = entry["args"], entry["kwargs"]
    for target in (sources.candidate, sources.reference):
        if target is None or target.resolved is None:
            continue
        try:
            bound = inspect.signature(target.resolved).bind(*args, **kwargs)
        except (TypeError, ValueError):
            continue
        bound.apply_defaults()
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = bound.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                named.update(value)
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                named.update({f"{name}{i}": item for i, item in enumerate(value)})
            else:
                named[name] = value
        return named
    return {**{f"arg{i}": value for i, value in enumerate(args)}, **kwargs}


def _tolerance(entry: Mapping[str, Any], index: int) -> dict[str, float] | None:
    given = {}
    for key in ("atol", "rtol"):
        if entry.get(key) is None:
            continue
        value = entry[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise CasesFailed(f"case {index}: {key} {value!r} must be a finite number of at least 0", index)
        given[key] = value
    return given or None


def _identifier(entry: Mapping[str, Any], index: int, seen: set[str]) -> str:
    identifier = entry.get("id", str(index))
    if not isinstance(identifier, str) or not 0 < len(identifier) <= _LONGEST_ID or not identifier.isprintable():
        raise CasesFailed(f"case {index}: id {str(identifier)[:60]!r} must be a printable string of 1 to {_LONGEST_ID} "
                          "characters", index)
    if identifier in seen:
        raise CasesFailed(f"case id is duplicated: {identifier}", index)
    seen.add(identifier)
    return identifier


def collect(given: GivenCases, sources: Sources, location: str) -> dict[str, Any]:
    """Describe every case: {"cases": [documents without a final mode], "error": None or why it stopped early}.

    `location` is the address of the cases function. A case document has `mode` only where the user's case says one.
    """
    documents: list[dict[str, Any]] = []
    seen: set[str] = set()
    error = None
    try:
        for index, entry in enumerate(given.all()):
            documents.append(_document(entry, index, seen, sources, location))
        if not documents:
            error = "cases() gave no cases"
    except CasesFailed as failure:
        error = str(failure)
    return {"cases": documents, "error": error}


def _document(entry: Mapping[str, Any], index: int, seen: set[str], sources: Sources, location: str) -> dict[str, Any]:
    named = _named_arguments(entry, sources)
    # One tensor may be passed twice, and a default may be a tensor that was not passed at all.
    passed: dict[int, list[str]] = {}
    for argument, tensor in arguments_in(entry["args"], entry["kwargs"]):
        passed.setdefault(id(tensor), []).append(argument)
    tensors = [(path, t, passed[id(t)].pop(0)) for name, value in named.items() for path, t in named_tensors(value, name)
               if passed.get(id(t))]
    holders = {name for name, value in named.items() if next(named_tensors(value, name), None) is not None}
    document: dict[str, Any] = {
        "id": _identifier(entry, index, seen),
        "inputs": [{**describe(tensor, name), "argument": argument} for name, tensor, argument in tensors],
        "attributes": {name: json_value(value) for name, value in named.items()
                       if not isinstance(value, torch.Tensor) and not (name in holders and isinstance(value, list))},
        "aliasing": aliasing(named),
        "source": {"cases": location, "index": index},
    }
    tolerance = _tolerance(entry, index)
    if tolerance is not None:
        document["tolerance"] = tolerance
    if entry.get("mode") is not None:
        document["mode"] = str(entry["mode"])
    return document
