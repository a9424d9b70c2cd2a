"""One case, from its inputs to its result: build, reference, candidate, judge, in this order and never another.

The reference comes first, so that the tolerance and what it is applied to exist before any output of the candidate.
`Runner.run(case, tolerance)` returns a reply: `{"result": …}` or `{"no_evidence": reason}`; what it cannot return (the
process died) is concluded by whoever buries the worker, from the stage in the marker.
"""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from opdebug.judge.judgement import Judgement, judge
from opdebug.judge.policies import Policy, policy
from opdebug.model import failures
from opdebug.model.results import base_result, is_lifted, reference_device
from opdebug.model.specs import Case
from opdebug.model.words import CRASH, MISMATCH, PASSED, UNSUPPORTED
from opdebug.worker.call import Arguments, GivenCases, arguments, bind
from opdebug.worker.devices import device as device_named
from opdebug.worker.inputs import CannotBuild, digest
from opdebug.worker.lift import is_canonical, is_narrow, lift
from opdebug.worker.modes import MODES, Call, ModeRefused
from opdebug.worker.sandbox import Marker
from opdebug.worker.snapshot import Snapshot, changed, shares_storage, tensors_in
from opdebug.worker.sources import Sources
from opdebug.worker.state import seed
from opdebug.worker.trees import map_tensors, named_tensors

_LONGEST_MESSAGE = 4000


@dataclass
class _Ran:
    """What a callable did: an output, or the exception it raised; `tree` are its arguments as it left them."""

    tree: Any
    output: Any = None
    error: BaseException | None = None
    proof: Mapping[str, Any] | None = None
    microseconds: float = 0.0
    invocations: int = 0


class _NoReferenceError(Exception):
    """There is nothing to compare with, for a reason that is not the reference's own refusal of the input."""


