"""The sentences of every report: from the plain data of an analysis to words, each on one line and safe to print.

`verdict_sentence`, `neighbour_sentence`, `explanation_sentence`, `warning_sentence`, `absences`,
`absence_sentence` and `boundary_advice`; the sentence about a failing case is in failure_wording. Names of cases and
values of axes are quoted with `plain_quote`; a format that needs more (Markdown) passes its own `quote`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opdebug.model import words
from opdebug.report.hostile import identifier, prose
from opdebug.report.numbers import count, integer, number

Data = Mapping[str, Any]
Quote = Callable[[str], str]

_NAMED = 8
_STATUS = {words.PASSED: "passed", words.MISMATCH: "numerical mismatch", words.CRASH: "crash",
           words.UNSUPPORTED: "unsupported", None: "no result"}
# What happens to a case, and what such an event is called.
_WORDS_OF = {"failed": ("fails", "failure"), "unsupported": ("is refused", "refusal"), "passed": ("passes", "pass")}
_SHOWN_VALUES = 4


def plain_quote(text: str) -> str:
    """A name or value for a terminal."""
    return identifier(text, 60)


def status_word(status: str | None) -> str:
    """A status as it reads in a sentence; None is a case without a result."""
    return _STATUS.get(status, str(status))


def axis_name(axis: str, quote: Quote = plain_quote) -> str:
    """The name of an axis as reports list it; strides are also called what people call them."""
    if axis == "strides":
        return "strides (memory layout)"
    # Only the name of an attribute is somebody else's text.
    return quote(axis) if axis.startswith("attribute:") else axis


def _with(axis: str, values: str, quote: Quote) -> str:
    """`mode=compile`; for strides `memory layout strides=channels_last`."""
    return f"memory layout strides={values}" if axis == "strides" else f"{axis_name(axis, quote)}={values}"


def axis_value(value: str | None) -> str:
    """A value of an axis; the shape of a scalar is empty and gets a word."""
    if value is None:
        return "(absent)"
    return value if value else "(scalar)"


def verdict_sentence(analysis: Data) -> str:
    """The verdict and the counts that it rests on."""
    counts = analysis["status_counts"]
    missing = len(analysis["missing_cases"])
    total = sum(counts.values()) + missing
    failing = counts[words.CRASH] + counts[words.MISMATCH]
    cases = count(total, "case")
    parts = []
    if counts[words.CRASH]:
        parts.append(count(counts[words.CRASH], "crash", "crashes"))
    if counts[words.MISMATCH]:
        parts.append(count(counts[words.MISMATCH], "numerical mismatch", "numerical mismatches"))
    failed = f"{integer(failing)} of {cases} failed ({', '.join(parts)})" if failing else "no case that ran failed"
    if missing:
        have = "has" if missing == 1 else "have"
        return f"inconclusive: {integer(missing)} of {cases} {have} no result, and absence is not success; {failed}"
    if analysis["status"] == words.DIAGNOSED:
        refused = f"; {integer(counts[words.UNSUPPORTED])} unsupported" if counts[words.UNSUPPORTED] else ""
        return f"diagnosed: {failed}{refused}"
    if counts[words.UNSUPPORTED]:
        are = "is" if counts[words.UNSUPPORTED] == 1 else "are"
        return f"inconclusive: {integer(counts[words.UNSUPPORTED])} of {cases} {are} unsupported, and {failed}"
    agree = "agrees" if counts[words.PASSED] == 1 else "agree"
    return (f"passed: {integer(counts[words.PASSED])} of {cases} {agree} with the reference; what is not in the matrix "
            "is untested")


def neighbour_sentence(failure: Data, quote: Quote = plain_quote) -> str:
    """The nearest passing case and what it has otherwise."""
    nearest = failure.get("nearest_passing")
    if nearest is None:
        return "no case passed, so there is nothing to set beside it"
    case = quote(nearest["case_id"])
    if not nearest["differs"]:
        return f"{case} passes although no recorded axis tells the two apart"
    changes = [f"{axis_name(axis, quote)} {quote(axis_value(here))} → {quote(axis_value(there))}"
               for axis, (here, there) in nearest["differs"].items()]
    return f"{case} passes and differs in {'; '.join(changes)}"


def explanation_sentence(entry: Data, quote: Quote = plain_quote) -> str:
    """`fails only with mode=compile (2 of 2); never with mode=eager (0 of 3)` and its relatives."""
    verb, noun = _WORDS_OF[entry["of"]]
    if entry["kind"] == "together":
        parts = [_with(axis, _one_of(values, quote), quote) for axis, values in entry["axes"].items()]
        return f"{verb} only where these come together: {' and '.join(parts)}"
    if entry["kind"] == "contrast":
        return _contrast(entry, quote)
    counts = {value["value"]: value for value in entry["values"]}
    hit, clean = (_with(entry["axis"], _counted(entry[key], counts, entry["of"], quote), quote)
                  for key in ("with", "without"))
    sentence = {
        "covered": f"passed with {hit}",
        "only": f"{verb} only with {hit}; never with {clean}",
        "always": f"every {noun} has {hit}; none has {clean}",
        "never": f"no {noun} has {clean}; some have {hit}",
    }[entry["kind"]]
    if entry["more_values"]:
        sentence += f"; {count(entry['more_values'], 'more value')} not listed"
    twins = entry.get("moves_with") or []
    if twins:
        change = "changes" if len(twins) == 1 else "change"
        sentence += f" ({' and '.join(axis_name(twin, quote) for twin in twins)} {change} along with it in every case)"
    return sentence


def _contrast(entry: Data, quote: Quote) -> str:
    example, axes = entry["example"], ", ".join(axis_name(axis, quote) for axis in entry["axes"])
    such = f" (one of {integer(entry['count'])} such failing cases)" if entry["count"] > 1 else ""
    return f"{quote(example['failing'])} fails and {quote(example['passing'])} passes, differing only in {axes}{such}"


def _counted(values: Sequence[str | None], counts: Mapping[str | None, Data], of: str, quote: Quote) -> str:
    """`compile (2 of 2), graph (1 of 3)`: for each value how many of its decided cases are affected."""
    shown = []
    for value in values[:_SHOWN_VALUES]:
        tally = counts.get(value)
        amount = ""
        if tally is not None:
            amount = f" ({integer(tally[of])} of {integer(tally['passed'] + tally['failed'] + tally['unsupported'])})"
        shown.append(f"{quote(axis_value(value))}{amount}")
    return _and_more(shown, len(values))


def _one_of(values: Sequence[str | None], quote: Quote) -> str:
    return _and_more([quote(axis_value(value)) for value in values[:_SHOWN_VALUES]], len(values), " or ")


def _and_more(shown: Sequence[str], total: int, joint: str = ", ") -> str:
    rest = total - len(shown)
    return joint.join(shown) + (f" and {count(rest, 'other')}" if rest else "")


def warning_sentence(warning: Data, quote: Quote = plain_quote) -> str:
    """One contradiction, with what it proves and what it leaves open."""
    output = f" ({quote(warning['output'])})" if warning.get("output") else ""
    case, kind = f"{quote(warning['case_id'])}{output}", warning["kind"]
    held = "its tolerance"
    if warning["atol"] is not None and warning["rtol"] is not None:
        held = f"atol {number(warning['atol'])}, rtol {number(warning['rtol'])}"
    measured = ", ".join(f"{key.replace('_', ' ')} {number(warning[key])}" for key in ("max_abs", "max_rel")
                         if warning[key] is not None)
    if kind == "passed_without_comparison":
        return f"{case} is recorded as passed without any comparison"
    if kind == "mismatch_without_metric":
        return f"{case} is recorded as a numerical mismatch without any metric"
    if kind == "mismatch_within_tolerance":
        return (f"{case} is recorded as a numerical mismatch, but {measured} lies within {held}; only NaN or "
                "infinities could explain it")
    if warning["proved"]:
        return f"{case} is recorded as passed, but {measured or 'its comparison'} cannot lie within {held}"
    return (f"{case} is recorded as passed with {measured} against {held}: right only if the reference is at "
            f"least {number(warning['needs_reference'])} in magnitude where the difference is largest")


def refused_together(refusals: Sequence[Data]) -> dict[str, list[str]]:
    """The unsupported cases by what refused them, safe to print."""
    groups: dict[str, list[str]] = {}
    for refusal in refusals:
        parts = [identifier(refusal["kind"], 40)] if refusal.get("kind") else []
        parts += [prose(refusal["message"], 300)] if refusal.get("message") else []
        groups.setdefault(": ".join(parts) or "refused without a reason", []).append(refusal["case_id"])
    return groups


def absences(missing: Sequence[str], reasons: Mapping[str, str]) -> list[tuple[list[str], str]]:
    """The cases without a result, those with one reason together, in order of their first."""
    groups: dict[str, list[str]] = {}
    for case_id in missing:
        groups.setdefault(reasons.get(case_id) or "no result was recorded", []).append(case_id)
    return [(case_ids, reason) for reason, case_ids in groups.items()]


def absence_sentence(case_ids: Sequence[str], reason: str, quote: Quote = plain_quote) -> str:
    """Why planned cases have no result; `reason` is safe to print already."""
    others = len(case_ids) - _NAMED
    names = ", ".join(quote(case_id) for case_id in case_ids[:_NAMED])
    return f"{names}{f' and {integer(others)} more' if others > 0 else ''}: {reason}"


def boundary_advice() -> str:
    """What a passing matrix leaves to do when the model still fails."""
    return ("Every isolated call agrees with its reference while the model is reported to fail, so the cause lies "
            "outside these calls, or in a case that is not among them. Look at the boundary: the metadata that the "
            "model really passes (shape, strides, offset, dtype, format), aliasing between arguments and outputs, "
            "streams and the lifetime of buffers, how the graph integrates the operator, and what its consumers do "
            "with the output.")
