"""What a new process must know to record one result in a large run without reading the run: a derived lookup table.

`Index` follows the journal up to a byte offset and knows for each case whether it is recorded and where its status
stands in the matrix. It is thrown away and built again whenever it does not fit the journal; nothing is lost with it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from opdebug.evidence import names
from opdebug.evidence.state import Event, RunState, advance

_LAYOUT = 1


class IndexUnusable(Exception):
    """The index is missing, damaged, or does not fit the journal."""


@dataclass
class Summary:
    """What the index knows about the run as a whole.

    `covered` is the journal's length in bytes that it accounts for, `head` the sha256 of the last line in there;
    `results` counts rows, `results_end` is the offset in results.json after the last one; `views` are the file
    identities of the views as they were last written.
    """

    covered: int
    head: str
    manifest: dict[str, Any]
    pending: int
    results: int
    results_end: int
    views: dict[str, list[int]]


def digest_of(case_id: str) -> bytes:
    """The key of a case: ids may be long and hold what a database cannot."""
    return hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).digest()


def identities(directory: Path) -> dict[str, list[int]]:
    """Which files the patched views are, so that a change by someone else shows: inode, size, mtime, ctime."""
    found = {}
    for name in (names.MATRIX, names.RESULTS):
        stat = (directory / name).lstat()
        found[name] = [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
    return found


class Index:
    """An open index. Results noted with `apply` are kept in memory until `commit`."""

    def __init__(self, database: sqlite3.Connection, summary: Summary) -> None:
        self._database = database
        self.summary = summary
        self.new_results: dict[str, dict[str, Any]] = {}

    @classmethod
    def build(cls, path: Path, state: RunState, places: list[int], summary: Summary) -> None:
        """Write the index of `state`, whose case number i has its status at `places[i]` in the matrix."""
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        rows = sorted(
            (digest_of(case_id), place, case_id in state.result_of)
            for case_id, place in zip(state.case_ids, places, strict=True)
        )
        try:
            with _translated(), closing(sqlite3.connect(temporary, isolation_level=None)) as database:
                # Nothing needs to be undone in a file that is not in place yet.
                database.execute("PRAGMA journal_mode=OFF")
                database.execute("PRAGMA synchronous=OFF")
                database.execute(f"PRAGMA user_version={_LAYOUT}")
                database.execute("BEGIN")
                database.execute(
                    "CREATE TABLE cases (key BLOB PRIMARY KEY, place INTEGER, recorded INTEGER) WITHOUT ROWID"
                )
                database.execute("CREATE TABLE summary (document TEXT)")
                database.executemany("INSERT INTO cases VALUES (?, ?, ?)", rows)
                database.execute("INSERT INTO summary VALUES (?)", (json.dumps(asdict(summary)),))
                database.execute("COMMIT")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> Index:
        """Open the index at `path`. Raises IndexUnusable."""
        if path.is_symlink() or not path.is_file():
            raise IndexUnusable
        with _translated():
            database = sqlite3.connect(path, isolation_level=None)
            try:
                if database.execute("PRAGMA user_version").fetchone()[0] != _LAYOUT:
                    raise IndexUnusable
                # The journal is the truth; the rollback file only has to survive a killed process.
                database.execute("PRAGMA synchronous=OFF")
                document = database.execute("SELECT document FROM summary").fetchone()
                return cls(database, Summary(**json.loads(document[0])))
            except BaseException:
                database.close()
                raise

    @property
    def manifest(self) -> dict[str, Any]:
        return self.summary.manifest

    @property
    def pending(self) -> int:
        return self.summary.pending

    def __contains__(self, case_id: object) -> bool:
        return isinstance(case_id, str) and self._find(case_id) is not None

    def is_recorded(self, case_id: str) -> bool:
        found = self._find(case_id)
        return case_id in self.new_results or (found is not None and bool(found[1]))

    def place(self, case_id: str) -> int:
        """The offset of the case's status in the matrix. Raises IndexUnusable for an unknown case."""
        found = self._find(case_id)
        if found is None:
            raise IndexUnusable
        return found[0]

    def apply(self, event: Event) -> None:
        """Follow an event that was appended to the journal."""
        self.summary.manifest = advance(self.summary.manifest, event)
        if event["event"] == "result":
            self.new_results[event["result"]["case_id"]] = event["result"]
            self.summary.pending -= 1

    def commit(self) -> None:
        """Make the file say what this object says. Raises IndexUnusable."""
        with _translated():
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(
                "UPDATE cases SET recorded = 1 WHERE key = ?", [(digest_of(case_id),) for case_id in self.new_results]
            )
            self._database.execute("UPDATE summary SET document = ?", (json.dumps(asdict(self.summary)),))
            self._database.execute("COMMIT")
        self.new_results = {}

    def close(self) -> None:
        self._database.close()

    def _find(self, case_id: str) -> tuple[int, int] | None:
        with _translated():
            found = self._database.execute(
                "SELECT place, recorded FROM cases WHERE key = ?", (digest_of(case_id),)
            ).fetchone()
        return found if found is None else (int(found[0]), int(found[1]))


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, IndexError, OSError) as error:
        raise IndexUnusable from error


def discard(directory: Path) -> None:
    """Remove the index, if there is one."""
    for name in (names.INDEX, f"{names.INDEX}-journal"):
        (directory / name).unlink(missing_ok=True)


def open_index(directory: Path) -> Index | None:
    """The index of a run, or None when it has to be built."""
    try:
        return Index.load(directory / names.INDEX)
    except IndexUnusable:
        return None
