"""A mode is proven to have happened, or refused with the reason."""

import pytest
import torch

from opdebug.worker.devices import device
from opdebug.worker.devices.base import Device
from opdebug.worker.modes import MODES, Call, ModeRefused


def call(function, *args, on=None, **settings):
    return Call(function, args, {}, on or device("cpu"), settings)


def test_eager_is_a_direct_call():
    executed = MODES["eager"](call(torch.abs, torch.tensor([-1.0])))
    assert executed.output.item() == 1 and executed.proof == {"how": "direct call"}


def test_compile_counts_the_graphs_and_the_calls_they_served():
    executed = MODES["compile"](call(lambda x: x * 2 + 1, torch.ones(3), compile_backend="eager"))
    assert executed.output.tolist() == [3, 3, 3]
    assert executed.proof["graphs"] == 1 and executed.proof["calls"] == 1 and executed.proof["backend"] == "eager"


def test_a_call_that_compiles_nothing_is_refused():
    with pytest.raises(ModeRefused, match="ran eagerly") as caught:
        MODES["compile"](call(lambda n: [n, n], 3, compile_backend="eager"))
    assert caught.value.kind == "mode"


def test_a_graph_break_is_an_error_and_no_eager_pass():
    def breaks(x):
        torch._dynamo.graph_break()
        return x + 1

    with pytest.raises(Exception, match="raph"):
        MODES["compile"](call(breaks, torch.ones(3), compile_backend="eager"))


def test_each_compilation_is_static_whatever_came_before():
    seen = []

    def backend(module, example_inputs):
        seen.append([t.shape for t in example_inputs if isinstance(t, torch.Tensor)])
        return module.forward

    torch._dynamo.register_backend(backend, name="opdebug_test_backend")
    for size in (3, 4, 5):
        MODES["compile"](call(lambda x: x + 1, torch.ones(size), compile_backend="opdebug_test_backend"))
    assert seen == [[torch.Size([3])], [torch.Size([4])], [torch.Size([5])]]


def test_the_cpu_has_no_graphs_and_says_so():
    with pytest.raises(ModeRefused, match="cpu has no device graphs"):
        MODES["graph"](call(torch.abs, torch.ones(2)))


class GraphDevice(Device):
    """A double of a device with graphs: `replay` computes again into the outputs of the capture, or, if stale, does not."""

    def __init__(self, stale=False):
        super().__init__()
        self.stale = stale

    def capture(self, function):
        output = function()
        device_, double = self, None

        class Graph:
            def replay(self):
                if not device_.stale:
                    output.copy_(function())

        double = Graph()
        return double, output


def test_a_graph_is_replayed_on_refreshed_inputs():
    x = torch.tensor([1.0, 2.0])
    executed = MODES["graph"](call(lambda t: t * 3, x, on=GraphDevice()))
    assert executed.output.tolist() == [3, 6] and executed.proof["replays"] == 1


def test_a_replay_that_does_nothing_cannot_pass_with_the_captured_output():
    executed = MODES["graph"](call(lambda t: t * 3, torch.tensor([1.0, 2.0]), on=GraphDevice(stale=True)))
    assert executed.output.tolist() == [0, 0]


@pytest.mark.parametrize("text", ["gpu", "cpu:x", "npu:", "", "cuda:99999", "CPU"])
def test_an_unknown_device_is_refused(text):
    with pytest.raises(ValueError, match="accepted: cpu, cuda, npu"):
        device(text)


def test_an_absent_device_says_why():
    assert device("npu").unavailable() is not None
    assert device("cpu").unavailable() is None
    assert "one cpu device" in device("cpu:1").unavailable()
