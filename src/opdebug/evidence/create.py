"""A run directory comes into being whole: everything is checked and encoded first, and the journal's name comes last.

`plan_of` checks and gathers what a new run starts from; `build` writes it. The journal is written under another name
and renamed when all else is in place, so a directory without it is recognised as a plan that was cut short.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opdebug.evidence import names
from opdebug.evidence.adopt import PLANNED_ARTIFACTS
from opdebug.evidence.journal import Journal
from opdebug.evidence.json_files import document_bytes, is_too_deep, write_atomic
from opdebug.evidence.manifest import add_artifact, new_manifest
from opdebug.evidence.state import FORMAT, RunState
from opdebug.evidence.views import PlanText, plan_text
from opdebug.model.contract import validate_config
from opdebug.model.errors import OpdebugError


@dataclass(frozen=True)
class Plan:
    """A new run, ready to be written: its first event, the encoded cases, and the documents beside the views."""

    body: dict[str, Any]
    at: str
    text: PlanText
    documents: dict[str, bytes]

    def state(self) -> RunState:
        """The state after the plan."""
        state = RunState()
        state.start({"seq": 1, "event": "plan", "at": self.at, "prev": "", **self.body})
        return state


def plan_of(config: dict[str, Any], *, created_at: str | None, code: Mapping[str, Any] | None,
            command: list[str] | None, documents: Mapping[str, Any]) -> Plan:
    """Check everything that a run is made of. Raises OpdebugError; nothing has been written then."""
    validate_config(config, extended=True, allow_no_inputs=True)
    manifest = new_manifest(
        run_type="debug", run_id=config["run_id"], created_at=created_at, code=code,
        command=config.get("command", command),
        **{field: config[field] for field in ("workspace_snapshot", "environment", "model")
           if config.get(field) is not None},
    )
    at = manifest["created_at"]
    for artifact in PLANNED_ARTIFACTS:
        manifest = add_artifact(manifest, **artifact, updated_at=at)
    encoded = {name: document_bytes(document) for name, document in documents.items()}
    for name in encoded:
        names.path_inside(Path("."), name)
        manifest = add_artifact(manifest, name=name, kind=Path(name).stem, uri=name, updated_at=at)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in encoded.items()}
    if not all(isinstance(key, str) for case in config["cases"] for key in case):
        raise OpdebugError("operator config cannot be written as JSON: a case has a key that is no string")
    body = {"format": FORMAT, "config": config, "manifest": manifest, "files": digests}
    text = plan_text(config)
    if is_too_deep(config, text.config):
        raise OpdebugError("operator config is nested too deeply to be recorded")
    return Plan(body, at, text, encoded)


def build(directory: Path, plan: Plan, views: Mapping[str, bytes]) -> Journal:
    """Write a new run and its `views` into `directory`, which may exist only if it is empty; its parents are made.

    Raises OpdebugError `output directory is not empty: <dir>`, or OpdebugError for what the file system refuses; then
    what had been written is removed again.
    """
    if directory.is_symlink() and not directory.exists():
        raise OpdebugError(f"output directory {directory} is a symbolic link that leads nowhere")
    existed = directory.is_dir()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise OpdebugError(f"output directory is not empty: {directory}")
        journal = Journal.create(directory / names.UNFINISHED_JOURNAL)
    except FileExistsError:
        if directory.is_dir():
            raise OpdebugError(f"output directory is not empty: {directory}") from None
        raise OpdebugError(f"output directory {directory} is not a directory") from None
    except OSError as error:
        raise OpdebugError(f"cannot create run {directory}: {error.strerror or error}") from None
    made = [journal.path]
    try:
        # Another plan may have come and gone between the look and the lock.
        if [entry.name for entry in directory.iterdir()] != [names.UNFINISHED_JOURNAL]:
            raise OpdebugError(f"output directory is not empty: {directory}")
        _write_files(directory, {**views, **plan.documents}, made)
        journal.begin("plan", plan.body, plan.at)
        journal.sync()
        journal.rename(directory / names.JOURNAL)
    except BaseException as error:
        _remove(made, None if existed else directory)
        journal.close()
        if isinstance(error, OSError):
            raise OpdebugError(f"cannot create run {directory}: {error.strerror or error}") from None
        raise
    return journal


def _write_files(directory: Path, contents: Mapping[str, bytes], made: list[Path]) -> None:
    for folder in names.FOLDERS:
        (directory / folder).mkdir()
        made.append(directory / folder)
    for name, data in contents.items():
        target = directory / name
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True)
            made.append(target.parent)
        write_atomic(target, data)
        made.append(target)


def _remove(made: list[Path], directory: Path | None) -> None:
    for path in reversed(made):
        with suppress(OSError):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
    if directory is not None:
        with suppress(OSError):
            os.rmdir(directory)
