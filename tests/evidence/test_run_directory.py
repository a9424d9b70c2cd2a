from __future__ import annotations

import json
import os

import pytest

from opdebug.evidence import names
from opdebug.evidence.run import Run
from opdebug.evidence.verify import verify
from opdebug.model.errors import OpdebugError

AT = "2026-01-02T03:04:05Z"


def read(path):
    return json.loads(path.read_text("utf-8"))


def test_a_new_run_has_the_documents_of_the_contract(tmp_path, config_of, canonical_text):
    config = config_of(["b", "a"], note={"é": 1}, source_model_failure="wrong")
    Run.create(tmp_path / "deep" / "run", config, created_at=AT).close()
    run = tmp_path / "deep" / "run"
    assert sorted(p.name for p in run.iterdir()) == sorted([*names.VIEWS, *names.FOLDERS, names.JOURNAL, names.HEAD])
    assert (run / names.CONFIG).read_text("utf-8") == canonical_text(config)
    rows = [{**case, "status": "pending"} for case in config["cases"]]
    assert (run / names.MATRIX).read_text("utf-8") == canonical_text(
        {"schema_version": 1, "operator": "softmax", "cases": rows})
    assert (run / names.RESULTS).read_text("utf-8") == canonical_text({"schema_version": 1, "results": []})
    manifest = read(run / names.MANIFEST)
    assert (manifest["status"], manifest["run_type"], manifest["created_at"]) == ("planned", "debug", AT)
    assert [(a["name"], a["kind"], a["uri"]) for a in manifest["artifacts"]] == [
        ("operator-config", "operator-config", "operator-config.json"),
        ("case-matrix", "case-matrix", "case-matrix.json"), ("results", "operator-results", "results.json"),
        ("reproduction", "reproduction", "reproduction.md"),
    ]
    text = (run / names.REPRODUCTION).read_text("utf-8")
    assert "- Operator: `softmax`" in text
    assert "- Invocation: `torch.softmax(x, dim=dim)`" in text
    assert "- Reference: `float64 on CPU`" in text
    assert verify(run) == []


def test_fields_of_the_config_reach_the_manifest(tmp_path, config_of):
    config = config_of(["a"], workspace_snapshot={"s": 1}, environment={"e": 2}, model={"m": 3}, command=["x", "y"])
    code = {"source_head": "a" * 40, "snapshot_commit": "a" * 40, "dirty": False}
    Run.create(tmp_path / "r", config, code=code, command=["ignored"], environment={"torch": "2"},
               extra_documents={"artifacts/plan.json": [1]}).close()
    manifest = read(tmp_path / "r" / names.MANIFEST)
    assert (manifest["workspace_snapshot"], manifest["environment"], manifest["model"]) == ({"s": 1}, {"e": 2}, {"m": 3})
    assert (manifest["command"], manifest["code"]) == (["x", "y"], code)
    assert read(tmp_path / "r" / names.ENVIRONMENT) == {"torch": "2"}
    assert read(tmp_path / "r" / "artifacts" / "plan.json") == [1]
    assert verify(tmp_path / "r") == []


@pytest.mark.parametrize(("change", "options", "message"), [
    ({"run_id": "Not Good"}, {}, "run_id must match"),
    ({"command": "ls"}, {}, "command must be an array of strings"),
    ({"model": []}, {}, "model must be an object"),
    ({}, {"created_at": "yesterday"}, "created_at must be an RFC 3339"),
    ({"note": float("nan")}, {}, "cannot be written as JSON"),
    ({"schema_version": 3}, {}, "schema_version must be 1"),
    ({}, {"extra_documents": {"../x.json": 1}}, "must be relative"),
])
def test_nothing_is_written_when_anything_is_wrong(tmp_path, config_of, change, options, message):
    with pytest.raises(OpdebugError, match=message):
        Run.create(tmp_path / "parent" / "run", config_of(["a"], **change), **options)
    assert list(tmp_path.iterdir()) == []


def test_only_an_empty_directory_is_taken(tmp_path, config_of):
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    with pytest.raises(OpdebugError, match=f"^output directory is not empty: {full}$"):
        Run.create(full, config_of(["a"]))
    empty = tmp_path / "empty"
    empty.mkdir()
    before = empty.stat().st_ino
    Run.create(empty, config_of(["a"])).close()
    assert empty.stat().st_ino == before
    with pytest.raises(OpdebugError, match="is not a directory"):
        Run.create(full / "file", config_of(["a"]))


