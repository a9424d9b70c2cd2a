"""Eager: call it."""

from __future__ import annotations

from opdebug.worker.modes.base import Call, Executed


def run(call: Call) -> Executed:
    return Executed(call(), {"how": "direct call"})
