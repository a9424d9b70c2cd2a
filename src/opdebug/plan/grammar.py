"""The one-line form of a tensor input: `NAME=DTYPE[SHAPE]`, then options after semicolons.

    x=float16[2,4096]                                      two dimensions, standard normal values
    s=float32[]                                            no dimension: one element
    x=float16[2,4096];strides=transposed;seed=7            a stride pattern by name
    x=float16[2,4096];strides=[1,2];offset=3               strides and offset in elements
    x=float16[8];fill=uniform(low=-1,high=1)               values, see `opdebug.model.fills.FILLS`
    x=float16[8];storage=s    y=float16[4];storage=s       two inputs over one storage
    xs[0]=float32[2]    xs[1]=float32[3]                   an argument `xs` that is a list of tensors

`parse_input` reads one, `parse_fill` a fill alone, and `parse_inputs` all of a command line with every problem in one
error. Attributes, the other half of a call, are read by `opdebug.plan.attributes`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

from opdebug.model import fills
from opdebug.model.dtypes import DType, dtype
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import DataSpec, TensorSpec, extent
from opdebug.plan.splitting import split
from opdebug.plan.strides import pattern_strides

SYNTAX = "NAME=DTYPE[SHAPE] and options after semicolons, such as x=float16[2,4096];strides=transposed;fill=ones;seed=7"
OPTIONS = ("strides", "offset", "fill", "seed", "layout", "storage")
BYTES_LIMIT = 2**31
"""The largest storage of one input, in bytes: a typing mistake must not take the machine down."""

_INPUT = re.compile(r"\s*(?P<name>[^=\s]+)\s*=\s*(?P<dtype>[\w.]+)\s*\[(?P<shape>[^\]]*)\]\s*(?:;(?P<options>.*))?",
                    re.DOTALL)
_NAME = re.compile(r"(?P<base>[^\W\d]\w*)(?:\[(?P<index>0|[1-9]\d{0,5})\])?")
_CALL = re.compile(r"(?P<name>[\w-]+)\s*(?:\((?P<options>.*)\))?", re.DOTALL)
_WORD = re.compile(r"[\w.+-]{1,64}")
_INT = re.compile(r"[+-]?\d{1,30}")
_INT64 = 2**63


def parse_inputs(texts: Iterable[str]) -> tuple[TensorSpec, ...]:
    """All inputs of a call, in order.

    Raises OpdebugError with every problem of every text, names that are used twice and gaps in `xs[i]` included.
    """
    specs: list[TensorSpec] = []
    found: list[str] = []
    for text in texts:
        try:
            specs.append(parse_input(text))
        except OpdebugError as error:
            found += error.problems
    found += name_problems([spec.name for spec in specs]) if not found else []
    if found:
        raise OpdebugError(found)
    return tuple(specs)


def parse_input(text: str, *, bytes_limit: int = BYTES_LIMIT) -> TensorSpec:
    """One tensor input. Raises OpdebugError with every problem of the text."""
    match = _INPUT.fullmatch(text)
    if match is None:
        raise OpdebugError(f"input {text!r} cannot be read; accepted: {SYNTAX}")
    found: list[str] = []
    name, where = match["name"], f"input {match['name']!r}"
    if not is_input_name(name):
        found.append(f"{where}: the name must be a Python identifier or IDENTIFIER[INDEX], and no keyword")
    kind: DType | None = None
    try:
        kind = dtype(match["dtype"])
    except OpdebugError as error:
        found += [f"{where}: {problem}" for problem in error.problems]
    shape = _integers(match["shape"], f"{where}: shape", found)
    options = _options(match["options"], where, found)
    strides, offset, pattern = _place(shape, options, where, found)
    data = DataSpec()
    if kind is not None:
        try:
            data = parse_fill(options.get("fill"), kind, _integer(options.get("seed", "0"), f"{where}: seed", found))
        except OpdebugError as error:
            found += [f"{where}: {problem}" for problem in error.problems]
    for option in ("layout", "storage"):
        if option in options and not _WORD.fullmatch(options[option]):
            found.append(f"{where}: {option} {options[option]!r} must be one word of letters, digits and _ . + -")
    if kind is not None and shape is not None and strides is not None:
        found += size_problems(shape, strides, offset, kind, where, bytes_limit)
    if found or kind is None or shape is None:
        raise OpdebugError(found)
    return TensorSpec(name, shape, kind.name, options.get("layout", "ND"), strides, offset, pattern,
                      options.get("storage"), data)


def parse_fill(text: str | None, kind: DType, seed: int = 0) -> DataSpec:
    """A fill such as `ones` or `uniform(low=-1,high=1)` for a dtype, its defaults written out; None means the default.

    Raises OpdebugError for a fill or an option that is unknown or impossible for the dtype.
    """
    match = _CALL.fullmatch(fills.default_fill(kind.name) if text is None else text)
    if match is None:
        raise OpdebugError(f"fill {text!r} cannot be read; accepted: NAME or NAME(OPTION=NUMBER,…)")
    options: dict[str, Any] = {}
    for piece in split(match["options"], ",") if match["options"] else []:
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not equals or key in options:
            reason = "is given twice" if key in options else "must be OPTION=NUMBER"
            raise OpdebugError(f"fill {text!r}: {piece!r} {reason}")
        options[key] = _number(value)
    found = [] if match["name"] != fills.GIVEN else [f"fill {fills.GIVEN!r} marks values made by user code"]
    found = found or fills.problems(kind, match["name"], options)
    if found:
        raise OpdebugError(found)
    return DataSpec(match["name"], seed, {**fills.default_options(match["name"], kind), **options})


def is_input_name(name: str) -> bool:
    """Whether an input may be called this: an identifier that is no keyword, or such a one with `[index]`."""
    match = _NAME.fullmatch(name)
    return match is not None and match["base"].isidentifier() and not keyword.iskeyword(match["base"])


def name_problems(names: Iterable[str]) -> list[str]:
    """What is wrong with the names of one call's inputs taken together: repetition, and lists with gaps."""
    found: list[str] = []
    lists: dict[str, list[int]] = {}
    seen: set[str] = set()
    for name in names:
        if name in seen:
            found.append(f"input {name!r} is given twice")
            continue
        seen.add(name)
        match = _NAME.fullmatch(name)
        if match is not None and match["index"] is not None:
            lists.setdefault(match["base"], []).append(int(match["index"]))
    for base, indexes in lists.items():
        if base in seen:
            found.append(f"input {base!r} is given both as a tensor and as a list of tensors")
        if indexes != list(range(len(indexes))):
            found.append(f"list input {base!r} has the indexes {indexes}; they must be 0, 1, … in order without a gap")
    return found