def test_recording_keeps_every_view_right_after_each_call(tmp_path, config_of, result_of, either_size):
    ids = ["plain", "../../etc/passwd", "A", "a", "new\nline", "é" * 50, "long" * 2500, "\ud800"]
    config = config_of(ids)
    config["cases"][1].update(status="mine", zeta=1, alpha={"k": []})
    Run.create(tmp_path / "r", config).close()
    for index, case_id in enumerate(reversed(ids)):
        with Run.open(tmp_path / "r", write=True) as run:
            assert run.record(result_of(case_id, own={"kept": [index]}), recorded_at=AT) == len(ids) - index - 1
        recorded = set(ids[::-1][:index + 1])
        matrix = read(tmp_path / "r" / names.MATRIX)["cases"]
        assert {row["id"] for row in matrix if row["status"] == "recorded"} == recorded
        assert {row["id"] for row in matrix if row["status"] == "pending"} == set(ids) - recorded
        results = read(tmp_path / "r" / names.RESULTS)["results"]
        assert [row["case_id"] for row in results] == ids[::-1][:index + 1]
        assert results[-1]["own"] == {"kept": [index]}
        assert results[-1]["recorded_at"] == AT
        assert read(tmp_path / "r" / names.MANIFEST)["status"] == "running"
        assert verify(tmp_path / "r") == []
    assert (tmp_path / "r" / names.INDEX).exists() == (either_size == "large")


def test_views_are_canonical_after_finish(tmp_path, config_of, result_of, canonical_text, either_size):
    Run.create(tmp_path / "r", config_of(["a", "b"])).close()
    with Run.open(tmp_path / "r", write=True) as run:
        run.record(result_of("b"))
    with Run.open(tmp_path / "r", write=True) as run:
        run.record(result_of("a"))
        run.finish("passed", files={"analysis.json": b"{}\n"}, artifacts=[("analysis", "analysis", "analysis.json")])
    for name in (names.MATRIX, names.RESULTS, names.MANIFEST, names.CONFIG):
        text = (tmp_path / "r" / name).read_text("utf-8")
        assert text == canonical_text(json.loads(text))
    assert read(tmp_path / "r" / names.MANIFEST)["status"] == "passed"
    assert read(tmp_path / "r" / names.MANIFEST)["artifacts"][-1]["name"] == "analysis"
    assert verify(tmp_path / "r") == []


@pytest.mark.parametrize(("result", "message"), [
    ({"case_id": "a"}, "case already recorded: a"),
    ({"case_id": "x"}, "case_id must identify a planned case"),
    ({"case_id": "b", "status": "crash", "error": ""}, "crash result requires error"),
    ({"case_id": "b", "more": float("inf")}, "cannot be written as JSON"),
])
def test_a_refused_result_changes_nothing(tmp_path, config_of, result_of, files_of, either_size, result, message):
    with Run.create(tmp_path / "r", config_of(["a", "b"])) as run:
        run.record(result_of("a"))
    before = files_of(tmp_path / "r")
    with Run.open(tmp_path / "r", write=True) as run, pytest.raises(OpdebugError, match=message):
        run.record({**result_of("b"), **result})
    assert files_of(tmp_path / "r") == before


def test_a_finished_run_takes_no_result(tmp_path, config_of, result_of, files_of, either_size):
    with Run.create(tmp_path / "r", config_of(["a"])) as run:
        run.finish("inconclusive")
    before = files_of(tmp_path / "r")
    with Run.open(tmp_path / "r", write=True) as run:
        with pytest.raises(OpdebugError, match="run is finished with status inconclusive"):
            run.record(result_of("a"))
        with pytest.raises(OpdebugError, match="invalid status transition: inconclusive -> passed"):
            run.finish("passed")
    assert files_of(tmp_path / "r") == before


def test_a_second_finish_with_the_same_artifacts_says_duplicated(tmp_path, config_of, files_of):
    with Run.create(tmp_path / "r", config_of(["a"])) as run:
        run.finish("inconclusive", files={"report.md": b"1"}, artifacts=[("report", "report", "report.md")])
        before = files_of(tmp_path / "r")
        with pytest.raises(OpdebugError, match="duplicated"):
            run.finish("inconclusive", files={"report.md": b"2"}, artifacts=[("report", "report", "report.md")])
        assert files_of(tmp_path / "r") == before


def test_a_matrix_that_someone_marked_is_respected(tmp_path, config_of, result_of, files_of, either_size):
    Run.create(tmp_path / "r", config_of(["a", "b"])).close()
    path = tmp_path / "r" / names.MATRIX
    path.write_text(path.read_text().replace('"status": "pending"', '"status": "recorded"', 1))
    before = files_of(tmp_path / "r")
    for _ in range(2):
        with Run.open(tmp_path / "r", write=True) as run, pytest.raises(OpdebugError, match="case is not pending: a"):
            run.record(result_of("a"))
    assert files_of(tmp_path / "r") == before
    with Run.open(tmp_path / "r", write=True) as run:
        assert run.record(result_of("b")) == 1
    assert verify(tmp_path / "r") == []


