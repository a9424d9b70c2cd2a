"""Three files in, one record out: a kernel, its reference and its cases, run as `opdebug run` would run them.

`run(request)` always comes back with a record, a plain document that says what was called, from which source texts and
how it ended, whatever went wrong on the way; `check_sources` refuses a record that was made from other texts than those
that lie there now. The record is kept beside the evidence as `record.json`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opdebug.cli import run_options
from opdebug.cli.conclude import analysis_of, settle
from opdebug.cli.main import build_parser
from opdebug.cli.progress import Progress
from opdebug.cli.run import cases_of, session_for, tolerance_of
from opdebug.diagnose.summary import run_document
from opdebug.evidence.json_files import document_bytes, write_atomic
from opdebug.evidence.run import Run
from opdebug.execute.campaign import execute as execute_cases
from opdebug.execute.pool import Task
from opdebug.execute.session import Session
from opdebug.model import address as addresses
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case
from opdebug.plan.operator import DEFAULT_TOLERANCE, Draft, name_of
from opdebug.plan.sources import SourceFile, read_source

RECORD = "record.json"
FAILED = "failed"
ROLES = ("kernel", "reference", "cases")

_INTERRUPTED = "interrupted; what was recorded is kept"

Record = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What to run: `FILE.py:callable` for each role, and how. `atol` or `rtol` alone makes the other 0."""

    kernel: str
    reference: str
    cases: str
    output_dir: Path
    device: str = "npu"
    atol: float | None = None
    rtol: float | None = None
    warmups: int = 1
    repeats: int = 4
    max_cases: int | None = None
    timeout_seconds: float = 120.0
    code: Mapping[str, Any] | None = None
    command: list[str] = field(default_factory=list)


def run(request: Request) -> Record:
    """Run every case and return the record. `status` is the verdict, or `failed` with the reason in `error`."""
    record: Record = {"status": FAILED, "error": None, "device": request.device, "sources": {},
                      "candidate_invocations": 0, "cases": [], "record": None}
    try:
        _check_free(request.output_dir)
    except (OpdebugError, OSError) as error:
        # A directory that holds something is somebody else's: not even the record may be written there.
        return {**record, "error": str(error)}
    record["record"] = str(request.output_dir.resolve() / RECORD)
    try:
        _run(request, record)
    except (OpdebugError, OSError) as error:
        record.update(status=FAILED, error=str(error))
    except KeyboardInterrupt:
        record.update(status=FAILED, error=_INTERRUPTED)
    return _written(record, request.output_dir)


def read_files(request: Request) -> dict[str, tuple[SourceFile, str]]:
    """The source file and the name of the callable for each role, parsed and not imported.

    Raises OpdebugError for an address that is no `FILE.py:callable`, an unreadable file, or different files of one name.
    """
    found: dict[str, tuple[SourceFile, str]] = {}
    problems: list[str] = []
    for role in ROLES:
        text = getattr(request, role)
        try:
            address = addresses.parse(text, role)
            if address.kind != addresses.FILE:
                raise OpdebugError(f"{role} is {text!r}; accepted: FILE.py:callable")
            found[role] = read_source(address.where, role), address.name
        except OpdebugError as error:
            problems += error.problems
    texts: dict[str, SourceFile] = {}
    for file, _ in found.values():
        other = texts.setdefault(Path(file.path).name, file)
        if other.sha256 != file.sha256:
            problems.append(f"{other.path} and {file.path} have the same basename and different texts; rename one")
    if problems:
        raise OpdebugError(problems)
    return found


def check_sources(record: Mapping[str, Any]) -> None:
    """Raises OpdebugError `… hashes differ …` when a record's sources are not the texts that its paths hold now."""
    changed = [source["path"] for role, source in record["sources"].items()
               if read_source(source["path"], role).sha256 != source["sha256"]]
    if changed:
        raise OpdebugError(f"the record's hashes differ from those of {', '.join(dict.fromkeys(changed))}: it says nothing "
                           "about these files as they are now")


def _check_free(directory: Path) -> None:
    if directory.is_dir() and any(directory.iterdir()):
        raise OpdebugError(f"output directory is not empty: {directory}")
    if not directory.is_dir() and (directory.exists() or directory.is_symlink()):
        raise OpdebugError(f"output directory {directory} is not a directory")


def _written(record: Record, directory: Path) -> Record:
    """The record, on disk too unless that fails, which it then says itself. Evidence has stored its own already."""
    path = directory / RECORD
    try:
        if not path.exists():
            directory.mkdir(parents=True, exist_ok=True)
            write_atomic(path, document_bytes(record))
    except (OpdebugError, OSError) as error:
        return {**record, "record": None, "error": f"{record['error']}; the record cannot be written: {error}"}
    return record


