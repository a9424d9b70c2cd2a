"""`opdebug record`: results made elsewhere, each from a file of its own, into a planned run."""

from __future__ import annotations

import argparse
from typing import Any

from opdebug.cli import lifecycle
from opdebug.cli.output import print_json, print_text
from opdebug.evidence.run import Run
from opdebug.model.errors import OpdebugError
from opdebug.report.hostile import identifier


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Add results to a planned run. Each file holds one result; what is wrong with one of them keeps "
                          "none of the others out.")
    parser.add_argument("run", metavar="RUN", help="the run directory")
    parser.add_argument("results", metavar="RESULT", nargs="+", help="a JSON file with the result of one case")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout instead of text")


def execute(options: argparse.Namespace) -> int:
    recorded: list[dict[str, Any]] = []
    problems: list[str] = []
    with Run.open(options.run, write=True, wait=lifecycle.WAIT_S) as run:
        for path in options.results:
            try:
                recorded.append(lifecycle.record_file(run, path))
            except OpdebugError as error:
                problems += [problem if path in problem else f"{path}: {problem}" for problem in error.problems]
    if options.json:
        print_json({"status": "failed" if problems else "recorded", "recorded": [done["case_id"] for done in recorded],
                    "remaining": recorded[-1]["remaining"] if recorded else None, "errors": problems})
    else:
        for done in recorded:
            print_text(f"recorded {identifier(done['case_id'])}, {done['remaining']} cases left\n")
    if problems:
        raise OpdebugError(problems)
    return 0
