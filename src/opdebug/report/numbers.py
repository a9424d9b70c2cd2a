"""Numbers as people read them: grouped integers, three significant digits, percentages, and bounds rounded outwards."""

from __future__ import annotations

import math
from typing import Any

from opdebug.report.hostile import prose

_LONGEST_INTEGER = 40


def integer(value: int) -> str:
    """4 096, in groups of three; an integer too long to read is given by its sign and its number of bits."""
    if abs(value) >= 10**_LONGEST_INTEGER:
        return f"{'-' if value < 0 else ''}({value.bit_length()}-bit integer)"
    return f"{value:,}".replace(",", " ")


def number(value: Any, digits: int = 3) -> str:
    """A metric: integers exact, floats to `digits` significant digits, anything else as it is written (bounded)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return prose(value, 40)
    if isinstance(value, int):
        return integer(value)
    return f"{value:.{digits}g}"


def element(value: Any) -> str:
    """An element of a tensor: enough digits to tell neighbours of float32 apart, whole floats with a point."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_LONGEST_INTEGER:
        return integer(value)
    if not isinstance(value, float):
        return prose(value, 40)
    text = f"{value:.9g}"
    return text if any(c in text for c in ".eni") else f"{text}.0"


def percent(share: float) -> str:
    """0.0488 %; a share that is not zero never reads as 0 %, one below 1 never as 100 %."""
    if 0 < share < 1 and not 0.0001 <= share <= 0.9994:
        return "under 0.01 %" if share < 0.5 else "over 99.9 %"
    return f"{share * 100:.3g} %"


def share(part: int, whole: int, what: str) -> str:
    """2 of 4 096 elements (0.0488 %)."""
    text = f"{integer(part)} of {integer(whole)} {what}"
    return f"{text} ({percent(part / whole)})" if whole else text


def at_least(value: float, digits: int = 2) -> str:
    """A bound that suffices: rounded up to `digits` significant digits, so that the number printed suffices too."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    text = f"{value:.{digits}g}"
    if float(text) >= value:
        return text
    # One unit in the last digit printed above the value that was rounded down.
    exponent = math.floor(math.log10(abs(value))) - digits + 1
    return f"{float(text) + 10.0**exponent:.{digits}g}"


def count(amount: int, one: str, many: str | None = None) -> str:
    """1 case, 2 cases."""
    return f"{integer(amount)} {one if amount == 1 else many or one + 's'}"