def _run(request: Request, record: Record) -> None:
    """Run the cases into evidence, filling in `record`. Raises OpdebugError."""
    sources = read_files(request)
    record["sources"] = {role: {"path": file.path, "callable": name, "sha256": file.sha256}
                         for role, (file, name) in sources.items()}
    options, draft = _drafted(request, sources)
    settings = run_options.execution(options, draft, [])
    with _started(session_for(options, draft, settings), request.device) as session:
        found = session.collect()
        problem = found["error"] or _too_many(found["cases"], request.max_cases)
        if problem is not None and not found["cases"]:
            raise OpdebugError(problem)
        cases, own = cases_of(found, ["eager"])
        tolerance = draft.tolerance or own or DEFAULT_TOLERANCE
        config = draft.config([case.to_document() for case in cases], tolerance, settings)
        with Run.create(request.output_dir, config, code=request.code, command=request.command,
                        environment=session.ready["environment"]) as evidence:
            tasks = [Task(case.to_document(), tolerance_of(case, tolerance)) for case in cases]
            problem = _carried_out(evidence, session, tasks) if problem is None else _not_run(evidence, cases, problem)
            _concluded(evidence, record, problem)


def _too_many(cases: Sequence[Any], limit: int | None) -> str | None:
    if limit is None or len(cases) <= limit:
        return None
    return f"cases() gave {len(cases)} cases; --max-cases allows {limit}, and none is left out silently"


def _drafted(request: Request, sources: Mapping[str, tuple[SourceFile, str]]) -> tuple[argparse.Namespace, Draft]:
    """The request as `opdebug run` has it. One spelling per file, so that it is executed once whatever its roles."""
    files: dict[str, SourceFile] = {}
    spelling: dict[str, str] = {}
    address: dict[str, str] = {}
    for role, (file, name) in sources.items():
        where = spelling.setdefault(file.path, getattr(request, role).strip().rpartition(":")[0])
        files[where], address[role] = file, f"{where}:{name}"
    tolerance = None
    if request.atol is not None or request.rtol is not None:
        tolerance = {"atol": request.atol or 0.0, "rtol": request.rtol or 0.0}
    draft = Draft(name=name_of(address["kernel"]), candidate=address["kernel"], reference=address["reference"],
                  tolerance=tolerance, device=request.device, cases_address=address["cases"], files=files)
    words = [f"--warmups={request.warmups}", f"--repeats={request.repeats}", f"--timeout={request.timeout_seconds!r}"]
    return build_parser("run").parse_args(["run", *words]), draft


@contextmanager
def _started(session: Session, device: str) -> Iterator[Session]:
    with ExitStack() as stack:
        try:
            stack.enter_context(session)
        except OpdebugError as error:
            fallback = "" if device == "cpu" else "there is no CPU fallback, and "
            raise OpdebugError([*error.problems, f"{fallback}no candidate call was made"]) from None
        yield session


def _carried_out(evidence: Run, session: Session, tasks: Sequence[Task]) -> str | None:
    """Run the tasks; returns what stopped them early."""
    try:
        with Progress(len(tasks)) as progress:
            for done in execute_cases(evidence, session, tasks):
                progress.done(done.case_id, done.result["status"] if done.result else "no evidence")
    except KeyboardInterrupt:
        return _INTERRUPTED
    return None


def _not_run(evidence: Run, cases: Sequence[Case], problem: str) -> str:
    for case in cases:
        evidence.no_evidence(case.id, f"not run: {problem}")
    return f"{problem} (after {len(cases)} cases)"


def _concluded(evidence: Run, record: Record, problem: str | None) -> None:
    """Complete `record` from the evidence, store it there, and end the run (an interrupted one can be resumed)."""
    analysis, where, state = analysis_of(evidence), evidence.directory, evidence.state()
    rows = [_row(case_id, state.result_of.get(case_id)) for case_id in state.case_ids]
    record.update(run_document(
        analysis, run_id=state.config["run_id"], output_dir=str(where), analysis_path=str(where / "analysis.json"),
        report_path=str(where / "report.md"), manifest_path=str(where / "manifest.json")))
    record.update(verdict=analysis["status"], cases=rows,
                  candidate_invocations=sum(row["candidate_invocations"] or 0 for row in rows))
    try:
        check_sources(record)
    except OpdebugError as error:
        problem = problem or str(error)
    if problem is not None:
        record.update(status=FAILED, error=problem)
    evidence.store(RECORD, document_bytes(record))
    settle(evidence, analysis, finish=problem != _INTERRUPTED)


def _row(case_id: str, result: Mapping[str, Any] | None) -> dict[str, Any]:
    """One line of the record; `candidate_invocations` is None where the calls could not be counted."""
    found = result or {}
    return {"case_id": case_id, "status": found.get("status"), "error": found.get("error"),
            "candidate_invocations": found.get("executed", {}).get("candidate_invocations"),
            "timing_us": found.get("timing_us")}
