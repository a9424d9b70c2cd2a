"""What `opdebug run` can be told, and the draft and settings that come of it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opdebug.cli.argument_types import count, positive, whole
from opdebug.evidence.json_files import read_json
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case, Document
from opdebug.plan import operator as operators
from opdebug.plan.attributes import parse_attributes
from opdebug.plan.grammar import SYNTAX as INPUT_SYNTAX
from opdebug.plan.grammar import parse_inputs
from opdebug.plan.operator import Draft
from opdebug.plan.vary import SYNTAX as VARY_SYNTAX
from opdebug.plan.vary import split_axes

_EXAMPLES = """
examples:
  opdebug run --candidate 'torch.softmax(x, dim=dim)' --input 'x=float16[2,4096]' --attr dim=-1 \\
      --vary dtype,shape,strides,mode
  opdebug run --candidate kernel.py:run --reference reference.py:run --cases cases.py:cases --mode eager,compile
  opdebug run --config operator.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    what = parser.add_argument_group("what to run")
    what.add_argument("--candidate", metavar="ADDRESS", help="FILE.py:callable, module:callable, or an expression")
    what.add_argument("--reference", metavar="ADDRESS",
                      help="what is trusted; default: the candidate itself on the CPU, floating inputs lifted to float64")
    what.add_argument("--input", action="append", default=[], metavar="SPEC", help=f"a tensor: {INPUT_SYNTAX}")
    what.add_argument("--attr", action="append", default=[], metavar="NAME=VALUE", help="an argument that is no tensor")
    what.add_argument("--import", action="append", default=[], metavar="MODULE", dest="imports",
                      help="a module that expressions may use, or that registers operators")
    what.add_argument("--vary", action="append", default=[], metavar="AXES",
                      help=f"change one axis at a time: {VARY_SYNTAX}")
    what.add_argument("--cases", metavar="ADDRESS", help="a function cases(device) that yields dicts with id, args, kwargs")
    what.add_argument("--config", metavar="FILE", help="an operator config (operator.json)")
    what.add_argument("--resume", metavar="RUN", help="run what is missing in this run directory")
    what.add_argument("--name", help="what to call the operator")
    what.add_argument("--model-failure", metavar="TEXT", help="what goes wrong in the model, kept with the evidence")
    how = parser.add_argument_group("how to run and judge it")
    how.add_argument("--mode", metavar="MODES", help="eager, compile, graph, or several with commas (default eager)")
    how.add_argument("--device", metavar="DEVICE", help="cpu, cuda[:i] or npu[:i] (default cpu)")
    how.add_argument("--tolerance", metavar="POLICY", help="allclose[:atol=A,rtol=R], torch-default or exact")
    how.add_argument("--atol", type=float, help="absolute tolerance, with --rtol")
    how.add_argument("--rtol", type=float, help="relative tolerance, with --atol")
    how.add_argument("--reference-dtype", choices=["float64"], help="lift the reference's floating inputs to this dtype")
    how.add_argument("--reference-device", metavar="DEVICE", help="where the reference runs")
    how.add_argument("--compile-backend", default="inductor", metavar="NAME", help="backend of torch.compile")
    how.add_argument("--warmups", type=whole, default=0, metavar="N", help="eager calls before those that --repeats times")
    how.add_argument("--repeats", type=whole, default=0, metavar="N",
                     help="further eager calls per case, to report their median time (default: time the one call)")
    limits = parser.add_argument_group("limits")
    limits.add_argument("--timeout", type=positive, default=120.0, metavar="S", help="seconds per case (default 120)")
    limits.add_argument("--start-timeout", type=positive, default=300.0, metavar="S",
                        help="seconds that loading torch and the sources may take (default 300)")
    limits.add_argument("--memory-limit", type=positive, default=None, metavar="GIB",
                        help="GiB a worker may use (default: 80 %% of this machine's, shared by the jobs)")
    limits.add_argument("--threads", type=count, default=1, metavar="N", help="threads of a worker's kernels (default 1)")
    limits.add_argument("--jobs", type=count, default=1, metavar="N", help="workers at a time (default 1)")
    out = parser.add_argument_group("output")
    out.add_argument("--output-dir", metavar="DIR", help="run directory (default .opdebug/runs/<run id>)")
    out.add_argument("--run-id", metavar="ID", help="run id (default: name, time and a random part)")
    out.add_argument("--json", action="store_true", help="one JSON document on stdout instead of text")
    out.add_argument("--quiet", action="store_true", help="no progress on stderr")
    out.add_argument("--python", metavar="EXE", help="the Python whose torch runs the cases (default: this one)")


