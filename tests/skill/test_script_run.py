"""The script's run form: three files run in workers, a record in every case, and the same evidence as the other forms."""

from __future__ import annotations

import hashlib
import json

import pytest

from opdebug.cli import kernel_run
from opdebug.evidence.verify import verify
from opdebug.model.errors import OpdebugError

KERNEL = """
import ctypes
import torch

def run(x):
    return x * 2

def in_place(x):
    return x.mul_(2)

def faulty(x):
    if x.shape[-1] == 4:
        ctypes.string_at(0)
    return x * 2 + (x.shape[-1] > 4)

def edits_itself(x):
    with open(__file__, "a") as file:
        file.write("# later" + chr(10))
    return x * 2

class Nested:
    @staticmethod
    def nothing(x):
        return ({"a": None}, [])
"""
REFERENCE = """
def run(x):
    return x + x

def in_place(x):
    x += x
    return x

def nothing(x):
    return ({"a": None}, [])
"""
CASES = """
import torch

def cases(device):
    for n in (1, 3, 4, 8):
        yield {"id": f"n{n}", "args": (torch.ones(2, n, device=device),)}

def one(device):
    return [{"kwargs": {"x": torch.ones(2, device=device)}}]

def broken(device):
    yield {"id": "a", "args": (torch.ones(2),)}
    yield {"id": "b", "args": (torch.ones(2),), "atol": float("nan")}

def twice(device):
    yield {"id": "a", "args": (torch.ones(2),)}
    yield {"id": "a", "args": (torch.ones(2),)}

def none(device):
    return []
"""
ALONE = """
import torch

with open("imported", "a") as file:
    file.write("x")

def kernel(x):
    return x * 1.25

def reference(x):
    return x.double().mul(1.0).to(x.dtype)

def cases(device):
    yield {"id": "own", "args": (torch.ones(3),), "atol": 0.5}
    yield {"id": "run", "args": (torch.ones(3),)}
"""


@pytest.fixture
def files(bench):
    for name, text in (("kernel.py", KERNEL), ("reference.py", REFERENCE), ("cases.py", CASES), ("alone.py", ALONE)):
        bench.write(name, text)
    return bench


def arguments(kernel="kernel.py:run", reference="reference.py:run", cases="cases.py:one", device="cpu", **more):
    flags = {"kernel": kernel, "reference": reference, "cases": cases, "device": device, "output-dir": "out",
             "manifest": "plain", **more}
    return ["run", *(word for name, value in flags.items() for word in (f"--{name}", str(value)))]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_passing_run_answers_with_its_record_and_leaves_the_usual_evidence(files):
    bom = "\ufeff" + (files.folder / "kernel.py").read_text().replace("\n", "\r\n")
    (files.folder / "kernel.py").write_bytes(bom.encode("utf-8"))
    record = files.answer(*arguments("kernel.py:in_place", "reference.py:in_place"), quiet=False)
    assert (record["status"], record["verdict"], record["error"]) == ("passed", "passed", None)
    assert record["candidate_invocations"] == 6
    assert record["cases"][0].items() >= {"case_id": "0", "status": "passed", "candidate_invocations": 6}.items()
    assert record["sources"]["kernel"]["sha256"] == hashlib.sha256(KERNEL.encode()).hexdigest()
    assert record["sources"]["reference"] == {"path": str((files.folder / "reference.py").resolve()),
                                              "callable": "in_place", "sha256": sha256(files.folder / "reference.py")}
    assert record == files.read("out/record.json") and record["record"].endswith("record.json")
    assert verify(files.folder / "out") == []
    manifest = files.read("out/manifest.json")
    assert manifest["status"] == "passed" and manifest["command"][:2] == ["operator_debug.py", "run"]
    result = files.read("out/results.json")["results"][0]
    assert result["case_id"] == "0" and result["status"] == "passed" and result["timing_us"] > 0
    assert files.read("out/case-matrix.json")["cases"][0]["inputs"][0]["shape"] == [2]
    assert files.read("out/analysis.json")["status"] == "passed"


def test_crash_and_mismatch_are_told_apart_and_carry_what_they_found(files):
    record = files.answer(*arguments("kernel.py:faulty", cases="cases.py:cases", warmups=0, repeats=2), code=1, quiet=False)
    assert (record["status"], record["crash_cases"], record["mismatch_cases"]) == ("diagnosed", ["n4"], ["n8"])
    assert [row["candidate_invocations"] for row in record["cases"]] == [3, 3, None, 3]
    failures = {failure["case_id"]: failure for failure in record["failures"]}
    assert failures["n4"]["signal"] == "SIGSEGV" and failures["n8"]["metrics"]["max_abs"] == 1.0
    assert files.read("out/manifest.json")["status"] == "failed"
    rows = {row["case_id"]: row for row in files.read("out/results.json")["results"]}
    assert rows["n8"]["comparisons"][0]["max_abs"] == 1.0 and rows["n4"]["error"] == "killed by SIGSEGV"


