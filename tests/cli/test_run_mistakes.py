"""Everyday slips get an answer that says what to write instead, and hangs are called hangs."""

import subprocess
import sys

import pytest

KERNEL = "import time\ndef run(x):\n    time.sleep(60)\n    return x\ndef ref(x):\n    return x\n"


def opdebug(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "opdebug", "run", *arguments], cwd=folder, capture_output=True, text=True,
                          check=False)


@pytest.mark.parametrize(("candidate", "said"), [
    ("torch.softmax", "write torch:softmax or torch.softmax(dim, x)"),
    ("kernel.py", "write kernel.py:NAME"),
])
def test_a_name_that_calls_nothing_is_explained(tmp_path, candidate, said):
    ran = opdebug(tmp_path, "--candidate", candidate, "--input", "x=float32[2,8]", "--attr", "dim=-1")
    assert ran.returncode == 2 and said in ran.stderr


def test_a_directory_in_use_says_how_to_go_on(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("")
    ran = opdebug(tmp_path, "--candidate", "torch.abs(x)", "--input", "x=float16[2]", "--output-dir", "out")
    assert ran.returncode == 2 and "--resume out" in ran.stderr


def test_a_hang_is_reported_as_one(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    ran = opdebug(tmp_path, "--candidate", "kernel.py:run", "--reference", "kernel.py:ref", "--input", "x=float32[2]",
                  "--timeout", "1")
    assert ran.returncode == 1
    assert "no answer within 1 s" in ran.stdout and "SIGKILL" not in ran.stdout


def test_the_reason_of_a_refusal_is_shown_whole(tmp_path):
    ran = opdebug(tmp_path, "--candidate", "torch.mm(x, x)", "--reference", "torch.mm(x.int(), x.int()).bool()",
                  "--input", "x=bool[2,2]")
    assert ran.returncode == 3
    assert "not implemented for 'Bool'" in ran.stdout


def test_the_same_callable_on_both_sides_is_no_evidence(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    ran = opdebug(tmp_path, "--candidate", "kernel.py:ref", "--reference", "kernel.py:ref", "--input", "x=float32[2]")
    assert ran.returncode == 3 and "compared with itself" in ran.stdout
