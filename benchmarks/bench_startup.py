"""What a command costs before it does anything: `opdebug --version` and `--help` beside a Python that does nothing.

    python benchmarks/bench_startup.py [RUNS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def median_ms(command: list[str], runs: int) -> float:
    """Median wall time of `command` in milliseconds, the first run not counted."""
    spent = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        spent.append((time.perf_counter() - began) * 1e3)
    return statistics.median(spent[1:])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    nothing = median_ms([sys.executable, "-c", "pass"], runs)
    print(f"  python -c pass       {nothing:7.1f} ms")
    for argument in ("--version", "--help"):
        ours = median_ms([sys.executable, "-m", "opdebug", argument], runs)
        print(f"  opdebug {argument:<12} {ours:7.1f} ms   limit 2 x {nothing:.1f} + 60 = {2 * nothing + 60:.1f} ms")


if __name__ == "__main__":
    main()