@pytest.mark.parametrize(("name", "what"), [(names.MATRIX, "case matrix"), (names.RESULTS, "results")])
def test_an_unreadable_view_is_an_error_that_repair_mends(tmp_path, config_of, result_of, either_size, name, what):
    Run.create(tmp_path / "r", config_of(["a"])).close()
    (tmp_path / "r" / name).write_text("{")
    with pytest.raises(OpdebugError, match=f"cannot read {what} {tmp_path / 'r' / name}: "):
        Run.open(tmp_path / "r", write=True)
    with Run.open(tmp_path / "r", write=True, repair=True) as run:
        assert run.record(result_of("a")) == 0
    assert verify(tmp_path / "r") == []


def test_state_tells_everything(tmp_path, config_of, result_of):
    with Run.create(tmp_path / "r", config_of(["a", "b", "c"])) as run:
        run.event("attempt", {"case_id": "a", "kind": "signal"})
        run.no_evidence("b", "reference failed")
        run.no_evidence("c", "no device")
        run.record(result_of("c"))
        run.event("interrupted", {})
        reader = Run.open(tmp_path / "r")
        for state in (run.state(), reader.state()):
            assert [row["status"] for row in state.rows] == ["pending", "pending", "recorded"]
            assert [row["case_id"] for row in state.results] == ["c"]
            assert state.no_evidence == {"b": "reference failed"}
            assert [attempt["kind"] for attempt in state.attempts["a"]] == ["signal"]
            assert state.missing == ["a", "b"]
            assert state.matrix["operator"] == "softmax"
            assert state.events[-1]["event"] == "interrupted"
            assert not state.terminal
        run.record(result_of("a"))
        assert reader.state().missing == ["b"]


def test_events_are_checked(tmp_path, config_of):
    with Run.create(tmp_path / "r", config_of(["a"])) as run:
        with pytest.raises(OpdebugError, match="method of its own"):
            run.event("result", {})
        with pytest.raises(OpdebugError, match="must identify a planned case"):
            run.event("attempt", {"case_id": "zz"})
        with pytest.raises(OpdebugError, match="journal's own"):
            run.event("worker", {"seq": 1})
        with pytest.raises(OpdebugError, match="must identify a planned case"):
            run.no_evidence("zz", "why")
        with pytest.raises(OpdebugError, match="cannot be recorded: nested deeper"):
            run.event("worker", {"x": json.loads("[" * 200 + "]" * 200)})
        assert [event["event"] for event in run.state().events] == ["plan"]


def test_stored_files_stay_inside_and_are_not_overwritten(tmp_path, config_of):
    outside = tmp_path / "outside"
    outside.mkdir()
    with Run.create(tmp_path / "r", config_of(["a"])) as run:
        run.store("logs/a.txt", b"one")
        with pytest.raises(OpdebugError, match="stored already"):
            run.store("logs/a.txt", b"two")
        run.store("report.md", b"1")
        run.store("report.md", b"2", replace=True)
        (tmp_path / "r" / "raw-results").rmdir()
        (tmp_path / "r" / "raw-results").symlink_to(outside)
        for path in ("raw-results/x", "../x", "/x", "a//b", "a/./b", "a\\b", "a\nb", "results.json", "journal.jsonl",
                     ".index.sqlite", ""):
            with pytest.raises(OpdebugError):
                run.store(path, b"x")
        (tmp_path / "r" / "link.md").symlink_to(outside / "target")
        run.store("link.md", b"x", replace=True)
    assert list(outside.iterdir()) == []
    assert (tmp_path / "r" / "logs" / "a.txt").read_bytes() == b"one"
    assert verify(tmp_path / "r") == []


def test_storing_the_same_bytes_again_adds_no_event(tmp_path, config_of):
    with Run.create(tmp_path / "r", config_of(["a"])) as run:
        run.store("report.md", b"1")
        count = len(run.state().events)
        run.store("report.md", b"1", replace=True)
        assert len(run.state().events) == count


