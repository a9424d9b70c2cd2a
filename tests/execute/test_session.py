"""A session hides how cases reach workers: lanes, spawned workers, a host that dies, and loads that go wrong."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from opdebug.execute.launch import LocalLauncher
from opdebug.execute.pool import Conclusion, Task
from opdebug.execute.session import Session
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case
from opdebug.plan.grammar import parse_inputs
from opdebug.plan.sources import read_sources

ALLCLOSE = {"policy": "allclose"}
KERNEL = """
import ctypes, os, threading, time
import torch

def run(x, crash=False):
    if crash:
        ctypes.string_at(0)
    return x * 2

def kill_the_host(x, marker=""):
    try:
        open(marker, "x").close()
        os.kill(os.getppid(), 9)
        time.sleep(60)
    except FileExistsError:
        return x * 2
"""


def request(candidate, files=None, **changes):
    return {
        "candidate": candidate, "reference": "x + x", "cases": None, "imports": [], "device": "cpu",
        "reference_dtype": None, "reference_device": None, "tolerances": [ALLCLOSE], "modes": ["eager"],
        "files": {p: {"path": f.path, "text": f.text, "sha256": f.sha256} for p, f in (files or {}).items()},
        "mode_settings": {}, "threads": 1, "timeout_s": 30.0, "start_timeout_s": 60.0, "memory_limit": 0, **changes,
    }


def from_text(folder, text, name="run", **changes):
    path = folder / "kernel.py"
    path.write_text(text)
    address = f"{path}:{name}"
    return request(address, read_sources([("candidate", address)]), **changes)


def tasks(count, **attributes):
    cases = [Case(f"c{i}", "eager", parse_inputs([f"x=float32[4];seed={i}"]), attributes) for i in range(count)]
    return [Task(case.to_document(), ALLCLOSE) for case in cases]


def concluded(session, wanted):
    return {e.case_id: e for e in session.run(wanted) if isinstance(e, Conclusion)}


def test_several_lanes_conclude_every_case_once_although_some_crash(tmp_path):
    wanted = tasks(40) + [Task({**t.case, "id": f"bad{i}", "attributes": {"crash": True}}, ALLCLOSE)
                          for i, t in enumerate(tasks(6))]
    wanted = wanted[::2] + wanted[1::2]
    with Session(from_text(tmp_path, KERNEL, reference="x + x if not crash else x"), LocalLauncher(), lanes=3) as session:
        cases = [Task({**t.case, "attributes": {"crash": False, **t.case["attributes"]}}, ALLCLOSE) for t in wanted]
        happened = [e for e in session.run(cases) if isinstance(e, Conclusion)]
    assert sorted(e.case_id for e in happened) == sorted(t.id for t in wanted)
    for event in happened:
        assert event.result["status"] == ("crash" if event.case_id.startswith("bad") else "passed")
        if event.case_id.startswith("bad"):
            assert event.result["failure"]["confirmed"] is True


def test_workers_are_spawned_where_the_users_import_started_a_thread(tmp_path):
    text = KERNEL + "\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    with Session(from_text(tmp_path, text), LocalLauncher()) as session:
        assert session.ready["forks"] is False
        assert [e.result["status"] for e in concluded(session, tasks(3)).values()] == ["passed"] * 3


def test_a_host_that_dies_is_restarted_once_and_nothing_is_lost(tmp_path):
    wanted = tasks(3, marker=str(tmp_path / "marker"))
    loaded = from_text(tmp_path, KERNEL, "kill_the_host", reference="x + x if marker else x")
    with Session(loaded, LocalLauncher()) as session:
        ends = concluded(session, wanted)
    assert {k: e.result["status"] for k, e in ends.items()} == {"c0": "passed", "c1": "passed", "c2": "passed"}


def test_a_host_that_keeps_dying_leaves_cases_without_evidence(tmp_path):
    text = KERNEL.replace('open(marker, "x").close()', "pass")
    loaded = from_text(tmp_path, text, "kill_the_host", reference="x + x if not marker else x")
    with Session(loaded, LocalLauncher()) as session:
        ends = concluded(session, tasks(2, marker="m"))
    assert len(ends) == 2
    assert all(e.result is None and "host was lost" in e.no_evidence for e in ends.values())


@pytest.mark.parametrize(("text", "said"), [
    ("import os\nos._exit(5)\n", "exited with code 5"), ("raise SystemExit('no')\n", "SystemExit: no"),
    ("import ctypes\nctypes.string_at(0)\n", "SIGSEGV"),
])
def test_a_source_that_ends_the_process_at_import_is_reported_and_runs_nothing(tmp_path, text, said):
    with pytest.raises(OpdebugError, match=said), Session(from_text(tmp_path, text + KERNEL), LocalLauncher()):
        pass


def test_unseeded_cases_keep_their_values_whatever_the_calls_draw(tmp_path):
    text = KERNEL + """
