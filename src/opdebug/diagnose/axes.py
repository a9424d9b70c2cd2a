"""What distinguishes one case from another, read off its document: the axis values under which a case is counted.

`case_axes` gives the axes of the drop-in contract (mode, dtype, layout, shape, attribute:<name>) and, only where the
case carries our own annotations, `strides`, `values`, `aliasing` and `device`. `together` and `values_token` make
one value out of what several inputs say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

GIVEN = "given"
_DIGEST = 8
_LONGEST_TOKEN = 120


def case_axes(case: Mapping[str, Any]) -> dict[str, list[str]]:
    """Axis name to the values this case has on it; `dtype` and `layout` have one per distinct value among the inputs.

    `shape` is one text, `3x16x16,4` for two inputs, and a scalar adds nothing between its commas. A call without
    tensors has no dtype, layout and shape. Annotations of an unexpected type are passed over.
    """
    inputs = case["inputs"]
    axes: dict[str, list[str]] = {"mode": [case["mode"]]}
    if inputs:
        axes["dtype"] = list(dict.fromkeys(spec["dtype"] for spec in inputs))
        axes["layout"] = list(dict.fromkeys(spec["layout"] for spec in inputs))
        axes["shape"] = [shape_text(inputs)]
    for name, value in (case.get("attributes") or {}).items():
        axes[f"attribute:{name}"] = [attribute_text(value)]
    patterns = [(spec["name"], text(spec.get("stride_pattern"))) for spec in inputs]
    if any(pattern is not None for _, pattern in patterns):
        axes["strides"] = [together(patterns)]
    values = [(spec["name"], values_token(spec)) for spec in inputs]
    if any(token is not None for _, token in values):
        axes["values"] = [together(values)]
    for key in ("aliasing", "device"):
        annotation = text(case.get(key))
        if annotation is not None:
            axes[key] = [annotation]
    return axes


def attribute_text(value: Any) -> str:
    """The JSON text of an attribute's value, keys sorted."""
    # A float is left out of the cache: 0.0 and -0.0 are equal there, but not the same text.
    return _scalar_text(value) if isinstance(value, (str, int)) or value is None else json.dumps(value, sort_keys=True)


@lru_cache(maxsize=4096, typed=True)
def _scalar_text(value: str | int | None) -> str:
    return json.dumps(value)


def text(value: Any) -> str | None:
    """`value` if it is a text that says something, else None."""
    return value if isinstance(value, str) and value else None


def shape_text(inputs: Iterable[Mapping[str, Any]]) -> str:
    """The shapes of all inputs as one text: dimensions joined with x, inputs with a comma."""
    return ",".join("x".join(map(str, spec["shape"])) for spec in inputs)


def together(named: Sequence[tuple[str, str | None]]) -> str:
    """One value for what several inputs say: `transposed` where they all agree, else `x:transposed,y:contiguous`."""
    said = {value for _, value in named}
    if len(said) == 1:
        return str(next(iter(said)))
    return ",".join(f"{name}:{value}" for name, value in named if value is not None)


def values_token(spec: Mapping[str, Any]) -> str | None:
    """Where an input's values come from, without the seed: `normal`, `uniform(high=2,low=0)`, `0..5#1a2b3c4d`.

    None where the input has no `data`.
    """
    data = spec.get("data")
    if not isinstance(data, dict):
        return None
    fill = text(data.get("fill")) or "normal"
    if fill == GIVEN and text(data.get("sha256")) is not None:
        return f"{text(data.get('summary')) or GIVEN}#{data['sha256'][:_DIGEST]}"
    options = {k: v for k, v in data.items() if k not in ("fill", "seed")}
    if not options:
        return fill
    listed = ",".join(f"{k}={json.dumps(options[k], sort_keys=True)}" for k in sorted(options))
    if len(listed) > _LONGEST_TOKEN:
        digest = hashlib.sha256(listed.encode("utf-8", "surrogatepass")).hexdigest()
        listed = f"{listed[:_LONGEST_TOKEN]}…#{digest[:_DIGEST]}"
    return f"{fill}({listed})"
