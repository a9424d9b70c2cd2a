"""A run's cases, executed into its evidence: every attempt and every conclusion is written the moment it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opdebug.evidence.run import Run, file_name_for
from opdebug.execute.pool import Attempt, Conclusion, Task
from opdebug.execute.session import Session


def execute(run: Run, session: Session, tasks: Iterable[Task]) -> Iterator[Conclusion]:
    """Run `tasks` in `session`, record into `run`, and yield each conclusion after it is on disk."""
    for happened in session.run(tasks):
        if isinstance(happened, Attempt):
            run.event("attempt", {"case_id": happened.case_id, "worker": happened.worker, "alone": happened.alone,
                                  "status": happened.status, "kind": happened.kind})
            continue
        _record(run, happened)
        yield happened


def _record(run: Run, conclusion: Conclusion) -> None:
    log = None
    if conclusion.output:
        log = f"logs/{file_name_for(conclusion.case_id)}.txt"
        run.store(log, conclusion.output.encode("utf-8", "backslashreplace"))
    if conclusion.result is None:
        run.no_evidence(conclusion.case_id, conclusion.no_evidence or "unknown")
    else:
        run.record({**conclusion.result, "log": log})
