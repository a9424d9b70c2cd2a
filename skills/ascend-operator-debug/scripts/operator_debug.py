#!/usr/bin/env python3
"""Isolated operator cases: plan, record and analyze them, report on them in one go, or run them.

One file, three forms of command line, told apart by the first argument. All the work is done by the package opdebug;
here are only the flags, the answer (one JSON document on stdout) and the exit codes: 0 for any verdict of `plan`,
`record`, `analyze` and the report, 1 for an error that the document names, 2 for a wrong command line. `run` ends with 0
only if every case passed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve()
# skills/ascend-operator-debug/scripts/ lies in the project itself or in a folder of it such as .agents.
ROOT = _HERE.parents[4] if _HERE.parents[3].name.startswith(".") else _HERE.parents[3]
"""The project that holds this skill."""

_NOT_FOUND = (f"the package opdebug is neither installed for {sys.executable} nor beside this skill in {ROOT / 'src'}; "
              "install it with: pip install opdebug (from a checkout: pip install .), Python 3.10 or newer")


def _answer(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")


def _find_package() -> None:
    """Make `import opdebug` work, or end with the one JSON document that says how to install it."""
    if importlib.util.find_spec("opdebug") is None and (ROOT / "src" / "opdebug" / "__init__.py").is_file():
        sys.path.append(str(ROOT / "src"))
    if sys.version_info >= (3, 10) and importlib.util.find_spec("opdebug") is not None:
        return
    if __name__ != "__main__":
        raise ImportError(_NOT_FOUND)
    _answer({"status": "failed", "error": _NOT_FOUND})
    raise SystemExit(1)


_find_package()

# What --help does not need is imported where it is used.
from opdebug.cli.argument_types import count, positive, whole  # noqa: E402
from opdebug.model import words  # noqa: E402
from opdebug.model.contract import validate_config, validate_input_spec, validate_result  # noqa: E402
from opdebug.model.errors import OpdebugError as OperatorDebugError  # noqa: E402

SCHEMA_VERSION = words.SCHEMA_VERSION
MODES = set(words.MODES)
RESULT_STATUSES = set(words.STATUSES)

Document = dict[str, Any]

_OF_THE_MANIFEST = ("RunManifestError", "add_artifact", "generate_run_id", "load_manifest", "new_manifest", "sha256_file",
                    "transition_status", "utc_now", "validate_manifest", "write_manifest")
__all__ = ["MODES", "RESULT_STATUSES", "ROOT", "SCHEMA_VERSION", "OperatorDebugError", "analyze", "analyze_documents",
           "build_parser", "build_report", "main", "plan", "record", "render_report", "validate_config",
           "validate_input_spec", "validate_result"]


def __getattr__(name: str) -> Any:
    """What callers of this file expect it to have imported from its manifest module."""
    if name not in _OF_THE_MANIFEST:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from opdebug.evidence import manifest

    return getattr(manifest, name)


def plan(output_dir: Path, *, config_path: Path, created_at: str | None = None, code: Mapping[str, Any] | None = None,
         workspace_root: Path | None = None) -> Document:
    """Make a run directory from a config. The manifest has `code` if it is given, or else that of `workspace_root`."""
    from opdebug.cli import lifecycle

    if code is None and workspace_root is not None:
        code = _code("code", workspace_root)
    return lifecycle.plan(output_dir, config_path=config_path, created_at=created_at, code=code)


def record(output_dir: Path, *, result_path: Path, recorded_at: str | None = None) -> Document:
    """Record one result file. Other processes may record into the same run at the same time."""
    from opdebug.cli import lifecycle

    return lifecycle.record(output_dir, result_path=result_path, recorded_at=recorded_at)


def analyze(output_dir: Path, *, updated_at: str | None = None) -> Document:
    """Write analysis and report and end the run; once per run."""
    from opdebug.cli import lifecycle

    return lifecycle.analyze(output_dir, updated_at=updated_at, again=False)


_prepare_report, _record_result, _analyze_report = plan, record, analyze


def build_report(config_path: Path, result_paths: Sequence[Path], *, output_dir: Path | None = None,
                 workspace_root: Path = ROOT, manifest: str = "auto") -> Document:
    """Plan, record every result in the order given, and analyze."""
    from opdebug.cli import one_shot

    return one_shot.build_report(config_path, result_paths, root=workspace_root, output_dir=output_dir,
                                 code=_code(manifest, workspace_root))


def analyze_documents(config: Mapping[str, Any], matrix: Mapping[str, Any], results: Mapping[str, Any]) -> Document:
    """The analysis of three documents."""
    from opdebug.diagnose import analysis

    validate_config(config)
    return analysis.analyze_documents(config, matrix, results)


def render_report(analysis: Mapping[str, Any]) -> str:
    """An analysis as Markdown."""
    from opdebug.report import markdown

    return markdown.render_report(analysis)


def _code(manifest: str, root: Path) -> Document | None:
    """What the manifest says about the code: `auto` the git identity of `root` if it has one, `plain` nothing."""
    from opdebug.evidence.code_identity import code_identity

    identity = None if manifest == "plain" else code_identity(root)
    if identity is None and manifest == "code":
        raise OperatorDebugError(f"workspace_root {root} must be a git work tree with a commit for a manifest with code")
    return identity


def _report_root() -> Path:
    """The root of reports and of their code: the project, if it is a git work tree, or else the current directory."""
    return ROOT if any((folder / ".git").exists() for folder in (ROOT, *ROOT.parents)) else Path.cwd()


def _plan(options: argparse.Namespace) -> tuple[Document, int]:
    return plan(options.output_dir, config_path=options.config, code=_code(options.manifest, ROOT)), 0


def _record(options: argparse.Namespace) -> tuple[Document, int]:
    return record(options.output_dir, result_path=options.result), 0


def _analyze(options: argparse.Namespace) -> tuple[Document, int]:
    return analyze(options.output_dir), 0


def _report(options: argparse.Namespace) -> tuple[Document, int]:
    answer = build_report(options.config, options.results, output_dir=options.output_dir, workspace_root=_report_root(),
                          manifest=options.manifest)
    return answer, 0


def _run(options: argparse.Namespace) -> tuple[Document, int]:
    from opdebug.cli import kernel_run, one_shot

    names = ("kernel", "reference", "cases", "device", "atol", "rtol", "warmups", "repeats", "max_cases", "timeout_seconds")
    root = _report_root()
    request = kernel_run.Request(
        **{name: getattr(options, name) for name in names}, code=_code(options.manifest, root), command=options.command_line,
        output_dir=options.output_dir or one_shot.new_report_directory(root))
    answer = kernel_run.run(request)
    return answer, 0 if answer["status"] == words.PASSED else 1


class _Parser(argparse.ArgumentParser):
    """Tells the forms apart: a command line that begins with a flag is the one-shot report."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        if given and given[0].startswith("-") and given[0] not in ("-h", "--help"):
            return _report_parser(self.prog).parse_known_args(given, namespace)
        return super().parse_known_args(given, namespace)


