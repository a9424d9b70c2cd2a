"""Cutting option text at a separator that stands outside brackets and quotes: `split`."""

from __future__ import annotations

_CLOSING = {")": "(", "]": "[", "}": "{"}


def split(text: str, separator: str) -> list[str]:
    """The stripped pieces of `text` between separators; an unclosed bracket or quote reaches to the end."""
    pieces, start, open_brackets, quote = [], 0, 0, ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _CLOSING.values():
            open_brackets += 1
        elif character in _CLOSING:
            open_brackets = max(open_brackets - 1, 0)
        elif character == separator and not open_brackets:
            pieces.append(text[start:position].strip())
            start = position + 1
    return [*pieces, text[start:].strip()]