def test_a_linked_view_is_replaced_not_written_through(tmp_path, config_of, result_of, either_size):
    Run.create(tmp_path / "r", config_of(["a", "b"])).close()
    outside = tmp_path / "outside.json"
    view = tmp_path / "r" / names.RESULTS
    outside.write_bytes(view.read_bytes())
    view.unlink()
    view.symlink_to(outside)
    before = outside.read_bytes()
    with Run.open(tmp_path / "r", write=True) as run:
        run.record(result_of("a"))
    assert outside.read_bytes() == before
    assert not view.is_symlink()
    assert verify(tmp_path / "r") == []


def test_a_linked_journal_is_not_written(tmp_path, config_of):
    Run.create(tmp_path / "r", config_of(["a"])).close()
    journal = tmp_path / "r" / names.JOURNAL
    journal.rename(tmp_path / "elsewhere")
    journal.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OpdebugError, match="it is a symbolic link"):
        Run.open(tmp_path / "r", write=True)
    assert Run.open(tmp_path / "r").state().missing == ["a"]


def test_a_linked_run_directory_works(tmp_path, config_of, result_of):
    Run.create(tmp_path / "real", config_of(["a"])).close()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Run.open(tmp_path / "link", write=True) as run:
        assert run.record(result_of("a")) == 0
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OpdebugError):
        Run.open(tmp_path / "dangling")


def test_one_writer_at_a_time(tmp_path, config_of):
    with Run.create(tmp_path / "r", config_of(["a"])):
        with pytest.raises(OpdebugError, match=f"run directory is in use by another process: {tmp_path / 'r'}"):
            Run.open(tmp_path / "r", write=True)
        assert Run.open(tmp_path / "r").state().missing == ["a"]
    Run.open(tmp_path / "r", write=True).close()


def test_a_reader_does_not_write(tmp_path, config_of, result_of):
    Run.create(tmp_path / "r", config_of(["a"])).close()
    with Run.open(tmp_path / "r") as run, pytest.raises(OpdebugError, match="not open for writing"):
        run.record(result_of("a"))


def test_a_newer_format_is_named(tmp_path, config_of):
    Run.create(tmp_path / "r", config_of(["a"])).close()
    journal = tmp_path / "r" / names.JOURNAL
    journal.write_text(journal.read_text().replace('"format":1', '"format":2'))
    with pytest.raises(OpdebugError, match=r"made by a newer opdebug \(format 2"):
        Run.open(tmp_path / "r").state()
    with pytest.raises(OpdebugError, match="made by a newer opdebug"):
        Run.open(tmp_path / "r", write=True)


@pytest.mark.parametrize("write", [False, True])
def test_what_is_no_run_is_said(tmp_path, write):
    with pytest.raises(OpdebugError, match="does not exist"):
        Run.open(tmp_path / "none", write=write)
    with pytest.raises(OpdebugError, match="is not a run directory"):
        Run.open(tmp_path, write=write)
    (tmp_path / names.UNFINISHED_JOURNAL).touch()
    with pytest.raises(OpdebugError, match="is incomplete: its plan was cut short"):
        Run.open(tmp_path, write=write)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_run_is_readable(tmp_path, config_of):
    Run.create(tmp_path / "r", config_of(["a"])).close()
    (tmp_path / "r" / names.JOURNAL).chmod(0o444)
    with pytest.raises(OpdebugError, match=r"cannot write to journal .*Permission denied"):
        Run.open(tmp_path / "r", write=True)
    assert Run.open(tmp_path / "r").state().missing == ["a"]
    assert verify(tmp_path / "r") == []


def test_a_run_made_by_another_tool_is_taken_over(tmp_path, config_of, result_of):
    run = tmp_path / "r"
    with Run.create(run, config_of(["a", "b"])) as made:
        made.record(result_of("a"))
    (run / names.JOURNAL).unlink()
    assert Run.open(run).state().missing == ["b"]
    assert not (run / names.JOURNAL).exists()
    with Run.open(run, write=True) as adopted:
        with pytest.raises(OpdebugError, match="case already recorded: a"):
            adopted.record(result_of("a"))
        assert adopted.record(result_of("b")) == 0
    assert [row["case_id"] for row in read(run / names.RESULTS)["results"]] == ["a", "b"]
    assert verify(run) == []


def test_file_names_are_safe_and_distinct():
    ids = ["a", "A", "../x", "..", "", "\x00", "a/b", "a-b", "x" * 10_000, "é", "\ud800", ".hidden", "con\n"]
    made = [names.file_name_for(case_id) for case_id in ids]
    assert len({name.lower() for name in made}) == len(ids)
    for name in made:
        assert len(name) <= 71
        assert name.isascii()
        assert not name.startswith((".", "-"))
        assert "/" not in name
    assert names.file_name_for("fp16-graph").startswith("fp16-graph-")
