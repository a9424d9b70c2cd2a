"""Reading a number from a document that may hold anything in its place."""

from __future__ import annotations

import math
from typing import Any


def number(value: Any) -> float | None:
    """`value` as a float; None if it is no number. An integer beyond the range of a float becomes an infinity."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
