from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opdebug.cli import lifecycle
from opdebug.cli.main import run as run_command
from opdebug.evidence.run import Run

SOURCE = Path(__file__).parents[2] / "src"


def make_config(*ids: str, **changes: Any) -> dict[str, Any]:
    spec = {"name": "x", "shape": [4, 128], "strides": [128, 1], "dtype": "bfloat16", "layout": "ND"}
    return {
        "schema_version": 1, "run_id": "r1",
        "operator": {"name": "swiglu", "invocation": "swiglu(x, dim=dim)", "reference": "float64 on CPU"},
        "tolerance": {"atol": 0.001, "rtol": 0.001},
        "cases": [{"id": i, "mode": "eager", "attributes": {"dim": -1}, "inputs": [spec]} for i in ids or ("a", "b")],
        **changes,
    }


def make_result(case_id: str = "a", status: str = "passed", **changes: Any) -> dict[str, Any]:
    error = {"error": "it broke"} if status in ("crash", "unsupported") else {}
    far = 0.5 if status == "numerical_mismatch" else 0.0001
    return {"schema_version": 1, "case_id": case_id, "status": status, "comparisons": [{"output": "o", "max_abs": far}],
            **error, **changes}


class Place:
    """A folder with helpers that write documents into it and make runs of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = 0

    def file(self, document: Any) -> Path:
        self._files += 1
        path = self.path / f"document-{self._files}.json"
        path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
        return path

    def planned(self, *ids: str, name: str = "run", **changes: Any) -> Path:
        run = self.path / name
        lifecycle.plan(run, config_path=self.file(make_config(*ids, **changes)), extended=True)
        return run

    def filled(self, *, name: str = "run", **statuses: str) -> Path:
        """A run with the given status for each case; a case with the status `missing` gets no result."""
        run = self.planned(*statuses, name=name)
        with Run.open(run, write=True) as opened:
            for case_id, status in statuses.items():
                if status != "missing":
                    lifecycle.record_file(opened, self.file(make_result(case_id, status)))
        return run

    def contents(self, folder: Path | None = None) -> dict[str, bytes]:
        root = folder or self.path
        return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def config_of():
    return make_config


@pytest.fixture
def result_of():
    return make_result


@pytest.fixture
def command(capsys):
    """Run one command in this process: (exit code, stdout, stderr)."""

    def run(*words: Any) -> tuple[int, str, str]:
        code = run_command([str(word) for word in words])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def process():
    """Run one command as a process of its own."""

    def run(*words: Any, environment: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run([sys.executable, "-m", "opdebug", *map(str, words)], capture_output=True, text=True,
                              check=False, timeout=60, env={**os.environ, "PYTHONPATH": path, **(environment or {})},
                              **options)

    return run
