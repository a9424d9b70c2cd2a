"""Which code ran: the commit of a work tree, and for a changed tree a commit that holds exactly its files.

`code_identity` asks git by plumbing commands alone. A changed tree is snapshot through an index of its own into a commit
without parents that no reference points at, so the user's index, branches and history stay untouched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

TIME_LIMIT_S = 20.0

# Evidence is no code: a run kept inside the work tree must neither make it dirty nor end up in the snapshot.
_ALL_BUT_EVIDENCE = ("--", ".", ":(exclude,glob)**/.opdebug/**", ":(exclude,glob)**/.vaws-local/**")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# No command that the repository's configuration names is started.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
_LOCATING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")
_AUTHOR = {
    "GIT_AUTHOR_NAME": "opdebug", "GIT_AUTHOR_EMAIL": "opdebug@localhost",
    "GIT_COMMITTER_NAME": "opdebug", "GIT_COMMITTER_EMAIL": "opdebug@localhost",
}


class _NoAnswer(Exception):
    pass


def code_identity(root: str | os.PathLike[str], *, time_limit: float = TIME_LIMIT_S) -> dict[str, Any] | None:
    """`{source_head, snapshot_commit, dirty}` of the work tree that holds `root`, or None.

    None means: no git, no work tree, no commit yet, commits that are not 40 hex digits, or no answer within
    `time_limit` seconds. Untracked files that are not ignored count as changes.
    """
    git = _Git(os.fspath(root), time.monotonic() + time_limit)
    try:
        git.directory = git("rev-parse", "--show-toplevel").rstrip("\n")
        head = git("rev-parse", "--verify", "--end-of-options", "HEAD^{commit}").strip()
        if not _COMMIT.fullmatch(head):
            return None
        dirty = git("status", "--porcelain", "--untracked-files=normal", *_ALL_BUT_EVIDENCE) != ""
        snapshot = _snapshot(git) if dirty else head
    except (_NoAnswer, OSError):
        return None
    return {"source_head": head, "snapshot_commit": snapshot, "dirty": dirty}


def _snapshot(git: _Git) -> str:
    with tempfile.TemporaryDirectory(prefix="opdebug-index-") as folder:
        index = Path(folder) / "index"
        own = Path(git.directory) / git("rev-parse", "--git-path", "index").rstrip("\n")
        # Starting from the user's index spares reading every unchanged file again.
        if own.is_file():
            shutil.copyfile(own, index)
        git.environment["GIT_INDEX_FILE"] = str(index)
        git("add", "--all", *_ALL_BUT_EVIDENCE)
        tree = git("write-tree").strip()
        commit = git("commit-tree", "--no-gpg-sign", tree, "-m", "work tree at the time of the run").strip()
    if not _COMMIT.fullmatch(commit):
        raise _NoAnswer
    return commit


class _Git:
    """Runs git in one directory until one deadline; anything but success raises _NoAnswer."""

    def __init__(self, directory: str, deadline: float) -> None:
        self.directory = directory
        self._deadline = deadline
        kept = {name: value for name, value in os.environ.items() if name not in _LOCATING}
        self.environment = {**kept, **_AUTHOR, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}

    def __call__(self, *arguments: str) -> str:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise _NoAnswer
        try:
            answer = subprocess.run(
                ["git", "-C", self.directory, *_SAFE, *arguments],  # noqa: S607 - the git that the user has on PATH
                env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape",
                timeout=remaining, check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError):
            raise _NoAnswer from None
        if answer.returncode != 0:
            raise _NoAnswer
        return answer.stdout