def size_problems(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, kind: DType, where: str,
                  bytes_limit: int = BYTES_LIMIT) -> list[str]:
    """Whether shape, strides and offset describe a storage of a size that may be built."""
    if any(not 0 <= number < _INT64 for number in (*shape, *strides, offset)):
        return [f"{where}: sizes, strides and offset must be whole numbers from 0 to 2**63 - 1"]
    needed = max(extent(shape, strides, offset), offset) * kind.itemsize
    if needed > bytes_limit:
        return [f"{where} needs a storage of {needed:,} bytes; the limit is {bytes_limit:,}"]
    return []


def _options(text: str | None, where: str, found: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for piece in split(text, ";") if text else []:
        key, equals, value = (part.strip() for part in piece.partition("="))
        if key not in OPTIONS:
            found.append(f"{where}: option {key!r} is unknown; accepted: {', '.join(OPTIONS)}")
        elif not equals or not value:
            found.append(f"{where}: option {key!r} needs a value, as in {key}=…")
        elif key in options:
            found.append(f"{where}: option {key!r} is given twice")
        else:
            options[key] = value
    return options


def _place(shape: tuple[int, ...] | None, options: dict[str, str], where: str,
           found: list[str]) -> tuple[tuple[int, ...] | None, int, str | None]:
    """Strides, offset and pattern name; strides are None where a problem was found."""
    given_offset = _integer(options["offset"], f"{where}: offset", found) if "offset" in options else None
    text = options.get("strides", "contiguous")
    if shape is None:
        return None, 0, None
    if text.startswith("["):
        strides = _integers(text[1:-1] if text.endswith("]") else text, f"{where}: strides", found)
        if strides is not None and len(strides) != len(shape):
            found.append(f"{where}: strides {list(strides)} must have one number for each of {len(shape)} dimensions")
            strides = None
        return strides, given_offset or 0, None
    try:
        layout = pattern_strides(text, shape)
    except OpdebugError as error:
        found += [f"{where}: {problem}; or give numbers, as in strides=[4,1]" for problem in error.problems]
        return None, 0, None
    pattern = text if "strides" in options else None
    return layout.strides, layout.offset if given_offset is None else given_offset, pattern


def _integers(text: str, field: str, found: list[str]) -> tuple[int, ...] | None:
    if not text.strip():
        return ()
    before = len(found)
    numbers = tuple(_integer(piece, field, found) for piece in text.split(","))
    return numbers if len(found) == before else None


def _integer(text: str, field: str, found: list[str]) -> int:
    stripped = text.strip()
    if _INT.fullmatch(stripped) and 0 <= int(stripped) < _INT64:
        return int(stripped)
    found.append(f"{field} holds {stripped!r}; accepted are whole numbers from 0 to 2**63 - 1")
    return 0


def _number(text: str) -> Any:
    """A number or true/false; the non-finite ones stay text, as documents hold them; anything else stays text too."""
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered.lstrip("+") in fills.NON_FINITE:
        return lowered.lstrip("+")
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
