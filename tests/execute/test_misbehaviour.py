"""Every way in which a candidate can go wrong, in one session: contained, told apart, attributed, and confirmed alone."""

import os
from pathlib import Path

import pytest

from opdebug.execute.launch import LocalLauncher
from opdebug.execute.pool import Attempt, Conclusion, Task
from opdebug.execute.session import Session
from opdebug.model.specs import Case
from opdebug.plan.operator import over_modes
from opdebug.plan.sources import read_sources

SOURCE = Path(__file__).with_name("misbehaving.py")
WHATS = (
    "nothing", "segfault", "after_segfault", "abort", "kill", "exit_zero", "sys_exit", "hang", "hang_in_c", "memory",
    "python_memory", "raise", "not_implemented", "stderr", "print", "wrong", "flaky_crash", "flaky_value", "writes_input",
    "returns_input", "none", "wrong_dtype", "wrong_arity", "child_holds_pipes", "closes_everything", "both_refuse",
    "reference_raises", "reference_dies", "changes_state", "depends_on_state", "forks", "after_fork", "hostile_exception",
    "random", "leaves_a_thread", "after_thread", "last",
)


def load_request(path: Path, modes=("eager",), **changes):
    text = str(path)
    files = read_sources([("candidate", f"{text}:candidate")])
    return {
        "candidate": f"{text}:candidate", "reference": f"{text}:reference", "cases": f"{text}:cases", "imports": [],
        "device": "cpu", "reference_dtype": None, "reference_device": None, "tolerances": [{"policy": "allclose"}],
        "files": {p: {"path": f.path, "text": f.text, "sha256": f.sha256} for p, f in files.items()},
        "modes": list(modes), "mode_settings": {}, "threads": 1, "timeout_s": 5.0, "start_timeout_s": 120.0,
        "memory_limit": 700 * 2**20, **changes,
    }


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    variables = {"OPDEBUG_TEST_NOTES": str(tmp_path_factory.mktemp("notes")), "OPDEBUG_TEST_WHATS": ",".join(WHATS)}
    with Session(load_request(SOURCE), LocalLauncher(variables=variables)) as session:
        documents = session.collect()["cases"]
        cases = [c for d in documents for c in over_modes([Case.from_document({**d, "mode": "eager"})], ["eager"])]
        happened = list(session.run([Task(c.to_document(), {"policy": "allclose"}) for c in cases]))
    conclusions = [e for e in happened if isinstance(e, Conclusion)]
    attempts = [e for e in happened if isinstance(e, Attempt)]
    return {c.case_id: c for c in conclusions}, conclusions, attempts


def failure(ran, what):
    conclusion = ran[0][what]
    assert conclusion.result is not None, conclusion.no_evidence
    return conclusion.result["status"], conclusion.result["failure"]


def test_every_case_is_concluded_exactly_once(ran):
    assert sorted(c.case_id for c in ran[1]) == sorted(WHATS)


@pytest.mark.parametrize("what", [
    "nothing", "after_segfault", "print", "returns_input", "changes_state", "depends_on_state", "forks", "after_fork",
    "random", "leaves_a_thread", "after_thread", "last"])
def test_a_healthy_call_passes_whatever_happened_before_it(ran, what):
    status, found = failure(ran, what)
    assert status == "passed" and found is None


@pytest.mark.parametrize(("what", "signal"), [("segfault", "SIGSEGV"), ("abort", "SIGABRT"), ("kill", "SIGKILL")])
def test_a_signal_is_a_confirmed_crash_of_its_own_case(ran, what, signal):
    status, found = failure(ran, what)
    assert (status, found["kind"], found["signal"]) == ("crash", "signal", signal)
    assert (found["confirmed"], found["flaky"]) == (True, False)
    attempts = [a for a in ran[2] if a.case_id == what]
    assert [a.alone for a in attempts] == [False, True]
    assert attempts[0].worker != attempts[1].worker


def test_the_python_stack_at_a_crash_is_evidence(ran):
    _, found = failure(ran, "segfault")
    assert any(frame.endswith(" in candidate") and "misbehaving.py" in frame for frame in found["stack"])
    assert not any("/opdebug/worker/" in frame for frame in found["stack"])
    assert "Segmentation fault" in found["stderr_tail"]


def test_leaving_without_a_result_is_a_crash_even_with_exit_code_zero(ran):
    status, found = failure(ran, "exit_zero")
    assert (status, found["kind"], found["exit_code"]) == ("crash", "exit", 0)
    status, found = failure(ran, "sys_exit")
    assert (status, found["kind"], found["exit_code"]) == ("crash", "exit", 7)