class Runner:
    """Runs the cases of one worker. `request` is the load request (device, modes' settings, reference precision)."""

    def __init__(self, sources: Sources, request: Mapping[str, Any], marker: Marker) -> None:
        self._sources = sources
        self._request = request
        self._marker = marker
        self._device = device_named(request["device"])
        self._device.select()
        self.given = None if sources.cases is None else GivenCases(sources.cases, self._device.torch_device)
        self._lifted = is_lifted(request)
        self._reference_device = device_named(reference_device(request))
        self._policies: dict[str, Policy] = {}

    def run(self, document: Mapping[str, Any], tolerance: Mapping[str, Any],
            reference_lost: str | None = None) -> dict[str, Any]:
        """Run the case of a case document to its reply; never raises for what the user's code does.

        `reference_lost` says how the reference killed an earlier worker: it is not called again, and the candidate is
        called only to see whether it refuses or crashes.
        """
        self._marker.set("inputs")
        case = Case.from_document(document)
        try:
            given = arguments(case, self._device.torch_device, self.given)
        except CannotBuild as error:
            return {"no_evidence": f"the inputs cannot be built exactly: {error}"}
        except (RuntimeError, MemoryError) as error:
            return {"no_evidence": f"the inputs cannot be built: {_text(error)}"}
        rule = self._policy(tolerance)
        tensors = dict(tensors_in(given.tree))
        self._marker.set("reference")
        reference = self._run_reference(case, given, tensors, reference_lost)
        digests = self._digests(case, tensors)
        self._marker.write_note(" ".join(digests).encode())
        self._marker.set("candidate")
        candidate = self._run_candidate(case.mode, given)
        self._marker.set("comparison")
        base = base_result(document, self._request, digests)
        if reference.error is not None:
            return _without_reference(base, reference.error, candidate.error)
        if candidate.error is not None:
            return _raised(base, candidate.error)
        return self._compare(case, base, rule, tensors, reference, candidate)

    def _policy(self, tolerance: Mapping[str, Any]) -> Policy:
        key = repr(sorted(tolerance.items()))
        if key not in self._policies:
            self._policies[key] = policy(tolerance)
        return self._policies[key]

    def _run_reference(self, case: Case, given: Arguments, tensors: dict[str, torch.Tensor], lost: str | None) -> _Ran:
        target = self._sources.reference or self._sources.candidate
        ran = _Ran({})
        if lost is not None:
            ran.error = _NoReferenceError(lost)
        elif self._would_repeat(case, tensors):
            ran.error = _NoReferenceError(
                "the candidate would be compared with itself: no input can be lifted to a wider dtype, and device, layout "
                "and mode are the same; give --reference")
        if ran.error is not None:
            return ran
        try:
            # Both calls work on copies: what the case was given stays as it is, to be compared with.
            ran.tree = self._for_reference(given.tree)
            seed()
            function, args, kwargs = bind(target, Arguments(ran.tree, given.are_named))
            ran.output = function(*args, **kwargs)
            self._reference_device.synchronize()
        except BaseException as error:
            ran.error = error
        return ran

    def _would_repeat(self, case: Case, tensors: dict[str, torch.Tensor]) -> bool:
        """Whether the reference would be the very call that is under suspicion: the same callable in the same place on
        inputs that lifting does not change."""
        own = self._sources.reference is None
        if not own and self._request["reference"] != self._request["candidate"]:
            return False
        if case.mode != "eager" or self._reference_device.kind != self._device.kind:
            return False
        if self._lifted and any(map(is_narrow, tensors.values())):
            return False
        return not own or all(map(is_canonical, tensors.values()))

    def _for_reference(self, tree: dict[str, Any]) -> Any:
        where = self._reference_device.torch_device
        copied = Snapshot(tree).copy()
        if self._lifted:
            return lift(copied, where, canonical=self._sources.reference is None)
        if where.type == self._device.torch_device.type:
            return copied
        return map_tensors(lambda tensor: tensor.to(where), copied)

    def _run_candidate(self, mode: str, given: Arguments) -> _Ran:
        """Call the candidate once to judge it, then as often as asked to time it, each time on a copy of its own."""
        ran = _Ran(None)
        # Only eager calls repeat what they did: the other modes compile or capture afresh each time.
        warmups, repeats = (self._request.get(key, 0) if mode == "eager" else 0 for key in ("warmups", "repeats"))
        spent: list[float] = []
        try:
            for index in range(1 + warmups + repeats):
                tree = Snapshot(given.tree).copy()
                function, args, kwargs = bind(self._sources.candidate, Arguments(tree, given.are_named))
                call = Call(function, args, kwargs, self._device, self._request["mode_settings"])
                seed()
                start = time.perf_counter()
                executed = MODES[mode](call)
                self._device.synchronize()
                microseconds = (time.perf_counter() - start) * 1e6
                ran.invocations += 1
                if index == 0:
                    ran.tree, ran.output, ran.proof, ran.microseconds = tree, executed.output, executed.proof, microseconds
                elif index > warmups:
                    spent.append(microseconds)
            ran.microseconds = statistics.median(spent) if spent else ran.microseconds
        except BaseException as error:
            ran.error = error
        return ran

    def _compare(self, case: Case, result: dict[str, Any], rule: Policy, tensors: dict[str, torch.Tensor],
                 reference: _Ran, candidate: _Ran) -> dict[str, Any]:
        wider = self._is_wider(tensors, reference.output, candidate.output)
        judged = judge(candidate.output, reference.output, rule, reference_is_wider=wider,
                       expected_device=self._device.torch_device)
        written = self._written(case, tensors, reference, candidate, rule, wider)
        result["timing_us"] = round(candidate.microseconds, 3)
        result["comparisons"] = judged.comparisons + written.comparisons
        result["executed"].update(proof=candidate.proof, candidate_invocations=candidate.invocations)
        result["reference"]["output_is_wider"] = wider
        if judged.agrees and written.agrees:
            result["status"] = PASSED
            return {"result": result}
        finding = written if judged.agrees else judged
        result["status"] = MISMATCH
        kind = finding.kind or "values"
        first = next((c for c in finding.comparisons if not c["agrees"]), {"output": "output", "reason": kind})
        signature = failures.signature(kind, f"{first['output']}: {first['reason']}")
        result["failure"] = _failure(kind, signature, finding.message or kind)
        return {"result": result}

    def _digests(self, case: Case, tensors: dict[str, torch.Tensor]) -> list[str]:
        """The digests of the inputs; a given case's equal the plan's, or it would not have got this far."""
        if "source" in case.extra:
            return [str(spec.data.options.get("sha256")) for spec in case.inputs]
        return [digest(tensor) for tensor in tensors.values()]

    def _is_wider(self, tensors: dict[str, torch.Tensor], reference: Any, candidate: Any) -> bool:
        """Whether the reference's floating outputs may be of a wider type than the candidate's."""
        inputs = [t for t in tensors.values() if t.is_floating_point() or t.is_complex()]
        if self._sources.reference is None:
            return any(is_narrow(t) for t in inputs)
        kept = {t.dtype for t in inputs}
        if any(t.dtype not in kept for _, t in named_tensors(candidate, "") if t.is_floating_point() or t.is_complex()):
            # A wider reference says how large the values are, not that any type may hold them.
            return False
        if self._lifted:
            return any(is_narrow(t) for t in inputs)
        # A reference that returns a wider type than any of its inputs has widened on purpose.
        widest = max((_precision(t) for t in inputs), default=99)
        outputs, own = ([_precision(t) for _, t in named_tensors(tree, "") if t.is_floating_point() or t.is_complex()]
                        for tree in (reference, candidate))
        return bool(outputs and own) and min(outputs) > widest and max(own) <= widest

    def _written(self, case: Case, tensors: dict[str, torch.Tensor], reference: _Ran, candidate: _Ran, rule: Policy,
                 wider: bool) -> Judgement:
        """Judge what the calls did to their inputs: a write that only one of them makes is a finding.

        An input that the candidate also returns is an output by its interface, and was judged as one.
        """
        written = changed(tensors, candidate.tree)
        planned = changed(self._for_reference(tensors), reference.tree)
        if not written and not planned:
            return Judgement(True, None, None, [])
        names = {spec.extra["argument"]: spec.name for spec in case.inputs if "argument" in spec.extra}
        own, expected = dict(tensors_in(candidate.tree)), dict(tensors_in(reference.tree))
        findings: list[dict[str, Any]] = []
        messages = []
        for path in sorted({*written, *planned}):
            name = f"input:{names.get(path, path)}"
            if path in planned:
                finding = judge(own[path], expected[path], rule, reference_is_wider=wider, output=name)
                findings += finding.comparisons
                if not finding.agrees:
                    messages.append(f"{name} differs from what the reference leaves in it")
            elif not shares_storage(own[path], candidate.output):
                messages.append(f"{name} was changed; the reference leaves it alone and the candidate does not return it")
                findings += judge(own[path], tensors[path], rule, output=name).comparisons
        return Judgement(not messages, "mutation" if messages else None, "; ".join(messages) or None, findings)


