"""The end of every command that has a run in hand: analyse, write the views, answer on stdout, choose the exit code."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any

from opdebug.diagnose.analysis import analyze_documents
from opdebug.diagnose.summary import exit_code, run_document
from opdebug.evidence.json_files import document_bytes
from opdebug.evidence.manifest import TERMINAL
from opdebug.evidence.run import Run
from opdebug.model.words import DIAGNOSED, INCONCLUSIVE, PASSED
from opdebug.report.markdown import render_report
from opdebug.report.terminal import render_terminal

MANIFEST_STATUS = {PASSED: "passed", DIAGNOSED: "failed", INCONCLUSIVE: "inconclusive"}
ARTIFACTS = (("analysis", "analysis", "analysis.json"), ("report", "report", "report.md"))


def analysis_of(run: Run) -> dict[str, Any]:
    """The extended analysis of a run as it is now."""
    state = run.state()
    return analyze_documents(state.config, state.matrix, {"results": state.results},
                             no_evidence=state.no_evidence, extended=True)


def conclude(run: Run, *, as_json: bool) -> int:
    """Write analysis and report, close the run, print the answer, and return the exit code of the verdict.

    A run with every case concluded is finished; one with cases missing stays open, so that it can be resumed.
    """
    analysis = analysis_of(run)
    state = run.state()
    files = {"analysis.json": document_bytes(analysis), "report.md": render_report(analysis).encode("utf-8")}
    if state.manifest["status"] not in TERMINAL:
        if analysis["missing_cases"]:
            for path, data in files.items():
                run.store(path, data, replace=True)
        else:
            run.finish(MANIFEST_STATUS[analysis["status"]], files=files, artifacts=ARTIFACTS)
    run.close()
    show(run, analysis, as_json=as_json)
    return exit_code(analysis)


def show(run: Run, analysis: dict[str, Any], *, as_json: bool) -> None:
    """The answer on stdout: one JSON document, or the report for people."""
    where = run.directory
    if as_json:
        document = run_document(
            analysis, run_id=run.state().config["run_id"], output_dir=str(where), analysis_path=str(where / "analysis.json"),
            report_path=str(where / "report.md"), manifest_path=str(where / "manifest.json"),
        )
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((120, 40)).columns
    text = render_terminal(analysis, width=width, colour=colour, evidence=str(where))
    sys.stdout.write(text.encode(sys.stdout.encoding or "utf-8", "replace").decode(sys.stdout.encoding or "utf-8"))
