"""Compile: torch.compile with fullgraph, proven by counting the graphs that were compiled and the calls they served.

A call that compiled no graph, or whose compiled code was never entered, ran eagerly; that is refused instead of passed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opdebug.worker.modes.base import Call, Executed, ModeRefused


def _counting_backend(name: str, count: dict[str, int]) -> Callable[..., Any]:
    from torch._dynamo.backends.registry import lookup_backend

    backend = lookup_backend(name)

    def compile_and_count(module: Any, example_inputs: Any, **options: Any) -> Callable[..., Any]:
        compiled = backend(module, example_inputs, **options)
        count["graphs"] += 1

        def counted(*inputs: Any) -> Any:
            count["calls"] += 1
            return compiled(*inputs)

        return counted

    return compile_and_count


def run(call: Call) -> Executed:
    """Compile `call.function` afresh and call it once. Raises what torch.compile raises, or ModeRefused."""
    backend = call.settings.get("compile_backend", "inductor")
    count = {"graphs": 0, "calls": 0}
    # Earlier cases of this process must not turn a static compilation into a dynamic one.
    torch._dynamo.reset()
    compiled = torch.compile(call.function, backend=_counting_backend(backend, count), fullgraph=True)
    output = compiled(*call.args, **call.kwargs)
    if not count["calls"]:
        raise ModeRefused("mode", f"torch.compile ran no compiled graph (compiled {count['graphs']}): the call ran eagerly")
    return Executed(output, {"how": "torch.compile", "backend": backend, "fullgraph": True, **count})
