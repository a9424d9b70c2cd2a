from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def make_config(ids: list[str], **changes: Any) -> dict[str, Any]:
    spec = {"name": "x", "shape": [4, 8], "strides": [8, 1], "dtype": "bfloat16", "layout": "ND"}
    return {
        "schema_version": 1, "run_id": "r1",
        "operator": {"name": "softmax", "invocation": "torch.softmax(x, dim=dim)", "reference": "float64 on CPU"},
        "tolerance": {"atol": 0.001, "rtol": 0.001},
        "cases": [{"id": case_id, "mode": "eager", "attributes": {"dim": -1}, "inputs": [spec]} for case_id in ids],
        **changes,
    }


def make_result(case_id: str, status: str = "passed", **changes: Any) -> dict[str, Any]:
    error = {"error": "it broke"} if status in ("crash", "unsupported") else {}
    return {"schema_version": 1, "case_id": case_id, "status": status, "comparisons": [{"output": "o", "max_abs": 0.5}],
            "source": "test", **error, **changes}


def canonical(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def contents(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


@pytest.fixture
def config_of():
    return make_config


@pytest.fixture
def result_of():
    return make_result


@pytest.fixture
def canonical_text():
    return canonical


@pytest.fixture
def files_of():
    return contents


@pytest.fixture
def large_runs(monkeypatch):
    """Every run counts as large: views are patched in place and cases looked up in the index."""
    monkeypatch.setattr("opdebug.evidence.upkeep.SMALL_RUN", 0)


@pytest.fixture(params=["small", "large"])
def either_size(request, monkeypatch):
    if request.param == "large":
        monkeypatch.setattr("opdebug.evidence.upkeep.SMALL_RUN", 0)
    return request.param
