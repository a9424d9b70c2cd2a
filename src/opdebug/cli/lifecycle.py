"""The evidence lifecycle in three steps that may be days and machines apart: `plan`, `record`, `analyze`.

Each takes a directory and files, does one thing to the run, and returns the short document that says what it did. The
commands of that name and the agent skill's script are both made of these functions. Nothing here needs torch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opdebug.evidence.json_files import collector_paused, read_json
from opdebug.evidence.run import Run
from opdebug.model.contract import validate_config

Place = str | os.PathLike[str]
Document = dict[str, Any]

WAIT_S = 30.0
"""How long to wait for another process that writes to the same run, in seconds."""


def plan(output_dir: Place, *, config_path: Place, created_at: str | None = None,
         code: Mapping[str, Any] | None = None, extended: bool = False) -> Document:
    """Make a run in `output_dir` (absent or empty) from the operator config in a file.

    `code` is the git identity for the manifest. `extended` admits what the drop-in format does not have: a tolerance
    that is a named policy, a reference left to the candidate's own expression, a case without tensors.
    Returns {status: "planned", run_id, operator, case_count}. Raises OpdebugError, with nothing written.
    """
    config = read_json(config_path, "operator config")
    return plan_config(output_dir, config, created_at=created_at, code=code, extended=extended)


def plan_config(output_dir: Place, config: Any, *, created_at: str | None = None,
                code: Mapping[str, Any] | None = None, extended: bool = False) -> Document:
    """As `plan`, from a config that has been read already."""
    validate_config(config, extended=extended, allow_no_inputs=extended)
    Run.create(output_dir, config, created_at=created_at, code=code).close()
    return {"status": "planned", "run_id": config["run_id"], "operator": config["operator"]["name"],
            "case_count": len(config["cases"])}


def record(output_dir: Place, *, result_path: Place, recorded_at: str | None = None, wait: float = WAIT_S) -> Document:
    """Record the result in a file, in a time that does not grow with the run.

    Returns {status: "recorded", case_id, remaining}. Raises OpdebugError, with nothing recorded, in this order: the
    run's documents unreadable, the result unreadable, not valid, its case recorded or dealt with already, the run
    finished.
    """
    with Run.open(output_dir, write=True, wait=wait) as run:
        return record_file(run, result_path, recorded_at=recorded_at)


def record_file(run: Run, result_path: Place, *, recorded_at: str | None = None) -> Document:
    """As `record`, into a run that is open to write. A result that names no source gets the file's resolved path."""
    result = read_json(result_path, "operator result")
    remaining = run.record(result, recorded_at=recorded_at, source=str(Path(result_path).resolve()))
    return {"status": "recorded", "case_id": result["case_id"], "remaining": remaining}


def analyze(output_dir: Place, *, updated_at: str | None = None, again: bool, wait: float = WAIT_S) -> Document:
    """Derive the verdict, write analysis.json and report.md, and end the run.

    With `again` the analysis is the extended one, a further call gives the same answer, and a run that `opdebug run`
    made stays open while cases are missing. Without, the analysis is that of the drop-in contract, and a further call
    raises OpdebugError `artifact name is duplicated: …` with the evidence unchanged.
    Returns {status, crash_cases, mismatch_cases, missing_cases, analysis, report}, the last two as absolute paths.
    """
    # Only here, so that recording a result loads nothing of it.
    from opdebug.cli import conclude

    with collector_paused(), Run.open(output_dir, write=True, wait=wait, repair=again) as run:
        if again:
            analysis = conclude.concluded(run, updated_at=updated_at)
        else:
            analysis = conclude.analysis_of(run, extended=False)
            conclude.end(run, analysis, updated_at=updated_at)
    answer = {key: analysis[key] for key in ("status", "crash_cases", "mismatch_cases", "missing_cases")}
    return {**answer, "analysis": str(run.directory / conclude.ANALYSIS), "report": str(run.directory / conclude.REPORT)}
