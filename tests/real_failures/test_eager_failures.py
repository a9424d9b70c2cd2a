"""`opdebug run` finds every eager failure in `cases/`: status, verdict, confirmation and the axes that decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

MODES = ("eager",)


def test_the_run_finds_what_the_file_expects(case_file: Path, differences: Callable[[Path], list[str]]) -> None:
    assert differences(case_file) == []
