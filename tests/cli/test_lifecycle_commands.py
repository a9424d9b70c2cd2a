"""The lifecycle from outside: exit codes, what is on stdout and what on stderr, and that no torch is needed."""

import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from opdebug.cli import lifecycle
from opdebug.evidence.run import Run


@pytest.fixture
def without_torch(tmp_path):
    """An environment in which importing torch is an error that says so."""
    folder = tmp_path / "no-torch"
    folder.mkdir()
    (folder / "torch.py").write_text("raise SystemExit('torch was imported')")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}


def test_the_whole_road_without_torch(place, process, config_of, result_of, monkeypatch, without_torch):
    for name, value in without_torch.items():
        monkeypatch.setenv(name, value)
    config = place.file(config_of("a", "b"))
    results = [place.file(result_of("a")), place.file(result_of("b", "crash"))]
    planned = process("plan", config, "--json", cwd=place.path)
    run = place.path / ".opdebug" / "runs" / "r1"
    assert json.loads(planned.stdout) == {"status": "planned", "run_id": "r1", "operator": "swiglu", "case_count": 2,
                                          "output_dir": str(run)}
    recorded = process("record", run, *results, "--json")
    assert json.loads(recorded.stdout) == {"status": "recorded", "recorded": ["a", "b"], "remaining": 0, "errors": []}
    analyzed = process("analyze", run, "--json")
    document = json.loads(analyzed.stdout)
    assert (document["status"], document["crash_cases"], document["output_dir"]) == ("diagnosed", ["b"], str(run))
    shown = process("report", run, "--json")
    assert json.loads(shown.stdout) == document
    checked, compared = process("verify", run), process("diff", run, run)
    done = [planned, recorded, analyzed, shown, checked, compared]
    assert [each.returncode for each in done] == [0, 0, 1, 0, 0, 0]
    assert [each.stderr for each in done] == [""] * 6


@pytest.mark.parametrize(("status", "code"), [("passed", 0), ("crash", 1), ("unsupported", 3), ("missing", 3)])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_exit_code_of_analyze_is_that_of_the_verdict(place, command, status, code, form):
    run = place.filled(a=status)
    for _ in range(2):
        assert command("analyze", run, *form)[0] == code


def test_plan_says_where_the_run_is(place, command, config_of):
    code, out, err = command("plan", place.file(config_of("a", "b")), "--output-dir", place.path / "here")
    assert (code, out, err) == (0, f"planned swiglu: 2 cases in {place.path / 'here'}\n", "")


def test_plan_notes_the_code_of_the_work_tree_it_is_called_in(place, command, config_of, monkeypatch):
    monkeypatch.setattr("opdebug.cli.plan.code_identity",
                        lambda root: {"source_head": "1" * 40, "snapshot_commit": "1" * 40, "dirty": False})
    assert command("plan", place.file(config_of("a")), "--output-dir", place.path / "run")[0] == 0
    assert json.loads((place.path / "run" / "manifest.json").read_text())["code"]["source_head"] == "1" * 40


def test_record_keeps_what_is_good_and_names_what_is_not(place, command, result_of):
    run = place.planned("a", "b", "c")
    torn = place.file(b"{")
    code, out, err = command("record", run, place.file(result_of("a")), torn, place.file(result_of("b", "odd")),
                             place.file(result_of("c")))
    assert code == 2
    assert out == "recorded a, 2 cases left\nrecorded c, 1 cases left\n"
    assert err.startswith("opdebug: 2 problems:\n")
    assert str(torn) in err
    assert "status must be one of: crash, numerical_mismatch, passed, unsupported" in err


