"""A killed, concurrent or starved writer: what was acknowledged is there once, and the next writer carries on."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import opdebug
from opdebug.evidence import names
from opdebug.evidence.run import Run
from opdebug.evidence.verify import verify
from opdebug.model.errors import OpdebugError

SOURCE = str(Path(opdebug.__file__).parents[1])

WRITER = """
import sys
from opdebug.evidence import upkeep
from opdebug.evidence.run import Run
directory, first, last, anew, large = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
if large == "large":
    upkeep.SMALL_RUN = 0
def result(number):
    return {"schema_version": 1, "case_id": f"c{number}", "status": "passed", "pad": "x" * 300}
run = None
for number in range(first, last):
    if run is None:
        run = Run.open(directory, write=True, wait=60)
    run.record(result(number))
    if anew == "anew":
        run.close()
        run = None
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
if run:
    run.close()
"""


def start(directory, first, last, anew, size):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory), str(first), str(last), anew, size],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE},
    )


def recorded_ids(directory):
    return [row["case_id"] for row in json.loads((directory / names.RESULTS).read_text())["results"]]


@pytest.mark.parametrize("anew", ["anew", "held"])
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path, config_of, result_of, either_size, anew):
    total = 400
    ids = [f"c{number}" for number in range(total)]
    Run.create(tmp_path / "r", config_of(ids)).close()
    acknowledged: list[str] = []
    first = 0
    for delay in (0.0, 0.001, 0.005, 0.01, 0.02, 0.05):
        writer = start(tmp_path / "r", first, total, anew, either_size)
        told = os.read(writer.stdout.fileno(), 1)
        assert told, writer.stderr.read()
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        while chunk := os.read(writer.stdout.fileno(), 1 << 16):
            told += chunk
        acknowledged += [f"c{line}" for line in told.decode().split("\n")[:-1]]
        with Run.open(tmp_path / "r") as reader:
            present = [row["case_id"] for row in reader.state().results]
        # The last one may have been recorded without the word getting out.
        assert present[:len(acknowledged)] == acknowledged
        assert len(present) - len(acknowledged) <= 1
        acknowledged = present
        first = len(present)
        if first == total:
            break
    if first < total:
        with Run.open(tmp_path / "r", write=True) as run:
            assert run.record(result_of(f"c{first}")) == total - first - 1
        acknowledged.append(f"c{first}")
    else:
        Run.open(tmp_path / "r", write=True).close()
    assert recorded_ids(tmp_path / "r") == acknowledged
    assert verify(tmp_path / "r") == []


@pytest.mark.parametrize("step", ["mark_recorded", "append_results", "_write_if_changed"])
def test_a_writer_that_stops_before_any_step_of_showing_is_caught_up_with(tmp_path, config_of, result_of, either_size,
                                                                         monkeypatch, step):
    class Killed(BaseException):
        pass

    def stop(*arguments, **options):
        raise Killed

    Run.create(tmp_path / "r", config_of(["a", "b"])).close()
    with monkeypatch.context() as patch:
        patch.setattr(f"opdebug.evidence.upkeep.{step}", stop)
        run = Run.open(tmp_path / "r", write=True)
        run.record(result_of("a"))
        if either_size == "small" and step != "_write_if_changed":
            pytest.skip("a small run is written whole")
        with pytest.raises(Killed):
            run.close()
    with Run.open(tmp_path / "r", write=True) as run, pytest.raises(OpdebugError, match="already recorded"):
        run.record(result_of("a"))
    assert recorded_ids(tmp_path / "r") == ["a"]
    assert verify(tmp_path / "r") == []


def test_a_torn_line_is_ignored_and_cut_off(tmp_path, config_of, result_of, either_size):
    with Run.create(tmp_path / "r", config_of(["a", "b"])) as run:
        run.record(result_of("a"))
    journal = tmp_path / "r" / names.JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"seq":3,"event":"result","at":"2026')
    assert Run.open(tmp_path / "r").state().missing == ["b"]
    assert [finding for finding in verify(tmp_path / "r") if "no complete line" in finding]
    with Run.open(tmp_path / "r", write=True) as run:
        run.record(result_of("b"))
    assert journal.read_bytes().startswith(whole)
    assert verify(tmp_path / "r") == []


def test_a_plan_cut_short_anywhere_is_no_run_or_a_whole_one(tmp_path, config_of, monkeypatch):
    class Killed(BaseException):
        pass

    made = 0
    for survivors in range(1, 6):
        directory = tmp_path / f"r{survivors}"
        count = [0]

        def write(path, data, *, _count=count, _limit=survivors, **options):
            _count[0] += 1
            if _count[0] > _limit:
                raise Killed
            path.write_bytes(data)

        with monkeypatch.context() as patch:
            patch.setattr("opdebug.evidence.create.write_atomic", write)
            # A killed process cleans nothing up.
            patch.setattr("opdebug.evidence.create._remove", lambda *_: None)
            try:
                Run.create(directory, config_of(["a"])).close()
            except Killed:
                with pytest.raises(OpdebugError, match="incomplete"):
                    Run.open(directory, write=True)
                continue
        made += 1
        assert verify(directory) == []
    assert made == 1


def test_concurrent_recorders_all_succeed(tmp_path, config_of, either_size):
    Run.create(tmp_path / "r", config_of([f"c{number}" for number in range(100)])).close()
    writers = [start(tmp_path / "r", 25 * k, 25 * (k + 1), "anew", either_size) for k in range(4)]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    assert sorted(recorded_ids(tmp_path / "r")) == sorted(f"c{number}" for number in range(100))
    assert verify(tmp_path / "r") == []


def test_concurrent_recorders_of_one_case_leave_one_result(tmp_path, config_of):
    Run.create(tmp_path / "r", config_of(["c0", "other"])).close()
    writers = [start(tmp_path / "r", 0, 1, "anew", "small") for _ in range(4)]
    codes = []
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        codes.append(writer.returncode)
        assert writer.returncode == 0 or "case already recorded: c0" in errors
    assert sorted(codes) == [0, 1, 1, 1]
    assert recorded_ids(tmp_path / "r") == ["c0"]


@pytest.fixture
def limited_file_size():
    """No file may grow beyond a limit, which gives the same errors and short writes as a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_an_error_that_keeps_what_was_recorded(tmp_path, config_of, result_of, either_size,
                                                              limited_file_size):
    directory = tmp_path / "r"
    Run.create(directory, config_of([f"c{number}" for number in range(50)])).close()
    journal = directory / names.JOURNAL
    limited_file_size(journal.stat().st_size + 3000)
    recorded = 0
    with pytest.raises(OpdebugError, match=r"everything recorded before is kept|what was recorded is kept"):
        for number in range(50):
            with Run.open(directory, write=True) as run:
                run.record(result_of(f"c{number}", pad="x" * 500))
                recorded += 1
    assert 0 < recorded < 50
    assert journal.read_bytes().endswith(b"\n")
    assert len(Run.open(directory).state().results) == recorded
    limited_file_size(resource.RLIM_INFINITY)
    with Run.open(directory, write=True) as run:
        assert run.record(result_of(f"c{recorded}")) == 50 - recorded - 1
    assert recorded_ids(directory) == [f"c{number}" for number in range(recorded + 1)]
    assert verify(directory) == []


