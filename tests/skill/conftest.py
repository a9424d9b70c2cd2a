"""The skill's script as agents use it: run by its path, from a directory of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "skills" / "ascend-operator-debug" / "scripts" / "operator_debug.py"


def make_spec(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "shape": [4, 128], "strides": [128, 1], "dtype": "bfloat16", "layout": "ND", **changes}


def make_config(*ids: str, **changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1, "run_id": "swiglu-001",
        "operator": {"name": "npu_swiglu", "invocation": "torch_npu.npu_swiglu(x, dim=-1)", "reference": "silu(a)*b"},
        "tolerance": {"atol": 0.001, "rtol": 0.001},
        "cases": [{"id": case_id, "mode": "eager", "attributes": {"dim": -1}, "inputs": [make_spec()]} for case_id in ids],
        **changes,
    }


def make_result(case_id: str, status: str = "passed", **changes: Any) -> dict[str, Any]:
    error = {"error": "it broke"} if status in ("crash", "unsupported") else {}
    comparisons = [{"output": "y", "max_abs": 0.0005, "max_rel": 0.0004, "cosine": 1}]
    return {"schema_version": 1, "case_id": case_id, "status": status, "comparisons": comparisons, **error, **changes}


class Bench:
    """A directory in which the script is run; documents are written into it and read from it."""

    def __init__(self, folder: Path, script: Path = SCRIPT, flags: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self._command = [sys.executable, *flags, str(script)]

    def write(self, name: str, document: Any) -> str:
        text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def raw(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._command, *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
                              **options)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self._command, *arguments], cwd=self.folder, stdout=subprocess.PIPE, text=True)

    def answer(self, *arguments: str, code: int = 0, quiet: bool = True) -> dict[str, Any]:
        """The one JSON document; asserts the exit code, that it is one line, and that stderr is empty if `quiet`."""
        ran = self.raw(*arguments)
        assert ran.returncode == code, (ran.stdout, ran.stderr)
        assert ran.stdout.endswith("\n") and ran.stdout.count("\n") == 1
        assert "Traceback" not in ran.stderr and not (quiet and ran.stderr)
        document: dict[str, Any] = json.loads(ran.stdout)
        return document

    def refusal(self, *arguments: str, quiet: bool = True) -> str:
        """The error of a command that fails by contract."""
        document = self.answer(*arguments, code=1, quiet=quiet)
        assert list(document)[:2] == ["status", "error"] and document["status"] == "failed"
        error: str = document["error"]
        return error

    def plan(self, config: Any, *more: str) -> dict[str, Any]:
        more = more or ("--manifest", "plain")
        return self.answer("plan", "--output-dir", "run", "--config", self.write("operator.json", config), *more)

    def record(self, result: Any) -> dict[str, Any]:
        return self.answer("record", "--output-dir", "run", "--result", self.write("result.json", result))

    def analyze(self) -> dict[str, Any]:
        return self.answer("analyze", "--output-dir", "run")


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def bench_of():
    return Bench


@pytest.fixture
def config_of():
    return make_config


@pytest.fixture
def result_of():
    return make_result


@pytest.fixture
def script_path():
    return SCRIPT


@pytest.fixture(scope="session")
def bench_of_module():
    """What a fixture of wider scope needs to make a bench of its own."""
    return Bench, make_config
