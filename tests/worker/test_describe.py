"""Digest, summary and document of tensors that user code made."""

import hashlib
import struct

import pytest
import torch

from opdebug.model.dtypes import DTYPES
from opdebug.plan.grammar import parse_input
from opdebug.worker.describe import describe, digest, summary
from opdebug.worker.inputs import build

NAN, INF = float("nan"), float("inf")


def test_the_digest_is_that_of_the_bytes_in_logical_order():
    expected = hashlib.sha256(struct.pack("<6f", *range(6))).hexdigest()
    tensor = torch.arange(6.0).view(2, 3)
    assert digest(tensor) == expected
    assert digest(tensor.t().contiguous().t()) == expected
    assert digest(torch.nn.Parameter(tensor)) == expected
    assert digest(tensor + 1) != expected
    assert digest(torch.empty(0, 3)) == hashlib.sha256().hexdigest()


def test_the_digest_tells_bits_apart_that_compare_equal():
    assert digest(torch.tensor([0.0])) != digest(torch.tensor([-0.0]))
    assert digest(torch.tensor([NAN])) == digest(torch.tensor([NAN]))


def test_lazy_bits_are_carried_out():
    z = torch.tensor([1 + 2j, 3 - 4j])
    assert digest(z.conj()) == digest(z.conj().resolve_conj()) != digest(z)
    assert digest(torch._neg_view(z.real)) == digest(-z.real)


def test_unusual_tensors_are_identified_by_their_components():
    dense = torch.eye(4)
    makers = [
        lambda t: t.to_sparse(), lambda t: t.to_sparse_csr(), lambda t: t.to_sparse_csc(), lambda t: t.to_mkldnn(),
        lambda t: torch.quantize_per_tensor(t, 0.1, 0, torch.qint8), lambda t: torch.nested.nested_tensor([t, t[:2]]),
    ]
    for make in makers:
        assert digest(make(dense)) == digest(make(dense.clone())) != digest(make(2 * dense))
        assert summary(make(dense))
    with pytest.raises(ValueError, match="meta"):
        digest(torch.empty(2, device="meta"))


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_every_dtype_has_a_summary_and_a_digest(dtype):
    document = describe(build([parse_input(f"x={dtype}[3,4];strides=transposed")], torch.device("cpu"))["x"], "x")
    assert document["dtype"] == dtype
    assert len(document["data"]["sha256"]) == 64
    assert document["data"]["summary"]


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (torch.tensor([-3.14159, 2.9]), "-3.142..2.9"),
        (torch.tensor([1.0, NAN, -INF, INF, -2.0]), "-2..1 +nan +inf -inf"),
        (torch.tensor([NAN, NAN]), "+nan"),
        (torch.empty(0, 2), "empty"),
        (torch.tensor([-(2**63), 2**63 - 1]), "-9223372036854775808..9223372036854775807"),
        (torch.tensor([0, 2**64 - 1], dtype=torch.uint64), "0..18446744073709551615"),
        (torch.tensor([True, False]), "false..true"),
        (torch.tensor(True), "true..true"),
        (torch.tensor([1 - 2j]), "-2..1"),
        (torch.tensor([1.5]).to(torch.float8_e4m3fn), "1.5..1.5"),
        (torch._neg_view(torch.tensor([1.0, 2.0])), "-2..-1"),
    ],
)
def test_summaries(tensor, text):
    assert summary(tensor) == text


def test_a_whole_document():
    tensor = torch.arange(6).view(2, 3).t()
    assert describe(tensor, "x") == {
        "name": "x", "shape": [3, 2], "strides": [1, 3], "storage_offset": 0, "dtype": "int64", "layout": "ND",
        "data": {"fill": "given", "sha256": digest(tensor), "summary": "0..5"}, "stride_pattern": "transposed",
    }


@pytest.mark.parametrize(
    ("tensor", "layout"),
    [
        (torch.zeros(2, 3, 4, 4), "ND"),
        (torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last), "NHWC"),
        (torch.zeros(2, 3, 2, 4, 4).to(memory_format=torch.channels_last_3d), "NDHWC"),
        (torch.zeros(2, 1, 4, 4).to(memory_format=torch.channels_last), "ND"),
        (torch.eye(3).to_sparse(), "sparse_coo"),
        (torch._neg_view(torch.zeros(3)), "ND,neg"),
        (torch.zeros(3, dtype=torch.complex64).conj(), "ND,conj"),
        (torch.nested.nested_tensor([torch.zeros(2)]), "nested"),
    ],
)
def test_layouts(tensor, layout):
    assert describe(tensor, "x")["layout"] == layout
