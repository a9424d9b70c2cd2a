"""Does a candidate's output agree with the reference's? One question, one frozen answer.

`judge` pairs the two trees, compares each pair under the policy and gathers a `Judgement`: whether all agree, which
kind of failure it is, one sentence for the first thing that differs, and every comparison as a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from opdebug.judge.compare import Document, Rules, compare_numbers, compare_others, compare_tensors, finding
from opdebug.judge.pairing import NUMBER, TENSOR, Misfit, is_empty, walk
from opdebug.judge.policies import Policy

OUTPUT_STRUCTURE = "output_structure"
VALUES = "values"

_VALUE_REASONS = ("nan_positions", "inf_positions", "values")


@dataclass(frozen=True)
class Judgement:
    """`kind` is None when the outputs agree, "output_structure" when tree, shape, dtype or device differ anywhere, and
    otherwise "values". `message` is about the first comparison of that kind."""

    agrees: bool
    kind: str | None
    message: str | None
    comparisons: list[Document]


def judge(candidate: Any, reference: Any, policy: Policy, *, reference_is_wider: bool = False,
          output: str = "output", expected_device: torch.device | None = None) -> Judgement:
    """Compare two output trees; `output` is the path given to their root.

    With `reference_is_wider` the reference was computed in a wider precision on purpose (inputs lifted to float64):
    floating dtypes are then not compared, the tolerance is that of the candidate's dtype, and a candidate that equals
    the reference rounded to its dtype agrees. Integers and booleans are exact in either case, dtype included.
    `expected_device` is where the candidate was to run; a reference on the CPU does not say where it belongs.
    An output without any leaf is no evidence of anything and never agrees.
    """
    rules = Rules(policy, reference_is_wider, expected_device)
    if is_empty(candidate):
        other = "has none either" if is_empty(reference) else "has some"
        message = f"empty output tree: the candidate returned no value, the reference {other}"
        comparisons = [finding(output, "empty", message)]
    else:
        comparisons = list(_compare(candidate, reference, output, rules))
    failed = [c for c in comparisons if not c["agrees"]]
    if not failed:
        return Judgement(True, None, None, comparisons)
    structural = [c for c in failed if c["reason"] not in _VALUE_REASONS]
    shown = (structural or failed)[0]
    kind = OUTPUT_STRUCTURE if structural else VALUES
    return Judgement(False, kind, f"{shown['output']}: {shown['message']}", comparisons)


def _compare(candidate: Any, reference: Any, output: str, rules: Rules) -> Iterator[Document]:
    for item in walk(candidate, reference, output):
        if isinstance(item, Misfit):
            yield finding(item.path, "structure", item.message)
        elif item.family == TENSOR:
            yield from compare_tensors(item.path, item.candidate, item.reference, rules)
        elif item.family == NUMBER:
            yield compare_numbers(item.path, item.candidate, item.reference, rules)
        else:
            yield compare_others(item.path, item.candidate, item.reference)
