"""From what a user said to a complete run plan: the operator, its tolerance, its cases and the files behind them.

`Draft` is that before the device has been asked anything; `Draft.config(cases)` is the document that goes into the
evidence. Checking is done here once for every road in, so that a run is refused whole or not at all.
"""

from __future__ import annotations

import builtins
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from opdebug.model import address as addresses
from opdebug.model.contract import validate_config
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case, Document
from opdebug.model.words import MODES, SCHEMA_VERSION
from opdebug.plan.checks import check_case, check_unique
from opdebug.plan.sources import SourceFile, read_sources

DEFAULT_TOLERANCE: Mapping[str, Any] = {"policy": "allclose"}


@dataclass(frozen=True)
class Draft:
    """A plan without its final cases. `cases` is empty when `cases_address` will give them.

    `tolerance` None means nobody chose one. `extra` holds the fields of a config that this version does not know.
    """

    name: str
    candidate: str
    reference: str | None = None
    imports: tuple[str, ...] = ()
    reference_dtype: str | None = None
    reference_device: str | None = None
    tolerance: Mapping[str, Any] | None = None
    device: str = "cpu"
    cases: tuple[Case, ...] = ()
    cases_address: str | None = None
    run_id: str | None = None
    files: Mapping[str, SourceFile] = field(default_factory=dict)
    operator_extra: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def config(self, cases: Sequence[Document], tolerance: Mapping[str, Any], execution: Mapping[str, Any]) -> Document:
        """The operator config of the run: the user's fields, the explicit cases and how they are executed."""
        operator: Document = {**self.operator_extra, "name": self.name, "invocation": self.candidate}
        optional = {"reference": self.reference, "reference_dtype": self.reference_dtype,
                    "reference_device": self.reference_device, "imports": list(self.imports) or None}
        operator.update({key: value for key, value in optional.items() if value is not None})
        return {
            **self.extra, "schema_version": SCHEMA_VERSION, "run_id": self.run_id or new_run_id(self.name),
            "operator": operator, "tolerance": dict(tolerance), "device": self.device, "cases": list(cases),
            "execution": {**execution, "cases_address": self.cases_address},
            "sources": [{"path": path, "file": file.path, "sha256": file.sha256}
                        for path, file in sorted(self.files.items())],
        }


