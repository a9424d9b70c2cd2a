"""What a run's events add up to: the config, a status for every case, the results, and what explains the gaps.

`RunState.apply` takes one event after another; everything else here only reads. `advance` is the part of it that
concerns the manifest, shared with the index, which follows a run without holding all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Any

from opdebug.evidence.manifest import TERMINAL, Manifest, add_artifact, transition_status, validate_manifest
from opdebug.model.contract import validate_config, validate_result
from opdebug.model.errors import OpdebugError
from opdebug.model.words import SCHEMA_VERSION

FORMAT = 1
"""The journal format that is written, and the newest that is read."""

PENDING = "pending"
RECORDED = "recorded"

Event = dict[str, Any]


@dataclass
class RunState:
    """The sum of the events so far.

    `result_of` maps case ids to normalised rows in record order; `no_evidence` maps ids without a result to the reason;
    `attempts` maps ids to the bodies of their attempt events; `files` maps relative paths to the sha256 recorded for
    them. `events` holds every event, envelope included. `problems` says what a sound journal would not hold.
    """

    config: dict[str, Any] = field(default_factory=dict)
    manifest: Manifest = field(default_factory=dict)
    result_of: dict[str, dict[str, Any]] = field(default_factory=dict)
    no_evidence: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, list[Event]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _ids: dict[str, None] = field(default_factory=dict)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The case matrix: every planned case in order, with its `status` of pending or recorded."""
        return [
            {**case, "status": RECORDED if case["id"] in self.result_of else PENDING} for case in self.config["cases"]
        ]

    @property
    def matrix(self) -> dict[str, Any]:
        """The case matrix as its document."""
        return {"schema_version": SCHEMA_VERSION, "operator": self.config["operator"]["name"], "cases": self.rows}

    @property
    def results(self) -> list[dict[str, Any]]:
        """The normalised rows in the order in which they were recorded."""
        return list(self.result_of.values())

    @property
    def case_ids(self) -> tuple[str, ...]:
        return tuple(self._ids)

    @property
    def missing(self) -> list[str]:
        """Ids of the cases without a result, in matrix order."""
        return [case_id for case_id in self._ids if case_id not in self.result_of]

    @property
    def pending(self) -> int:
        return len(self._ids) - len(self.result_of)

    @property
    def terminal(self) -> bool:
        return self.manifest["status"] in TERMINAL

    def __contains__(self, case_id: object) -> bool:
        return case_id in self._ids

    def is_recorded(self, case_id: str) -> bool:
        return case_id in self.result_of

    def apply(self, event: Event) -> None:
        """Take in the next event. Raises OpdebugError when it is malformed or of a newer format."""
        name, number = event["event"], event["seq"]
        if (name == "plan") != (number == 1):
            raise OpdebugError(f"journal line {number} is a {name!r} event; the plan is the first event and only that")
        try:
            handler = _HANDLERS.get(name)
            if handler is not None:
                handler(self, event)
            self.manifest = advance(self.manifest, event)
        except OpdebugError as error:
            raise OpdebugError(f"journal line {number}, {name} event: {error}") from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise OpdebugError(f"journal line {number}: {name} event is malformed: {error!r}") from None
        self.events.append(event)

    def start(self, event: Event) -> None:
        """Take in a plan event that has been checked already."""
        self._start(event)
        self.events.append(event)

    def _plan(self, event: Event) -> None:
        check_format(event)
        validate_config(event["config"], extended=True, allow_no_inputs=True)
        self._start(event)

    def _start(self, event: Event) -> None:
        self.config = event["config"]
        self.manifest = validate_manifest(event["manifest"])
        self._ids = dict.fromkeys(case["id"] for case in self.config["cases"])
        self._note_files(event)

    def _result(self, event: Event) -> None:
        row = event["result"]
        checked = validate_result(row, self)
        if checked["case_id"] in self.result_of:
            # The first result stands; only a writer without the lock can have added another.
            self.problems.append(f"journal line {event['seq']}: case {checked['case_id']!r} has a result already")
            return
        self.result_of[checked["case_id"]] = row
        self.no_evidence.pop(checked["case_id"], None)

    def _no_evidence(self, event: Event) -> None:
        case_id, reason = event["case_id"], event["reason"]
        check_planned(case_id, self)
        if not isinstance(reason, str):
            raise OpdebugError("reason must be a string")
        if case_id not in self.result_of:
            self.no_evidence[case_id] = reason

    def _attempt(self, event: Event) -> None:
        check_planned(event["case_id"], self)
        self.attempts.setdefault(event["case_id"], []).append(body_of(event))

    def _file(self, event: Event) -> None:
        if not isinstance(event["path"], str) or not isinstance(event["sha256"], str):
            raise OpdebugError("path and sha256 must be strings")
        self.files[event["path"]] = event["sha256"]

    def _note_files(self, event: Event) -> None:
        for path, digest in event.get("files", {}).items():
            self._file({"path": path, "sha256": digest})


_HANDLERS: dict[str, Callable[[RunState, Event], None]] = {
    "plan": RunState._plan,
    "result": RunState._result,
    "no_evidence": RunState._no_evidence,
    "attempt": RunState._attempt,
    "file": RunState._file,
    "finish": RunState._note_files,
}


def advance(manifest: Manifest, event: Event) -> Manifest:
    """The manifest after `event`: the first result starts the run, artifacts are added, finish ends it.

    Raises RunManifestError when the manifest does not allow it.
    """
    name, at = event["event"], event["at"]
    if name == "result" and manifest["status"] == "planned":
        return transition_status(manifest, "running", updated_at=at)
    if name == "artifact":
        return add_artifact(manifest, **event["artifact"], updated_at=at)
    if name == "finish":
        for artifact in event["artifacts"]:
            manifest = add_artifact(manifest, **artifact, updated_at=at)
        if manifest["status"] == "planned" and event["status"] != "cancelled":
            manifest = transition_status(manifest, "running", updated_at=at)
        return transition_status(manifest, event["status"], updated_at=at)
    return manifest


def check_format(event: Event) -> None:
    """Raises OpdebugError when a plan event is of a format that this version cannot read."""
    number = event.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise OpdebugError(
            f"this run was made by a newer opdebug (format {number}; this version reads up to {FORMAT}): "
            "upgrade opdebug to work with it"
        )
    if number != FORMAT:
        raise OpdebugError(f"format {number!r} is unknown; this version reads {FORMAT}")


def check_planned(case_id: Any, planned: Container[str]) -> None:
    """Raises OpdebugError unless `case_id` is one of the planned cases."""
    if not isinstance(case_id, str) or case_id not in planned:
        raise OpdebugError("case_id must identify a planned case")


def body_of(event: Event) -> Event:
    """An event without its envelope, but with the time at which it was written."""
    return {key: value for key, value in event.items() if key not in ("seq", "event", "prev")}
