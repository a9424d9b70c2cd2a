"""The documents that people and scripts read, each derived from a run's state alone and therefore always the same bytes.

`plan_text` encodes the cases once for both documents that hold them; `view_bytes` gives all views of a state, and
`matrix_bytes` also says where a status stands, which `patch` needs to change one in place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from opdebug.evidence import names
from opdebug.evidence.json_files import document_bytes, encode, list_text, object_text, quote, to_bytes
from opdebug.evidence.state import PENDING, RECORDED, RunState
from opdebug.model.words import SCHEMA_VERSION

# The line breaks and indents at which a row of a top-level list, and a member of such a row, begin.
ROW_PAD = "\n    "
MEMBER_PAD = ROW_PAD + "  "

RESULTS_HEAD = b'{\n  "results": ['
RESULTS_TAIL = b'\n  ],\n  "schema_version": 1\n}\n'
RESULTS_TAIL_EMPTY = b'],\n  "schema_version": 1\n}\n'

_REMEMBERED = 4096

_STATUS = {status: f'"status": "{status}"'.encode() for status in (PENDING, RECORDED)}


@dataclass(frozen=True)
class PlanText:
    """The two documents of a plan that hold its cases. `matrix_rows` are the bytes before and after each status."""

    config: bytes
    matrix_rows: list[tuple[bytes, bytes]]


def plan_text(config: dict[str, Any]) -> PlanText:
    """Encode a config whose keys are strings. Raises OpdebugError when it holds what JSON cannot."""
    config_rows: list[str] = []
    matrix_rows: list[tuple[bytes, bytes]] = []
    encoded, separator = _Remembered(), "," + MEMBER_PAD
    for case in config["cases"]:
        keys = sorted(case)
        members = [f"{quote(key)}: {encoded(case[key])}" for key in keys]
        config_rows.append("{" + MEMBER_PAD + separator.join(members) + ROW_PAD + "}")
        first = bisect_left(keys, "status")
        rest = members[first + 1:] if "status" in case else members[first:]
        before = "".join([MEMBER_PAD + member + "," for member in members[:first]])
        after = "".join([separator + member for member in rest])
        matrix_rows.append((to_bytes("{" + before + MEMBER_PAD), to_bytes(after + ROW_PAD + "}")))
    texts = {key: encode(value, "\n  ") for key, value in config.items() if key != "cases"}
    texts["cases"] = list_text(config_rows, "\n  ")
    return PlanText(to_bytes(object_text(texts) + "\n"), matrix_rows)


class _Remembered:
    """Encodes the members of cases; cases of one matrix have most of them in common, so texts are kept for a while."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __call__(self, value: Any) -> str:
        if isinstance(value, str):
            return quote(value)
        if not isinstance(value, (dict, list)):
            return encode(value, MEMBER_PAD)
        # repr tells 1, 1.0, True and "1" apart, which equality of the values would not.
        key = repr(value)
        text = self._texts.get(key)
        if text is None:
            text = encode(value, MEMBER_PAD)
            if len(self._texts) < _REMEMBERED:
                self._texts[key] = text
        return text


def matrix_bytes(config: dict[str, Any], rows: list[tuple[bytes, bytes]],
                 recorded: Container[str]) -> tuple[bytes, list[int]]:
    """`case-matrix.json`, and for each row the offset in it at which its status member begins."""
    separator, pieces, places = ("," + ROW_PAD).encode(), [f'{{\n  "cases": [{ROW_PAD}'.encode()], []
    offset = len(pieces[0])
    for index, (case, (before, after)) in enumerate(zip(config["cases"], rows, strict=True)):
        lead = separator + before if index else before
        status = _STATUS[RECORDED if case["id"] in recorded else PENDING]
        places.append(offset + len(lead))
        pieces += (lead, status, after)
        offset += len(lead) + len(status) + len(after)
    operator = to_bytes(quote(config["operator"]["name"]))
    pieces.append(b'\n  ],\n  "operator": ' + operator + b',\n  "schema_version": %d\n}\n' % SCHEMA_VERSION)
    return b"".join(pieces), places


def result_bytes(row: dict[str, Any]) -> bytes:
    """One row as it stands in `results.json`, with the line break before it."""
    return to_bytes(ROW_PAD + encode(row, ROW_PAD))


def results_bytes(rows: list[dict[str, Any]]) -> bytes:
    """`results.json` of these rows."""
    if not rows:
        return RESULTS_HEAD + RESULTS_TAIL_EMPTY
    return RESULTS_HEAD + b",".join([result_bytes(row) for row in rows]) + RESULTS_TAIL


def reproduction_bytes(config: dict[str, Any]) -> bytes:
    """`reproduction.md`: what is called, what it is compared with, and how the cases are meant."""
    operator = config["operator"]
    lines = ["# How to reproduce", ""]
    for title, key in (("Operator", "name"), ("Invocation", "invocation"), ("Reference", "reference")):
        value = operator.get(key)
        lines.append(f"- {title}: {_code(value) if value else 'the invocation on CPU, floating inputs in float64'}")
    lines += ["", "Each case in case-matrix.json is a call of its own: make it on the remote NPU (or whichever device shows "
              "the failure) exactly as listed, without implicit casts, copies or moves.", ""]
    return to_bytes("\n".join(lines))


def _code(text: str) -> str:
    """A Markdown code span on one line that no character of `text` can end."""
    flat = " ".join(text.split())
    fence = "`"
    while fence in flat:
        fence += "`"
    return f"{fence} {flat} {fence}" if "`" in flat else f"`{flat}`"


def view_bytes(state: RunState, text: PlanText) -> tuple[dict[str, bytes], list[int]]:
    """Every view of `state` by file name, in the order in which views are written, and the places of the statuses.

    The results come last: where they are up to date, so is everything else.
    """
    matrix, places = matrix_bytes(state.config, text.matrix_rows, state.result_of)
    return {
        names.CONFIG: text.config,
        names.MATRIX: matrix,
        names.REPRODUCTION: reproduction_bytes(state.config),
        names.MANIFEST: document_bytes(state.manifest),
        names.RESULTS: results_bytes(state.results),
    }, places
