"""Text in columns of a terminal, where a wide character takes two and a combining one none: `width, fit, pad, fill`."""

from __future__ import annotations

import unicodedata

from opdebug.report.hostile import shorten


def width(text: str) -> int:
    """Columns that a safe text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def fit(text: str, columns: int) -> str:
    """`text`, its middle cut out where it takes more than `columns` (at least 2)."""
    cut, limit = text, min(len(text), columns + 1)
    while width(cut) > columns and limit > 1:
        limit -= 1
        cut = shorten(text, limit)
    return cut


def pad(text: str, columns: int) -> str:
    """`text` filled with spaces to `columns`."""
    return text + " " * (columns - width(text))


def fill(text: str, columns: int, first: str = "", later: str = "") -> list[str]:
    """`text` broken at spaces into lines of at most `columns`; `first` and `later` are put in front of the lines."""
    lines, line, prefix = [], first, first
    for word in text.split(" "):
        rest = word
        if line != prefix and width(line) + 1 + width(rest) > columns:
            lines.append(line)
            line = prefix = later
        while width(prefix) + width(rest) > columns:
            head = _head(rest, columns - width(prefix))
            lines.append(prefix + head)
            rest = rest[len(head):]
            line = prefix = later
        line = line + rest if line == prefix else f"{line} {rest}"
    return [*lines, line]


def _head(text: str, columns: int) -> str:
    """The longest beginning that takes at most `columns`, one character at least."""
    taken = 0
    for position, character in enumerate(text):
        taken += _columns(character)
        if taken > columns and position:
            return text[:position]
    return text


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
