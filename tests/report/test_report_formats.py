"""Markdown and terminal: the contract's lines in order, ours only when extended, and nothing hostile gets through."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from opdebug.diagnose.analysis import analyze_documents
from opdebug.report.hostile import _UNSAFE, code, escaped, fence, identifier, json_block, prose
from opdebug.report.markdown import render_report
from opdebug.report.terminal import NARROWEST, render_terminal

EVIL = ("evil`` ` ```\n## Forged\r\n| a | b |\n```\n<script>alert(1)</script>[x](http://e.vil) \x1b[31mred\x1b]0;t\x07"
        "\x9b2J\u202etxt\u2028\x00\ud800 **bold** \u200b")


def case(case_id: str, mode: str = "eager", **more: Any) -> dict[str, Any]:
    return {"id": case_id, "mode": mode, "attributes": {}, "inputs": [
        {"name": "x", "shape": [4, 8], "dtype": "float32", "layout": "ND", "stride_pattern": "contiguous"}], **more}


def analysis_of(statuses: dict[str, str], cases: list[dict[str, Any]] | None = None, *, extended: bool = True,
                reasons: dict[str, str] | None = None, **config: Any) -> dict[str, Any]:
    rows = [{"case_id": i, "status": s, "error": "died", "comparisons": [{"output": "o", "max_abs": 0.5}]}
            for i, s in statuses.items()]
    return analyze_documents(
        {"operator": {"name": "op"}, "tolerance": {"atol": 0.1, "rtol": 0.0, "policy": "budget"}, **config},
        {"cases": cases if cases is not None else [case(i) for i in statuses]}, {"results": rows},
        no_evidence=reasons, extended=extended)


def hostile_analysis() -> dict[str, Any]:
    bad = case(f"a{EVIL}", "compile", device=EVIL, aliasing=EVIL)
    bad["attributes"] = {EVIL: EVIL}
    bad["inputs"][0] |= {"dtype": EVIL, "layout": EVIL, "stride_pattern": EVIL, "name": EVIL}
    failure = {"kind": EVIL, "signal": None, "message": EVIL, "exception": EVIL}
    comparison = {"output": EVIL, "agrees": False, "reason": EVIL, "message": EVIL, "total": 4, "mismatched": 1,
                  "worst": {"index": [EVIL], "candidate": EVIL, "reference": EVIL}, "passing_tolerance": {"atol": EVIL}}
    rows = [{"case_id": bad["id"], "status": "crash", "error": EVIL, "failure": failure, "log": EVIL},
            {"case_id": f"b{EVIL}", "status": "numerical_mismatch", "comparisons": [comparison], "failure": failure},
            {"case_id": f"c{EVIL}", "status": "unsupported", "error": EVIL, "failure": failure},
            {"case_id": f"d{EVIL}", "status": "passed", "comparisons": [comparison]}]
    cases = [bad, *(case(f"{letter}{EVIL}") for letter in "bcde")]
    return analyze_documents({"operator": {"name": EVIL}, "tolerance": {}}, {"cases": cases}, {"results": rows},
                             no_evidence={f"e{EVIL}": EVIL}, extended=True)


def test_plain_report_has_exactly_the_lines_of_the_contract() -> None:
    analysis = analysis_of({"b": "crash", "a": "crash", "c": "numerical_mismatch"}, extended=False)
    lines = [line for line in render_report(analysis).splitlines() if line]
    assert lines[:6] == ["# Ascend operator debug report", "- Status: **diagnosed**", "- Operator: `op`",
                         "- Missing: none", "- Crashes: a, b", "- Numerical mismatches: c"]
    assert lines[6:9] == ["- Unsupported: none", "## Failure axes", "```json"]
    assert [line for line in lines if line.startswith("#")] == [
        "# Ascend operator debug report", "## Failure axes", "## Results"]
    blocks = re.findall(r"```json\n(.*?)\n```", render_report(analysis), re.DOTALL)
    assert [json.loads(block) for block in blocks] == [analysis["failure_axes"], analysis["results"]]


def test_empty_axes_are_an_empty_object_and_a_pass_points_at_the_boundary() -> None:
    text = render_report(analysis_of({"a": "passed"}, extended=False, source_model_failure="wrong logits"))
    assert "```json\n{}\n```" in text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Failure axes", "## Integration boundary", "## Results"]
    assert all(word in text for word in ("metadata", "aliasing", "streams", "lifetime", "graph", "consumers"))


def test_our_sections_come_after_those_of_the_contract() -> None:
    text = render_report(analysis_of({"a": "crash", "b": "passed", "c": "unsupported"},
                                     [case("a", "compile"), case("b"), case("c", "graph"), case("d")],
                                     reasons={"d": "npu:0 is absent"}))
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Failure axes", "## Results", "## Explanation", "## Failures", "## Unsupported cases",
                        "## No evidence"]
    assert "- `d`: npu:0 is absent" in text
    assert "nearest passing neighbour: `b` passes and differs in mode `compile` → `eager`" in text


def test_hostile_text_cannot_leave_its_place_in_markdown() -> None:
    text = render_report(hostile_analysis())
    assert not _UNSAFE.search(text.replace("\n", ""))
    known = {"# Ascend operator debug report", "## Failure axes", "## Results", "## Explanation", "## Failures",
             "## Unsupported cases", "## No evidence", "## Warnings"}
    fenced = None
    for line in text.splitlines():
        if fenced is not None:
            fenced = None if line == fenced else fenced
            continue
        opening = re.fullmatch(r"(`{3,})json", line)
        if opening:
            fenced = opening.group(1)
            continue
        assert line in known or line.startswith(("- ", "### `", "Inconclusive: ")) or not line
        outside = re.sub(r"(?<!\\)(`+)(?!`)(?:(?!\1).|\1`+)*?(?<!`)\1(?!`)", "", line)
        assert not re.search(r"(?<!\\)[<\[`]", outside), line
    assert fenced is None


@pytest.mark.parametrize("columns", [1, 40, 80, 200])
def test_hostile_text_cannot_act_on_a_terminal_nor_widen_it(columns: int) -> None:
    text = render_terminal(hostile_analysis(), width=columns, colour=False)
    assert not _UNSAFE.search(text.replace("\n", ""))
    assert max(map(len, text.splitlines())) <= max(columns, NARROWEST)


def test_colour_only_where_asked() -> None:
    analysis = analysis_of({"a": "crash", "b": "passed"}, [case("a", "compile"), case("b")])
    plain = render_terminal(analysis, width=100, colour=False)
    coloured = render_terminal(analysis, width=100, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain


def test_terminal_shows_matrix_verdict_failures_and_evidence() -> None:
    text = render_terminal(analysis_of({"a": "crash", "b": "passed"}, [case("a", "compile"), case("b"), case("m")],
                                       reasons={"m": "worker did not start"}),
                           width=120, colour=False, evidence="/runs/1")
    lines = text.splitlines()
    assert lines[0].split() == ["case", "mode", "dtype", "shape", "strides", "status"]
    assert lines[1].split() == ["a", "compile", "float32", "4x8", "contiguous", "crash", "died"]
    assert lines[3].split()[:6] == ["m", "eager", "float32", "4x8", "contiguous", "no"]
    assert ("inconclusive: 1 of 3 cases has no result, and absence is not success; 1 of 3 cases failed (1 crash)"
            in lines)
    assert "    nearest: b passes and differs in mode compile → eager" in lines
    assert "  m: worker did not start" in lines
    assert lines[-1] == "Evidence: /runs/1"


def test_many_cases_collapse_what_passed() -> None:
    statuses = {f"c{i}": "passed" for i in range(60)} | {"bad": "crash"}
    text = render_terminal(analysis_of(statuses), width=100, colour=False)
    assert "60 of 61 cases passed (not listed)" in text
    assert not re.search(r"^c1 ", text, re.MULTILINE)
    assert re.search(r"^bad ", text, re.MULTILINE)


def test_a_long_id_is_shortened_in_the_table_and_whole_in_the_failures() -> None:
    name = "x" * 90 + "@compile"
    text = render_terminal(analysis_of({name: "crash"}), width=120, colour=False)
    assert "…" in text.splitlines()[1]
    assert f"  {name}" in text.splitlines()


def test_quoting() -> None:
    assert code("a") == "`a`"
    assert code("a``b`") == "``` a``b` ```"
    assert code("") == "`  `"
    assert escaped("a_b@eager") == "a_b@eager"
    assert escaped("<b>[x](u)") == r"\<b\>\[x\](u)"
    assert fence("x\n````") == ["`````", "x", "````", "`````"]
    assert identifier("a\nb") == "a\\nb"
    assert identifier("a\u202eb") == "a\\u202eb"
    assert prose("\x1b[31mred\x1b[0m \n  text") == "red text"
    assert len(prose("x" * 10**6)) == 400


def test_json_blocks_stay_the_same_value() -> None:
    value = {"k\u202e": ["```\n## x", "\x9b", "\U000e0041", "ok é"]}
    block = json_block(value)
    assert json.loads("\n".join(block[1:-1])) == value
    assert "\u202e" not in "".join(block)
