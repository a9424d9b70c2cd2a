"""From one case to a matrix: the base, then one axis at a time away from it, never a product.

`vary` does that; `split_axes` cuts the text of a command line, such as `dtype,shape,strides=transposed,sliced`, into
the axes that `vary` takes. Every generated case is explicit, carries in `changes` the one axis in which it differs from
the base, and has an id that says so: `dtype=bfloat16`, `shape=2x4097`, `strides:x=transposed`, `attribute:dim=0`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from opdebug.model.errors import OpdebugError
from opdebug.model.fills import GIVEN
from opdebug.model.specs import Case
from opdebug.plan.axes import AXES, attribute_variants
from opdebug.plan.checks import ID_LIMIT
from opdebug.plan.splitting import split
from opdebug.plan.variants import Variant

SYNTAX = "dtype, shape, strides, mode, values, attribute:NAME=V1,V2, each also as AXIS=V1,V2"

_ATTRIBUTE = "attribute:"
_AXIS_START = re.compile(rf"(?:{'|'.join(AXES)})(?:=|$)|{_ATTRIBUTE}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.,:=+-]+")


def split_axes(text: str) -> list[str]:
    """Cut at the commas behind which a new axis begins; the commas between values stay.

    >>> split_axes("dtype=float16,bfloat16,shape,attribute:dim=0,1")
    ['dtype=float16,bfloat16', 'shape', 'attribute:dim=0,1']
    """
    axes: list[str] = []
    for piece in split(text, ","):
        if axes and not _AXIS_START.match(piece) and "=" in axes[-1]:
            axes[-1] += f",{piece}"
        else:
            axes.append(piece)
    return axes


def vary(base: Case, axes: Iterable[str], *, modes: Iterable[str] | None = None) -> list[Case]:
    """`base` and every case that differs from it along one of `axes` (see `SYNTAX`).

    `modes` are the values of the mode axis where it is named without values. A case that would equal one before it is
    left out. Raises OpdebugError with the problems of all axes.
    """
    cases = [base]
    found: list[str] = []
    given = any(spec.data.fill == GIVEN for spec in base.inputs)
    seen = {_content(base)}
    taken = {base.id.casefold()}
    for axis in axes:
        try:
            if given and axis.partition("=")[0].strip() != "mode":
                raise OpdebugError(f"axis {axis!r}: the inputs of {base.id!r} were made by user code, so that only its "
                                   "mode can vary here; accepted: mode")
            for variant in _variants(base, axis, modes):
                content = _content(variant.case)
                if content in seen:
                    continue
                seen.add(content)
                cases.append(replace(variant.case, id=_new_id(base.id, variant.label, taken), changes=variant.changes))
        except OpdebugError as error:
            found += error.problems
    if found:
        raise OpdebugError(found)
    return cases


def _variants(base: Case, axis: str, modes: Iterable[str] | None) -> Iterator[Variant]:
    name, equals, text = (part.strip() for part in axis.partition("="))
    values = split(text, ",") if equals else None
    if values is not None and not all(values):
        raise OpdebugError(f"axis {name!r} is followed by '=' and an empty value; accepted: {SYNTAX}")
    if name.startswith(_ATTRIBUTE):
        return attribute_variants(name[len(_ATTRIBUTE) :], base, values)
    if name not in AXES:
        raise OpdebugError(f"axis {name!r} is unknown; accepted: {SYNTAX}")
    if name == "mode" and values is None and modes is not None:
        values = list(modes)
    return AXES[name](base, values)


def _content(case: Case) -> str:
    """What a case is, apart from its id and from the word for its strides."""
    plain = tuple(replace(spec, strides=spec.actual_strides, stride_pattern=None) for spec in case.inputs)
    return repr((case.mode, case.device, dict(case.attributes), plain))


def _new_id(base_id: str, label: str, taken: set[str]) -> str:
    """An id for files and command lines: safe characters, at most `ID_LIMIT` of them, unlike those in `taken`."""
    plain = label if base_id == "base" else f"{base_id}:{label}"
    safe = _UNSAFE.sub("_", plain.replace('"', "").replace("[", "").replace("]", "")).strip("_")
    if len(safe) > ID_LIMIT or safe.casefold() in taken:
        digest = hashlib.sha256(plain.encode()).hexdigest()[:8]
        safe = f"{safe[: ID_LIMIT - 9]}.{digest}"
    taken.add(safe.casefold())
    return safe
