"""What a case must satisfy to be *run*, beyond what a document must satisfy to be kept.

A matrix made for another tool may name dtypes and layouts freely; a case that is built here may not. `check_case`
lists every problem of one case, `check_unique` those of a matrix; an empty list means fit to run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opdebug.model import fills
from opdebug.model.dtypes import DTYPES, DType
from opdebug.model.dtypes import dtype as dtype_called
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case, TensorSpec
from opdebug.model.strides import layout_agrees
from opdebug.model.words import MODES
from opdebug.plan.grammar import is_input_name, name_problems, size_problems
from opdebug.plan.strides import PATTERNS

ID_LIMIT = 128
BYTES_LIMIT = 2**36
"""The largest storage of one input in a matrix, in bytes; a hand-written case may be far larger than a typed one."""


def check_case(case: Case, path: str) -> list[str]:
    """Every problem of `case`; `path` is where it stands in its document, such as `cases[3]`."""
    found = id_problems(case.id, f"{path}.id")
    if case.mode not in MODES:
        found.append(f"{path}.mode is {case.mode!r}; it must be one of: {', '.join(MODES)}")
    # A tensor that user code made is taken from there, whatever its kind; its document only describes it.
    made = [(position, spec) for position, spec in enumerate(case.inputs) if spec.data.fill != fills.GIVEN]
    for position, spec in made:
        found += _check_input(spec, f"{path}.inputs[{position}]")
    names = [spec.name for _, spec in made if isinstance(spec.name, str)]
    found += [f"{path}.inputs: {problem}" for problem in name_problems(names)]
    for name in sorted({name.partition("[")[0] for name in names} & set(case.attributes)):
        found.append(f"{path}.attributes: {name!r} is the name of an input too")
    return found + _check_storages(case, path)


def check_unique(cases: Iterable[Case]) -> list[str]:
    """Ids that appear more than once, also when they differ in upper and lower case only."""
    found: list[str] = []
    seen: dict[str, str] = {}
    for case in cases:
        folded = case.id.casefold()
        if seen.get(folded) == case.id:
            found.append(f"case id is duplicated: {case.id}")
        elif folded in seen:
            found.append(f"case ids {seen[folded]!r} and {case.id!r} differ in upper and lower case only")
        seen.setdefault(folded, case.id)
    return found


def id_problems(text: Any, field: str) -> list[str]:
    """What keeps `text` from being a case id: it names files too."""
    if not isinstance(text, str) or not text.strip():
        return [f"{field} must be a non-empty string"]
    shown = text if len(text) <= 80 else text[:79] + "…"
    found = []
    if len(text) > ID_LIMIT:
        found.append(f"{field} has {len(text)} characters; at most {ID_LIMIT} are accepted: {shown!r}")
    if any(not character.isprintable() for character in text):
        found.append(f"{field} is {shown!r}; control characters are not accepted")
    if "/" in text or "\\" in text or text in (".", ".."):
        found.append(f"{field} is {shown!r}; path separators, '.' and '..' are not accepted")
    return found


def _check_input(spec: TensorSpec, path: str) -> list[str]:
    found = []
    if not isinstance(spec.name, str) or not is_input_name(spec.name):
        found.append(f"{path}.name is {spec.name!r}; it must be a Python identifier or IDENTIFIER[INDEX], no keyword")
    kind = DTYPES.get(spec.dtype) or _misspelt(spec.dtype, path, found)
    if not (_are_sizes(spec.shape) and _are_sizes(spec.actual_strides) and _are_sizes((spec.storage_offset,))):
        return [*found, f"{path}: shape, strides and storage_offset must be whole numbers of at least 0"]
    if len(spec.actual_strides) != len(spec.shape):
        return [*found, f"{path}.strides {list(spec.actual_strides)} must have one number for each dimension of the "
                f"shape {list(spec.shape)}"]
    if spec.stride_pattern is not None and spec.stride_pattern not in PATTERNS:
        found.append(f"{path}.stride_pattern is {spec.stride_pattern!r}; accepted: {', '.join(PATTERNS)}")
    if not layout_agrees(spec.layout, spec.shape, spec.actual_strides):
        found.append(f"{path}.layout {spec.layout} does not agree with shape {list(spec.shape)} and strides "
                     f"{list(spec.actual_strides)}; ND agrees with any, NHWC and NDHWC with those of channels_last")
    if kind is not None:
        found += size_problems(spec.shape, spec.actual_strides, spec.storage_offset, kind, path, BYTES_LIMIT)
        found += [f"{path}.data: {problem}" for problem in _data_problems(spec, kind)]
    return found


def _misspelt(name: Any, path: str, found: list[str]) -> DType | None:
    try:
        known = dtype_called(str(name)).name
        found.append(f"{path}.dtype is {name!r}; write {known!r}")
    except OpdebugError as error:
        found += [f"{path}: {problem}" for problem in error.problems]
    return None


def _data_problems(spec: TensorSpec, kind: DType) -> list[str]:
    found = fills.problems(kind, spec.data.fill, spec.data.options)
    if isinstance(spec.data.seed, bool) or not isinstance(spec.data.seed, int) or not 0 <= spec.data.seed < 2**63:
        found.append(f"seed is {spec.data.seed!r}; accepted are whole numbers from 0 to 2**63 - 1")
    return found


def _check_storages(case: Case, path: str) -> list[str]:
    dtypes: dict[str, str] = {}
    found = []
    for position, spec in enumerate(case.inputs):
        if spec.storage is None:
            continue
        first = dtypes.setdefault(spec.storage, spec.dtype)
        if first != spec.dtype:
            found.append(f"{path}.inputs[{position}].dtype is {spec.dtype!r}, but storage {spec.storage!r} is shared "
                         f"with an input of dtype {first!r}; inputs over one storage must have one dtype")
    return found


def _are_sizes(numbers: tuple[Any, ...]) -> bool:
    return all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers)
