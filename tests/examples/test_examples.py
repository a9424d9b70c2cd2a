"""The examples that need no compiler, by the commands that the demo shows. All of them run in `make demo`."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("opdebug_examples_demo", ROOT / "examples" / "demo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its own module up while it is made.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


DEMO = _demo()


@pytest.mark.parametrize("example", [e for e in DEMO.EXAMPLES if e.modes == "eager"], ids=lambda example: example.file)
def test_the_command_shown_finds_the_failing_cases(example: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "opdebug", *example.command(), "--output-dir", str(tmp_path / "run")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert example.differences(ended.returncode, tmp_path / "run") == [], ended.stderr
    for case in (*example.crashes, *example.mismatches):
        assert case in ended.stdout
    assert str(tmp_path / "run") in ended.stdout


def test_every_file_beside_the_demo_is_an_example_with_a_story() -> None:
    files = {path.name for path in (ROOT / "examples").glob("*.py")} - {"demo.py"}
    assert files == {example.file for example in DEMO.EXAMPLES}
    for example in DEMO.EXAMPLES:
        assert example.story()


def test_the_demo_says_what_differs() -> None:
    example = DEMO.EXAMPLES[0]
    assert example.differences(0, ROOT) == [f"{example.file}: exit code 0, expected 1"]


def test_the_demo_says_which_cases_differ(tmp_path: Path) -> None:
    analysis = {"crash_cases": ["x"], "mismatch_cases": ["expanded"], "missing_cases": []}
    (tmp_path / "analysis.json").write_text(json.dumps(analysis), encoding="utf-8")
    example = DEMO.Example("median_of_expanded.py", "eager", mismatches=("expanded",))
    assert example.differences(1, tmp_path) == ["median_of_expanded.py: crash_cases ['x'], expected []"]
