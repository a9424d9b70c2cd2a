"""What a dead worker tells about the case it was running."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from opdebug.model import failures
from opdebug.model.results import base_result

# The user's code has run by then, and what it damaged may show only when memory is freed.
_BLAMED_STAGES = ("candidate", "comparison", "idle")
_OURS = "/opdebug/worker/"
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)


def conclude(death: Mapping[str, Any], request: Mapping[str, Any], case: Mapping[str, Any] | None) -> dict[str, Any]:
    """The reply that stands for a worker's death: `{"result": …}` if the candidate is to blame, else `{"no_evidence": …}`.

    `death` is the host's message, `request` what the host had loaded, `case` the case that was running, if any.
    """
    how = _how(death, request)
    stage = death["stage"]
    ours = death["killed_for"] == "timeout" and stage != "candidate"
    if stage not in _BLAMED_STAGES or case is None or ours:
        what = {"start": "the worker could not start", "inputs": "the inputs could not be built",
                "reference": "the reference failed",
                "comparison": "the outputs could not be compared"}.get(stage, "the worker was lost before the case began")
        reason = f"{what}: {how}"
        reply: dict[str, Any] = {"no_evidence": reason, "output": death["log"], "lost": stage in ("idle", "inputs")}
        return {**reply, "reference_lost": reason} if stage == "reference" else reply
    dump = list(_FRAME.finditer(_last_dump(death["log"])))
    # Innermost first: everything from the worker's own frames on is the same for every case.
    theirs = list(itertools.takewhile(lambda m: _OURS not in m["file"], dump))
    frames = [f"{m['file']}:{m['line']} in {m['name']}" for m in theirs]
    kind = _kind(death)
    names = [m["name"] for m in theirs]
    # The signal of our own kill says nothing about the candidate.
    signal = death["signal"] if kind == "signal" else None
    what = signal or (f"exit {death['exit_code']}" if kind == "exit" else "")
    result = {
        **base_result(case, request, death["note"].split()), "error": how,
        "failure": {
            "kind": kind, "signature": failures.signature(kind, what, "", names), "message": how, "exception": None,
            "signal": signal, "exit_code": death["exit_code"], "errors": failures.device_codes(death["log"]),
            "stack": frames, "stderr_tail": death["log"], "confirmed": None, "flaky": False,
        },
    }
    if stage != "candidate":
        result["failure"]["message"] += f" (after the call itself had returned, in stage {stage})"
    return {"result": result, "output": death["log"]}


def _kind(death: Mapping[str, Any]) -> str:
    if death["killed_for"] == "timeout":
        return "timeout"
    if death["killed_for"] == "memory":
        return "out_of_memory"
    return "signal" if death["signal"] and death["killed_for"] is None else "exit"


def _how(death: Mapping[str, Any], limits: Mapping[str, Any]) -> str:
    if death["killed_for"] == "timeout":
        return f"no answer within {limits['timeout_s']:g} s; killed"
    if death["killed_for"] == "memory":
        return f"used more than {limits['memory_limit'] / 2**20:.0f} MiB of memory; killed"
    if death["killed_for"] == "protocol":
        return "wrote something else than frames to the worker's own channel; killed"
    if death["signal"] == "SIGKILL":
        return "killed by SIGKILL, which was not ours (the kernel's out-of-memory killer, or somebody's kill)"
    if death["signal"]:
        said = [line for line in death["log"].splitlines() if line.strip()]
        abort = next((line for line in said if re.match(r"(free|malloc|realloc|corrupted|double free|munmap)", line)), "")
        return f"killed by {death['signal']}" + (f": {abort[:200]}" if abort else "")
    return f"the process ended by itself with exit code {death['exit_code']} and gave no result"


def _last_dump(log: str) -> str:
    """The last stack that faulthandler wrote, innermost frame first."""
    start = max(log.rfind("Fatal Python error:"), log.rfind("Current thread"), log.rfind("Stack (most recent call first)"))
    return log[start:] if start >= 0 else ""
