"""`opdebug analyze`: the verdict of a run, its failing axes and its report, as often as asked."""

from __future__ import annotations

import argparse

from opdebug.cli.conclude import conclude
from opdebug.cli.lifecycle import WAIT_S
from opdebug.evidence.json_files import collector_paused
from opdebug.evidence.run import Run


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Derive the verdict, write analysis.json and report.md into the run, and end it. A run made by "
                          "opdebug run stays open while cases are missing, so that it can be resumed.")
    parser.add_argument("run", metavar="RUN", help="the run directory")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout instead of text")


def execute(options: argparse.Namespace) -> int:
    with collector_paused(), Run.open(options.run, write=True, wait=WAIT_S, repair=True) as run:
        return conclude(run, as_json=options.json)
