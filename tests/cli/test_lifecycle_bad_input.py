"""Input that is broken, huge or hostile: one clear error and exit code 2, nothing lost, nothing written elsewhere."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opdebug.cli import lifecycle
from opdebug.cli.main import run as run_command
from opdebug.evidence.run import Run
from opdebug.evidence.verify import verify
from opdebug.model.errors import OpdebugError

BROKEN = {
    "empty": (b"", "Expecting value"),
    "truncated": (b'{"schema_version": 1, "case_id": "a", "sta', "Unterminated string"),
    "deep": (b"[" * 200_000, "nested deeper"),
    "deep and closed": (b'{"a":' * 5000 + b"1" + b"}" * 5000, "nested deeper"),
    "not UTF-8": (b'{"case_id": "\xff"}', "not UTF-8"),
    "UTF-16": ('{"case_id": "a"}'.encode("utf-16"), "not UTF-8"),
    "NaN": (b'{"schema_version": 1, "timing_us": NaN}', "NaN is not JSON"),
    "Infinity": (b'{"schema_version": 1, "timing_us": -Infinity}', "-Infinity is not JSON"),
    "duplicate key": (b'{"schema_version": 1, "case_id": "a", "case_id": "b"}', 'duplicate key "case_id"'),
    "not an object": (b'[{"schema_version": 1}]', "root must be an object"),
}


@pytest.mark.parametrize(("data", "cause"), BROKEN.values(), ids=BROKEN)
def test_a_broken_result_is_refused_and_the_run_kept(place, command, data, cause, result_of):
    run = place.filled(a="crash", b="missing")
    path = place.file(data)
    before = place.contents()
    code, out, err = command("record", run, path)
    assert (code, out) == (2, "")
    assert cause in err
    assert str(path) in err
    assert "Traceback" not in err
    assert place.contents() == before
    assert command("record", run, place.file(result_of("b")))[0] == 0


@pytest.mark.parametrize(("data", "cause"), BROKEN.values(), ids=BROKEN)
def test_a_broken_config_is_refused_and_nothing_made(place, command, data, cause):
    path = place.file(data)
    code, out, err = command("plan", path, "--output-dir", place.path / "run")
    assert (code, out) == (2, "")
    assert cause in err
    assert not (place.path / "run").exists()


@pytest.fixture
def huge(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    return path


def test_a_file_of_a_gigabyte_is_refused_unread(place, command, huge):
    run = place.planned("a")
    for words in (["plan", huge, "--output-dir", place.path / "other"], ["record", run, huge]):
        code, _, err = command(*words)
        assert code == 2
        assert f"cannot read operator {'config' if words[0] == 'plan' else 'result'} {huge}: file is larger than" in err
    assert not (place.path / "other").exists()


@pytest.mark.parametrize("name", ["case-matrix.json", "results.json"])
def test_documents_of_a_run_made_huge_stop_record_and_are_restored_by_analyze(place, command, result_of, name):
    run = place.filled(a="crash", b="missing")
    with (run / name).open("wb") as file:
        file.truncate(1 << 30)
    code, _, err = command("record", run, place.file(result_of("b")))
    assert (code, "larger than" in err, name in err) == (2, True, True)
    assert command("analyze", run)[0] == 3
    assert verify(run) == []


@pytest.mark.parametrize("missing", ["nowhere", "a directory", "no run"])
@pytest.mark.parametrize("name", ["record", "analyze", "report", "verify", "diff"])
def test_what_is_no_run_is_named(place, command, result_of, name, missing):
    where = place.path / "other"
    if missing != "nowhere":
        where.mkdir()
    if missing == "no run":
        (where / "manifest.json").write_text("{}")
    more = {"record": [place.file(result_of())], "diff": [place.planned("a")]}.get(name, [])
    before = place.contents()
    code, out, err = command(name, where, *more)
    assert (code, out) == (2, "")
    assert str(where) in err
    assert place.contents() == before


HOSTILE_IDS = ["../../escape", "/etc/passwd", "a/b", "..", ".", "nul\0byte", "line\nbreak", "\x1b[31mred", "x" * 10_000,
               "Case", "case", "CASE", " ", "\u202eright to left", "\ud800"]


def test_hostile_case_ids_are_only_names(place, command, result_of):
    run = place.planned(*HOSTILE_IDS)
    outside = {path.name for path in place.path.iterdir()}
    results = [place.file(result_of(case_id, "crash" if number % 2 else "passed"))
               for number, case_id in enumerate(HOSTILE_IDS)]
    code, out, _ = command("record", run, *results)
    assert code == 0
    assert len(out.splitlines()) == len(HOSTILE_IDS)
    assert "\x1b" not in out
    for words in (["analyze", run], ["report", run], ["report", run, "--markdown"]):
        _, out, err = command(*words)
        assert err == ""
        assert "\x1b" not in out
        assert "\u202e" not in out
    with Run.open(run) as opened:
        assert [row["case_id"] for row in opened.state().results] == HOSTILE_IDS
    assert command("verify", run)[0] == 0
    assert {path.name for path in place.path.iterdir()} == outside | {path.name for path in results}


@pytest.mark.parametrize("run_id", ["../../escape", "/abs", "..", "a/b", "A", "a\nb", "x" * 10_000, ""])
def test_a_hostile_run_id_makes_no_directory(place, command, config_of, run_id, monkeypatch):
    (place.path / "work").mkdir()
    monkeypatch.chdir(place.path / "work")
    path = place.file(config_of("a", run_id=run_id))
    before = place.contents()
    code, out, err = command("plan", path)
    assert (code, out) == (2, "")
    assert "run_id must" in err
    assert place.contents() == before
    assert list((place.path / "work").iterdir()) == []


def test_a_plan_never_overwrites(place, command, config_of):
    path, run = place.file(config_of("a")), place.planned("a")
    before = place.contents()
    code, _, err = command("plan", path, "--output-dir", run)
    assert (code, err) == (2, f"opdebug: output directory is not empty: {run}\n")
    assert command("plan", path, "--output-dir", path)[0] == 2
    assert place.contents() == before


@pytest.mark.parametrize("name", ["analysis.json", "report.md", "results.json", "case-matrix.json", "manifest.json"])
def test_nothing_is_written_through_a_link_in_a_run(place, name):
    run = place.filled(a="crash")
    target = place.path / "precious.txt"
    target.write_text(json.dumps({"cases": [], "results": []}))
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(target)
    lifecycle.analyze(run, again=True)
    assert target.read_text() == json.dumps({"cases": [], "results": []})
    assert not (run / name).is_symlink()
    assert verify(run) == []


def test_a_linked_journal_is_not_written_to(place, command, result_of):
    run = place.filled(a="crash", b="missing")
    journal = place.path / "journal.jsonl"
    (run / "journal.jsonl").rename(journal)
    (run / "journal.jsonl").symlink_to(journal)
    before = journal.read_bytes()
    code, _, err = command("record", run, place.file(result_of("b")))
    assert (code, "symbolic link" in err) == (2, True)
    assert journal.read_bytes() == before


def test_a_link_to_a_run_is_that_run(place, command, result_of):
    run = place.planned("a")
    (place.path / "link").symlink_to(run)
    assert command("record", place.path / "link", place.file(result_of()))[0] == 0
    assert json.loads(command("analyze", place.path / "link", "--json")[1])["output_dir"] == str(run)


@pytest.mark.parametrize("name", ["record", "analyze", "report", "diff"])
def test_a_run_of_a_newer_version_asks_for_an_upgrade(place, command, monkeypatch, result_of, name):
    with monkeypatch.context() as newer:
        newer.setattr("opdebug.evidence.create.FORMAT", 2)
        newer.setattr("opdebug.evidence.state.FORMAT", 2)
        run = place.planned("a")
    more = {"record": [place.file(result_of())], "diff": [run]}.get(name, [])
    before = place.contents()
    code, out, err = command(name, run, *more)
    assert (code, out) == (2, "")
    assert "made by a newer opdebug" in err
    assert "upgrade" in err
    assert place.contents() == before


def test_a_full_disk_keeps_what_was_recorded(place, command, result_of, monkeypatch):
    run = place.filled(a="passed", b="missing")
    path = place.file(result_of("b"))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        code, out, err = command("record", run, path)
    assert (code, out) == (2, "")
    assert "No space left on device" in err
    with Run.open(run) as opened:
        assert [row["case_id"] for row in opened.state().results] == ["a"]
    assert command("record", run, path)[0] == 0


SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEY = st.text(max_size=8)
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=4), max_leaves=12)
RESULT = st.fixed_dictionaries({}, optional={
    "schema_version": st.just(1) | JSON, "case_id": st.just("a") | JSON,
    "status": st.sampled_from(["passed", "crash"]) | JSON,
    "comparisons": st.lists(st.fixed_dictionaries({"output": st.just("o") | JSON, "max_abs": JSON})) | JSON,
    "error": JSON, "timing_us": JSON, "source": JSON, "extra": JSON,
})


@given(document=st.binary(max_size=60) | JSON | RESULT)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_result_is_recorded_whole_or_refused_without_a_trace(tmp_path_factory, config_of, document):
    folder = tmp_path_factory.mktemp("fuzz")
    config, path, run = folder / "config.json", folder / "result.json", folder / "run"
    config.write_text(json.dumps(config_of("a")))
    lifecycle.plan(run, config_path=config)
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    try:
        answer = lifecycle.record(run, result_path=path)
    except OpdebugError:
        assert json.loads((run / "results.json").read_text())["results"] == []
    else:
        assert answer == {"status": "recorded", "case_id": "a", "remaining": 0}
        assert lifecycle.analyze(run, again=True)["status"] in ("passed", "diagnosed", "inconclusive")
    assert verify(run) == []


DOCUMENTS = ["journal.jsonl", "results.json", "case-matrix.json", "manifest.json"]


@given(data=st.binary(max_size=60), name=st.sampled_from(DOCUMENTS))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_a_run_end_in_a_message(tmp_path_factory, config_of, data, name):
    folder = tmp_path_factory.mktemp("fuzz")
    config, run = folder / "config.json", folder / "run"
    config.write_text(json.dumps(config_of("a")))
    lifecycle.plan(run, config_path=config)
    (run / name).write_bytes(data)
    for words in (["report"], ["verify"], ["analyze"]):
        assert run_command([*words, str(run)]) in (0, 1, 2, 3)
