"""The end of every command that has a run in hand: analyse, write the views, answer on stdout, choose the exit code."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from opdebug.cli.output import print_json, print_text
from opdebug.diagnose.analysis import analyze_documents
from opdebug.diagnose.summary import exit_code, run_document
from opdebug.evidence.json_files import encode, list_text, object_text, to_bytes
from opdebug.evidence.run import Run
from opdebug.model.words import DIAGNOSED, INCONCLUSIVE, PASSED
from opdebug.report.markdown import render_report
from opdebug.report.terminal import render_terminal

MANIFEST_STATUS = {PASSED: "passed", DIAGNOSED: "failed", INCONCLUSIVE: "inconclusive"}
ANALYSIS, REPORT = "analysis.json", "report.md"
ARTIFACTS = (("analysis", "analysis", ANALYSIS), ("report", "report", REPORT))

# The line breaks and indents of a document's members, and of the rows in one of them.
_MEMBER_PAD = "\n  "
_ROW_PAD = _MEMBER_PAD + "  "


def analysis_of(run: Run, *, extended: bool = True) -> dict[str, Any]:
    """The analysis of a run as it is now."""
    state = run.state()
    return analyze_documents(state.config, state.matrix, {"results": state.results},
                             no_evidence=state.no_evidence if extended else None, extended=extended)


def conclude(run: Run, *, as_json: bool) -> int:
    """Write analysis and report, close the run, print the answer, and return the exit code of the verdict."""
    analysis = concluded(run)
    show(run, analysis, as_json=as_json)
    return exit_code(analysis)


def concluded(run: Run, *, updated_at: str | None = None) -> dict[str, Any]:
    """Write the extended analysis and its report, close the run, and return the analysis.

    The run is finished, except one that `opdebug run` made and that has cases missing: it can still be resumed.
    """
    analysis = analysis_of(run)
    resumable = "execution" in run.state().config and bool(analysis["missing_cases"])
    settle(run, analysis, finish=not resumable, updated_at=updated_at)
    return analysis


def settle(run: Run, analysis: dict[str, Any], *, finish: bool, updated_at: str | None = None) -> None:
    """Write analysis and report and close the run; `finish` ends it by the verdict unless it has ended already."""
    if finish and not run.state().terminal:
        end(run, analysis, updated_at=updated_at)
    else:
        for path, data in _files(analysis).items():
            run.store(path, data, replace=True)
    run.close()


def end(run: Run, analysis: dict[str, Any], *, updated_at: str | None = None) -> None:
    """Finish a run by the verdict, with analysis and report as artifacts. Raises OpdebugError if it has ended already."""
    run.finish(MANIFEST_STATUS[analysis["status"]], files=_files(analysis), artifacts=ARTIFACTS, updated_at=updated_at)


def document_of(run: Run, analysis: dict[str, Any]) -> dict[str, Any]:
    """The run document; `analysis` and `report` are null while these files do not exist."""
    where = run.directory
    document = run_document(
        analysis, run_id=run.state().config["run_id"], output_dir=str(where), analysis_path=str(where / ANALYSIS),
        report_path=str(where / REPORT), manifest_path=str(where / "manifest.json"),
    )
    absent = [key for key in ("analysis", "report") if not Path(document[key]).is_file()]
    return {**document, **dict.fromkeys(absent)}


def show(run: Run, analysis: dict[str, Any], *, as_json: bool) -> None:
    """The answer on stdout: one JSON document, or the report for people."""
    if as_json:
        print_json(document_of(run, analysis))
        return
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((120, 40)).columns
    print_text(render_terminal(analysis, width=width, colour=colour, evidence=str(run.directory)))


def _files(analysis: dict[str, Any]) -> dict[str, bytes]:
    # Both hold the rows, which are nearly all of them: encoded once, indented differently.
    rows = list_text([encode(row, _ROW_PAD) for row in analysis["results"]], _MEMBER_PAD)
    members = {key: rows if key == "results" else encode(value, _MEMBER_PAD) for key, value in analysis.items()}
    # No line break in JSON text is part of a string.
    report = render_report(analysis, results_text=rows.replace(_MEMBER_PAD, "\n"))
    return {ANALYSIS: to_bytes(object_text(members) + "\n"), REPORT: to_bytes(report)}
