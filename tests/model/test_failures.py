"""Error texts as devices and torch word them, and what each must count as."""

import pytest

from opdebug.model.failures import ENVIRONMENT, classify, device_codes, signature
from opdebug.model.words import CRASH, UNSUPPORTED

TEXTS = [
    ("NotImplementedError", "\"add_stub\" not implemented for 'UInt16'", UNSUPPORTED, "dtype"),
    ("RuntimeError", "\"addmm_impl_cpu_\" not implemented for 'Bool'", UNSUPPORTED, "dtype"),
    ("RuntimeError", "Unsupported dtype Half", UNSUPPORTED, "dtype"),
    ("RuntimeError", "Low precision dtypes not supported. Got Half", UNSUPPORTED, "dtype"),
    ("RuntimeError", "EZ1001: Tensor x not implemented for DT_DOUBLE, should be in dtype support list [DT_FLOAT]. "
                     "error code is 161002", UNSUPPORTED, "dtype"),
    ("RuntimeError", "call aclnnMatmul failed, error code is 161002\nk-axis of the two inputs are different",
     UNSUPPORTED, "invalid_input"),
    ("RuntimeError", "call aclnnX failed, error code is 161001", UNSUPPORTED, "invalid_input"),
    ("RuntimeError", "error code is 561002. headDim only support 128", UNSUPPORTED, "option"),
    ("RuntimeError", "aclnnFooGetWorkspaceSize failed, error code is 561002", CRASH, "device_error"),
    ("RuntimeError", "ERR01007 OPS feature not supported", UNSUPPORTED, "operator"),
    ("NotImplementedError", "Could not run 'aten::foo' with arguments from the 'NPU' backend", UNSUPPORTED, "operator"),
    ("NotImplementedError", "nobody wrote this", UNSUPPORTED, "operator"),
    ("RuntimeError", "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                     "memory location. Please clone()", UNSUPPORTED, "alias"),
    ("RuntimeError", "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                     "location", UNSUPPORTED, "alias"),
    ("RuntimeError", "view size is not compatible with input tensor's size and stride", UNSUPPORTED, "layout"),
    ("Unsupported", "Graph break under fullgraph", UNSUPPORTED, "graph_break"),
    ("RuntimeError", "Storage size calculation overflowed with sizes=[4611686018427387904]", UNSUPPORTED, "invalid_input"),
    ("RuntimeError", "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
                     "to allocate 4398046511104 bytes", CRASH, "out_of_memory"),
    ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", CRASH, "out_of_memory"),
    ("RuntimeError", "NPU out of memory. Tried to allocate 20.00 MiB", CRASH, "out_of_memory"),
    ("MemoryError", "", CRASH, "out_of_memory"),
    ("RuntimeError", "call aclrtSynchronizeStream failed, error code is 507015\n[ERROR] ERR00100 PTA call acl api failed",
     CRASH, "device_error"),
    ("RuntimeError", "EZ9999: Inner Error!", CRASH, "device_error"),
    ("RuntimeError", "CUDA error: an illegal memory access was encountered", CRASH, "device_error"),
    ("RuntimeError", "CUDA error: device-side assert triggered", CRASH, "device_error"),
    ("InductorError", "NotImplementedError: no lowering", CRASH, "exception"),
    ("InductorError", "IndexError: list index out of range", CRASH, "exception"),
    ("InductorError", "RuntimeError: \"sort\" not implemented for 'ComplexFloat'", UNSUPPORTED, "dtype"),
    ("OSError", "libatb.so: cannot open shared object file: No such file or directory", ENVIRONMENT, "environment"),
    ("ImportError", "/x/_C.so: undefined symbol: _ZN3c10", ENVIRONMENT, "environment"),
    ("RuntimeError", "call aclrtSetDevice failed, error code is 107001", ENVIRONMENT, "device_lost"),
    ("RuntimeError", "error code is 507899", ENVIRONMENT, "device_lost"),
    ("ValueError", "no such thing", CRASH, "exception"),
    ("RuntimeError", "shape [161002, 507015] is invalid for input of size 207001", CRASH, "exception"),
]


@pytest.mark.parametrize(("type_name", "message", "outcome", "kind"), TEXTS)
def test_a_text_is_classified(type_name, message, outcome, kind):
    found = classify(type_name, message)
    assert (found.outcome, found.kind) == (outcome, kind)


def test_device_codes_are_read_in_order_and_once():
    text = "call x failed, error code is 507015\n[ERROR] ERR00100 PTA\nEZ9999: Inner Error!\nEZ9999[PID: 1] again"
    assert device_codes(text) == ["507015", "ERR00100", "EZ9999"]
    assert device_codes("sizes 507015 and 161002 of E12") == []


def test_a_signature_forgets_what_changes_from_run_to_run():
    one = signature("exception", "RuntimeError", "at 0x7f00 in /home/a/b.py: 17 of 4096\nmore", ["f", "g"])
    two = signature("exception", "RuntimeError", "at 0x81aa in /root/x/b.py: 18 of 64\nother", ["f", "g"])
    assert one == two
    assert signature("exception", "ValueError", "at 0x81aa") != one
