from __future__ import annotations

import pytest

from opdebug.evidence import names
from opdebug.evidence.run import Run
from opdebug.evidence.verify import verify
from opdebug.model.errors import OpdebugError


@pytest.fixture
def run(tmp_path, config_of, result_of, either_size):
    with Run.create(tmp_path / "r", config_of(["a", "b", "c"]), environment={"torch": "2"}) as made:
        made.store("logs/a.txt", b"log of a")
    with Run.open(tmp_path / "r", write=True) as made:
        made.record(result_of("a"))
        made.record(result_of("b", "crash"))
    return tmp_path / "r"


def test_a_sound_run_has_no_findings(run):
    assert verify(run) == []


@pytest.mark.parametrize("name", [*names.VIEWS, names.ENVIRONMENT, "logs/a.txt", names.JOURNAL, names.HEAD])
def test_any_changed_byte_names_its_file(run, name):
    path = run / name
    whole = path.read_bytes()
    step = max(1, len(whole) // 40)
    for at in [*range(0, len(whole), step), len(whole) - 1]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        findings = verify(run)
        assert any(name in finding for finding in findings), (at, findings)
    path.write_bytes(whole)
    assert verify(run) == []


@pytest.mark.parametrize("name", [*names.VIEWS, names.ENVIRONMENT, "logs/a.txt"])
def test_missing_and_longer_files_are_named(run, name):
    path = run / name
    whole = path.read_bytes()
    path.write_bytes(whole + b" ")
    assert [finding for finding in verify(run) if finding.startswith(f"{name}: ")]
    path.unlink()
    assert [finding for finding in verify(run) if finding.startswith(f"{name}: cannot be read")]


def test_the_place_of_a_change_is_said(run):
    path = run / names.RESULTS
    lines = path.read_text().split("\n")
    lines[4] += " "
    path.write_text("\n".join(lines))
    assert [finding for finding in verify(run) if "(line 5)" in finding]


def test_removed_lines_are_found(run):
    path = run / names.JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert any("bytes are missing at its end" in finding for finding in verify(run))
    assert any(finding.startswith("results.json: ") for finding in verify(run))
    path.write_bytes(b"".join(lines[:1] + lines[2:]))
    assert any("does not continue" in finding for finding in verify(run))


def test_files_of_the_caller_are_no_findings(run):
    (run / "raw-results" / "mine.json").write_text("{}")
    assert verify(run) == []


def test_a_directory_without_journal_cannot_be_verified(tmp_path):
    with pytest.raises(OpdebugError, match=r"it has no journal\.jsonl"):
        verify(tmp_path)
