"""`opdebug report`: what a run shows so far, without changing it or its directory."""

from __future__ import annotations

import argparse

from opdebug.cli.conclude import analysis_of, show
from opdebug.cli.output import print_text
from opdebug.evidence.run import Run
from opdebug.report.markdown import render_report


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Show a run again, finished or not, without changing it. The exit code is 0 whatever the verdict; "
                          "opdebug analyze ends with the verdict's own.")
    parser.add_argument("run", metavar="RUN", help="the run directory")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document on stdout instead of text")
    form.add_argument("--markdown", action="store_true", help="the report as Markdown on stdout")


def execute(options: argparse.Namespace) -> int:
    with Run.open(options.run) as run:
        analysis = analysis_of(run)
        if options.markdown:
            print_text(render_report(analysis))
        else:
            show(run, analysis, as_json=options.json)
    return 0