def test_one_file_in_all_roles_is_executed_once_and_a_case_keeps_its_own_tolerance(files):
    record = files.answer(*arguments("alone.py:kernel", "./alone.py:reference", f"{files.folder}/alone.py:cases"), code=1,
                          quiet=False)
    assert (files.folder / "imported").read_text() == "x"
    assert [(row["case_id"], row["status"]) for row in record["cases"]] == [
        ("own", "passed"), ("run", "numerical_mismatch")]


def test_a_tree_without_values_is_a_failure_even_if_both_sides_agree(files):
    record = files.answer(*arguments("kernel.py:Nested.nothing", "reference.py:nothing"), code=1, quiet=False)
    assert record["mismatch_cases"] == ["0"] and "empty output tree" in record["failures"][0]["message"]


@pytest.mark.parametrize(("cases", "said"), [("broken", "atol"), ("twice", "case id is duplicated: a")])
def test_what_a_failing_cases_function_had_given_is_still_written(files, cases, said):
    record = files.answer(*arguments(cases=f"cases.py:{cases}"), code=1, quiet=False)
    assert record["status"] == "failed" and said in record["error"] and record["candidate_invocations"] == 0
    assert record["missing_cases"] == ["a"] and said in record["no_evidence"]["a"]
    assert [case["id"] for case in files.read("out/case-matrix.json")["cases"]] == ["a"]
    assert files.read("out/record.json") == record
    assert files.read("out/manifest.json")["status"] == "inconclusive"


def test_more_cases_than_allowed_are_refused_and_named(files):
    record = files.answer(*arguments(cases="cases.py:cases", **{"max-cases": 3}), code=1, quiet=False)
    assert "4 cases" in record["error"] and record["missing_cases"] == ["n1", "n3", "n4", "n8"]
    assert record["candidate_invocations"] == 0


@pytest.mark.parametrize(("changes", "said"), [
    ({"cases": "cases.py:none"}, "no cases"), ({"device": "npu"}, "no CPU fallback"),
], ids=["no-cases", "no-device"])
def test_a_run_that_cannot_start_leaves_its_record_alone(files, changes, said):
    record = files.answer(*arguments(**changes), code=1)
    assert record["status"] == "failed" and said in record["error"]
    assert record["candidate_invocations"] == 0 and set(record["sources"]) == {"kernel", "reference", "cases"}
    assert [p.name for p in (files.folder / "out").iterdir()] == ["record.json"]
    assert files.read("out/record.json") == record


def test_a_record_of_other_sources_than_those_given_is_refused(files):
    record = files.answer(*arguments("kernel.py:edits_itself", repeats=0, warmups=0), code=1, quiet=False)
    assert record["status"] == "failed" and "hashes differ" in record["error"] and "kernel.py" in record["error"]
    assert record["verdict"] == "passed" and files.read("out/record.json") == record


def test_files_that_cannot_be_used_are_named_together(files):
    (files.folder / "other").mkdir()
    (files.folder / "other" / "kernel.py").write_text("def run(x):\n    return x\n")
    (files.folder / "syntax.py").write_text("def run(x)\n")
    (files.folder / "latin.py").write_bytes(b"# \xe9\n")
    for number, (changes, said) in enumerate((
        ({"reference": "other/kernel.py:run"}, ["same basename"]),
        ({"kernel": "gone.py:f", "reference": "syntax.py:f", "cases": "latin.py:f"}, ["gone.py", "syntax.py", "UTF-8"]),
        ({"kernel": "torch.abs(x)", "cases": "torch:abs"}, ["'torch.abs(x)'", "'torch:abs'", "FILE.py:callable"]),
        ({"kernel": "kernel.py"}, ["kernel"]),
        ({"kernel": "kernel.py:a.1"}, ["kernel"]),
    )):
        record = files.answer(*arguments(**changes, **{"output-dir": f"out{number}"}), code=1)
        assert all(part in record["error"] for part in said), record["error"]


def test_only_different_texts_under_one_name_are_a_conflict(files, monkeypatch):
    monkeypatch.chdir(files.folder)
    (files.folder / "copy").mkdir()
    (files.folder / "copy" / "kernel.py").write_text(KERNEL)
    request = kernel_run.Request("copy/kernel.py:run", "kernel.py:Nested.nothing", "cases.py:one", files.folder / "out")
    found = kernel_run.read_files(request)
    assert {role: name for role, (_, name) in found.items()} == {
        "kernel": "run", "reference": "Nested.nothing", "cases": "one"}
    (files.folder / "copy" / "kernel.py").write_text(KERNEL + "\n")
    with pytest.raises(OpdebugError, match="same basename"):
        kernel_run.read_files(request)


def test_a_directory_in_use_is_left_alone(files):
    (files.folder / "out").mkdir()
    (files.folder / "out" / "mine").write_text("precious")
    record = files.answer(*arguments(), code=1)
    assert record["error"] == "output directory is not empty: out" and record["record"] is None
    assert [p.name for p in (files.folder / "out").iterdir()] == ["mine"]
    assert json.loads(json.dumps(record)) == record
