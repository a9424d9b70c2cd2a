"""The run manifest: what was run, by which command, from which code, and how it ended, in a fixed set of keys.

Two flavours exist. The first has no `code`; the newer one requires it (a commit that holds exactly the code that ran)
and is stricter. A manifest's flavour is whether it has `code`. Functions return a new manifest and never change theirs.
"""

from __future__ import annotations

import copy
import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from opdebug.evidence.code_identity import code_identity
from opdebug.evidence.json_files import compact_line, read_json, write_json
from opdebug.model.errors import OpdebugError

Manifest = dict[str, Any]

RUN_TYPES = ("change-validation", "correctness", "debug", "performance", "profiling")
STATUSES = ("planned", "running", "passed", "failed", "inconclusive", "cancelled")
TERMINAL = ("passed", "failed", "inconclusive", "cancelled")

FIRST, NEWER = "first", "newer"
FLAVOURS = (FIRST, NEWER)

_FIELDS = ("schema_version", "run_id", "parent_run_id", "run_type", "workspace_snapshot", "environment", "model",
           "topology", "command", "environment_variables", "artifacts", "status", "created_at", "updated_at")
_OBJECTS = ("workspace_snapshot", "environment", "model", "topology")
_TRANSITIONS = {"planned": ("running", "cancelled"), "running": TERMINAL}
_NEWER_TRANSITIONS = {"planned": ("running", "failed", "inconclusive", "cancelled"), "running": TERMINAL}

_RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z", re.ASCII)
_SENSITIVE = "API_KEY|ACCESS_KEY|AUTH|CREDENTIAL|PASS|PASSWORD|SECRET|TOKEN"
_SECRET = re.compile(rf"(?:^|_)(?:{_SENSITIVE})(?:_|$)", re.IGNORECASE)
_NEWER_SECRET = re.compile(rf"(?:^|_)(?:{_SENSITIVE}|KEY|PASSWD)(?:_|$)", re.IGNORECASE)


class RunManifestError(OpdebugError):
    """A manifest, or a change to one, that breaks its rules."""


def utc_now() -> str:
    """Now, as an RFC 3339 UTC timestamp with microseconds."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_timestamp(value: Any) -> bool:
    """Whether `value` is an RFC 3339 UTC timestamp ending in Z that names a real moment."""
    found = _TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return False
    try:
        datetime.strptime(found[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return False
    return True


def generate_run_id(run_type: str, *, now: datetime | None = None) -> str:
    """`<run_type>-<YYYYmmdd-HHMMSS>-<8 hex>`, in UTC. Raises RunManifestError for an unknown run type."""
    if run_type not in RUN_TYPES:
        raise RunManifestError(f"run_type must be one of: {', '.join(RUN_TYPES)}")
    moment = (now or datetime.now(timezone.utc)).astimezone(timezone.utc)
    return f"{run_type}-{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def sha256_file(path: str | os.PathLike[str]) -> str:
    """The sha256 of a file's bytes, in hex. Raises OSError."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def new_manifest(*, run_type: str, run_id: str | None = None, parent_run_id: str | None = None,
                 workspace_snapshot: Mapping[str, Any] | None = None, environment: Mapping[str, Any] | None = None,
                 model: Mapping[str, Any] | None = None, topology: Mapping[str, Any] | None = None,
                 command: list[str] | None = None, environment_variables: Mapping[str, str] | None = None,
                 created_at: str | None = None, code: Mapping[str, Any] | None = None,
                 workspace_root: str | os.PathLike[str] | None = None, flavour: str = FIRST) -> Manifest:
    """A planned manifest without artifacts. Absent objects become `{}`, an absent run id is generated.

    With `code`, or with a `workspace_root` to take it from, the manifest is of the newer flavour; `flavour="newer"`
    refuses to build one without either. Raises RunManifestError with every problem.
    """
    if code is None and workspace_root is not None:
        code = code_identity(workspace_root)
        if code is None:
            raise RunManifestError(f"workspace_root {workspace_root} must be a git work tree with a commit")
    if flavour not in FLAVOURS:
        raise RunManifestError(f"flavour must be one of: {', '.join(FLAVOURS)}")
    if flavour == NEWER and code is None:
        raise RunManifestError("code or workspace_root is required for this flavour of manifest")
    created = utc_now() if created_at is None else created_at
    manifest: Manifest = {
        "schema_version": 1,
        "run_id": generate_run_id(run_type) if run_id is None else run_id,
        "parent_run_id": parent_run_id,
        "run_type": run_type,
        "workspace_snapshot": {} if workspace_snapshot is None else workspace_snapshot,
        "environment": {} if environment is None else environment,
        "model": {} if model is None else model,
        "topology": {} if topology is None else topology,
        "command": [] if command is None else command,
        "environment_variables": {} if environment_variables is None else environment_variables,
        "artifacts": [], "status": "planned", "created_at": created, "updated_at": created,
    }
    if code is not None:
        manifest["code"] = code
    return validate_manifest(manifest)


def transition_status(manifest: Mapping[str, Any], status: str, *, updated_at: str | None = None) -> Manifest:
    """`manifest` in another status. Raises RunManifestError `invalid status transition: <from> -> <to>`."""
    current = manifest.get("status")
    allowed = _NEWER_TRANSITIONS if "code" in manifest else _TRANSITIONS
    if status not in allowed.get(str(current), ()):
        raise RunManifestError(f"invalid status transition: {current} -> {status}")
    return validate_manifest({**manifest, "status": status, "updated_at": updated_at or utc_now()})


