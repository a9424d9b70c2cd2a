"""A run's cases, executed into its evidence: every failing attempt and every conclusion is written when it is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from opdebug.evidence.run import Run, file_name_for
from opdebug.execute.pool import Attempt, Conclusion, Task
from opdebug.execute.session import Session
from opdebug.model.words import PASSED, UNSUPPORTED


def execute(run: Run, session: Session, tasks: Iterable[Task]) -> Iterator[Conclusion]:
    """Run `tasks` in `session`, record into `run`, and yield each conclusion after it is on disk."""
    for happened in session.run(tasks):
        if isinstance(happened, Attempt):
            # A first run that needs no second opinion is in the result that follows it.
            if happened.alone or happened.status not in (PASSED, UNSUPPORTED):
                run.event("attempt", {"case_id": happened.case_id, "worker": happened.worker, "alone": happened.alone,
                                      "status": happened.status, "kind": happened.kind})
            continue
        _record(run, happened)
        yield happened


def _log_path(run: Run, case_id: str) -> str:
    """A name for a log that is not taken: a case without evidence is run again on resume, and prints again."""
    stored = run.state().files
    suffixes = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (f"logs/{file_name_for(case_id)}{suffix}.txt" for suffix in suffixes)
    return next(name for name in names if name not in stored)


def _record(run: Run, conclusion: Conclusion) -> None:
    log = None
    if conclusion.output:
        log = _log_path(run, conclusion.case_id)
        run.store(log, conclusion.output.encode("utf-8", "backslashreplace"))
    if conclusion.result is None:
        run.no_evidence(conclusion.case_id, conclusion.no_evidence or "unknown")
    else:
        run.record({**conclusion.result, "log": log})
