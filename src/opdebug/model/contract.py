"""What a config and a result must look like before anything is written: every problem at once, in document order.

`validate_config`, `validate_input_spec` and `validate_result` hold the field rules of the drop-in documents; their
wording and order are fixed because scripts match on them. `extended=True` admits what our own runs add: a tolerance
that is a named policy without numbers, and a reference that is left to the candidate's own expression.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

from opdebug.model.errors import OpdebugError
from opdebug.model.words import CRASH, MODES, SCHEMA_VERSION, STATUSES, UNSUPPORTED

METRICS = ("max_abs", "max_rel", "cosine")

_MISSING = object()


def validate_config(config: Any, *, drop_in_defaults: bool = False, extended: bool = False,
                    allow_no_inputs: bool = False) -> None:
    """Check an operator config; unknown fields are never looked at.

    `drop_in_defaults` lets `schema_version` and `run_id` be absent (whoever asks fills them in). `allow_no_inputs`
    lets `cases[i].inputs` be an empty list: a call without tensors.
    Raises OpdebugError with every problem, in the order of the document.
    """
    if not isinstance(config, dict):
        raise OpdebugError("operator config root must be an object")
    errors: list[str] = []
    if not (drop_in_defaults and "schema_version" not in config) and not _is_schema_version(config):
        errors.append(f"schema_version must be {SCHEMA_VERSION}")
    if not (drop_in_defaults and "run_id" not in config) and not _is_text(config.get("run_id")):
        errors.append("run_id must be a non-empty string")
    _check_operator(config.get("operator"), extended, errors)
    _check_tolerance(config.get("tolerance"), extended, errors)
    _check_cases(config.get("cases"), allow_no_inputs, errors)
    if errors:
        raise OpdebugError(errors)


def validate_input_spec(spec: Any, path: str, errors: list[str]) -> None:
    """Append to `errors` what is wrong with one input; `path` is how it is called, e.g. `cases[0].inputs[1]`."""
    if not isinstance(spec, dict):
        errors.append(f"{path} must be an object")
        return
    if not _is_text(spec.get("name")):
        errors.append(f"{path}.name must be a non-empty string")
    if not _is_sizes(spec.get("shape")):
        errors.append(f"{path}.shape must be an array of non-negative integers")
    for field in ("dtype", "layout"):
        if not _is_text(spec.get(field)):
            errors.append(f"{path}.{field} must be a non-empty string")
    strides = spec.get("strides")
    if strides is not None and not _is_sizes(strides):
        errors.append(f"{path}.strides must be an array of non-negative integers")


def validate_result(result: Any, planned_ids: Container[str]) -> dict[str, Any]:
    """Check one result and return its normalised row: metrics and `timing_us` as floats, a null metric kept.

    `comparisons` is always present in the row and `timing_us` is null when not given; every other field is the
    caller's own. Raises OpdebugError with every problem.
    """
    if not isinstance(result, dict):
        raise OpdebugError("operator result root must be an object")
    errors: list[str] = []
    if not _is_schema_version(result):
        errors.append(f"schema_version must be {SCHEMA_VERSION}")
    case_id = result.get("case_id")
    if not isinstance(case_id, str) or case_id not in planned_ids:
        errors.append("case_id must identify a planned case")
    status = result.get("status")
    if not isinstance(status, str) or status not in STATUSES:
        errors.append(f"status must be one of: {', '.join(STATUSES)}")
    comparisons = _checked_comparisons(result.get("comparisons", []), errors)
    if status in (CRASH, UNSUPPORTED) and not _is_text(result.get("error")):
        errors.append(f"{status} result requires error")
    timing = result.get("timing_us")
    seconds = None if timing is None else _finite(timing)
    if timing is not None and (seconds is None or seconds < 0):
        errors.append("timing_us must be a non-negative finite number")
    if "source" in result and not isinstance(result["source"], str):
        errors.append("source must be a string")
    if errors:
        raise OpdebugError(errors)
    return {**result, "comparisons": comparisons, "timing_us": seconds}


def _check_operator(operator: Any, extended: bool, errors: list[str]) -> None:
    if not isinstance(operator, dict):
        errors.append("operator must be an object")
        return
    for field in ("name", "invocation", "reference"):
        if extended and field == "reference" and operator.get(field) is None:
            continue
        if not _is_text(operator.get(field)):
            errors.append(f"operator.{field} must be a non-empty string")


def _check_tolerance(tolerance: Any, extended: bool, errors: list[str]) -> None:
    if not isinstance(tolerance, dict):
        errors.append("tolerance must be an object")
        return
    by_policy = extended and _is_text(tolerance.get("policy"))
    for field in ("atol", "rtol"):
        value = tolerance.get(field, _MISSING)
        if by_policy and (value is _MISSING or value is None):
            continue
        if not _is_tolerance(value):
            errors.append(f"tolerance.{field} must be non-negative")


def _check_cases(cases: Any, allow_no_inputs: bool, errors: list[str]) -> None:
    if not isinstance(cases, list) or not cases:
        errors.append("cases must be a non-empty array")
        return
    seen: set[str] = set()
    for index, case in enumerate(cases):
        if not isinstance(case, dict):
            errors.append(f"cases[{index}] must be an object")
            continue
        case_id = case.get("id")
        if not _is_text(case_id):
            errors.append(f"cases[{index}].id must be a non-empty string")
        elif case_id in seen:
            errors.append(f"case id is duplicated: {case_id}")
        seen.add(case_id if isinstance(case_id, str) else "")
        mode = case.get("mode")
        if not isinstance(mode, str) or mode not in MODES:
            errors.append(f"cases[{index}].mode must be one of: {', '.join(MODES)}")
        inputs = case.get("inputs")
        if not isinstance(inputs, list) or not (inputs or allow_no_inputs):
            errors.append(f"cases[{index}].inputs must be a non-empty array")
        else:
            for position, spec in enumerate(inputs):
                validate_input_spec(spec, f"cases[{index}].inputs[{position}]", errors)
        if not isinstance(case.get("attributes", {}), dict):
            errors.append(f"cases[{index}].attributes must be an object")


def _checked_comparisons(comparisons: Any, errors: list[str]) -> list[dict[str, Any]]:
    if not isinstance(comparisons, list):
        errors.append("comparisons must be an array")
        return []
    rows: list[dict[str, Any]] = []
    for index, comparison in enumerate(comparisons):
        if not isinstance(comparison, dict):
            errors.append(f"comparisons[{index}] must be an object")
            continue
        row = dict(comparison)
        if not _is_text(row.get("output")):
            errors.append(f"comparisons[{index}].output must be a non-empty string")
        for metric in METRICS:
            if row.get(metric) is None:
                continue
            row[metric] = _finite(row[metric])
            if row[metric] is None:
                errors.append(f"comparisons[{index}].{metric} must be finite")
        rows.append(row)
    return rows


def _is_schema_version(document: dict[str, Any]) -> bool:
    value = document.get("schema_version")
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == SCHEMA_VERSION


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_sizes(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    # By type, not isinstance: a bool is an int in Python and none in JSON.
    for size in value:  # noqa: SIM110 - a generator would take twice the time of the check
        if type(size) is not int or size < 0:
            return False
    return True


def _is_tolerance(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value >= 0 and (isinstance(value, int) or math.isfinite(value))


def _finite(value: Any) -> float | None:
    """`value` as a float, or None when it is no finite number (an integer beyond float64 counts as none)."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
