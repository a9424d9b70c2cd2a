"""A worker's life: answer one message after another, each with exactly one frame, until the stream ends."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from opdebug.model.words import FAILING
from opdebug.worker import protocol
from opdebug.worker.collect import collect
from opdebug.worker.run_case import Runner
from opdebug.worker.sandbox import Marker
from opdebug.worker.sources import Sources
from opdebug.worker.state import State

_LOG_TAIL = 64 * 1024
_LONGEST_REASON = 4000


def _new_output(log: int, before: int) -> str:
    size = os.fstat(log).st_size
    start = max(before, size - _LOG_TAIL)
    return os.pread(log, size - start, start).decode("utf-8", "backslashreplace") if size > before else ""


def messages(stream: socket.socket) -> Iterator[bytes]:
    """The payloads that arrive, one at a time, until the other end closes."""
    decoder = protocol.Decoder()
    while data := stream.recv(1 << 20):
        for _, payload in decoder.feed(data):
            yield payload


def serve(incoming: Iterator[bytes], stream: socket.socket, sources: Sources, request: Mapping[str, Any], marker: Marker,
          log: int) -> None:
    """Answer the payloads of `incoming` on `stream`, up to and including the first that fails.

    `log` is the descriptor that takes whatever the user's code prints.
    """
    runner = Runner(sources, request, marker)
    process, clean = os.getpid(), State.now()
    for payload in incoming:
        before = os.fstat(log).st_size
        try:
            reply = _answer(runner, sources, request, protocol.parse(payload))
        except Exception as error:
            # The user's exceptions were caught where they belong: this one is ours, and says nothing about an operator.
            traceback.print_exc()
            reply = {"no_evidence": f"internal error of the worker: {type(error).__name__}: {error}"[:_LONGEST_REASON]}
        if os.getpid() != process:
            # A child that the candidate forked came back through the call as well; only its parent answers.
            os._exit(0)
        if clean.restore():
            reply["dirtied"] = True
        # Only now is everything of the case freed: a heap that it damaged blows up before this and on its account.
        marker.set("idle")
        output = _new_output(log, before)
        if output:
            reply["output"] = output
        stream.sendall(protocol.encode(protocol.CONTROL, reply))
        if reply.get("dirtied") or reply.get("result", {}).get("status") in FAILING:
            # What a failure may have damaged runs nothing more; the cases that wait here go to another worker.
            for _ in incoming:
                pass
            return


def _answer(runner: Runner, sources: Sources, request: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    if message["op"] == "collect":
        # The stage stays "start": making the cases is under the start-up limit, not under that of one case.
        assert runner.given is not None
        return {**collect(runner.given, sources, request["cases"]), "tolerance": sources.cases_tolerance}
    return runner.run(message["case"], message["tolerance"], message.get("reference_lost"))
