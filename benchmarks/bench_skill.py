"""What the skill's script costs: recording results one process each, and showing its help.

    python benchmarks/bench_skill.py [FEW] [MANY]

Ten times as many results take about ten times as long only if recording one does not depend on how many there are.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_startup import median_ms

SCRIPT = Path(__file__).parents[1] / "skills" / "ascend-operator-debug" / "scripts" / "operator_debug.py"
LIMIT = 12


def run(*arguments: object) -> None:
    subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def recording(folder: Path, count: int) -> float:
    """Seconds for `count` processes that each record one result into a run of `count` cases."""
    spec = {"name": "x", "shape": [4, 128], "strides": [128, 1], "dtype": "bfloat16", "layout": "ND"}
    config = {
        "schema_version": 1, "run_id": "bench",
        "operator": {"name": "softmax", "invocation": "torch.softmax(x, dim=dim)", "reference": "float64 on CPU"},
        "tolerance": {"atol": 0.001, "rtol": 0.001},
        "cases": [{"id": f"case-{i:06d}", "mode": "eager", "attributes": {"dim": -1}, "inputs": [spec]}
                  for i in range(count)],
    }
    comparison = {"output": "output", "max_abs": 0.0001, "max_rel": 0.0002, "cosine": 1.0}
    (folder / "operator.json").write_text(json.dumps(config))
    results = []
    for case in config["cases"]:
        path = folder / f"{case['id']}.json"
        path.write_text(json.dumps({"schema_version": 1, "case_id": case["id"], "status": "passed",
                                    "comparisons": [comparison], "timing_us": 12.5}))
        results.append(path)
    run("plan", "--output-dir", folder / "run", "--config", folder / "operator.json", "--manifest", "plain")
    began = time.perf_counter()
    for path in results:
        run("record", "--output-dir", folder / "run", "--result", path)
    return time.perf_counter() - began


def main() -> None:
    few, many = (int(text) for text in (sys.argv[1:] or ("200", "2000")))
    spent = {}
    for count in (few, many):
        with tempfile.TemporaryDirectory(prefix="opdebug-bench-") as folder:
            spent[count] = recording(Path(folder), count)
        print(f"  {count:>5} results recorded   {spent[count]:8.1f} s   {spent[count] / count * 1e3:6.1f} ms each")
    ratio = spent[many] / spent[few]
    print(f"  ratio                    {ratio:8.1f}     limit {LIMIT * many / few / 10:.0f}")
    for title, command in (("python -c pass", ["-c", "pass"]), ("opdebug --help", ["-m", "opdebug", "--help"]),
                           ("operator_debug.py --help", [str(SCRIPT), "--help"])):
        print(f"  {title:<24} {median_ms([sys.executable, *command], 20):8.1f} ms")


if __name__ == "__main__":
    main()