def test_a_view_that_cannot_grow_stays_whole(tmp_path, config_of, result_of, large_runs, limited_file_size):
    directory = tmp_path / "r"
    with Run.create(directory, config_of(["a", "b"])) as run:
        run.record(result_of("a"))
        run.event("worker", {"pad": "x" * 5000})
    results = directory / names.RESULTS
    before = results.read_bytes()
    run = Run.open(directory, write=True)
    run.record(result_of("b"))
    limited_file_size(len(before) + 20)
    with pytest.raises(OpdebugError, match=r"what was recorded is kept in journal\.jsonl"):
        run.close()
    limited_file_size(resource.RLIM_INFINITY)
    assert results.read_bytes() == before
    Run.open(directory, write=True).close()
    assert recorded_ids(directory) == ["a", "b"]
    assert verify(directory) == []


def test_a_plan_on_a_full_disk_leaves_nothing(tmp_path, config_of, limited_file_size):
    limited_file_size(600)
    with pytest.raises(OpdebugError, match="cannot create run"):
        Run.create(tmp_path / "r", config_of(["a", "b"]))
    limited_file_size(resource.RLIM_INFINITY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["missing", "garbage", "older", "empty"])
def test_an_index_that_does_not_fit_is_built_again(tmp_path, config_of, result_of, large_runs, damage):
    directory = tmp_path / "r"
    Run.create(directory, config_of(["a", "b", "c"])).close()
    index = directory / names.INDEX
    older = index.read_bytes()
    with Run.open(directory, write=True) as run:
        run.record(result_of("a"))
    if damage == "missing":
        index.unlink()
    else:
        index.write_bytes({"garbage": b"x" * len(older), "older": older, "empty": b""}[damage])
    with Run.open(directory, write=True) as run, pytest.raises(OpdebugError, match="already recorded"):
        run.record(result_of("a"))
    with Run.open(directory, write=True) as run:
        assert run.record(result_of("b")) == 1
    assert recorded_ids(directory) == ["a", "b"]
    assert verify(directory) == []


def test_a_large_run_is_recorded_to_without_reading_it(tmp_path, config_of, result_of, large_runs, monkeypatch):
    directory = tmp_path / "r"
    Run.create(directory, config_of(["a", "b", "c"])).close()

    def unwanted(*arguments):
        raise AssertionError("the run was read whole")

    for name in ("run.Run.state", "upkeep.look", "upkeep.view_bytes"):
        monkeypatch.setattr(f"opdebug.evidence.{name}", unwanted)
    for case_id in ("c", "a"):
        with Run.open(directory, write=True) as run:
            run.record(result_of(case_id))
    monkeypatch.undo()
    assert recorded_ids(directory) == ["c", "a"]
    assert verify(directory) == []
