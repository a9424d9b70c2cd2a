"""The one document that `opdebug run --json` prints, and the exit code that goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opdebug.model.words import EXIT_OF_VERDICT

_FROM_ANALYSIS = ("status", "operator", "status_counts", "crash_cases", "mismatch_cases", "unsupported_cases",
                  "missing_cases", "no_evidence", "failure_axes", "failures", "refusals", "explanation",
                  "integration_hint", "warnings")


def run_document(analysis: Mapping[str, Any], *, run_id: str, output_dir: str, analysis_path: str, report_path: str,
                 manifest_path: str) -> dict[str, Any]:
    """What a run came to, for a program: the verdict and its grounds from an extended `analysis`, and where all lies.

    `analysis`, `report` and `manifest_ref` in the document are the three paths given.
    """
    return {
        "run_id": run_id, **{key: analysis[key] for key in _FROM_ANALYSIS}, "output_dir": output_dir,
        "analysis": analysis_path, "report": report_path, "manifest_ref": manifest_path,
    }


def exit_code(analysis: Mapping[str, Any]) -> int:
    """0 passed, 1 diagnosed, 3 inconclusive."""
    return EXIT_OF_VERDICT[analysis["status"]]