def _precision(tensor: torch.Tensor) -> int:
    return torch.finfo(tensor.dtype).bits


def _said(error: BaseException) -> str:
    """What an exception says, bounded; the user's own types may fail even at that."""
    try:
        return str(error)[:_LONGEST_MESSAGE]
    except Exception as failure:
        return f"<its text raised {type(failure).__name__}>"


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {_said(error)}".strip().rstrip(":")


def _class_of(error: BaseException) -> failures.Class:
    return failures.classify(type(error).__name__, _said(error))


def _failure(kind: str, signature: str, message: str, error: BaseException | None = None) -> dict[str, Any]:
    stack = [] if error is None else _stack(error)
    return {
        "kind": kind, "signature": signature, "message": message,
        "exception": None if error is None else type(error).__name__, "signal": None, "exit_code": None,
        "errors": failures.device_codes(message), "stack": stack, "stderr_tail": "",
        "confirmed": None, "flaky": False,
    }


def _without_reference(result: dict[str, Any], error: BaseException, own_error: BaseException | None) -> dict[str, Any]:
    """Nothing to compare with: both refusing is an invalid input, a broken device is still the candidate's, else nothing."""
    absent = isinstance(error, _NoReferenceError)
    reason = {"no_evidence": str(error) if absent else f"the reference failed: {_text(error)}"}
    if own_error is None:
        return reason
    own = _class_of(own_error)
    if absent:
        return _raised(result, own_error) if own.outcome == UNSUPPORTED else reason
    found = _class_of(error)
    if found.outcome == failures.ENVIRONMENT or found.kind == "out_of_memory":
        return reason
    if own.outcome == failures.ENVIRONMENT or own.kind in ("out_of_memory", "device_error"):
        return _raised(result, own_error)
    result["status"] = UNSUPPORTED
    result["error"] = f"candidate and reference both refuse the input: {_text(own_error)}"
    result["failure"] = {**_failure("invalid_input", "", _text(own_error), own_error), "reference_message": _text(error)}
    return {"result": result}


def _raised(result: dict[str, Any], error: BaseException) -> dict[str, Any]:
    """The candidate raised where the reference did not: refused, broken, or an installation that cannot run it."""
    if isinstance(error, ModeRefused):
        outcome, kind = UNSUPPORTED, error.kind
    elif isinstance(error, SystemExit):
        outcome, kind = CRASH, "exit"
    else:
        found = _class_of(error)
        outcome, kind = found.outcome, found.kind
    if outcome == failures.ENVIRONMENT:
        return {"no_evidence": f"the installation cannot run this case: {_text(error)}"}
    frames = [f.name for f in reversed(traceback.extract_tb(error.__traceback__))]
    signature = failures.signature(kind, type(error).__name__, _said(error), frames)
    result["status"] = outcome
    result["error"] = _text(error)
    result["failure"] = _failure(kind, signature, _text(error), error)
    if isinstance(error, SystemExit):
        result["failure"]["exit_code"] = error.code if isinstance(error.code, int) else int(error.code is not None)
    return {"result": result}


def _stack(error: BaseException) -> list[str]:
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
    except Exception:
        lines = traceback.format_tb(error.__traceback__)
    return [line[:_LONGEST_MESSAGE] for line in "".join(lines).splitlines()[-60:]]