def add_artifact(manifest: Mapping[str, Any], *, name: str, kind: str, uri: str, sha256: str | None = None,
                 updated_at: str | None = None) -> Manifest:
    """`manifest` with one more artifact. Raises RunManifestError, e.g. `artifact name is duplicated: '<name>'`."""
    artifact = {"name": name, "kind": kind, "uri": uri}
    if sha256 is not None:
        artifact["sha256"] = sha256
    return validate_manifest({
        **manifest, "artifacts": [*manifest.get("artifacts", []), artifact], "updated_at": updated_at or utc_now(),
    })


def load_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Read and check a manifest. Raises RunManifestError `cannot read manifest <path>: <cause>` or its problems."""
    try:
        document = read_json(path, "manifest")
    except OpdebugError as error:
        raise RunManifestError(error.problems) from None
    return validate_manifest(document)


def write_manifest(path: str | os.PathLike[str], manifest: Mapping[str, Any]) -> Manifest:
    """Check and write a manifest, atomically. Raises RunManifestError, or OSError from the file system."""
    checked = validate_manifest(manifest)
    write_json(path, checked)
    return checked


def validate_manifest(manifest: Any) -> Manifest:
    """A private copy of `manifest`, checked. Raises RunManifestError with every problem."""
    if not isinstance(manifest, Mapping):
        raise RunManifestError("manifest root must be an object")
    newer = "code" in manifest
    fields = (*_FIELDS, "code") if newer else _FIELDS
    errors: list[str] = []
    unknown = sorted(str(key) for key in manifest if key not in fields)
    missing = sorted(key for key in fields if key not in manifest)
    if unknown:
        errors.append(f"unknown top-level fields: {', '.join(unknown)}")
    if missing:
        errors.append(f"missing top-level fields: {', '.join(missing)}")
    _check_identity(manifest, newer, errors)
    for field in _OBJECTS:
        if not isinstance(manifest.get(field, {}), Mapping):
            errors.append(f"{field} must be an object")
    if newer:
        _check_code(manifest["code"], errors)
    _check_command(manifest, newer, errors)
    _check_artifacts(manifest.get("artifacts", []), newer, errors)
    if manifest.get("status", "planned") not in STATUSES:
        errors.append(f"status must be one of: {', '.join(STATUSES)}")
    for field in ("created_at", "updated_at"):
        if field in manifest and not is_timestamp(manifest[field]):
            errors.append(f"{field} must be an RFC 3339 UTC timestamp ending in Z")
    if errors:
        raise RunManifestError(errors)
    try:
        compact_line(dict(manifest))
    except OpdebugError as error:
        raise RunManifestError(error.problems) from None
    return copy.deepcopy(dict(manifest))


def _check_identity(manifest: Mapping[str, Any], newer: bool, errors: list[str]) -> None:
    version = manifest.get("schema_version", 1)
    if version != 1 or isinstance(version, bool) or (newer and not isinstance(version, int)):
        errors.append("schema_version must be 1")
    for field in ("run_id", "parent_run_id"):
        value = manifest.get(field)
        if value is None and (field == "parent_run_id" or field not in manifest):
            continue
        if not isinstance(value, str) or not _RUN_ID.fullmatch(value):
            errors.append(f"{field} must match ^{_RUN_ID.pattern}$")
    if manifest.get("run_type", "debug") not in RUN_TYPES:
        errors.append(f"run_type must be one of: {', '.join(RUN_TYPES)}")


def _check_code(code: Any, errors: list[str]) -> None:
    if not isinstance(code, Mapping) or set(code) != {"source_head", "snapshot_commit", "dirty"}:
        errors.append("code must be an object of source_head, snapshot_commit and dirty")
        return
    for field in ("source_head", "snapshot_commit"):
        value = code[field]
        if not isinstance(value, str) or not _COMMIT.fullmatch(value) or set(value) == {"0"}:
            errors.append(f"code.{field} must be 40 lowercase hex digits, not all zero")
    if not isinstance(code["dirty"], bool):
        errors.append("code.dirty must be a boolean")


def _check_command(manifest: Mapping[str, Any], newer: bool, errors: list[str]) -> None:
    command = manifest.get("command", [])
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        errors.append("command must be an array of strings")
    variables = manifest.get("environment_variables", {})
    if not isinstance(variables, Mapping) or not all(
        isinstance(name, str) and isinstance(value, str) for name, value in variables.items()
    ):
        errors.append("environment_variables must be an object of strings")
        return
    secret = _NEWER_SECRET if newer else _SECRET
    for name in variables:
        if secret.search(name):
            errors.append(f"environment_variables must not hold secrets: {name}")


def _check_artifacts(artifacts: Any, newer: bool, errors: list[str]) -> None:
    if not isinstance(artifacts, list):
        errors.append("artifacts must be an array")
        return
    names: set[str] = set()
    for index, artifact in enumerate(artifacts):
        if not isinstance(artifact, Mapping):
            errors.append(f"artifacts[{index}] must be an object")
            continue
        for field in ("name", "kind", "uri"):
            value = artifact.get(field)
            if not isinstance(value, str) or not value.strip():
                errors.append(f"artifacts[{index}].{field} must be a non-blank string")
        if newer:
            extra = sorted(str(key) for key in artifact if key not in ("name", "kind", "uri"))
            if extra:
                errors.append(f"artifacts[{index}] has unknown fields: {', '.join(extra)}")
        elif "sha256" in artifact and not (
            isinstance(artifact["sha256"], str) and _SHA256.fullmatch(artifact["sha256"])
        ):
            errors.append(f"artifacts[{index}].sha256 must be 64 lowercase hex digits")
        name = artifact.get("name")
        if isinstance(name, str):
            if name in names:
                errors.append(f"artifact name is duplicated: {name!r}")
            names.add(name)
