"""The modes a candidate can be executed in, in one table: a new mode is a file here and a line in `MODES`."""

from __future__ import annotations

from collections.abc import Callable

from opdebug.worker.modes import compile as compile_mode
from opdebug.worker.modes import eager, graph
from opdebug.worker.modes.base import Call, Executed, ModeRefused

MODES: dict[str, Callable[[Call], Executed]] = {"eager": eager.run, "compile": compile_mode.run, "graph": graph.run}

__all__ = ["MODES", "Call", "Executed", "ModeRefused"]
