"""How long planning and recording take, and whether the time per result grows with the number of results.

Run with: python benchmarks/bench_evidence.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from opdebug.evidence.json_files import read_json
from opdebug.evidence.run import Run

RECORD_ONE = """
import sys
from opdebug.evidence.json_files import read_json
from opdebug.evidence.run import Run
with Run.open(sys.argv[1], write=True, wait=30) as run:
    run.record(read_json(sys.argv[2], "operator result"))
"""


def config(cases: int) -> dict[str, Any]:
    spec = {"name": "x", "shape": [4, 128], "strides": [128, 1], "dtype": "bfloat16", "layout": "ND"}
    return {
        "schema_version": 1, "run_id": "bench",
        "operator": {"name": "softmax", "invocation": "torch.softmax(x, dim=dim)", "reference": "float64 on CPU"},
        "tolerance": {"atol": 0.001, "rtol": 0.001},
        "cases": [
            {"id": f"case-{i:06d}", "mode": "eager", "attributes": {"dim": -1}, "inputs": [spec]} for i in range(cases)
        ],
    }


def result(number: int) -> dict[str, Any]:
    comparison = {"output": "output", "max_abs": 0.0001, "max_rel": 0.0002, "cosine": 1.0}
    return {"schema_version": 1, "case_id": f"case-{number:06d}", "status": "passed", "comparisons": [comparison],
            "timing_us": 12.5, "source": "bench"}


def timed(action: Any) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def plan(folder: Path, cases: int) -> float:
    source = folder / "operator.json"
    source.write_text(json.dumps(config(cases)))
    return timed(lambda: Run.create(folder / "run", read_json(source, "operator config")).close())


def reopened(folder: Path, count: int) -> float:
    Run.create(folder / "run", config(count)).close()

    def record_all() -> None:
        for number in range(count):
            with Run.open(folder / "run", write=True) as run:
                run.record(result(number))

    return timed(record_all)


def processes(folder: Path, cases: int, count: int) -> float:
    Run.create(folder / "run", config(cases)).close()
    files = [folder / f"result-{number}.json" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text(json.dumps(result(number)))

    def record_all() -> None:
        for file in files:
            subprocess.run([sys.executable, "-c", RECORD_ONE, str(folder / "run"), str(file)], check=True)

    return timed(record_all)


def one_handle(folder: Path, count: int) -> float:
    with Run.create(folder / "run", config(count)) as run:
        return timed(lambda: [run.record(result(number)) for number in range(count)])


def state(folder: Path, count: int) -> float:
    one_handle(folder, count)
    return timed(lambda: Run.open(folder / "run").state())


def measured(function: Any, *sizes: int) -> float:
    """Seconds, the best of three: what else the machine does only ever adds to them."""
    seconds = []
    for _ in range(3):
        folder = Path(tempfile.mkdtemp(prefix="bench-evidence-"))
        try:
            seconds.append(float(function(folder, *sizes)))
        finally:
            shutil.rmtree(folder)
    return min(seconds)


def main() -> None:
    few, many = measured(reopened, 200), measured(reopened, 2000)
    small, large = measured(one_handle, 1000), measured(one_handle, 10_000)
    in_small, in_large = measured(processes, 200, 100), measured(processes, 100_000, 100)
    rows = [
        ("plan of 100 000 cases", f"{measured(plan, 100_000):.2f} s", "under 5 s"),
        ("200 results, opened anew for each", f"{few:.2f} s", ""),
        ("2 000 results, opened anew for each", f"{many:.2f} s", ""),
        ("  ratio", f"{many / few:.1f}", "under 12"),
        ("100 results by 100 processes, 200 cases", f"{in_small:.2f} s", ""),
        ("100 results by 100 processes, 100 000 cases", f"{in_large:.2f} s", ""),
        ("  ratio", f"{in_large / in_small:.1f}", "about 1"),
        ("1 000 results through one handle", f"{small:.2f} s", ""),
        ("10 000 results through one handle", f"{large:.2f} s", ""),
        ("  ratio", f"{large / small:.1f}", "under 12"),
        ("state of 100 000 results", f"{measured(state, 100_000):.2f} s", "under 5 s"),
    ]
    for name, value, wanted in rows:
        print(f"{name:<46}{value:>10}  {wanted}".rstrip())


if __name__ == "__main__":
    main()