def cases(device):
    for i in range(4):
        yield {"id": str(i), "args": (torch.randn(3),)}

def draws(x):
    torch.rand(7)
    return x * 2

def doubled(x):
    return x + x
"""
    path = tmp_path / "kernel.py"
    loaded = from_text(tmp_path, text, "draws", reference=f"{path}:doubled", cases=f"{path}:cases")
    with Session(loaded, LocalLauncher()) as session:
        cases = [Task({**d, "mode": "eager"}, ALLCLOSE) for d in session.collect()["cases"]]
        assert [e.result["status"] for e in concluded(session, cases).values()] == ["passed"] * 4


def test_the_limit_is_for_each_stage_and_a_slow_reference_is_not_charged_to_the_candidate(tmp_path):
    text = KERNEL + """
def slow(x):
    time.sleep(2.0)
    return x * 2

def slow_reference(x):
    time.sleep(2.0)
    return x + x
"""
    path = tmp_path / "kernel.py"
    loaded = from_text(tmp_path, text, "slow", reference=f"{path}:slow_reference", timeout_s=3.0)
    with Session(loaded, LocalLauncher()) as session:
        assert concluded(session, tasks(1))["c0"].result["status"] == "passed"


def test_what_a_reference_writes_behind_torchs_back_is_seen(tmp_path):
    text = KERNEL + """
def writes(x):
    x.data.mul_(2)
    return torch.ones(1)

def leaves(x):
    return torch.ones(1)
"""
    path = tmp_path / "kernel.py"
    loaded = from_text(tmp_path, text, "leaves", reference=f"{path}:writes")
    with Session(loaded, LocalLauncher()) as session:
        found = concluded(session, tasks(1))["c0"].result
    assert (found["status"], found["failure"]["kind"]) == ("numerical_mismatch", "mutation")


def test_a_wider_reference_does_not_excuse_a_narrower_output():
    loaded = request("torch.softmax(x, -1).to(torch.float8_e4m3fn)", reference="torch.softmax(x.double(), -1)")
    with Session(loaded, LocalLauncher()) as session:
        found = concluded(session, tasks(1))["c0"].result
    assert (found["status"], found["failure"]["kind"]) == ("numerical_mismatch", "output_structure")


def test_a_source_that_never_finishes_loading_hits_the_start_limit(tmp_path):
    loaded = from_text(tmp_path, "import time\ntime.sleep(3600)\n" + KERNEL, start_timeout_s=1.0)
    with pytest.raises(OpdebugError, match="said nothing for 1 s"), Session(loaded, LocalLauncher()):
        pass


def test_a_host_of_another_protocol_is_refused(monkeypatch):
    monkeypatch.setattr("opdebug.worker.protocol.PROTOCOL", 99)
    with pytest.raises(OpdebugError, match="protocol 1, the controller 99"), Session(request("x * 2"), LocalLauncher()):
        pass


def test_a_python_that_is_not_there_is_reported():
    with pytest.raises(OpdebugError, match="cannot be started"), Session(request("x * 2"), LocalLauncher("/no/such/python")):
        pass


def test_no_host_is_left_when_the_session_ends():
    with Session(request("x * 2"), LocalLauncher()) as session:
        pid = session.ready["pid"]
        assert os.path.exists(f"/proc/{pid}")
    assert not os.path.exists(f"/proc/{pid}")


def test_killing_a_worker_from_outside_costs_only_its_case(tmp_path):
    text = KERNEL + """
def wait(x, marker=""):
    import pathlib
    if not pathlib.Path(marker).exists():
        pathlib.Path(marker).write_text(str(os.getpid()))
        time.sleep(60)
    return x * 2
"""
    marker = tmp_path / "pid"
    loaded = from_text(tmp_path, text, "wait", reference="x + x if marker else x")
    with Session(loaded, LocalLauncher()) as session:
        happened = session.run(tasks(2, marker=str(marker)))

        def kill():
            while not (marker.exists() and marker.read_text()):
                time.sleep(0.01)
            os.kill(int(Path(marker).read_text()), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        ends = {e.case_id: e for e in happened if isinstance(e, Conclusion)}
        killer.join()
    assert ends["c0"].result["failure"]["signal"] == "SIGKILL" and ends["c0"].result["failure"]["flaky"] is True
    assert ends["c1"].result["status"] == "passed"
