"""`opdebug run`: the whole road, from what the user says to a verdict with evidence."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opdebug.cli import run_options
from opdebug.cli.conclude import conclude
from opdebug.cli.progress import Progress
from opdebug.evidence.code_identity import code_identity
from opdebug.evidence.run import Run
from opdebug.execute.campaign import execute as execute_cases
from opdebug.execute.launch import LocalLauncher
from opdebug.execute.pool import Task
from opdebug.execute.session import Session
from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case
from opdebug.model.words import EXIT_INTERRUPTED
from opdebug.plan import operator as operators
from opdebug.plan.checks import check_unique
from opdebug.plan.operator import Draft
from opdebug.plan.sources import read_source
from opdebug.plan.vary import split_axes, vary

configure = run_options.configure

_RUNS = Path(".opdebug/runs")


def execute(options: argparse.Namespace) -> int:
    if options.resume is not None:
        return _resume(options)
    plan = run_options.draft(options)
    modes = operators.split_modes(options.mode) if options.mode else []
    settings = run_options.execution(options, plan, modes)
    if options.output_dir or plan.run_id:
        _check_free(Path(options.output_dir or _RUNS / str(plan.run_id)))
    with session_for(options, plan, settings) as session:
        cases, tolerance = _cases_and_tolerance(options, plan, modes, session)
        config = plan.config([case.to_document() for case in cases], tolerance, settings)
        directory = Path(options.output_dir or _RUNS / config["run_id"])
        command = ["opdebug", *sys.argv[1:]] if sys.argv[1:2] == ["run"] else ["opdebug", "run"]
        run = Run.create(directory, config, code=code_identity(Path.cwd()), command=command,
                         environment=session.ready["environment"])
        return _carry_out(run, session, [Task(c.to_document(), tolerance_of(c, tolerance)) for c in cases], options)


def _check_free(directory: Path) -> None:
    """Seconds of loading are not worth spending on a run that has no place to go."""
    if directory.is_dir() and any(directory.iterdir()):
        raise OpdebugError(f"output directory is not empty: {directory}; go on with --resume {shlex.quote(str(directory))}, "
                           "or choose another --run-id or --output-dir")


def session_for(options: argparse.Namespace, plan: Draft, settings: Mapping[str, Any]) -> Session:
    """The worker host that `plan` needs, not started yet."""
    request = run_options.load_request(options, plan, settings)
    return Session(request, LocalLauncher(options.python), lanes=options.jobs)


def _cases_and_tolerance(options: argparse.Namespace, plan: Draft, modes: Sequence[str],
                         session: Session) -> tuple[list[Case], Mapping[str, Any]]:
    own_tolerance = None
    if plan.cases_address is not None:
        cases, own_tolerance = _collected(session, modes)
    else:
        cases = list(plan.cases)
        if modes:
            cases = operators.over_modes(cases, modes)
    if options.vary:
        if len(cases) != 1:
            raise OpdebugError(f"--vary starts from one base case, and there are {len(cases)}")
        cases = vary(cases[0], [axis for text in options.vary for axis in split_axes(text)])
    problems = check_unique(cases)
    if problems:
        raise OpdebugError(problems)
    return cases, plan.tolerance or own_tolerance or operators.DEFAULT_TOLERANCE


def _collected(session: Session, modes: Sequence[str]) -> tuple[list[Case], Mapping[str, Any] | None]:
    found = session.collect()
    if found["error"]:
        raise OpdebugError(f"{found['error']} (after {len(found['cases'])} cases)")
    return cases_of(found, modes)


def cases_of(found: Mapping[str, Any], modes: Sequence[str]) -> tuple[list[Case], Mapping[str, Any] | None]:
    """The cases that a cases function gave, each in its own mode or else in `modes`, and the tolerance of its file.

    Raises OpdebugError for a mode or a tolerance that is none.
    """
    tolerance = found["tolerance"]
    if tolerance is not None and not (isinstance(tolerance, dict) and tolerance):
        raise OpdebugError("TOLERANCE in the cases file must be a dict such as {'atol': 1e-5, 'rtol': 1e-5}")
    cases: list[Case] = []
    for document in found["cases"]:
        own = operators.split_modes(document["mode"]) if "mode" in document else None
        case = Case.from_document({**document, "mode": "eager"})
        cases += operators.over_modes([case], own or modes or ["eager"])
    return cases, tolerance


def tolerance_of(case: Case, tolerance: Mapping[str, Any]) -> Mapping[str, Any]:
    """The case's own numbers where it has some, the run's for the rest; a number that neither gives is 0."""
    own = case.extra.get("tolerance")
    return {"atol": 0.0, "rtol": 0.0, **tolerance, **own, "policy": "allclose"} if own else tolerance


def _carry_out(run: Run, session: Session, tasks: Sequence[Task], options: argparse.Namespace) -> int:
    try:
        with Progress(len(tasks), quiet=options.quiet) as progress:
            progress.say(f"{len(tasks)} cases; worker ready after {session.start_up_s:.1f} s; evidence in {run.directory}")
            for done in execute_cases(run, session, tasks):
                progress.done(done.case_id, done.result["status"] if done.result else "no evidence")
    except KeyboardInterrupt:
        run.event("interrupted", {})
        run.write_views()
        run.close()
        again = f"opdebug run --resume {shlex.quote(str(run.directory))}"
        sys.stderr.write(f"\ninterrupted; what was recorded is kept: {again}\n")
        return EXIT_INTERRUPTED
    return conclude(run, as_json=options.json)


def _resume(options: argparse.Namespace) -> int:
    run = Run.open(Path(options.resume), write=True)
    config = run.state().config
    if "execution" not in config:
        raise OpdebugError(f"{options.resume} was not made by opdebug run; record its results with opdebug record")
    settings = config["execution"]
    operator = config["operator"]
    plan = Draft(
        name=operator["name"], candidate=operator["invocation"], reference=operator.get("reference"),
        imports=tuple(operator.get("imports", ())), reference_dtype=operator.get("reference_dtype"),
        reference_device=operator.get("reference_device"), tolerance=config["tolerance"], device=config["device"],
        cases_address=settings["cases_address"],
    )
    files = {s["path"]: read_source(s["file"], "sources") for s in config["sources"]}
    changed = [s["path"] for s in config["sources"] if files[s["path"]].sha256 != s["sha256"]]
    if changed:
        raise OpdebugError(f"{', '.join(changed)} changed since the run was planned; start a new run")
    state = run.state()
    concluded = {row["case_id"] for row in state.results}
    cases = [Case.from_document(document) for document in config["cases"] if document["id"] not in concluded]
    tasks = [Task(case.to_document(), tolerance_of(case, config["tolerance"])) for case in cases]
    if not tasks:
        return conclude(run, as_json=options.json)
    with session_for(options, replace(plan, files=files), settings) as session:
        return _carry_out(run, session, tasks, options)
