"""The documents as JSON Schema (draft 2020-12), made of the same words and tables that the validators use.

`documents()` gives every schema by file name; `python -m opdebug.report.schemas DIR` writes them. A schema says what it
can: that ids are unique, that a size is written without a decimal point, or that a case is planned, only the validators
check. Unknown fields are allowed wherever the contract keeps them, which is everywhere but in the manifest.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from opdebug.diagnose.analysis import INTEGRATION_HINT
from opdebug.evidence import manifest as manifests
from opdebug.evidence.state import PENDING, RECORDED
from opdebug.model.contract import METRICS
from opdebug.model.words import CRASH, MODES, SCHEMA_VERSION, STATUSES, UNSUPPORTED, VERDICTS

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_ANY_OBJECT: Schema = {"type": "object"}
_SIZES: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}}
_LIMIT: Schema = {"type": "number", "minimum": 0}
_VERSION: Schema = {"const": SCHEMA_VERSION}
_IDS: Schema = {"type": "array", "items": _TEXT}


def documents() -> dict[str, Schema]:
    """Every schema, by the name of its file."""
    return {
        "config.schema.json": _titled("Operator config", config(extended=False)),
        "config-extended.schema.json": _titled("Operator config with the extensions of opdebug", config(extended=True)),
        "result.schema.json": _titled("Result of one case", result()),
        "case-matrix.schema.json": _titled("Case matrix", case_matrix()),
        "results.schema.json": _titled("Recorded results", results()),
        "analysis.schema.json": _titled("Analysis", analysis()),
        "manifest.schema.json": _titled("Run manifest", manifest()),
    }


def config(*, extended: bool) -> Schema:
    """An operator config. `extended` admits a tolerance by policy alone, no reference, and cases without tensors."""
    required = ["name", "invocation"] if extended else ["name", "invocation", "reference"]
    operator = _object({"name": _TEXT, "invocation": _TEXT, "reference": _nullable(_TEXT) if extended else _TEXT}, required)
    numbers = _object({"atol": _LIMIT, "rtol": _LIMIT}, ["atol", "rtol"])
    by_policy = _object({"policy": _TEXT, "atol": _nullable(_LIMIT), "rtol": _nullable(_LIMIT)}, ["policy"])
    return _object({
        "schema_version": _VERSION,
        "run_id": {"type": "string", "pattern": _whole(manifests._RUN_ID.pattern)},
        "operator": operator,
        "tolerance": {"anyOf": [numbers, by_policy]} if extended else numbers,
        "cases": {"type": "array", "minItems": 1, "items": _case(no_inputs=extended)},
        "workspace_snapshot": _nullable(_ANY_OBJECT), "environment": _nullable(_ANY_OBJECT), "model": _nullable(_ANY_OBJECT),
        "command": _nullable({"type": "array", "items": {"type": "string"}}),
    }, ["schema_version", "run_id", "operator", "tolerance", "cases"])


def result() -> Schema:
    """What is recorded for one case."""
    comparison = _object({"output": _TEXT, **{metric: {"type": ["number", "null"]} for metric in METRICS}}, ["output"])
    schema = _object({
        "schema_version": _VERSION, "case_id": _TEXT, "status": {"enum": list(STATUSES)},
        "comparisons": {"type": "array", "items": comparison},
        "timing_us": {"type": ["number", "null"], "minimum": 0},
        "source": {"type": "string"},
    }, ["schema_version", "case_id", "status"])
    failed = {"properties": {"status": {"enum": [CRASH, UNSUPPORTED]}}, "required": ["status"]}
    return {**schema, "if": failed, "then": {"properties": {"error": _TEXT}, "required": ["error"]}}


def case_matrix() -> Schema:
    """The planned cases and whether each has a result."""
    row = _case(no_inputs=True)
    row["properties"]["status"] = {"enum": [PENDING, RECORDED]}
    row["required"].append("status")
    rows = {"type": "array", "minItems": 1, "items": row}
    return _object({"schema_version": _VERSION, "operator": _TEXT, "cases": rows}, ["schema_version", "operator", "cases"])


def results() -> Schema:
    """The rows of the results, in the order in which they were recorded."""
    rows = {"type": "array", "items": _row()}
    return _object({"schema_version": _VERSION, "results": rows}, ["schema_version", "results"])


def analysis() -> Schema:
    """What results show. The keys after `warnings` are those of opdebug's own analyses."""
    counts = {"type": "integer", "minimum": 0}
    contract: Schema = {
        "schema_version": _VERSION, "status": {"enum": list(VERDICTS)}, "operator": _TEXT,
        **{f"{what}_cases": _IDS for what in ("missing", "crash", "mismatch", "unsupported")},
        "status_counts": _object(dict.fromkeys(STATUSES, counts), list(STATUSES), closed=True),
        "failure_axes": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": _IDS}},
        "integration_hint": {"enum": [INTEGRATION_HINT, None]},
        "results": {"type": "array", "items": _row()},
    }
    objects = {"type": "array", "items": _ANY_OBJECT}
    more: Schema = {
        "warnings": objects, "no_evidence": {"type": "object", "additionalProperties": {"type": "string"}},
        **dict.fromkeys(("failures", "refusals", "explanation", "cases"), objects), "neighbour_search": _ANY_OBJECT,
    }
    return _object({**contract, **more}, list(contract))


