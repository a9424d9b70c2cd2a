"""`opdebug run` from outside: what it prints, what it leaves behind, and what it refuses with nothing written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opdebug.evidence.run import Run
from opdebug.evidence.verify import verify

SOURCES = {
    "kernel.py": "import torch, time, os\ndef run(x, scale=2):\n    return x * scale\n"
                 "def slow(x, seconds=0.0):\n    time.sleep(seconds)\n    return x * 2\n"
                 "def wrong(x, scale=2):\n    return x * scale + (x.shape[-1] > 3)\n",
    "reference.py": "import torch\ndef run(x, scale=2):\n    return x + x if scale == 2 else scale * x\n"
                    "def slow(x, seconds=0.0):\n    return x + x\n",
    "cases.py": "import torch\ndef cases(device):\n"
                "    for n in (1, 3, 4, 8):\n        yield {'id': f'n{n}', 'args': (torch.ones(2, n, device=device),)}\n"
                "def slow(device):\n"
                "    for i in range(12):\n"
                "        yield {'id': str(i), 'args': (torch.ones(2, device=device),), 'kwargs': {'seconds': 0.3}}\n"
                "def none(device):\n    return []\n"
                "def broken(device):\n    yield {'id': 'a', 'args': ()}\n    raise KeyError('gone')\n"
                "def twice(device):\n    yield {'id': 'a', 'args': ()}\n    yield {'id': 'a', 'args': ()}\n"
                "def odd(device):\n    yield {'id': 'a', 'args': (), 'atol': float('nan')}\n"
                "def moded(device):\n    yield {'id': 'a', 'args': (torch.ones(2),), 'mode': 'eager'}\n",
}
OWN = ["--candidate", "kernel.py:run", "--reference", "reference.py:run", "--cases", "cases.py:cases"]
SLOW = ["--candidate", "kernel.py:slow", "--reference", "reference.py:slow", "--cases", "cases.py:slow"]


@pytest.fixture
def folder(tmp_path):
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def opdebug(folder, *arguments, **options):
    return subprocess.run([sys.executable, "-m", "opdebug", *arguments], cwd=folder, capture_output=True, text=True,
                          check=False, **options)


def test_a_passing_run_answers_in_json_and_leaves_sound_evidence(folder):
    ran = opdebug(folder, "run", *OWN, "--output-dir", "out", "--json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert document["status"] == "passed" and document["status_counts"]["passed"] == 4
    for key in ("run_id", "operator", "crash_cases", "mismatch_cases", "unsupported_cases", "missing_cases", "no_evidence",
                "failure_axes", "failures"):
        assert key in document
    for key in ("output_dir", "analysis", "report", "manifest_ref"):
        assert Path(document[key]).exists()
    assert verify(folder / "out") == []
    environment = json.loads((folder / "out" / "environment.json").read_text())
    assert environment["torch"].startswith("2.") and environment["threads"] == 1
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert manifest["status"] == "passed" and "code" not in manifest


def test_a_failing_run_exits_1_and_names_the_deciding_axis(folder):
    arguments = ["--candidate", "kernel.py:wrong", *OWN[2:]]
    ran = opdebug(folder, "run", *arguments, "--output-dir", "out", "--json")
    assert ran.returncode == 1
    document = json.loads(ran.stdout)
    assert document["mismatch_cases"] == ["n4", "n8"]
    failure = document["failures"][0]
    assert failure["case_id"] == "n4" and set(failure["nearest_passing"]["differs"]) == {"shape"}
    assert document["failure_axes"]["shape"] == {"2x4": ["n4"], "2x8": ["n8"]}
    assert json.loads((folder / "out" / "manifest.json").read_text())["status"] == "failed"


def test_inside_a_git_work_tree_the_code_is_part_of_the_manifest(folder):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    subprocess.run([*git, "add", "."], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-qm", "x"], cwd=folder, check=True)
    assert opdebug(folder, "run", *OWN, "--output-dir", "out").returncode == 0
    code = json.loads((folder / "out" / "manifest.json").read_text())["code"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    assert code["source_head"] == head.stdout.strip()


BAD = [
    (["--candidate", "torch.nope(x)", "--input", "x=float32[2]"], ["torch.nope"]),
    (["--candidate", "kernel.py:absent", *OWN[2:]], ["absent"]),
    (["--candidate", "missing.py:run", *OWN[2:]], ["missing.py"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float99[2]"], ["float99"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2,-1]"], ["-1"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2];strides=[1,2]"], ["strides"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2];colour=red"], ["colour"]),
    (["--candidate", "torch.abs(x)", "--input", "x=floaty[2]", "--input", "y=float32[q]", "--attr", "=3"],
     ["floaty", "'q'", "attribute name ''"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--vary", "colour"], ["colour"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--device", "npu"], ["npu", "no fallback"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--device", "toaster"], ["toaster"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--tolerance", "vibes"], ["vibes"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--atol", "-1", "--rtol", "0"], ["atol"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--atol", "1"], ["--rtol"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--mode", "compile", "--compile-backend", "magic"],
     ["magic"]),
    (["--candidate", "torch.abs(x)", "--input", "x=float32[2]", "--run-id", "Not An Id"], ["run_id"]),
    ([*OWN[:4], "--cases", "cases.py:none"], ["no cases"]),
    ([*OWN[:4], "--cases", "cases.py:broken"], ["gone", "after 1 case"]),
    ([*OWN[:4], "--cases", "cases.py:twice"], ["duplicated: a"]),
    ([*OWN[:4], "--cases", "cases.py:odd"], ["atol"]),
    ([*OWN, "--vary", "dtype"], ["--vary"]),
    (["--config", "absent.json"], ["absent.json"]),
    (["--config", "kernel.py"], ["kernel.py"]),
    ([], ["--candidate"]),
]


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=[" ".join(a[:6])[:60] or "nothing" for a, _ in BAD])
def test_bad_input_exits_2_names_every_problem_and_writes_nothing(folder, arguments, said):
    ran = opdebug(folder, "run", *arguments)
    assert ran.returncode == 2
    assert ran.stdout == "" and "Traceback" not in ran.stderr
    for part in said:
        assert part in ran.stderr
    assert sorted(p.name for p in folder.iterdir()) == sorted(SOURCES)


def test_a_directory_in_use_is_refused(folder):
    (folder / "out").mkdir()
    (folder / "out" / "mine").write_text("precious")
    ran = opdebug(folder, "run", *OWN, "--output-dir", "out")
    assert ran.returncode == 2 and "not empty" in ran.stderr
    assert [p.name for p in (folder / "out").iterdir()] == ["mine"]


def start(folder, *arguments):
    return subprocess.Popen([sys.executable, "-m", "opdebug", "run", *arguments], cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def wait_for_results(directory, count, process):
    while process.poll() is None:
        try:
            if len(Run.open(directory).state().results) >= count:
                return
        except ValueError:
            pass
        time.sleep(0.02)
    raise AssertionError(process.communicate())


def test_what_was_recorded_survives_kill_9_and_resume_runs_only_the_rest(folder):
    process = start(folder, *SLOW, "--output-dir", "out")
    wait_for_results(folder / "out", 3, process)
    process.kill()
    process.communicate()
    before = {row["case_id"]: row["recorded_at"] for row in Run.open(folder / "out").state().results}
    assert 3 <= len(before) < 12
    ran = opdebug(folder, "run", "--resume", "out", "--json")
    assert ran.returncode == 0, ran.stderr
    rows = {row["case_id"]: row["recorded_at"] for row in Run.open(folder / "out").state().results}
    assert len(rows) == 12
    assert {k: rows[k] for k in before} == before
    assert verify(folder / "out") == []


def test_an_interrupt_keeps_the_evidence_and_exits_130(folder):
    process = start(folder, *SLOW, "--output-dir", "out")
    wait_for_results(folder / "out", 2, process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "--resume" in said and "Traceback" not in said
    assert verify(folder / "out") == []
    assert opdebug(folder, "run", "--resume", "out").returncode == 0


def test_two_controllers_cannot_write_one_run(folder):
    process = start(folder, *SLOW, "--output-dir", "out")
    wait_for_results(folder / "out", 1, process)
    ran = opdebug(folder, "run", "--resume", "out")
    assert ran.returncode == 2 and "in use" in ran.stderr
    process.communicate()
    assert process.returncode == 0


def test_resume_refuses_sources_that_changed(folder):
    process = start(folder, *SLOW, "--output-dir", "out")
    wait_for_results(folder / "out", 1, process)
    process.kill()
    process.communicate()
    (folder / "kernel.py").write_text(SOURCES["kernel.py"] + "# edited\n")
    ran = opdebug(folder, "run", "--resume", "out")
    assert ran.returncode == 2 and "kernel.py changed" in ran.stderr


def test_no_worker_outlives_a_killed_controller(folder):
    process = start(folder, *SLOW, "--output-dir", "out")
    wait_for_results(folder / "out", 1, process)
    group = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and _parent(p) == process.pid]
    assert group
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") and _state(pid) != "Z" for pid in group):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _parent(process):
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_the_terminal_report_tells_the_story(folder):
    arguments = ["--candidate", "kernel.py:wrong", *OWN[2:]]
    ran = opdebug(folder, "run", *arguments, "--output-dir", "out", env={**os.environ, "COLUMNS": "120"})
    for part in ("diagnosed: 2 of 4 cases failed", "fails only with shape", "n3 passes", "Evidence: "):
        assert part in ran.stdout
    assert "\x1b" not in ran.stdout


def test_an_own_reference_is_recorded_as_such(folder):
    ran = opdebug(folder, "run", "--candidate", "torch.exp(x)", "--input", "x=float16[8]", "--output-dir", "out")
    assert ran.returncode == 0
    row = Run.open(folder / "out").state().results[0]
    assert row["reference"] == {"how": "candidate", "device": "cpu", "lifted": True, "output_is_wider": True}
    assert row["executed"]["device"] == "cpu" and row["inputs"][0]["name"] == "x"


def test_a_candidate_that_would_be_compared_with_itself_has_no_evidence(folder):
    ran = opdebug(folder, "run", "--candidate", "torch.gcd(a, a)", "--input", "a=int32[8]", "--json")
    assert ran.returncode == 3
    document = json.loads(ran.stdout)
    assert document["missing_cases"] == ["base"] and "compared with itself" in document["no_evidence"]["base"]


def test_a_config_runs_and_its_unknown_fields_survive(folder):
    config = {
        "schema_version": 1, "run_id": "c-1", "ticket": 5, "operator": {"name": "exp", "invocation": "torch.exp(x)"},
        "tolerance": {"atol": 1e-3, "rtol": 1e-3}, "source_model_failure": "nan in the logits",
        "cases": [{"id": "a", "mode": "eager", "why": "seen", "inputs": [
            {"name": "x", "shape": [2, 3], "strides": [1, 2], "dtype": "float16", "layout": "ND"}]}],
    }
    (folder / "operator.json").write_text(json.dumps(config))
    ran = opdebug(folder, "run", "--config", "operator.json", "--output-dir", "out", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["integration_hint"]
    kept = json.loads((folder / "out" / "operator-config.json").read_text())
    assert kept["ticket"] == 5 and kept["cases"][0]["why"] == "seen" and kept["run_id"] == "c-1"


def test_a_case_may_choose_its_mode(folder):
    arguments = [*OWN[:4], "--cases", "cases.py:moded", "--mode", "eager,compile"]
    ran = opdebug(folder, "run", *arguments, "--json", "--compile-backend", "eager")
    assert json.loads(ran.stdout)["status_counts"]["passed"] == 1
