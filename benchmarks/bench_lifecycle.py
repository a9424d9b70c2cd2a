"""How long the lifecycle takes on a large matrix, through the functions behind `opdebug plan`, `record` and `analyze`.

Run with: python benchmarks/bench_lifecycle.py [CASES]

`record` is measured as its users see it, a process for each result, into a small run and into a large one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opdebug.cli import lifecycle
from opdebug.evidence.run import Run

PROCESSES = 20


def config(cases: int) -> dict[str, Any]:
    spec = {"name": "x", "shape": [4, 128], "strides": [128, 1], "dtype": "bfloat16", "layout": "ND"}
    return {
        "schema_version": 1, "run_id": "bench",
        "operator": {"name": "softmax", "invocation": "torch.softmax(x, dim=dim)", "reference": "float64 on CPU"},
        "tolerance": {"atol": 0.001, "rtol": 0.001},
        "cases": [
            {"id": f"case-{i:06d}", "mode": "eager", "attributes": {"dim": -1},
             "inputs": [{**spec, "shape": [4, 1 + i % 300]}]} for i in range(cases)
        ],
    }


def result(number: int) -> dict[str, Any]:
    """One in a hundred fails."""
    failed = number % 100 == 99
    comparison = {"output": "output", "max_abs": 0.5 if failed else 0.0001, "max_rel": 0.0002, "cosine": 1.0}
    return {"schema_version": 1, "case_id": f"case-{number:06d}", "status": "numerical_mismatch" if failed else "passed",
            "comparisons": [comparison], "timing_us": 12.5, "source": "bench"}


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def fill(run: Path, count: int) -> None:
    with Run.open(run, write=True) as opened:
        for number in range(count):
            opened.record(result(number))


def by_processes(run: Path, folder: Path, numbers: range) -> float:
    """Seconds per result."""
    files = [folder / f"result-{number}.json" for number in numbers]
    for number, file in zip(numbers, files):
        file.write_text(json.dumps(result(number)))

    def record_all() -> None:
        for file in files:
            subprocess.run([sys.executable, "-m", "opdebug", "record", str(run), str(file)], check=True,
                           stdout=subprocess.DEVNULL)

    return seconds(record_all) / len(numbers)


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="bench-lifecycle-") as name:
        folder = Path(name)
        plans = []
        for size, run in ((100, "small"), (cases, "large"), (cases, "drop-in")):
            source = folder / f"{run}.json"
            source.write_text(json.dumps(config(size)))
            plans.append(seconds(lambda run=run, source=source: lifecycle.plan(folder / run, config_path=source)))
        report(f"plan of {cases} cases", min(plans[1:]), "under 5 s")
        report("record into 100 cases, a process each", by_processes(folder / "small", folder, range(PROCESSES)))
        for run in ("large", "drop-in"):
            fill(folder / run, cases - PROCESSES)
        report(f"record into {cases} cases, a process each",
               by_processes(folder / "large", folder, range(cases - PROCESSES, cases)), "as into 100")
        report(f"analyze of {cases} results, drop-in",
               seconds(lambda: lifecycle.analyze(folder / "drop-in", again=False)), "under 5 s")
        report(f"analyze of {cases} results, extended",
               seconds(lambda: lifecycle.analyze(folder / "large", again=True)), "under 5 s")
        report("analyze of the same again", seconds(lambda: lifecycle.analyze(folder / "large", again=True)), "under 5 s")


def report(what: str, spent: float, wanted: str = "") -> None:
    print(f"{what:<50}{spent:>8.3f} s  {wanted}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