def manifest() -> Schema:
    """A run manifest of either flavour; one with `code` is of the newer."""
    commit = {"type": "string", "pattern": _whole(manifests._COMMIT.pattern), "not": {"pattern": "^0*$"}}
    code = _object({"source_head": commit, "snapshot_commit": commit, "dirty": {"type": "boolean"}},
                   ["source_head", "snapshot_commit", "dirty"], closed=True)
    plain = {"type": "string", "pattern": "\\S"}
    artifact = _object(dict.fromkeys(("name", "kind", "uri"), plain), ["name", "kind", "uri"])
    digest = {"type": "string", "pattern": _whole(manifests._SHA256.pattern)}
    first = {**artifact, "properties": {**artifact["properties"], "sha256": digest}}
    newer = {**artifact, "additionalProperties": False}
    run_id = {"type": "string", "pattern": _whole(manifests._RUN_ID.pattern)}
    time = {"type": "string", "pattern": _whole(manifests._TIMESTAMP.pattern)}
    properties: Schema = {
        "schema_version": _VERSION, "run_id": run_id, "parent_run_id": _nullable(run_id),
        "run_type": {"enum": list(manifests.RUN_TYPES)}, **dict.fromkeys(manifests._OBJECTS, _ANY_OBJECT),
        "command": {"type": "array", "items": {"type": "string"}},
        "environment_variables": {"type": "object", "additionalProperties": {"type": "string"}},
        "artifacts": {"type": "array"}, "status": {"enum": list(manifests.STATUSES)},
        "created_at": time, "updated_at": time, "code": code,
    }
    return {
        **_object(properties, list(manifests._FIELDS), closed=True),
        "if": {"required": ["code"]},
        "then": _of_flavour(newer, f"{manifests._SENSITIVE}|KEY|PASSWD"),
        "else": _of_flavour(first, manifests._SENSITIVE),
    }


def _of_flavour(artifact: Schema, secrets: str) -> Schema:
    # JSON Schema's patterns have no flag for "in any case".
    either = "".join(f"[{letter}{letter.lower()}]" if letter.isalpha() else letter for letter in secrets)
    return {"properties": {
        "artifacts": {"items": artifact},
        "environment_variables": {"propertyNames": {"not": {"pattern": f"(?:^|_)(?:{either})(?:_|$)"}}},
    }}


def _case(*, no_inputs: bool) -> Schema:
    spec = _object({
        "name": _TEXT, "shape": _SIZES, "dtype": _TEXT, "layout": _TEXT, "strides": _nullable(_SIZES),
    }, ["name", "shape", "dtype", "layout"])
    inputs: Schema = {"type": "array", "items": spec}
    if not no_inputs:
        inputs["minItems"] = 1
    return _object({
        "id": _TEXT, "mode": {"enum": list(MODES)}, "inputs": inputs, "attributes": _ANY_OBJECT,
    }, ["id", "mode", "inputs"])


def _row() -> Schema:
    row = result()
    return {**row, "required": [*row["required"], "comparisons", "timing_us", "source", "recorded_at"]}


def _object(properties: Schema, required: list[str], *, closed: bool = False) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _whole(pattern: str) -> str:
    return f"^{pattern}$"


def _titled(title: str, schema: Schema) -> Schema:
    return {"$schema": DRAFT, "title": title, **schema}


def main() -> None:
    """Write every schema into the directory named on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in documents().items():
        (folder / name).write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