def new_run_id(name: str) -> str:
    """A run id that sorts by time: `softmax-20260131-142501-9f2c11ab`."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "run"
    return f"{slug}-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def name_of(candidate: str) -> str:
    """What an operator is called when nobody named it: the callable, or the first call of the expression."""
    address = addresses.parse(candidate, "candidate")
    if address.kind != addresses.EXPRESSION:
        return address.name.rpartition(".")[2]
    called = re.search(r"([A-Za-z_]\w*)\s*\(", candidate)
    return called[1] if called else "expression"


def over_modes(cases: Iterable[Case], modes: Sequence[str]) -> list[Case]:
    """Every case in each of `modes`; with more than one mode the id becomes `<id>@<mode>`."""
    if len(modes) == 1:
        return [replace(case, mode=modes[0]) for case in cases]
    return [replace(case, mode=mode, id=f"{case.id}@{mode}") for case in cases for mode in modes]


def split_modes(text: str) -> list[str]:
    """The modes of a comma-separated list. Raises OpdebugError for an unknown or repeated one."""
    modes = [piece.strip() for piece in text.split(",")]
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise OpdebugError(f"mode {unknown[0]!r} is unknown; accepted: {', '.join(MODES)}")
    if len(set(modes)) != len(modes):
        raise OpdebugError(f"mode: {text!r} names a mode twice")
    return modes


def from_config(config: Any, base: Path) -> Draft:
    """The draft that an operator config describes; `base` is the folder its files may lie in.

    Raises OpdebugError with every problem.
    """
    validate_config(config, drop_in_defaults=True, extended=True)
    operator = config["operator"]
    known = ("name", "invocation", "reference", "imports", "reference_dtype", "reference_device")
    imports = operator.get("imports", [])
    if not isinstance(imports, list) or not all(isinstance(name, str) for name in imports):
        raise OpdebugError("operator.imports must be an array of module names")
    try:
        cases = tuple(Case.from_document(document) for document in config["cases"])
    except (TypeError, KeyError, AttributeError) as error:
        raise OpdebugError(f"cases hold a field of the wrong type: {error}") from None
    draft = Draft(
        name=operator["name"], candidate=operator["invocation"], reference=operator.get("reference"),
        imports=tuple(imports), reference_dtype=operator.get("reference_dtype"),
        reference_device=operator.get("reference_device"), tolerance=config["tolerance"],
        device=config.get("device", "cpu"), cases=cases, run_id=config.get("run_id"),
        operator_extra={k: v for k, v in operator.items() if k not in known},
        extra={k: v for k, v in config.items() if k not in (
            "schema_version", "run_id", "operator", "tolerance", "device", "cases", "execution", "sources")},
    )
    return checked(draft, base)


def checked(draft: Draft, base: Path | None = None) -> Draft:
    """`draft` with its source files read. Raises OpdebugError with every problem of addresses, names and cases."""
    problems: list[str] = []
    try:
        named = [("candidate", draft.candidate), ("reference", draft.reference), ("cases", draft.cases_address)]
        draft = replace(draft, files=read_sources(named, base))
    except OpdebugError as error:
        problems += error.problems
    if draft.reference_dtype not in (None, "float64"):
        problems.append(f"operator.reference_dtype is {draft.reference_dtype!r}; accepted: float64")
    for index, case in enumerate(draft.cases):
        problems += check_case(case, f"cases[{index}]")
        if case.device not in (None, draft.device):
            problems.append(f"cases[{index}].device is {case.device!r}, but the run's device is {draft.device!r}; "
                            "one run has one device")
        problems += _name_problems(draft, case, f"cases[{index}]")
    problems += check_unique(draft.cases)
    if problems:
        raise OpdebugError(dict.fromkeys(problems))
    return draft


def _no_call(role: str, text: str, given: set[str]) -> str | None:
    """What to write instead of a bare name, which is the everyday slip: it names a callable or a file and calls nothing."""
    if re.fullmatch(r"[\w./-]+\.py", text):
        return f"{role} {text!r} is a file without a callable; write {text}:NAME"
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", text) and text.partition(".")[0] not in given:
        where, _, name = text.rpartition(".")
        arguments = ", ".join(sorted(given)) or "..."
        return f"{role} {text!r} names something and calls nothing; write {where}:{name} or {text}({arguments})"
    return None


def _name_problems(draft: Draft, case: Case, path: str) -> list[str]:
    """Names that an expression reads and nobody gives it, and inputs that the candidate's expression never reads."""
    given = {spec.name.partition("[")[0] for spec in case.inputs} | set(case.attributes)
    scope = {"torch", "math", *(name.partition(".")[0] for name in draft.imports)}
    problems = []
    for role, text in (("candidate", draft.candidate), ("reference", draft.reference)):
        try:
            address = None if text is None else addresses.parse(text, role)
        except OpdebugError:
            continue
        if address is None or address.kind != addresses.EXPRESSION:
            continue
        mistaken = _no_call(role, address.name, given)
        if mistaken is not None:
            problems.append(mistaken)
            continue
        used = addresses.names_used(address.name)
        missing = [n for n in used if n not in given and n not in scope and not hasattr(builtins, n)]
        if missing:
            problems.append(f"{role} reads {', '.join(missing)}, which {path} does not give (it gives "
                            f"{', '.join(sorted(given)) or 'nothing'}; modules beside torch and math need --import)")
        unused = sorted(given - set(used)) if role == "candidate" else []
        if unused and not missing:
            problems.append(f"candidate never reads {', '.join(unused)}, which {path} gives")
    return problems
