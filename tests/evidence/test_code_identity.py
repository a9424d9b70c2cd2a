from __future__ import annotations

import shutil
import subprocess

import pytest

from opdebug.evidence.code_identity import code_identity

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def git(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()

    def call(*arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        answer = subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True,
                                text=True)
        return answer.stdout.strip()

    call("init", "-q")
    (root / "kernel.py").write_text("one\n")
    (root / ".gitignore").write_text("ignored\n")
    call.root = root
    return call


def commit(git):
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    return git("rev-parse", "HEAD")


def test_a_clean_tree_is_its_head(git):
    head = commit(git)
    (git.root / "ignored").write_text("x")
    (git.root / ".opdebug" / "runs").mkdir(parents=True)
    (git.root / ".opdebug" / "runs" / "evidence").write_text("x")
    assert code_identity(git.root) == {"source_head": head, "snapshot_commit": head, "dirty": False}


def test_a_changed_tree_gets_a_snapshot_and_keeps_its_index(git):
    head = commit(git)
    (git.root / "kernel.py").write_text("two\n")
    (git.root / "sub").mkdir()
    (git.root / "sub" / "new.py").write_text("new\n")
    (git.root / "ignored").write_text("x")
    index, refs = (git.root / ".git" / "index").read_bytes(), git("for-each-ref")
    found = code_identity(git.root / "sub")
    assert (found["source_head"], found["dirty"]) == (head, True)
    snapshot = found["snapshot_commit"]
    assert git("rev-list", "--parents", "-1", snapshot) == snapshot
    assert git("show", f"{snapshot}:kernel.py") == "two"
    assert git("ls-tree", "-r", "--name-only", snapshot).split() == [".gitignore", "kernel.py", "sub/new.py"]
    assert (git.root / ".git" / "index").read_bytes() == index
    assert git("for-each-ref") == refs
    assert git("rev-parse", "HEAD") == head


def test_no_commit_or_no_tree_gives_none(git, tmp_path):
    assert code_identity(git.root) is None
    assert code_identity(tmp_path) is None
    assert code_identity(tmp_path / "none") is None


def test_no_git_or_no_time_gives_none(git, monkeypatch):
    commit(git)
    assert code_identity(git.root, time_limit=0.0) is None
    monkeypatch.setenv("PATH", "/nonexistent")
    assert code_identity(git.root) is None


def test_variables_of_a_surrounding_git_do_not_mislead(git, monkeypatch, tmp_path):
    head = commit(git)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert code_identity(git.root)["source_head"] == head
