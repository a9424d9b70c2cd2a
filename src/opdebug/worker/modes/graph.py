"""Graph: capture the call into a device graph, refresh its inputs, replay it, and take the replay's output.

The outputs are zeroed and the inputs given their values again before the replay, so that an output which was merely left
over from the capture cannot pass for the replay's.
"""

from __future__ import annotations

from typing import Any

import torch

from opdebug.worker.modes.base import Call, Executed, ModeRefused
from opdebug.worker.trees import map_tensors, named_tensors


def run(call: Call) -> Executed:
    """Capture and replay once. Raises ModeRefused where the device has no graphs or the call brings no tensor there."""
    kind = call.device.torch_device.type
    inputs = [t for _, t in named_tensors((call.args, call.kwargs), "") if t.device.type == kind]
    try:
        saved = [t.detach().clone() for t in inputs]
        graph, output = call.device.capture(call)
    except NotImplementedError as error:
        raise ModeRefused("mode", str(error)) from None
    outputs = [t for _, t in named_tensors(output, "")]
    with torch.no_grad():
        for tensor in outputs:
            tensor.zero_()
        for tensor, values in zip(inputs, saved):
            tensor.copy_(values)
    graph.replay()
    call.device.synchronize()
    fresh: Any = map_tensors(lambda t: t.clone(), output)
    return Executed(fresh, {"how": "device graph", "captures": 1, "replays": 1})
