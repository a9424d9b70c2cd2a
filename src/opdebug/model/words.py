"""The fixed vocabulary: words that documents may contain and that are never extended.

Anything finer than these words goes into extra keys (`failure.kind`, `changes`, …), so that a reader who knows only
this page understands every document.
"""

from __future__ import annotations

SCHEMA_VERSION = 1

MODES = ("compile", "eager", "graph")

PASSED = "passed"
MISMATCH = "numerical_mismatch"
CRASH = "crash"
UNSUPPORTED = "unsupported"
STATUSES = (CRASH, MISMATCH, PASSED, UNSUPPORTED)
FAILING = (CRASH, MISMATCH)

DIAGNOSED = "diagnosed"
INCONCLUSIVE = "inconclusive"
VERDICTS = (PASSED, DIAGNOSED, INCONCLUSIVE)

EXIT_OF_VERDICT = {PASSED: 0, DIAGNOSED: 1, INCONCLUSIVE: 3}
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_INTERNAL = 70
