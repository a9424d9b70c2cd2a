"""The command line: one table of commands, one place where an error becomes a message and an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from opdebug import __version__
from opdebug.model.errors import OpdebugError
from opdebug.model.words import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_USAGE

COMMANDS = {
    "run": "run a candidate over explicit cases against a reference, in isolated workers",
    "plan": "make a run directory from an operator config, to be filled with results made elsewhere",
    "record": "add one result to a planned run",
    "analyze": "derive the verdict, the failing axes and the report of a run",
    "report": "show a run again",
    "verify": "check a run's hash chain, views and artifacts",
    "diff": "compare two runs case by case",
    "install-skill": "copy the agent skill into a project",
}
"""Each command is the module of its name in this package, with `configure(parser)` and `execute(options) -> int`."""

_LONGEST_LINE = 2000
_MOST_PROBLEMS = 50


def _module(command: str) -> str:
    return f"opdebug.cli.{command.replace('-', '_')}"


def build_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser; only the module of `command` is imported, so that help and errors stay quick."""
    parser = argparse.ArgumentParser(
        prog="opdebug", description="Say with evidence whether an operator is wrong, and along which axis.",
        epilog="Exit codes: 0 passed, 1 diagnosed, 2 bad usage or bad input, 3 inconclusive, "
               "70 internal error, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"opdebug {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".",
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == command:
            importlib.import_module(_module(name)).configure(sub)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Parse and execute one command line; returns the exit code and never shows a traceback for a user's mistake."""
    command = next((a for a in arguments if not a.startswith("-")), None)
    parser = build_parser(command)
    try:
        options = parser.parse_args(list(arguments))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    try:
        code: int = importlib.import_module(_module(options.command)).execute(options)
        sys.stdout.flush()
        return code
    except OpdebugError as error:
        _complain(error.problems)
        return EXIT_USAGE
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # Whoever read our output has seen enough; the interpreter must not complain about it once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_USAGE
        _complain([f"{error.strerror or error}: {error.filename}" if error.filename else str(error)])
        return EXIT_USAGE
    except Exception as error:
        _complain([f"internal error ({type(error).__name__}: {error}); please report it with the command line"])
        return EXIT_INTERNAL
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _complain(problems: Sequence[str]) -> None:
    # A problem may quote a stranger's document: nothing of it may act on the terminal or fill it.
    from opdebug.report.hostile import identifier

    shown = ["\n".join(identifier(line, _LONGEST_LINE) for line in problem.split("\n")) for problem in problems]
    rest = len(shown) - _MOST_PROBLEMS
    more = [f"  and {rest} more"] if rest > 0 else []
    lines = shown if len(shown) == 1 else [f"{len(shown)} problems:", *(f"  - {p}" for p in shown[:_MOST_PROBLEMS]), *more]
    sys.stderr.write("opdebug: " + "\n".join(lines) + "\n")
