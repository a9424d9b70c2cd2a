"""The part of a result that is known before the candidate runs, so that a crash leaves as full a record as a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opdebug.model import address as addresses
from opdebug.model.words import CRASH, SCHEMA_VERSION


def is_lifted(request: Mapping[str, Any]) -> bool:
    """Whether the reference of a load request gets its floating inputs in float64."""
    return request["reference"] is None or request["reference_dtype"] == "float64"


def reference_device(request: Mapping[str, Any]) -> str:
    """Where the reference of a load request runs: as asked, on the CPU for a candidate's own, else beside the candidate."""
    return str(request["reference_device"] or ("cpu" if request["reference"] is None else request["device"]))


def base_result(case: Mapping[str, Any], request: Mapping[str, Any], digests: Sequence[str]) -> dict[str, Any]:
    """The result document of `case` with everything but its outcome; `digests` are those of its inputs in order."""
    how = "candidate"
    if request["reference"] is not None:
        kind = addresses.parse(request["reference"], "reference").kind
        how = "expression" if kind == addresses.EXPRESSION else "callable"
    return {
        "schema_version": SCHEMA_VERSION, "case_id": case["id"], "status": CRASH, "comparisons": [], "timing_us": None,
        "source": "opdebug run", "failure": None, "checks": [],
        "executed": {"device": request["device"], "mode": case["mode"], "proof": None},
        "inputs": [{"name": spec["name"], "sha256": sha256} for spec, sha256 in zip(case["inputs"], digests)],
        "reference": {"how": how, "device": reference_device(request), "lifted": is_lifted(request)},
        "environment_ref": "environment.json",
    }
