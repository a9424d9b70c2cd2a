"""What goes to stdout gets there whatever the encoding of the terminal or pipe and whatever a stranger's document holds."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_json(document: Any) -> None:
    """One JSON document on one line; written in ASCII where stdout cannot carry its characters (a lone surrogate, say)."""
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        text = json.dumps(document)
    sys.stdout.write(text + "\n")


def print_text(text: str) -> None:
    """Text for people; a character that stdout cannot carry is shown as a question mark."""
    sys.stdout.write(text.encode(_encoding(), "replace").decode(_encoding()))


def _encoding() -> str:
    return sys.stdout.encoding or "utf-8"
