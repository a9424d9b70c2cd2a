"""What isolation costs: 1 000 small cases through opdebug, beside one subprocess per case and a bare loop in one process.

    python benchmarks/bench_run.py [CASES]

Every way computes the same: softmax of a seeded 64x128 float32 tensor, compared with softmax in float64.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from opdebug.evidence.run import Run
from opdebug.execute.campaign import execute
from opdebug.execute.launch import LocalLauncher
from opdebug.execute.pool import Task
from opdebug.execute.session import Session
from opdebug.model.specs import Case
from opdebug.plan.grammar import parse_inputs
from opdebug.plan.operator import DEFAULT_TOLERANCE, Draft

ONE_CASE = """
import torch
torch.set_num_threads(1)
x = torch.randn(64, 128, generator=torch.Generator().manual_seed({seed}))
torch.testing.assert_close(torch.softmax(x, -1), torch.softmax(x.double(), -1).float())
"""

BARE_LOOP = """
import time, torch
torch.set_num_threads(1)
def once(seed):
    x = torch.randn(64, 128, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(torch.softmax(x, -1), torch.softmax(x.double(), -1).float())
once(0)
start = time.perf_counter()
for seed in range({count}):
    once(seed)
print(time.perf_counter() - start)
"""


def through_opdebug(count: int) -> tuple[float, float]:
    """Seconds of start-up and seconds for the cases, evidence written and views up to date."""
    cases = [Case(f"seed{seed}", "eager", parse_inputs([f"x=float32[64,128];seed={seed}"])) for seed in range(count)]
    draft = Draft("softmax", "torch.softmax(x, -1)")
    request = {
        "candidate": draft.candidate, "reference": None, "cases": None, "imports": [], "device": "cpu",
        "reference_dtype": None, "reference_device": None, "tolerances": [dict(DEFAULT_TOLERANCE)], "files": {},
        "modes": ["eager"], "mode_settings": {}, "threads": 1, "timeout_s": 60.0, "start_timeout_s": 300.0,
        "memory_limit": 8 * 2**30,
    }
    config = draft.config([case.to_document() for case in cases], DEFAULT_TOLERANCE, request)
    with tempfile.TemporaryDirectory() as folder, Session(request, LocalLauncher()) as session:
        began = time.perf_counter()
        with Run.create(Path(folder) / "run", config, environment=session.ready["environment"]) as run:
            tasks = [Task(case.to_document(), DEFAULT_TOLERANCE) for case in cases]
            statuses = {done.result["status"] if done.result else done.no_evidence for done in execute(run, session, tasks)}
        spent = time.perf_counter() - began
        assert statuses == {"passed"}, statuses
        return session.start_up_s, spent


def one_subprocess_per_case(sample: int) -> float:
    """Median seconds of one case in a process of its own."""
    spent = []
    for seed in range(sample):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", ONE_CASE.format(seed=seed)], check=True)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def bare_loop(count: int) -> float:
    """Seconds per case of a loop in one process, nothing contained and nothing recorded."""
    script = BARE_LOOP.format(count=count)
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return float(ran.stdout) / count


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    bare = min(bare_loop(count) for _ in range(3))
    start_up, spent = min((through_opdebug(count) for _ in range(3)), key=lambda pair: pair[1])
    alone = one_subprocess_per_case(5)
    ours = spent / count
    print(f"{count} cases of softmax 64x128 float32 against float64")
    print(f"  opdebug, start-up once         {start_up:8.2f} s")
    print(f"  opdebug, per case              {ours * 1e3:8.3f} ms")
    print(f"  one subprocess per case        {alone * 1e3:8.1f} ms   {alone / ours:6.0f} times ours (wanted: at least 20)")
    print(f"  bare loop with assert_close    {bare * 1e3:8.3f} ms   ours is {ours / bare:4.1f} times it (wanted: at most 3)")


if __name__ == "__main__":
    main()
