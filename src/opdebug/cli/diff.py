"""`opdebug diff`: what a change did to each case, from the evidence of a run before it and a run after it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from opdebug.cli.output import print_json, print_text
from opdebug.evidence.diff import LISTS, diff
from opdebug.model.words import EXIT_OF_VERDICT
from opdebug.report.hostile import identifier

# Worst first; what is as it was comes last.
_ORDER = ("broken", "changed", "gone", "still_failing", "fixed", "new", "unchanged", "still_passing")
assert set(_ORDER) == set(LISTS)

_ALWAYS_LISTED = ("broken",)
_LISTED = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = ("Say per case what became of it between two runs: broken, fixed, still failing, still passing, "
                          "new, gone. Exit code 0: nothing broke; 1: something did; 3: a result was lost.")
    parser.add_argument("before", metavar="RUN1", help="the run directory from before the change")
    parser.add_argument("after", metavar="RUN2", help="the run directory from after it")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout instead of text")


def execute(options: argparse.Namespace) -> int:
    document = diff(options.before, options.after)
    if options.json:
        print_json(document)
    else:
        print_text(_text(document))
    return EXIT_OF_VERDICT[document["status"]]


def _text(document: Mapping[str, Any]) -> str:
    lines = [f"{identifier(document['before'])} -> {identifier(document['after'])}"]
    for name in _ORDER:
        entries = document[name]
        if entries:
            lines.append(f"{name.replace('_', ' ')}: {len(entries)}")
            shown = entries if name in _ALWAYS_LISTED else entries[:_LISTED]
            lines += [f"  {_line(entry)}" for entry in shown]
            if len(shown) < len(entries):
                lines.append(f"  and {len(entries) - len(shown)} more; --json lists them all")
    if document["redefined"]:
        lines.append(f"not the same call in both runs: {', '.join(map(identifier, document['redefined'][:_LISTED]))}"
                     + (" and more" if len(document["redefined"]) > _LISTED else ""))
    return "\n".join(lines) + "\n"


def _line(entry: str | Mapping[str, Any]) -> str:
    if isinstance(entry, str):
        return identifier(entry)
    return f"{identifier(entry['case_id'])}: {entry['before'] or 'not planned'} -> {entry['after'] or 'not planned'}"