@pytest.mark.parametrize("what", ["hang", "hang_in_c"])
def test_a_hang_is_ended_and_its_stack_kept(ran, what):
    status, found = failure(ran, what)
    assert (status, found["kind"]) == ("crash", "timeout")
    assert any(frame.endswith(" in candidate") for frame in found["stack"])


@pytest.mark.parametrize("what", ["memory", "python_memory"])
def test_running_out_of_memory_is_told_apart(ran, what):
    status, found = failure(ran, what)
    assert (status, found["kind"]) == ("crash", "out_of_memory")


def test_an_exception_is_a_crash_with_its_type_and_stack(ran):
    status, found = failure(ran, "raise")
    assert (status, found["kind"], found["exception"]) == ("crash", "exception", "ValueError")
    assert "no such thing as 42" in found["message"]
    assert any("misbehaving.py" in line for line in found["stack"])


def test_an_exception_that_cannot_even_be_printed_is_a_crash(ran):
    status, found = failure(ran, "hostile_exception")
    assert (status, found["kind"], found["exception"]) == ("crash", "exception", "Hostile")


def test_a_refusal_is_unsupported_and_not_repeated(ran):
    status, found = failure(ran, "not_implemented")
    assert (status, found["kind"]) == ("unsupported", "dtype")
    assert len([a for a in ran[2] if a.case_id == "not_implemented"]) == 1


def test_what_a_candidate_prints_goes_to_its_log(ran):
    assert "hello from the candidate" in ran[0]["print"].output
    assert "on stdout" in ran[0]["stderr"].output and "on stderr" in ran[0]["stderr"].output
    assert ran[0]["last"].output == ""


def test_a_wrong_value_is_confirmed(ran):
    status, found = failure(ran, "wrong")
    assert (status, found["kind"], found["confirmed"]) == ("numerical_mismatch", "values", True)


@pytest.mark.parametrize(("what", "status"), [("flaky_crash", "crash"), ("flaky_value", "numerical_mismatch")])
def test_what_does_not_happen_again_alone_is_flaky_and_still_a_failure(ran, what, status):
    found_status, found = failure(ran, what)
    assert found_status == status
    assert (found["confirmed"], found["flaky"]) == (False, True)
    assert [a["status"] for a in ran[0][what].result["attempts"]] == [status, "passed"]


def test_a_write_to_an_input_that_the_reference_leaves_alone_is_a_mutation(ran):
    status, found = failure(ran, "writes_input")
    assert (status, found["kind"]) == ("numerical_mismatch", "mutation")
    assert "x" in found["message"]


@pytest.mark.parametrize("what", ["none", "wrong_dtype", "wrong_arity"])
def test_an_output_of_another_structure_is_a_failure_of_its_own_kind(ran, what):
    status, found = failure(ran, what)
    assert (status, found["kind"]) == ("numerical_mismatch", "output_structure")


def test_a_child_that_outlives_the_worker_holds_nothing_up(ran):
    status, found = failure(ran, "child_holds_pipes")
    assert (status, found["kind"], found["exit_code"]) == ("crash", "exit", 3)


def test_closing_every_descriptor_harms_only_the_case_itself(ran):
    status, _ = failure(ran, "closes_everything")
    assert status == "crash"


def test_both_sides_refusing_is_an_invalid_input(ran):
    status, found = failure(ran, "both_refuse")
    assert (status, found["kind"]) == ("unsupported", "invalid_input")


@pytest.mark.parametrize("what", ["reference_raises", "reference_dies"])
def test_without_a_reference_there_is_no_evidence(ran, what):
    conclusion = ran[0][what]
    assert conclusion.result is None
    assert "reference failed" in conclusion.no_evidence


def test_results_carry_the_inputs_digest_even_of_a_crash(ran):
    digests = {ran[0][w].result["inputs"][0]["sha256"] for w in ("nothing", "segfault", "wrong")}
    assert len(digests) == 1 and len(digests.pop()) == 64


def test_no_process_is_left_behind(ran):
    listed = [p for p in Path("/proc").iterdir() if p.name.isdigit()]
    parents = {}
    for process in listed:
        try:
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    assert not [pid for pid, parent in parents.items() if parent == os.getpid() and _is_host(pid)]


def _is_host(pid):
    try:
        return b"opdebug.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
