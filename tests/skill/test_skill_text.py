"""SKILL.md and its references: in the format that agents load, and true, for every command in them is run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

BLOCK = re.compile(r"^```(?P<kind>\w+)(?: file=(?P<file>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://)([^)#]+)\)")


@pytest.fixture(scope="module")
def skill(request):
    return request.path.parents[2] / "skills" / "ascend-operator-debug"


@pytest.fixture(scope="module")
def text(skill):
    return (skill / "SKILL.md").read_text(encoding="utf-8")


def test_the_frontmatter_is_what_the_format_asks_for(skill, text):
    _, head, body = text.split("---\n", 2)
    fields = dict(re.findall(r"^(\w+):[ ]?(.*)$", head, re.MULTILINE))
    assert set(fields) == {"name", "description", "license", "compatibility", "metadata"}
    assert fields["name"] == skill.name and re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", skill.name)
    assert fields["license"] == "Apache-2.0" and 0 < len(fields["compatibility"]) <= 500
    description = " ".join(re.search(r"description: >-\n((?:  .*\n)+)", head)[1].split())
    assert len(description) <= 1024
    assert "Use when" in description and "Do not use" in description
    assert len(body.splitlines()) < 500


def test_references_are_one_level_deep_and_exist(skill, text):
    links = set(LINK.findall(text))
    assert links == {f"references/{path.name}" for path in (skill / "references").iterdir()}
    for path in (skill / "references").iterdir():
        assert path.suffix == ".md" and LINK.findall(path.read_text(encoding="utf-8")) == []


@pytest.fixture(scope="module")
def project(text, skill, tmp_path_factory):
    """The files of SKILL.md written as shown, and `operator_debug.py` standing for the script as it says."""
    folder = tmp_path_factory.mktemp("skill")
    for block in BLOCK.finditer(text):
        if block["file"]:
            (folder / block["file"]).write_text(block["body"], encoding="utf-8")
    (folder / "bin").mkdir()
    command = folder / "bin" / "operator_debug.py"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{skill / "scripts" / "operator_debug.py"}" "$@"\n')
    command.chmod(0o755)
    return folder


def test_every_command_does_what_the_text_says(text, project):
    commands = [line for block in BLOCK.finditer(text) if block["kind"] == "sh" for line in block["body"].splitlines()]
    answers = []
    for command in commands:
        # The lines are for a shell; they are ours, not a user's data.
        ran = subprocess.run(["/bin/sh", "-c", command], cwd=project, capture_output=True, text=True, check=False,
                             env={**os.environ, "PATH": f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"})
        assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
        answers.append(json.loads(ran.stdout))
    assert [answer["status"] for answer in answers] == [
        "planned", "recorded", "recorded", "diagnosed", "diagnosed", "passed"]
    assert answers[3]["mismatch_cases"] == answers[4]["mismatch_cases"] == ["bf16-graph"]
    axes = json.loads((project / "swiglu-001" / "analysis.json").read_text())["failure_axes"]
    assert axes["mode"] == {"graph": ["bf16-graph"]}
    assert sorted(p.name for p in (project / "run-001").iterdir() if p.name in ("record.json", "results.json")) == [
        "record.json", "results.json"]


def test_the_flags_named_are_the_flags_there_are(skill, project):
    commands = (skill / "references" / "commands.md").read_text(encoding="utf-8")
    for verb in ("plan", "record", "analyze", "run"):
        shown = subprocess.run([str(project / "bin" / "operator_debug.py"), verb, "--help"], capture_output=True, text=True,
                               check=True).stdout
        assert [flag for flag in re.findall(r"--[a-z-]+", shown) if flag != "--help" and flag not in commands] == []


def test_words_that_are_explained_are_words_that_are_used(skill):
    from opdebug.diagnose import analysis, contradictions

    text = (skill / "references" / "reading-results.md").read_text(encoding="utf-8")
    assert analysis.INTEGRATION_HINT in text
    for kind in (contradictions.OUTSIDE, contradictions.UNCOMPARED, contradictions.UNMEASURED, contradictions.INSIDE):
        assert f"`{kind}`" in text
