"""An analysis for a terminal: the matrix, the verdict, the axes it depends on, every failure beside its neighbour.

`render_terminal(analysis, width=…, colour=…)` gives the text for an extended analysis. Plain text; colour only where
the caller asks for it (who also knows NO_COLOR and whether the output is a terminal).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opdebug.model import words
from opdebug.report.columns import fill
from opdebug.report.failure_wording import failure_sentence
from opdebug.report.hostile import identifier, prose
from opdebug.report.numbers import count
from opdebug.report.table import HEADER, case_table
from opdebug.report.wording import (
    absence_sentence,
    absences,
    boundary_advice,
    explanation_sentence,
    neighbour_sentence,
    refused_together,
    verdict_sentence,
    warning_sentence,
)

Analysis = Mapping[str, Any]

LISTED = 50
DESCRIBED = 12
NARROWEST = 40
_NOTHING = ""
_COLOURS = {words.PASSED: "32", words.MISMATCH: "31", words.CRASH: "31", words.UNSUPPORTED: "33", _NOTHING: "35",
            words.DIAGNOSED: "31", words.INCONCLUSIVE: "33", HEADER: "1"}


def render_terminal(analysis: Analysis, *, width: int, colour: bool, evidence: str | None = None) -> str:
    """The report as text of at most `width` columns (`NARROWEST` at least), ending in a newline.

    `evidence` is the directory to point at; its line may be longer, so that it can be copied.
    """
    columns = max(width, NARROWEST)
    lines = [_paint(line, status, colour) for status, line in case_table(analysis, columns)]
    lines += ["", *(_paint(line, analysis["status"], colour) for line in fill(verdict_sentence(analysis), columns))]
    lines += _listed("Explanation", [explanation_sentence(entry) for entry in analysis["explanation"]], columns, colour)
    lines += _failures(analysis["failures"], columns, colour)
    lines += _listed("Unsupported", [f"{', '.join(map(identifier, ids))}: {reason}" for reason, ids in
                                     refused_together(analysis["refusals"]).items()], columns, colour)
    lines += _listed("No evidence", [absence_sentence(case_ids, prose(reason, 240)) for case_ids, reason in
                                     absences(analysis["missing_cases"], analysis["no_evidence"])], columns, colour)
    lines += _listed("Warnings", [warning_sentence(warning) for warning in analysis["warnings"]], columns, colour)
    if analysis["integration_hint"]:
        lines += ["", *fill(boundary_advice(), columns)]
    search = analysis["neighbour_search"]
    if analysis["failures"] and not search["exhaustive"]:
        lines += ["", *fill("The matrix is large: neighbours that differ in more than one axis were sought among "
                            f"{count(search['compared'], 'passing case')}.", columns)]
    if evidence is not None:
        lines += ["", f"Evidence: {identifier(evidence, 4096)}"]
    return "\n".join(lines) + "\n"


def _failures(failures: Sequence[Mapping[str, Any]], columns: int, colour: bool) -> list[str]:
    if not failures:
        return []
    lines = ["", _paint("Failures", HEADER, colour)]
    for failure in failures[:DESCRIBED]:
        lines += [_paint(line, failure["status"], colour)
                  for line in fill(identifier(failure["case_id"]), columns, "  ", "  ")]
        lines += fill(failure_sentence(failure), columns, "    ", "      ")
        lines += fill(f"nearest: {neighbour_sentence(failure)}", columns, "    ", "      ")
    if len(failures) > DESCRIBED:
        lines.append(f"  and {count(len(failures) - DESCRIBED, 'more', 'more')}, in report.md and analysis.json")
    return lines


def _listed(title: str, sentences: Sequence[str], columns: int, colour: bool) -> list[str]:
    """Sentences under a heading; nothing at all if there are none."""
    if not sentences:
        return []
    lines = ["", _paint(title, HEADER, colour)]
    for sentence in sentences[:LISTED]:
        lines += fill(sentence, columns, "  ", "    ")
    return lines + _rest(len(sentences))


def _rest(total: int) -> list[str]:
    return [f"  and {count(total - LISTED, 'more', 'more')}"] if total > LISTED else []


def _paint(text: str, what: str, colour: bool) -> str:
    return f"\x1b[{_COLOURS[what]}m{text}\x1b[0m" if colour and text else text
