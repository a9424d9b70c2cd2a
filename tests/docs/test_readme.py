"""The README's tour is true: its files are written as shown and its commands run as shown."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?P<kind>\w+)(?: file=(?P<file>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [match.groupdict() for match in BLOCK.finditer(README)]
COMMANDS = [b["body"].strip() for b in BLOCKS if b["kind"] == "sh" and b["body"].startswith("opdebug ")]
EXPECTED = {"median": (1, "diagnosed: 1 of 7 cases failed"), "kernel.py": (1, "diagnosed: 3 of 3 cases failed"),
            "operator.json": (0, '"status": "passed"')}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tour")
    for block in BLOCKS:
        if block["file"]:
            (path / block["file"]).write_text(block["body"], encoding="utf-8")
    return path


def test_the_tour_has_a_command_for_every_expectation():
    assert len(COMMANDS) == len(EXPECTED)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_does_what_the_tour_says(command, folder):
    code, text = next(value for key, value in EXPECTED.items() if key in command)
    program = Path(sys.executable).parent
    # The README's lines are for a shell; they are ours, not a user's data.
    ran = subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
                         env={**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}"})
    assert ran.returncode == code, ran.stderr
    assert text in ran.stdout


def test_the_output_shown_is_the_output_printed(folder):
    shown = next(b["body"] for b in BLOCKS if b["kind"] == "text").strip().splitlines()
    command = next(c for c in COMMANDS if "median" in c)
    program = Path(sys.executable).parent
    ran = subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
                         env={**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "160"})
    printed = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert [line for line in shown if " ".join(line.split()) not in printed] == []


def test_the_keys_named_are_in_the_json_document(folder):
    named = re.search(r"prints one document: `([^`]+)`", README)[1].replace("\n", " ")
    command = next(c for c in COMMANDS if "operator.json" in c)
    arguments = command.split()[1:]
    (folder / "other").mkdir()
    (folder / "other" / "operator.json").write_text((folder / "operator.json").read_text().replace("softmax-001", "again"))
    ran = subprocess.run([sys.executable, "-m", "opdebug", *arguments], cwd=folder / "other", capture_output=True,
                         text=True, check=True)
    document = json.loads(ran.stdout)
    assert [key for key in named.replace(",", " ").split() if key not in document] == []