def draft(options: argparse.Namespace) -> Draft:
    """The plan so far. Raises OpdebugError with every problem."""
    _check_combination(options)
    tolerance = _tolerance(options)
    if options.config is not None:
        path = Path(options.config)
        plan = operators.from_config(read_json(path, "operator config"), path.parent)
        overrides = {"tolerance": tolerance, "device": options.device, "run_id": options.run_id, "name": options.name,
                     "reference_dtype": options.reference_dtype, "reference_device": options.reference_device}
        return replace(plan, **{key: value for key, value in overrides.items() if value is not None})
    problems: list[str] = []
    case: Case | None = None
    if options.cases is None:
        inputs = _collecting(problems, parse_inputs, options.input, ())
        case = Case("base", "eager", tuple(inputs), _collecting(problems, parse_attributes, options.attr, {}))
    plan = Draft(
        name=options.name or _collecting(problems, operators.name_of, options.candidate, "candidate"),
        candidate=options.candidate, reference=options.reference, imports=tuple(options.imports),
        reference_dtype=options.reference_dtype, reference_device=options.reference_device, tolerance=tolerance,
        device=options.device or "cpu", cases=(case,) if case is not None else (), cases_address=options.cases,
        run_id=options.run_id,
        extra={"source_model_failure": options.model_failure} if options.model_failure else {},
    )
    if problems:
        # With an input unread, every name it would have given would be reported as unknown.
        raise OpdebugError(problems)
    return operators.checked(plan)


def _check_combination(options: argparse.Namespace) -> None:
    problems = []
    if (options.config is None) == (options.candidate is None):
        problems.append("give either --candidate or --config" + (", not both" if options.config else ""))
    if options.config is not None:
        given = [f"--{n}" for n in ("reference", "cases", "input", "attr", "imports") if getattr(options, n)]
        problems += [f"{name.replace('imports', 'import')} is part of the config; leave it out" for name in given]
    elif options.cases is not None:
        given = [f"--{n}" for n in ("input", "attr", "vary") if getattr(options, n)]
        problems += [f"{name} does not go with --cases, which gives every case itself" for name in given]
    if (options.atol is None) != (options.rtol is None):
        problems.append("--atol and --rtol go together; give both")
    if options.atol is not None and options.tolerance is not None:
        problems.append("give --tolerance or --atol and --rtol, not both")
    if problems:
        raise OpdebugError(problems)


def _collecting(problems: list[str], function: Any, argument: Any, fallback: Any) -> Any:
    try:
        return function(argument)
    except OpdebugError as error:
        problems += error.problems
        return fallback


def _tolerance(options: argparse.Namespace) -> Mapping[str, Any] | None:
    if options.atol is not None:
        return {"atol": options.atol, "rtol": options.rtol}
    if options.tolerance is None:
        return None
    policy, _, rest = options.tolerance.partition(":")
    tolerance: dict[str, Any] = {"policy": policy}
    for piece in filter(None, rest.split(",")):
        key, _, value = piece.partition("=")
        try:
            tolerance[key.strip()] = float(value)
        except ValueError:
            raise OpdebugError(f"--tolerance {options.tolerance!r}: {key.strip()} must be a number, not {value!r}") from None
    return tolerance


def execution(options: argparse.Namespace, plan: Draft, modes: Sequence[str]) -> Document:
    """How the run is executed: everything that `--resume` needs to go on in the same way."""
    return {
        "modes": sorted({*modes, *(case.mode for case in plan.cases)} or {"eager"}),
        "mode_settings": {"compile_backend": options.compile_backend},
        "warmups": options.warmups, "repeats": options.repeats, "threads": options.threads,
        "timeout_s": options.timeout, "start_timeout_s": options.start_timeout,
        "memory_limit": _memory_limit(options.memory_limit, options.jobs),
    }


def _memory_limit(gib: float | None, jobs: int) -> int:
    if gib is not None:
        return int(gib * 2**30)
    try:
        with open("/proc/meminfo", encoding="ascii") as memory:
            total = next(int(line.split()[1]) for line in memory if line.startswith("MemTotal"))
    except (OSError, StopIteration, ValueError):
        return 0
    return int(total * 1024 * 0.8) // jobs


def load_request(options: argparse.Namespace, plan: Draft, settings: Mapping[str, Any]) -> Document:
    """What a worker host must load for this plan, in the words of its protocol."""
    modes = set(settings["modes"])
    if any(axis == "mode" or axis.startswith("mode=") for text in options.vary for axis in split_axes(text)):
        modes.add("compile")
    return {
        **settings, "modes": sorted(modes), "candidate": plan.candidate, "reference": plan.reference,
        "cases": plan.cases_address, "imports": list(plan.imports), "device": plan.device,
        "reference_dtype": plan.reference_dtype, "reference_device": plan.reference_device,
        "tolerances": [dict(plan.tolerance or operators.DEFAULT_TOLERANCE)],
        "files": {path: {"path": f.path, "text": f.text, "sha256": f.sha256} for path, f in plan.files.items()},
    }
