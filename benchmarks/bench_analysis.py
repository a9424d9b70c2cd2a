"""How long an analysis of many results takes: python benchmarks/bench_analysis.py [results] [failing share].

Prints the seconds for the contract's analysis and for the extended one, each for N and N / 10 results, so that the
growth can be read off as a ratio (10 is linear).
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

from opdebug.diagnose.analysis import analyze_documents

DTYPES = ("float32", "float16", "bfloat16", "float64", "int32")
MODES = ("eager", "compile", "graph")
PATTERNS = ("contiguous", "transposed", "sliced", "padded", "expanded")


def synthetic(count: int, failing: float) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A config, a matrix of `count` cases with scattered axis values, and results of which a share fails."""
    draw = random.Random(0)  # noqa: S311 - synthetic input
    cases, rows = [], []
    for index in range(count):
        rank = draw.randint(0, 4)
        inputs = [{"name": name, "shape": [draw.choice((1, 7, 16, 33, 128)) for _ in range(rank)],
                   "dtype": draw.choice(DTYPES), "layout": "ND", "stride_pattern": draw.choice(PATTERNS),
                   "data": {"fill": draw.choice(("normal", "ones", "large")), "seed": index}} for name in ("x", "y")]
        cases.append({"id": f"case-{index}", "mode": draw.choice(MODES), "inputs": inputs,
                      "attributes": {"dim": draw.choice((-1, 0, 1)), "keepdim": draw.choice((True, False))}})
        row: dict[str, Any] = {"schema_version": 1, "case_id": f"case-{index}", "status": "passed",
                               "comparisons": [{"output": "output", "max_abs": 1e-7, "max_rel": 1e-7}]}
        if draw.random() < failing:
            row |= {"status": "numerical_mismatch",
                    "comparisons": [{"output": "output", "max_abs": 0.5, "max_rel": 0.25}]}
        rows.append(row)
    config = {"operator": {"name": "synthetic"}, "tolerance": {"atol": 1e-5, "rtol": 1e-5}}
    return config, {"cases": cases}, {"results": rows}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    failing = float(sys.argv[2]) if len(sys.argv) > 2 else 0.01
    taken: dict[tuple[bool, int], float] = {}
    for results in (count // 10, count):
        documents = synthetic(results, failing)
        for extended in (False, True):
            start = time.perf_counter()
            analyze_documents(*documents, extended=extended)
            taken[extended, results] = time.perf_counter() - start
    for extended, name in ((False, "contract"), (True, "extended")):
        small, large = taken[extended, count // 10], taken[extended, count]
        print(f"{name} analysis: {large:.2f} s for {count} results ({failing:.0%} failing), "
              f"{large / small:.1f} times what {count // 10} take")


if __name__ == "__main__":
    main()