def _report_parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="A finished report from a config and its results.")
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="operator config")
    parser.add_argument("--results", type=Path, nargs="*", default=[], metavar="FILE", help="result files, one case each")
    parser.add_argument("--output-dir", type=Path, metavar="DIR",
                        help="default: a fresh directory below .vaws-local/reports/ascend-operator-debug of the project")
    _add_manifest(parser)
    parser.set_defaults(form=_report)
    return parser


def build_parser() -> argparse.ArgumentParser:
    """The parser of all three forms."""
    parser = _Parser(
        prog="operator_debug.py", description="Plan, record and analyze isolated operator cases, or run them.",
        epilog="One-shot form: operator_debug.py --config FILE [--results FILE ...] [--output-dir DIR] "
               "[--manifest auto|plain|code]: plan, record and analyze in one go. "
               "Every form prints one JSON document on stdout.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=argparse.ArgumentParser)
    verb = commands.add_parser("plan", help="make a run directory from an operator config")
    verb.add_argument("--output-dir", type=Path, required=True, metavar="DIR")
    verb.add_argument("--config", type=Path, required=True, metavar="FILE")
    _add_manifest(verb)
    verb.set_defaults(form=_plan)
    verb = commands.add_parser("record", help="record the result of one case")
    verb.add_argument("--output-dir", type=Path, required=True, metavar="DIR")
    verb.add_argument("--result", type=Path, required=True, metavar="FILE")
    verb.set_defaults(form=_record)
    verb = commands.add_parser("analyze", help="write analysis and report, and end the run")
    verb.add_argument("--output-dir", type=Path, required=True, metavar="DIR")
    verb.set_defaults(form=_analyze)
    _add_run(commands.add_parser("run", help="run a kernel over cases against a reference, in isolated workers"))
    return parser


def _add_run(verb: argparse.ArgumentParser) -> None:
    for role in ("kernel", "reference", "cases"):
        verb.add_argument(f"--{role}", required=True, metavar="FILE.py:callable")
    verb.add_argument("--device", type=_device, default="npu", metavar="npu|cpu|cuda", help="default npu; no fallback")
    verb.add_argument("--atol", type=_tolerance, help="default: the cases file's TOLERANCE, or else torch's per dtype")
    verb.add_argument("--rtol", type=_tolerance, help="of --atol and --rtol, one given alone makes the other 0")
    verb.add_argument("--warmups", type=whole, default=1, metavar="N", help="calls after the first, not timed (1)")
    verb.add_argument("--repeats", type=whole, default=4, metavar="N", help="timed calls (4); 0 times the first call")
    verb.add_argument("--max-cases", type=count, metavar="N", help="refuse a cases function that gives more")
    verb.add_argument("--timeout-seconds", type=positive, default=120.0, metavar="S", help="per case (120)")
    verb.add_argument("--output-dir", type=Path, metavar="DIR", help="as for the one-shot form")
    _add_manifest(verb)
    verb.set_defaults(form=_run)


def _add_manifest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--manifest", choices=("auto", "plain", "code"), default="auto",
                        help="whether manifest.json says which commit ran: auto (if the project is a git work tree), "
                             "plain (never) or code (fail without one)")


def _device(text: str) -> str:
    kind, colon, index = text.partition(":")
    if kind not in ("npu", "cpu", "cuda") or (colon and not index.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is none of npu, cpu, cuda (with an optional :index)")
    return text


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a finite number of at least 0")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and print its answer. A wrong command line ends in SystemExit 2, as argparse does it."""
    options = build_parser().parse_args(argv)
    options.command_line = [_HERE.name, *(sys.argv[1:] if argv is None else argv)]
    try:
        answer, code = options.form(options)
    except (ValueError, OSError) as error:
        answer, code = {"status": "failed", "error": str(error)}, 1
    _answer(answer)
    return code


if __name__ == "__main__":
    # JSON is UTF-8 whatever the locale; what UTF-8 cannot hold stays an escape, which JSON reads too.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(main())
