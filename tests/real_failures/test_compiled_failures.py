"""`opdebug run` finds every failure in `cases/` that needs the compiler, and passes the same calls eagerly.

Kept apart from the eager ones, so that both can run side by side: loading the compiler takes its time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

MODES = ("eager", "compile")


def test_the_run_finds_what_the_file_expects(case_file: Path, differences: Callable[[Path], list[str]]) -> None:
    assert differences(case_file) == []