def test_a_lone_surrogate_reaches_a_pipe_as_json(place, process, result_of):
    run = place.planned("\ud800")
    done = process("record", run, place.file(result_of("\ud800")), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recorded"] == ["\ud800"]
    shown = process("report", run)
    assert (shown.returncode, shown.stderr) == (0, "")


def test_json_is_ascii_where_the_output_can_carry_no_more(place, process, result_of):
    run = place.planned("é😀")
    done = process("record", run, place.file(result_of("é😀")), "--json", environment={"PYTHONIOENCODING": "latin-1"})
    assert json.loads(done.stdout)["recorded"] == ["é😀"]


def test_a_quoted_document_cannot_act_on_the_terminal(place, command, config_of):
    path = place.file(config_of("\x1b[2Jx", "\x1b[2Jx"))
    code, out, err = command("plan", path, "--output-dir", place.path / "run")
    assert (code, out) == (2, "")
    assert "\x1b" not in err
    assert "case id is duplicated: \\x1b[2Jx" in err


def test_report_shows_a_run_in_progress_and_changes_nothing(place, command):
    run = place.filled(a="crash", b="missing")
    before = place.contents(run)
    code, text, _ = command("report", run)
    assert (code, "inconclusive" in text, "it broke" in text) == (0, True, True)
    document = json.loads(command("report", run, "--json")[1])
    assert (document["status"], document["missing_cases"], document["report"]) == ("inconclusive", ["b"], None)
    assert command("report", run, "--markdown")[1].startswith("# Ascend operator debug report\n")
    assert place.contents(run) == before


def test_report_shows_a_run_while_another_process_writes_to_it(place, command, result_of):
    directory = place.planned("a", "b")
    with Run.open(directory, write=True) as run:
        run.record(result_of("a", "crash"))
        assert json.loads(command("report", directory, "--json")[1])["crash_cases"] == ["a"]


def test_report_shows_what_another_tool_of_the_contract_made(place, command):
    run = place.filled(a="crash")
    lifecycle.analyze(run, again=False)
    (run / "journal.jsonl").unlink()
    (run / ".journal.head").unlink()
    before = place.contents(run)
    assert json.loads(command("report", run, "--json")[1])["crash_cases"] == ["a"]
    assert place.contents(run) == before


@contextmanager
def unable_to_write(folder):
    """This process may read `folder` and not write to it, whoever it runs as."""
    below = [folder, *folder.rglob("*")]
    passable = stat.S_IXGRP | stat.S_IXOTH
    above = [path for path in folder.parents if path.stat().st_mode & passable != passable]
    before = {path: path.stat().st_mode for path in below + above}
    for path in below:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in above:
        path.chmod(before[path] | passable)
    root = os.geteuid() == 0
    if root:
        # Permissions do not bind root.
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path, mode in before.items():
            path.chmod(mode)


def test_a_read_only_run_is_shown_and_checked_and_not_written(place, command, result_of):
    results = [place.file(result_of("b"))]
    commands = [("report", [], 0), ("verify", [], 0), ("record", results, 2), ("analyze", [], 2)]
    writable = place.filled(name="writable", a="crash", b="missing")
    for name, more, _ in commands:
        # What a command imports must be loaded before this process becomes somebody who cannot read it.
        command(name, writable, *more)
    run = place.filled(a="crash", b="missing")
    before = place.contents(run)
    with unable_to_write(run):
        for name, more, expected in commands:
            code, out, err = command(name, run, *more)
            assert (name, code) == (name, expected), err
            assert ("Permission denied" in err, out == "") == (expected == 2, expected == 2)
    assert place.contents(run) == before


def test_verify_names_each_edited_document_on_a_line(place, command):
    run = place.filled(a="passed", b="crash")
    lifecycle.analyze(run, again=True)
    assert command("verify", run)[0] == 0
    for name in ("results.json", "report.md"):
        (run / name).write_bytes((run / name).read_bytes().replace(b"crash", b"crush"))
    code, out, _ = command("verify", run)
    assert (code, [line.split(":")[0] for line in out.splitlines()]) == (1, ["results.json", "report.md"])
    code, out, _ = command("verify", run, "--json")
    document = json.loads(out)
    assert (code, document["status"], len(document["findings"])) == (1, "failed", 2)


def test_diff_says_what_became_of_each_case(place, command):
    before = place.filled(name="before", fixed="crash", broken="passed", failing="crash", passing="passed", gone="passed")
    after = place.filled(name="after", fixed="passed", broken="crash", failing="crash", passing="passed", new="passed")
    code, out, _ = command("diff", before, after)
    assert code == 1
    assert out.splitlines()[1:] == [
        "broken: 1", "  broken", "gone: 1", "  gone: passed -> not planned", "still failing: 1", "  failing", "fixed: 1",
        "  fixed", "new: 1", "  new: not planned -> passed", "still passing: 1", "  passing"]
    code, out, _ = command("diff", before, after, "--json")
    document = json.loads(out)
    assert (code, document["broken"], document["fixed"]) == (1, ["broken"], ["fixed"])


@pytest.mark.parametrize(("before", "after", "code"), [
    ("crash", "passed", 0), ("passed", "crash", 1), ("passed", "missing", 3)])
def test_the_exit_code_of_diff(place, command, before, after, code):
    assert command("diff", place.filled(name="one", a=before), place.filled(name="two", a=after))[0] == code


def test_diff_lists_a_long_matrix_in_part(place, command):
    run = place.filled(**{f"case-{number}": "passed" for number in range(30)})
    out = command("diff", run, run)[1]
    assert "still passing: 30" in out
    assert "  and 10 more; --json lists them all" in out


@pytest.mark.parametrize("name", ["plan", "record", "analyze", "report", "verify", "diff", "install-skill"])
def test_help_and_usage_errors(command, name):
    code, out, err = command(name, "--help")
    assert (code, err) == (0, "")
    assert name in out
    code, out, err = command(name, "--no-such-option")
    assert (code, out) == (2, "")
    assert "usage:" in err


def test_output_that_nobody_reads_is_no_error_of_ours(place):
    run = place.filled(**{f"case-{number}": "passed" for number in range(300)})
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("needs bash")
    script = '"$0" -m opdebug report "$1" --markdown | head -1'
    done = subprocess.run([shell, "-c", script, sys.executable, str(run)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("# Ascend operator debug report\n", "")
