"""A run directory that has the documents but no journal: one that another tool of the same contract made.

`documents_as_events` reads the documents as the events that would have made them, so that such a run can be recorded
to, analysed and compared like one of ours: `state_of` adds them up, `write_journal` makes them the run's journal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opdebug.evidence import names
from opdebug.evidence.journal import FIRST_PREV, Journal
from opdebug.evidence.json_files import read_json
from opdebug.evidence.manifest import load_manifest
from opdebug.evidence.state import FORMAT, RunState
from opdebug.model.errors import OpdebugError

NEEDED = (names.MANIFEST, names.CONFIG, names.MATRIX, names.RESULTS)

# The artifacts that a run of the contract has from the start.
PLANNED_ARTIFACTS = tuple(
    {"name": name, "kind": kind, "uri": uri}
    for name, kind, uri in (
        ("operator-config", "operator-config", names.CONFIG),
        ("case-matrix", "case-matrix", names.MATRIX),
        ("results", "operator-results", names.RESULTS),
        ("reproduction", "reproduction", names.REPRODUCTION),
    )
)


EventParts = tuple[str, dict[str, Any], str]


def is_adoptable(directory: Path) -> bool:
    """Whether the documents of the contract are there without a journal."""
    return not (directory / names.JOURNAL).exists() and all((directory / name).is_file() for name in NEEDED)


def documents_as_events(directory: Path) -> list[EventParts]:
    """(event, body, at) for each event that the documents tell of. Raises OpdebugError when they cannot be read."""
    manifest = load_manifest(directory / names.MANIFEST)
    config = read_json(directory / names.CONFIG, "operator config")
    read_json(directory / names.MATRIX, "case matrix")
    results = read_json(directory / names.RESULTS, "results")
    if not isinstance(results, dict) or not isinstance(results.get("results"), list):
        raise OpdebugError(f"{directory / names.RESULTS} must be an object with an array `results`")
    planned = {
        **manifest, "status": "planned", "updated_at": manifest["created_at"],
        "artifacts": [artifact for artifact in manifest["artifacts"] if artifact["name"] in _PLANNED_NAMES],
    }
    at = manifest["updated_at"]
    plan = {"format": FORMAT, "config": config, "manifest": planned, "files": {}}
    events: list[EventParts] = [("plan", plan, manifest["created_at"])]
    for row in results["results"]:
        when = row.get("recorded_at") if isinstance(row, dict) else None
        events.append(("result", {"result": row}, when if isinstance(when, str) else at))
    added = [artifact for artifact in manifest["artifacts"] if artifact["name"] not in _PLANNED_NAMES]
    if manifest["status"] in ("planned", "running"):
        events += [("artifact", {"artifact": artifact}, at) for artifact in added]
    else:
        events.append(("finish", {"status": manifest["status"], "artifacts": added, "files": {}}, at))
    return events


def state_of(events: list[EventParts]) -> RunState:
    """The sum of `events`. Raises OpdebugError when the documents contradict each other."""
    state = RunState()
    for number, (name, body, at) in enumerate(events, 1):
        state.apply({"seq": number, "event": name, "at": at, "prev": FIRST_PREV, **body})
    if state.problems:
        raise OpdebugError(state.problems)
    return state


def write_journal(directory: Path, events: list[EventParts]) -> Journal:
    """Write `events` as the run's journal and return it, locked. Raises OpdebugError."""
    unfinished = directory / names.UNFINISHED_JOURNAL
    try:
        if unfinished.exists():
            # Left by a plan that was cut short; while its writer lives, the lock is refused.
            Journal.lock_unfinished(unfinished).close()
            unfinished.unlink()
        journal = Journal.create(unfinished)
        for name, body, at in events:
            journal.append(name, body, at)
        journal.sync()
        journal.rename(directory / names.JOURNAL)
    except FileExistsError:
        raise OpdebugError(f"run directory is in use by another process: {directory}") from None
    except OSError as error:
        raise OpdebugError(f"cannot write {unfinished}: {error.strerror or error}") from None
    return journal


_PLANNED_NAMES = tuple(artifact["name"] for artifact in PLANNED_ARTIFACTS)
