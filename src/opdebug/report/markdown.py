"""An analysis as Markdown: the lines of the drop-in contract first, then, for an extended analysis, our own sections.

`render_report(analysis)` gives the text. Whatever comes from the run is quoted so that it can neither break out of its
line, table or block nor act as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opdebug.report.failure_wording import failure_sentence
from opdebug.report.hostile import code, escaped, identifier, json_block, json_text_block, prose
from opdebug.report.numbers import count
from opdebug.report.wording import (
    absence_sentence,
    absences,
    axis_name,
    boundary_advice,
    explanation_sentence,
    neighbour_sentence,
    verdict_sentence,
    warning_sentence,
)

Analysis = Mapping[str, Any]
# A report is for reading; the analysis document next to it holds every entry.
LISTED = 200


def render_report(analysis: Analysis, *, results_text: str | None = None) -> str:
    """The report as Markdown text, ending in a newline.

    `results_text` is the results as indented JSON text, from a caller that has it already.
    """
    results = json_block(analysis["results"]) if results_text is None else json_text_block(results_text)
    lines = [
        "# Ascend operator debug report",
        "",
        f"- Status: **{analysis['status']}**",
        f"- Operator: {code(identifier(analysis['operator']))}",
        f"- Missing: {_ids(analysis['missing_cases'])}",
        f"- Crashes: {_ids(analysis['crash_cases'])}",
        f"- Numerical mismatches: {_ids(analysis['mismatch_cases'])}",
        f"- Unsupported: {_ids(analysis['unsupported_cases'])}",
        "",
        "## Failure axes",
        "",
        *json_block(analysis["failure_axes"]),
        "",
    ]
    if analysis["integration_hint"]:
        lines += ["## Integration boundary", "", boundary_advice(), ""]
    lines += ["## Results", "", *results, ""]
    if "explanation" in analysis:
        lines += _explanation(analysis)
        lines += _failures(analysis["failures"])
        lines += _section("Unsupported cases", [_refusal(refusal) for refusal in analysis["refusals"]])
        lines += _section("No evidence", [
            absence_sentence(case_ids, escaped(prose(reason, 240)), _quote)
            for case_ids, reason in absences(analysis["missing_cases"], analysis["no_evidence"])])
    lines += _section("Warnings", [warning_sentence(warning, _quote) for warning in analysis["warnings"]])
    return "\n".join(lines)


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(escaped(identifier(case_id)) for case_id in ids) or "none"


def _quote(text: str) -> str:
    return code(identifier(text, 120))


def _section(title: str, sentences: list[str]) -> list[str]:
    """A list under its heading; nothing at all if there is nothing to list."""
    if not sentences:
        return []
    rest = len(sentences) - LISTED
    more = [f"- and {count(rest, 'more entry', 'more entries')} in the analysis document"] if rest > 0 else []
    return [f"## {title}", "", *(f"- {sentence}" for sentence in sentences[:LISTED]), *more, ""]


def _explanation(analysis: Analysis) -> list[str]:
    sentences = [explanation_sentence(entry, _quote) for entry in analysis["explanation"]]
    lines = ["## Explanation", "", f"{escaped(_capital(verdict_sentence(analysis)))}.", ""]
    if sentences:
        lines += [f"- {sentence}" for sentence in sentences] + [""]
    return lines


def _failures(failures: list[Mapping[str, Any]]) -> list[str]:
    if not failures:
        return []
    lines = ["## Failures", ""]
    for failure in failures[:LISTED]:
        lines += [f"### {_quote(failure['case_id'])}", "",
                  f"- {escaped(failure_sentence(failure))}",
                  f"- nearest passing neighbour: {neighbour_sentence(failure, _quote)}"]
        contrasts = failure["contrasts"]
        if len(contrasts) > 1:
            told = [f"{_quote(c['case_id'])} ({', '.join(axis_name(axis, _quote) for axis in c['axes'])})"
                    for c in contrasts]
            lines.append(f"- also told apart from: {', '.join(told)}")
        if failure.get("log"):
            lines.append(f"- log: {code(identifier(failure['log']))}")
        lines.append("")
    if len(failures) > LISTED:
        lines += [f"{count(len(failures) - LISTED, 'more failing case')} in the analysis document.", ""]
    return lines


def _refusal(refusal: Mapping[str, Any]) -> str:
    kind = f" ({escaped(identifier(refusal['kind'], 40))})" if refusal.get("kind") else ""
    message = f": {escaped(prose(refusal['message'], 240))}" if refusal.get("message") else ""
    return f"{_quote(refusal['case_id'])}{kind}{message}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
