"""The sentence about one failing case: what happened, how surely, by how much, and what tolerance would have passed.

`failure_sentence` says it all on one line; `comparison_sentence` is its part about an output that disagrees,
`certainty` the part about repeated runs. Everything quoted is made safe to print.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opdebug.model import words
from opdebug.report.hostile import identifier, prose
from opdebug.report.numbers import at_least, element, integer, number, percent, share

Data = Mapping[str, Any]

_KINDS = {
    "timeout": "ran into the time limit", "out_of_memory": "out of memory", "device_error": "device error",
    "exit": "the process ended", "mutation": "changed an input that the reference leaves alone",
    "output_structure": "the output has another structure",
}


def failure_sentence(failure: Data) -> str:
    """What failed in one case and how surely: `crash: SIGSEGV, seen in 2 of 2 runs`, `values: worst at [3, 17]: got …`."""
    metrics = failure.get("metrics")
    if failure["status"] == words.MISMATCH:
        what = comparison_sentence(metrics) if metrics else "the outputs disagree, without any comparison recorded"
        if failure.get("kind") == "mutation":
            what = f"{_KINDS['mutation']}: {what}"
    else:
        what = f"crash: {_crash(failure)}"
    return what + certainty(failure)


def certainty(failure: Data) -> str:
    """How often it was seen; empty where nothing is recorded."""
    attempts = failure.get("attempts") or {}
    same, total = attempts.get("same", 0), attempts.get("total", 0)
    seen = f", seen in {integer(same)} of {integer(total)} runs" if total > 1 else ""
    if failure.get("flaky"):
        return f"{seen} (flaky: not reproduced when run alone)"
    return seen


def _crash(failure: Data) -> str:
    kind, signal, exception = failure.get("kind"), failure.get("signal"), failure.get("exception")
    message = prose(failure["message"], 240) if failure.get("message") else ""
    if signal:
        return identifier(signal, 40)
    if kind == "exit" and failure.get("exit_code") is not None:
        return f"the process ended with exit code {number(failure['exit_code'])}"
    head = _KINDS.get(str(kind), "")
    if exception and not message.startswith(str(exception)):
        message = f"{prose(exception, 80)}: {message}" if message else prose(exception, 80)
    return ": ".join(part for part in (head, message) if part) or "no message was recorded"


def comparison_sentence(metrics: Data) -> str:
    """How one output disagrees: its structure, or how many elements by how much, and what would have passed."""
    output = metrics.get("output")
    where = f"{identifier(output, 60)}: " if output and output != "output" else ""
    reason = metrics.get("reason")
    if reason in ("structure", "shape", "dtype", "device", "empty"):
        message = metrics.get("message")
        return f"{where}{identifier(reason)} differs" + (f": {prose(message, 240)}" if message else "")
    parts = [_positions(reason, metrics), _amount(metrics), _worst(metrics), _sizes(metrics), _would_pass(metrics)]
    said = "; ".join(part for part in parts if part)
    return f"{where}values: {said}" if said else f"{where}the outputs disagree, without metrics"


def _positions(reason: Any, metrics: Data) -> str:
    for name, key, word in (("nan_positions", "nan", "NaN"), ("inf_positions", "inf", "infinity")):
        counts = metrics.get(key)
        if reason == name and isinstance(counts, Mapping):
            return (f"{word} in {number(counts.get('candidate'))} elements of the candidate and "
                    f"{number(counts.get('reference'))} of the reference")
    return ""


def _amount(metrics: Data) -> str:
    mismatched, total = metrics.get("mismatched"), metrics.get("total")
    if not isinstance(mismatched, int) or not isinstance(total, int) or not total:
        return ""
    return f"{share(mismatched, total, 'element' if total == 1 else 'elements')} outside"


def _worst(metrics: Data) -> str:
    worst = metrics.get("worst")
    if not isinstance(worst, Mapping):
        return ""
    index = worst.get("index")
    at = f" at {prose(index, 60)}" if index else ""
    return f"worst{at}: got {element(worst.get('candidate'))}, expected {element(worst.get('reference'))}"


def _sizes(metrics: Data) -> str:
    parts = []
    if metrics.get("max_abs") is not None:
        parts.append(f"max abs {number(metrics['max_abs'])}")
    relative = metrics.get("max_rel")
    if isinstance(relative, (int, float)):
        parts.append(f"max rel {percent(relative) if 1e-4 <= relative <= 10 else number(relative)}")
    if metrics.get("ulp_max") is not None:
        parts.append(f"{number(metrics['ulp_max'])} ULP")
    if metrics.get("cosine") is not None:
        parts.append(f"cosine {number(metrics['cosine'], 6)}")
    return ", ".join(parts)


def _would_pass(metrics: Data) -> str:
    passing = metrics.get("passing_tolerance")
    if not isinstance(passing, Mapping):
        return ""
    ways = [f"{key} {at_least(passing[key])}" for key in ("atol", "rtol") if isinstance(passing.get(key), (int, float))]
    return f"{' or '.join(ways)} would have passed" if ways else ""
