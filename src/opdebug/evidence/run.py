"""One run directory: results go in once and stay, and everything shown of them can be derived again.

`Run.create` makes a run, `Run.open` opens one to read or, for one process at a time, to write. What was recorded is in
the journal when the call returns; the views follow at `flush`, `close` and `finish`, and catch up by themselves after
a process that was killed in between.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from opdebug.evidence import adopt, names, upkeep
from opdebug.evidence.create import build, plan_of
from opdebug.evidence.index import Index, IndexUnusable, identities, open_index
from opdebug.evidence.journal import Journal, Position, read_events
from opdebug.evidence.json_files import collector_paused, write_atomic
from opdebug.evidence.manifest import TERMINAL, is_timestamp, utc_now
from opdebug.evidence.names import file_name_for
from opdebug.evidence.state import RunState, advance, check_planned
from opdebug.evidence.views import PlanText, plan_text, view_bytes
from opdebug.model.contract import validate_result
from opdebug.model.errors import OpdebugError

__all__ = ["Run", "file_name_for"]

_OWN_EVENTS = ("plan", "result", "no_evidence", "file", "artifact", "finish")


class Run:
    """A run directory, open. Use it in a `with` block, or `close` it.

    A handle opened to read follows what a writer adds: each `state()` is up to date. One opened to write holds a lock
    that a child process made by fork without exec would keep alive; start children by exec.
    """

    def __init__(self, directory: Path, journal: Journal | None = None) -> None:
        self.directory = directory
        self._journal = journal
        self._position = Position()
        self._state: RunState | None = None
        self._text: PlanText | None = None
        self._index: Index | None = None
        self._claims: upkeep.Claims | None = None
        self._adopted = False
        self._shown = 0

    @classmethod
    def create(cls, directory: str | os.PathLike[str], config: dict[str, Any], *, created_at: str | None = None,
               code: Mapping[str, Any] | None = None, command: list[str] | None = None,
               environment: Mapping[str, Any] | None = None,
               extra_documents: Mapping[str, Any] | None = None) -> Run:
        """A new run in `directory` (absent or empty), open to write.

        `command` counts only if the config has none. `environment` becomes environment.json; `extra_documents` maps
        relative paths to JSON documents. Raises OpdebugError, with nothing written.
        """
        documents = dict(extra_documents or {})
        if environment is not None:
            documents[names.ENVIRONMENT] = environment
        with collector_paused():
            plan = plan_of(config, created_at=created_at, code=code, command=command, documents=documents)
            state = plan.state()
            views, places = view_bytes(state, plan.text)
            path = _absolute(directory)
            journal = build(path, plan, views)
            upkeep.write_index(path, journal, state, places, len(views[names.RESULTS]))
            with suppress(OSError):
                upkeep.write_head(path, journal)
        run = cls(path, journal)
        run._state, run._text = state, plan.text
        run._position = Position(journal.size, journal.seq, journal.head)
        run._shown = journal.size
        run._index = open_index(path)
        return run

    @classmethod
    def open(cls, directory: str | os.PathLike[str], *, write: bool = False, wait: float = 0.0,
             repair: bool = False) -> Run:
        """Open a run. To write is for one process at a time; `wait` is how many seconds to wait for another.

        Without `repair`, a matrix or results file that someone made unreadable is an error; with it, such a file is
        rewritten from the journal. Raises OpdebugError.
        """
        path = _absolute(directory)
        if not path.is_dir():
            raise OpdebugError(f"run directory does not exist: {path}")
        if not os.path.lexists(path / names.JOURNAL):
            return cls._open_without_journal(path, write)
        if not write:
            return cls(path)
        run = cls(path, Journal.open(path / names.JOURNAL, wait=wait))
        try:
            run._take_over(repair)
        except BaseException:
            run._release()
            raise
        return run

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        try:
            self.close()
        except OpdebugError:
            # What went wrong first says more than what followed from it.
            if error is None:
                raise

    def close(self) -> None:
        """Bring the views up to date, make the journal durable, and release the lock. Raises OpdebugError."""
        if self._journal is None:
            return
        try:
            self.flush()
            self._journal.sync()
        except OSError as error:
            raise OpdebugError(f"cannot finish writing {self.directory}: {error.strerror or error}") from None
        finally:
            self._release()

    def state(self) -> RunState:
        """The run as it is now. The same object is brought up to date by later calls; do not change it."""
        if self._state is None:
            self._state = RunState()
        if self._adopted or (self._journal is not None and self._position.offset == self._journal.size):
            return self._state
        with collector_paused():
            for line in read_events(self.directory / names.JOURNAL, self._position):
                self._state.apply(line.event)
                self._position = Position(line.end, line.number, line.digest)
        if not self._state.events:
            raise OpdebugError(f"journal {self.directory / names.JOURNAL} holds no complete event")
        return self._state

    def record(self, result: Mapping[str, Any], *, recorded_at: str | None = None, source: str = "opdebug run") -> int:
        """Record the result of one case and return how many cases are still pending.

        `source` is used where the result names none. Raises OpdebugError, with nothing recorded, when the result is
        not valid, the case has one already, or the run is finished.
        """
        at = _checked_time(recorded_at, "recorded_at")
        self._writer()
        try:
            row = self._checked_row(result)
        except IndexUnusable:
            self._drop_index()
            row = self._checked_row(result)
        row.setdefault("source", source)
        row["recorded_at"] = at
        self._append("result", {"result": row}, at)
        return self._book().pending

    def no_evidence(self, case_id: str, reason: str) -> None:
        """Say why a case has no result. A later result replaces it. Raises OpdebugError."""
        self._check_planned(case_id)
        self._append("no_evidence", {"case_id": case_id, "reason": str(reason)}, utc_now())

    def event(self, name: str, body: Mapping[str, Any]) -> None:
        """Add an event of another kind (`attempt` needs a planned `case_id`). Raises OpdebugError."""
        if name in _OWN_EVENTS:
            raise OpdebugError(f"event {name!r} has a method of its own; choose another name")
        if name == "attempt":
            self._check_planned(body.get("case_id"))
        self._append(name, dict(body), utc_now())

    def store(self, relative_path: str, data: bytes, *, replace: bool = False) -> str:
        """Write a file inside the run directory, record its sha256, and return it.

        Only `replace` overwrites one. Raises OpdebugError for a path that leaves the directory or is taken.
        """
        self._writer()
        digest = hashlib.sha256(data).hexdigest()
        target = names.path_inside(self.directory, relative_path)
        if os.path.lexists(target):
            if not replace:
                raise OpdebugError(f"{target} is stored already; evidence is not overwritten")
            same = not target.is_symlink() and target.is_file() and target.read_bytes() == data
            if same and self.state().files.get(relative_path) == digest:
                return digest
        self._write_file(target, data)
        self._append("file", {"path": relative_path, "sha256": digest, "size": len(data)}, utc_now())
        return digest

    def add_artifact(self, name: str, kind: str, uri: str, *, updated_at: str | None = None) -> None:
        """Add an artifact to the manifest. Raises RunManifestError, e.g. for a name that is there already."""
        at = _checked_time(updated_at, "updated_at")
        body = {"artifact": {"name": name, "kind": kind, "uri": uri}}
        advance(self._book().manifest, {"event": "artifact", "at": at, **body})
        self._append("artifact", body, at)

    def finish(self, status: str, *, files: Mapping[str, bytes] | None = None,
               artifacts: Iterable[tuple[str, str, str]] = (), updated_at: str | None = None) -> None:
        """End the run: `status` is a terminal status of the manifest.

        `files` (by relative path, replacing earlier ones) and `artifacts` (name, kind, uri) become part of the run in
        the same event. Raises RunManifestError when the manifest does not allow it, with nothing changed.
        """
        at = _checked_time(updated_at, "updated_at")
        contents = dict(files or {})
        targets = {path: names.path_inside(self.directory, path) for path in contents}
        body = {
            "status": status,
            "artifacts": [{"name": name, "kind": kind, "uri": uri} for name, kind, uri in artifacts],
            "files": {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()},
        }
        self._writer()
        if status not in TERMINAL:
            raise OpdebugError(f"status {status!r} does not end a run; accepted: {', '.join(TERMINAL)}")
        advance(self._book().manifest, {"event": "finish", "at": at, **body})
        for path, data in contents.items():
            self._write_file(targets[path], data)
        self._append("finish", body, at)
        self.flush()
        try:
            upkeep.straighten(self.directory, self._index)
        except OSError as error:
            raise self._behind(error) from None
        self._journal_synced()

    def flush(self) -> None:
        """Bring the views up to date with what was recorded. Raises OpdebugError."""
        journal = self._writer()
        if self._shown == journal.size:
            return
        try:
            if self._index is not None and upkeep.patch(self.directory, journal, self._index):
                upkeep.write_head(self.directory, journal)
                self._shown = journal.size
                return
        except OSError as error:
            raise self._behind(error) from None
        self._write_views(sync=False)

    def write_views(self) -> None:
        """Write every view whole, from the journal. Raises OpdebugError."""
        self._write_views(sync=True)

    def _write_views(self, *, sync: bool) -> None:
        journal, state = self._writer(), self.state()
        with collector_paused():
            if self._text is None:
                self._text = plan_text(state.config)
            try:
                upkeep.write_whole(self.directory, journal, state, self._text, sync=sync)
                upkeep.write_head(self.directory, journal)
            except OSError as error:
                raise self._behind(error) from None
        self._drop_index()
        if journal.size > upkeep.SMALL_RUN:
            self._index = open_index(self.directory)
        self._claims = None
        self._shown = journal.size

    @classmethod
    def _open_without_journal(cls, path: Path, write: bool) -> Run:
        if not adopt.is_adoptable(path):
            if os.path.lexists(path / names.UNFINISHED_JOURNAL):
                raise OpdebugError(f"run {path} is incomplete: its plan was cut short; remove the directory and plan again")
            raise OpdebugError(f"{path} is not a run directory: it has no {names.JOURNAL}")
        events = adopt.documents_as_events(path)
        run = cls(path)
        run._state = adopt.state_of(events)
        if not write:
            run._adopted = True
            return run
        claims = upkeep.look(path)
        run._journal = adopt.write_journal(path, events)
        run._position = Position(run._journal.size, run._journal.seq, run._journal.head)
        run._claims = claims
        return run

    def _take_over(self, repair: bool) -> None:
        """Choose how to look cases up, and find out whether the views show what the journal says."""
        journal = self._writer()
        index = open_index(self.directory) if journal.size > upkeep.SMALL_RUN else None
        behind = index is not None and index.summary.covered < journal.size
        if index is not None:
            fits = (index.summary.covered, index.summary.head) == (journal.size, journal.head)
            if fits and self._untouched(index):
                self._index, self._shown = index, journal.size
                return
            index.close()
        if not (behind or repair):
            self._claims = upkeep.look(self.directory)
            behind = self._claims.are_behind(self.state())
        self._shown = -1 if behind or repair else journal.size

    def _untouched(self, index: Index) -> bool:
        try:
            return identities(self.directory) == index.summary.views
        except OSError:
            return False

    def _checked_row(self, result: Mapping[str, Any]) -> dict[str, Any]:
        book = self._book()
        row = validate_result(result, book)
        case_id = row["case_id"]
        if book.is_recorded(case_id):
            raise OpdebugError(f"case already recorded: {case_id}")
        if self._claims is not None:
            upkeep.check_claims(self._claims, case_id)
        status = book.manifest["status"]
        if status in TERMINAL:
            raise OpdebugError(f"run is finished with status {status}; a further case needs a new run")
        return row

    def _check_planned(self, case_id: Any) -> None:
        self._writer()
        try:
            check_planned(case_id, self._book())
        except IndexUnusable:
            self._drop_index()
            check_planned(case_id, self._book())

    def _book(self) -> RunState | Index:
        return self._index if self._index is not None and self._state is None else self.state()

    def _append(self, name: str, body: dict[str, Any], at: str) -> None:
        journal = self._writer()
        if self._state is not None:
            self.state()
        event = journal.append(name, body, at)
        if self._state is not None:
            self._state.apply(event)
            self._position = Position(journal.size, journal.seq, journal.head)
        if self._index is not None:
            self._index.apply(event)

    def _write_file(self, target: Path, data: bytes) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, data, sync=False)
        except OSError as error:
            raise OpdebugError(f"cannot write {target}: {error.strerror or error}") from None

    def _writer(self) -> Journal:
        if self._journal is None:
            raise OpdebugError(f"run {self.directory} is not open for writing")
        return self._journal

    def _journal_synced(self) -> None:
        try:
            self._writer().sync()
        except OSError as error:
            raise OpdebugError(f"cannot finish writing {self.directory}: {error.strerror or error}") from None

    def _behind(self, error: OSError) -> OpdebugError:
        return OpdebugError(
            f"views of {self.directory} could not be written: {error.strerror or error}; what was recorded is kept in "
            f"{names.JOURNAL}, and the next command that writes to the run brings them up to date"
        )

    def _drop_index(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def _release(self) -> None:
        self._drop_index()
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def _absolute(directory: str | os.PathLike[str]) -> Path:
    try:
        return Path(directory).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise OpdebugError(f"directory {os.fspath(directory)!r} cannot be resolved: {error}") from None


def _checked_time(value: str | None, field: str) -> str:
    if value is None:
        return utc_now()
    if not is_timestamp(value):
        raise OpdebugError(f"{field} must be an RFC 3339 UTC timestamp ending in Z")
    return value
