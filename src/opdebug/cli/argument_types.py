"""Numbers on a command line: each function reads one and refuses what its option cannot mean. Standard library only."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> float:
    """A finite number above 0. Raises argparse.ArgumentTypeError, or ValueError for no number at all."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def whole(text: str) -> int:
    """A whole number of at least 0. Raises argparse.ArgumentTypeError, or ValueError for no number at all."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 0")
    return value


def count(text: str) -> int:
    """A whole number of at least 1. Raises argparse.ArgumentTypeError, or ValueError for no number at all."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return value
