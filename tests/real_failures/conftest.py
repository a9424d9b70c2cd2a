"""Runs a file of `cases/` through the command line and holds what comes out against what the file expects.

Every file is an operator failure of the pinned torch that happened to somebody, or one that has been repaired since.
Beside `candidate`, `reference` and `cases` it assigns

- MODES, and EXPECT: the status of every case, `<id>@<mode>` where there are two modes
- AXIS: the axes, separated by commas, that the explanation must name
- KIND: the status that the file is about; SOURCE: the public issue, or where else the failure comes from
- NEEDS, where the failure shows on some processors only: a machine name or a flag of /proc/cpuinfo
- TOLERANCE, where the default one would be too wide: `opdebug run` takes it from there

These are read from the text, so that the testing process needs no torch.
"""

from __future__ import annotations

import ast
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from opdebug.model.words import DIAGNOSED, EXIT_OF_VERDICT, FAILING, INCONCLUSIVE, PASSED, UNSUPPORTED

FILES = sorted((Path(__file__).parent / "cases").glob("*.py"))
LIMIT_S = 300


def expectations(path: Path) -> dict[str, Any]:
    """The constants that the file assigns at its top level; what is no literal is left out."""
    found: dict[str, Any] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                found[statement.targets[0].id] = ast.literal_eval(statement.value)
            except ValueError:
                continue
    return found


def run(path: Path, modes: Iterable[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """`opdebug run` over the file as a user would call it, with the evidence in `directory`."""
    return subprocess.run(
        [sys.executable, "-m", "opdebug", "run", "--candidate", f"{path}:candidate",
         "--reference", f"{path}:reference", "--cases", f"{path}:cases", "--mode", ",".join(modes), "--json", "--quiet",
         "--output-dir", str(directory)],
        capture_output=True, text=True, timeout=LIMIT_S,
    )


def explained_axes(document: dict[str, Any]) -> set[str]:
    """Every axis that the explanation names, or that tells a failing case from a passing one."""
    axes: set[str] = set()
    for entry in document["explanation"]:
        axes.update([entry["axis"]] if "axis" in entry else entry["axes"], entry.get("moves_with", ()))
    for failure in document["failures"]:
        axes.update((failure["nearest_passing"] or {"differs": ()})["differs"])
        axes.update(axis for contrast in failure["contrasts"] for axis in contrast["axes"])
    return axes


def compare_with_expectations(path: Path, directory: Path) -> list[str]:
    """Run the file and say, one line each, what did not come out as it expects; nothing if all did."""
    wanted = expectations(path)
    ended = run(path, wanted["MODES"], directory)
    if not ended.stdout:
        return [f"no answer, exit code {ended.returncode}: {ended.stderr.strip()}"]
    document = json.loads(ended.stdout)
    rows = json.loads((directory / "results.json").read_text(encoding="utf-8"))["results"]
    statuses = {row["case_id"]: row["status"] for row in rows}
    found = [f"{case}: {statuses.get(case)}, expected {status}" for case, status in wanted["EXPECT"].items()
             if statuses.get(case) != status]
    found += [f"{case}: not expected at all" for case in statuses if case not in wanted["EXPECT"]]
    found += [f"{case}: no evidence, {reason}" for case, reason in document["no_evidence"].items()]
    verdict = _verdict(set(wanted["EXPECT"].values()))
    if (document["status"], ended.returncode) != (verdict, EXIT_OF_VERDICT[verdict]):
        found.append(f"verdict {document['status']}, exit code {ended.returncode}; expected {verdict}")
    found += [f"{failure['case_id']}: {failure['attempts']['same']} of {failure['attempts']['total']} attempts alike"
              for failure in document["failures"] if failure["confirmed"] is not True or failure["flaky"]]
    axes = explained_axes(document)
    found += [f"axis {axis} is not among {sorted(axes)}" for axis in wanted["AXIS"].split(",") if axis not in axes]
    return found


def _verdict(statuses: set[str]) -> str:
    if statuses & set(FAILING):
        return DIAGNOSED
    return INCONCLUSIVE if UNSUPPORTED in statuses else PASSED


def _processor_has(feature: str) -> bool:
    if feature == platform.machine():
        return True
    try:
        return feature in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return False


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`case_file` is every file; in a module that sets MODES, every file with these modes."""
    if "case_file" in metafunc.fixturenames:
        modes = getattr(metafunc.module, "MODES", None)
        files = [path for path in FILES if modes is None or expectations(path).get("MODES") == modes]
        metafunc.parametrize("case_file", files, ids=[path.stem for path in files])


@pytest.fixture
def differences(tmp_path: Path) -> Callable[[Path], list[str]]:
    """`compare_with_expectations` in a directory of its own; skips where the processor cannot show the failure."""
    def of(path: Path) -> list[str]:
        needed = expectations(path).get("NEEDS")
        if needed is not None and not _processor_has(needed):
            pytest.skip(f"this failure shows on a processor with {needed}")
        return compare_with_expectations(path, tmp_path / "run")
    return of


@pytest.fixture
def constants(case_file: Path) -> dict[str, Any]:
    """What the file assigns at its top level."""
    return expectations(case_file)
