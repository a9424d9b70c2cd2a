"""One pair of leaves becomes comparison documents: what is checked, in which order, and the sentence for what differs.

`compare_tensors`, `compare_numbers` and `compare_others` each return documents of the same keys; `finding` makes one
where there is nothing to measure. Shape, dtype and device are judged before NaN, infinities and values, and the values
are measured all the same where they can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch

from opdebug.judge import blocks
from opdebug.judge.floats import add_floats, is_float, widened
from opdebug.judge.integers import add_integers, as_bits, comparable, is_exact
from opdebug.judge.metrics import SLACK, plain, ratio, scaled_sums
from opdebug.judge.parts import IncomparableError, Part, dense_parts
from opdebug.judge.policies import EXACT, Bound, Policy
from opdebug.judge.tally import Element, Positions, Tally, element_document

Document = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """How outputs are judged. `reference_is_wider`: the reference was computed in a wider precision on purpose.
    `expected_device`: where the candidate was meant to run; None if it is not judged."""

    policy: Policy
    reference_is_wider: bool = False
    expected_device: torch.device | None = None


def finding(output: str, reason: str | None, message: str | None) -> Document:
    """A comparison without measurements."""
    return _document(output, reason, message, None, None, Tally(), None)


def compare_tensors(output: str, candidate: torch.Tensor, reference: torch.Tensor, rules: Rules) -> list[Document]:
    """One document, or one for each part of a sparse, quantized or nested pair."""
    if candidate.is_meta or reference.is_meta:
        side = "candidate" if candidate.is_meta else "reference"
        return [finding(output, "structure", f"the {side} is a meta tensor: it has no values to compare")]
    if candidate.is_nested or reference.is_nested:
        return _compare_nested(output, candidate, reference, rules)
    if candidate.layout != reference.layout:
        return [finding(output, "structure",
                        f"the candidate has layout {candidate.layout}, the reference {reference.layout}")]
    shape = tuple(candidate.shape)
    if shape != tuple(reference.shape):
        message = f"the candidate has shape {list(shape)}, the reference {list(reference.shape)}"
        return [_document(output, "shape", message, _dtypes(candidate, reference), shape, Tally(), None)]
    problem = _dtype_problem(candidate.dtype, reference.dtype, rules.reference_is_wider)
    problem = problem or _device_problem(candidate.device, reference.device, rules.expected_device)
    if candidate.is_quantized != reference.is_quantized:
        return [_document(output, "dtype", problem[1] if problem else "only one side is quantized",
                          _dtypes(candidate, reference), shape, Tally(), None)]
    try:
        parts = dense_parts(candidate, reference)
    except IncomparableError as error:
        return [finding(output, "structure", str(error))]
    return [_compare_part(output, part, problem, rules) for part in parts]


def compare_numbers(output: str, candidate: complex, reference: complex, rules: Rules) -> Document:
    """Two Python numbers of one type. A Python float does not say in which precision it was computed: against a
    reference that is wider on purpose it is judged as float32, otherwise as float64."""
    dtypes = {"candidate": _number_type(candidate), "reference": _number_type(reference)}
    if dtypes["candidate"] != dtypes["reference"]:
        message = f"the candidate is {dtypes['candidate']} {candidate}, the reference {dtypes['reference']} {reference}"
        return _document(output, "dtype", message, dtypes, (), Tally(total=1), None)
    if isinstance(candidate, int):
        tally, bound = _integer_tally(candidate, int(reference.real)), cast(Bound, EXACT)
    else:
        wide = torch.complex128 if isinstance(candidate, complex) else torch.float64
        narrow = torch.complex64 if isinstance(candidate, complex) else torch.float32
        judged_as = narrow if rules.reference_is_wider else wide
        bound = rules.policy.bound(output, judged_as, judged_as)
        sides = [torch.tensor(value, dtype=wide, device="cpu") for value in (candidate, reference)]
        tally = _measure(sides[0], sides[1], bound, False)
    return _measured(output, tally, bound, None, dtypes, ())


def compare_others(output: str, candidate: Any, reference: Any) -> Document:
    """Two leaves that are neither tensors nor numbers, by `==`."""
    try:
        # Of equal types, and asked of the reference, so that the candidate cannot declare itself equal.
        agrees = type(candidate) is type(reference) and bool(reference == candidate)
    except Exception as error:  # whatever the operator's own type raises
        return finding(output, "structure", f"{type(candidate).__name__} cannot be compared: {type(error).__name__}")
    message = None if agrees else f"the candidate is {_short(candidate)}, the reference {_short(reference)}"
    dtypes = {"candidate": type(candidate).__name__, "reference": type(reference).__name__}
    tally = Tally(total=1, mismatched=int(not agrees))
    return _document(output, None if agrees else "values", message, dtypes, (), tally, None)


def _compare_nested(output: str, candidate: torch.Tensor, reference: torch.Tensor, rules: Rules) -> list[Document]:
    if not (candidate.is_nested and reference.is_nested):
        side = "candidate" if candidate.is_nested else "reference"
        return [finding(output, "structure", f"only the {side} is a nested tensor")]
    sides = candidate.detach().unbind(), reference.detach().unbind()
    if len(sides[0]) != len(sides[1]):
        message = f"the candidate has {len(sides[0])} nested components, the reference {len(sides[1])}"
        return [finding(output, "structure", message)]
    documents: list[Document] = []
    for index, (c, r) in enumerate(zip(*sides)):
        documents += compare_tensors(f"{output}.unbind()[{index}]", c, r, rules)
    return documents


def _dtype_problem(candidate: torch.dtype, reference: torch.dtype, wider: bool) -> tuple[str, str] | None:
    if candidate == reference:
        return None
    floating = candidate.is_floating_point and reference.is_floating_point
    if wider and (floating or (candidate.is_complex and reference.is_complex)):
        return None
    return "dtype", f"the candidate has dtype {_name(candidate)}, the reference {_name(reference)}"


def _device_problem(candidate: torch.device, reference: torch.device,
                    expected: torch.device | None) -> tuple[str, str] | None:
    """A reference on the CPU says nothing about where the candidate belongs; one elsewhere does."""
    if expected is not None and not _same_device(candidate, expected):
        return "device", f"the candidate's output is on {candidate}, it was to run on {expected}"
    if reference.type != "cpu" and candidate != reference:
        return "device", f"the candidate's output is on {candidate}, the reference's on {reference}"
    return None


def _same_device(actual: torch.device, expected: torch.device) -> bool:
    return actual.type == expected.type and expected.index in (None, actual.index)


def _compare_part(output: str, part: Part, problem: tuple[str, str] | None, rules: Rules) -> Document:
    c, r = (t.detach() if t.requires_grad else t for t in (part.candidate, part.reference))
    name, dtypes, shape = output + part.suffix, _dtypes(c, r), tuple(c.shape)
    if shape != tuple(r.shape):
        message = f"the candidate's part has shape {list(shape)}, the reference's {list(r.shape)}"
        return _document(name, "shape", message, dtypes, shape, Tally(), None)
    opaque = [not (is_float(t.dtype) or is_exact(t.dtype)) for t in (c, r)]
    if any(opaque):
        if c.dtype != r.dtype:
            reason, message = problem or ("dtype", "the parts have different dtypes")
            return _document(name, reason, message, dtypes, shape, Tally(total=c.numel()), None)
        c, r = as_bits(c), as_bits(r)
    if part.exact or (is_exact(c.dtype) and is_exact(r.dtype)):
        bound: Bound = EXACT
    else:
        bound = rules.policy.bound(output, c.dtype, c.dtype if rules.reference_is_wider else r.dtype)
    return _measured(name, _measure(c, r, bound, rules.reference_is_wider), bound, problem, dtypes, shape)


def _measure(candidate: torch.Tensor, reference: torch.Tensor, bound: Bound, wider: bool) -> Tally:
    tally = Tally(total=candidate.numel())
    if comparable(candidate.dtype, reference.dtype):
        for start, c, r in blocks.pairs(candidate, reference):
            add_integers(tally, start, c, r)
        return tally
    for start, c, r in blocks.pairs(candidate, reference):
        add_floats(tally, start, c, r, bound, wider)
    if tally.max_abs is not None and not tally.sums.trustworthy(has_gap=tally.max_abs > 0):
        tally.sums = scaled_sums(lambda: _finite_pairs(candidate, reference))
    return tally


def _finite_pairs(candidate: torch.Tensor, reference: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    wide = widened(candidate, reference)
    for _, c, r in blocks.pairs(candidate, reference):
        c, r = c.to(wide), r.to(wide)
        keep = c.isfinite() & r.isfinite()
        if bool(keep.any()):
            yield c[keep], r[keep]


def _integer_tally(candidate: int, reference: int) -> Tally:
    """Python integers have no largest value, so they are compared in Python."""
    distance = abs(int(candidate) - int(reference))
    element = Element(0, candidate, reference, distance) if distance else None
    relative = ratio(distance, abs(int(reference)))
    enough = 0.0 if not distance else math.inf if relative is None else relative * SLACK
    return Tally(total=1, mismatched=int(distance > 0), max_abs=distance, max_rel=relative, worst=element,
                 first=element, atol_needed=distance, rtol_needed=enough)


def _measured(output: str, tally: Tally, bound: Bound, problem: tuple[str, str] | None, dtypes: Document,
              shape: tuple[int, ...]) -> Document:
    reason, message = problem or (tally.reason, None)
    if reason is not None and message is None:
        message = _sentence(tally, reason, bound, shape)
    return _document(output, reason, message, dtypes, shape, tally, bound)


def _sentence(tally: Tally, reason: str, bound: Bound, shape: tuple[int, ...]) -> str:
    if reason == "nan_positions":
        return _positions("NaN", tally.nan, tally.total)
    if reason == "inf_positions":
        return _positions("infinity", tally.inf, tally.total)
    text = f"{tally.mismatched} of {tally.total} elements differ"
    if bound.linear is not None and any(bound.linear):
        text += f" by more than {bound.linear[0]:g} + {bound.linear[1]:g}·|reference|"
    elif bound.linear is None:
        text += " by more than the tolerance"
    shown = tally.shown
    return text if shown is None else f"{text}; the furthest off: {_element(shown, shape)}"


def _positions(what: str, found: Positions, total: int) -> str:
    return (f"{what} differs at {found.differing} of {total} elements: "
            f"{found.candidate} in the candidate, {found.reference} in the reference")


def _element(element: Element, shape: tuple[int, ...]) -> str:
    index = element_document(element, shape)["index"]
    where = f"at {index}, " if index else ""
    return f"{where}candidate {plain(element.candidate)}, reference {plain(element.reference)}"


def _document(output: str, reason: str | None, message: str | None, dtypes: Document | None,
              shape: tuple[int, ...] | None, tally: Tally, bound: Bound | None) -> Document:
    return {
        "output": output,
        "agrees": reason is None,
        "reason": reason,
        "message": message,
        "dtype": dtypes,
        "shape": None if shape is None else list(shape),
        **tally.fields(shape or (), bound is not None and bound.linear is not None),
        "tolerance": None if bound is None else bound.to_document(),
    }


def _dtypes(candidate: torch.Tensor, reference: torch.Tensor) -> Document:
    return {"candidate": _name(candidate.dtype), "reference": _name(reference.dtype)}


def _name(dtype: torch.dtype) -> str:
    return str(dtype)[len("torch."):]


def _number_type(value: complex) -> str:
    return next(kind.__name__ for kind in (bool, int, float, complex) if isinstance(value, kind))


def _short(value: object, limit: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
