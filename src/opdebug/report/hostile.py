"""Texts from a run may come from anyone: here they lose the power to act on a terminal or to leave their place.

`prose` for messages, `identifier` for names that must stay tellable apart, `code` and `escaped` for Markdown, `fence`
for a Markdown block, `json_block` for JSON in Markdown.
"""

from __future__ import annotations

import json
import re
from typing import Any

from opdebug.evidence.json_files import encode

# Everything a terminal or a renderer may act on: C0 and C1 controls, soft hyphen, bidirectional and zero-width
# controls, line and paragraph separators, byte order mark, annotations, tags, and lone surrogates (not encodable).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
                     "\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
                     "\U000e0000-\U000e0fff\ud800-\udfff]")
# CSI, OSC/DCS/PM/APC up to their terminator, and the two-character escapes.
_ANSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]")
_UNSAFE_IN_JSON = re.compile(f"(?!\n){_UNSAFE.pattern}")
_BACKTICKS = re.compile("`+")
_MARKDOWN = re.compile(r"[\\`*\[\]<>|&~]|://")
PROSE_LIMIT = 400
IDENTIFIER_LIMIT = 200


def identifier(text: Any, limit: int = IDENTIFIER_LIMIT) -> str:
    """A name on one line: unsafe characters written out, so that two different names stay different."""
    return shorten(_visible(str(text)), limit)


def prose(text: Any, limit: int = PROSE_LIMIT) -> str:
    """A message on one line: colour sequences dropped, white space folded, the rest written out, at most `limit`."""
    raw = str(text)[:limit * 20]
    return shorten(_visible(" ".join(_ANSI.sub("", raw).split())), limit)


def shorten(text: str, limit: int) -> str:
    """`text` with its middle replaced by one … where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head):]}"


def escaped(text: str) -> str:
    """Safe text as Markdown prose: nothing in it is read as markup, HTML or a link."""
    return _MARKDOWN.sub(lambda match: "".join(f"\\{c}" for c in match.group()), text)


def code(text: str, *, in_table: bool = False) -> str:
    """Safe text as a Markdown code span, which nothing inside can close."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if longest or not text.strip() else ""
    shown = text.replace("|", "\\|") if in_table else text
    return f"{ticks}{space}{shown}{space}{ticks}"


def json_block(value: Any) -> list[str]:
    """`value` as a fenced JSON block: indent 2, keys sorted, unsafe characters escaped as JSON does."""
    return json_text_block(encode(value))


def json_text_block(text: str) -> list[str]:
    """As `json_block`, of a value that is indented JSON text already."""
    # In ASCII, JSON itself has escaped every control character but one.
    safe = text.isascii() and "\x7f" not in text
    return fence(text if safe else _UNSAFE_IN_JSON.sub(_json_escape, text), "json")


def fence(text: str, language: str = "") -> list[str]:
    """Lines of a fenced block that no line of `text` can close."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1 if longest >= 3 else 0)
    return [f"{ticks}{language}", *text.split("\n"), ticks]


def _visible(text: str) -> str:
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def _json_escape(match: re.Match[str]) -> str:
    # json.dumps in ASCII writes characters beyond the basic plane as the surrogate pairs that JSON asks for.
    return json.dumps(match.group())[1:-1]
