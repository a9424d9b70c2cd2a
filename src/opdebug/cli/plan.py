"""`opdebug plan`: a run directory from an operator config, to be filled with results that are made elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from opdebug.cli import lifecycle
from opdebug.cli.output import print_json, print_text
from opdebug.evidence.code_identity import code_identity
from opdebug.evidence.json_files import read_json
from opdebug.report.hostile import identifier


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="the operator config, a JSON file")
    parser.add_argument("--output-dir", metavar="DIR", help="run directory (default .opdebug/runs/<run id>)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout instead of text")


def execute(options: argparse.Namespace) -> int:
    config = read_json(options.config, "operator config")
    # A run id that is no plain name is refused before the path made of it is used for anything.
    named = config.get("run_id") if isinstance(config, dict) else None
    directory = Path(options.output_dir or Path(".opdebug/runs") / str(named))
    done = lifecycle.plan_config(directory, config, code=code_identity(Path.cwd()), extended=True)
    if options.json:
        print_json({**done, "output_dir": str(directory.resolve())})
    else:
        print_text(f"planned {identifier(done['operator'])}: {done['case_count']} cases in {directory}\n")
    return 0
