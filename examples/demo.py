"""Three real failures of torch, each from a call to a verdict with evidence: `python examples/demo.py`, from anywhere.

Exits with 0 if opdebug found what is written in `EXAMPLES`, with 1 and what differed if not.
"""

from __future__ import annotations

import ast
import json
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = Path(".opdebug/runs")
DIAGNOSED = 1


@dataclass(frozen=True)
class Example:
    """A file in this folder, how to run it, and which of its cases fail."""

    file: str
    modes: str
    crashes: tuple[str, ...] = ()
    mismatches: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """The arguments of `opdebug`, to be run in the repository's root."""
        path = f"examples/{self.file}"
        return ["run", "--candidate", f"{path}:candidate", "--reference", f"{path}:reference",
                "--cases", f"{path}:cases", "--mode", self.modes]

    def story(self) -> str:
        """What the file says about itself."""
        text = (ROOT / "examples" / self.file).read_text(encoding="utf-8")
        return ast.get_docstring(ast.parse(text)) or ""

    def differences(self, exit_code: int, run: Path) -> list[str]:
        """What the run directory `run` says that was not expected, one line each."""
        if exit_code != DIAGNOSED:
            return [f"{self.file}: exit code {exit_code}, expected {DIAGNOSED}"]
        analysis = json.loads((run / "analysis.json").read_text(encoding="utf-8"))
        wanted = {"crash_cases": sorted(self.crashes), "mismatch_cases": sorted(self.mismatches), "missing_cases": []}
        return [f"{self.file}: {key} {analysis[key]}, expected {cases}" for key, cases in wanted.items()
                if analysis[key] != cases]


EXAMPLES = (
    Example("batch_norm_without_statistics.py", "eager",
            crashes=("inference-without-statistics", "inference-without-statistics-float64")),
    Example("median_of_expanded.py", "eager", mismatches=("expanded",)),
    Example("compiled_row_shift.py", "eager,compile", mismatches=("8-rows@compile",)),
)


def main() -> int:
    stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    runs = {example: RUNS / f"demo-{number}-{stamp}" for number, example in enumerate(EXAMPLES, 1)}
    differing: list[str] = []
    print(f"Each command below is run in {ROOT} and can be repeated there with another --run-id.")
    for number, (example, run) in enumerate(runs.items(), 1):
        print(f"\n{number} of {len(EXAMPLES)}: {example.story()}\n")
        exit_code = _opdebug([*example.command(), "--run-id", run.name])
        differing += example.differences(exit_code, ROOT / run)
    print("\nThe evidence (report.md is for people, results.json for programs, journal.jsonl is the record itself):")
    for run in runs.values():
        print(f"  {ROOT / run}")
    if differing:
        print("\nNot as expected with this torch:", *differing, sep="\n  ")
        return 1
    print("\nAll three were diagnosed as expected.")
    return 0


def _opdebug(arguments: Sequence[str]) -> int:
    """Show the command, run it in the repository's root, and let it print."""
    python = Path(sys.executable)
    shown = python.relative_to(ROOT) if python.is_relative_to(ROOT) else python
    print(f"$ {shlex.join([str(shown), '-m', 'opdebug', *arguments])}\n", flush=True)
    return subprocess.run([sys.executable, "-m", "opdebug", *arguments], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
