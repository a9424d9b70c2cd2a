"""`opdebug verify`: is a run's evidence what was recorded? One line per finding."""

from __future__ import annotations

import argparse

from opdebug.cli.output import print_json, print_text
from opdebug.evidence.verify import verify
from opdebug.report.hostile import identifier

_LONGEST = 1000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Derive every document of a run again from its journal, check the journal's hash chain and every "
                          "file's digest, and name what differs. Exit code 0: nothing does; 1: something does.")
    parser.add_argument("run", metavar="RUN", help="the run directory")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout instead of text")


def execute(options: argparse.Namespace) -> int:
    findings = verify(options.run)
    if options.json:
        print_json({"status": "failed" if findings else "passed", "findings": findings})
    elif findings:
        print_text("".join(f"{identifier(finding, _LONGEST)}\n" for finding in findings))
    else:
        print_text(f"{options.run}: nothing differs from what was recorded\n")
    return 1 if findings else 0
