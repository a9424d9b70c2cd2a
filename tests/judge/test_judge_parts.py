"""Sparse, quantized and nested outputs are judged by their dense parts, and broken ones are findings."""

import json

import pytest
import torch

from opdebug.judge import parts
from opdebug.judge.judgement import judge
from opdebug.judge.policies import policy

DEFAULT = policy({"policy": "torch-default"})
DENSE = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 0.0]])


def documents(candidate, reference):
    judgement = judge(candidate, reference, DEFAULT)
    json.dumps(judgement.comparisons, allow_nan=False)
    return judgement.comparisons


@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse_coo, torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_values(convert, monkeypatch):
    changed = DENSE.clone()
    changed[1, 0] = 5.0
    assert documents(convert(DENSE), convert(DENSE))[0]["agrees"]
    (comparison,) = documents(convert(changed), convert(DENSE))
    assert (comparison["first"]["index"], comparison["max_abs"]) == ([1, 0], 2.0)
    assert documents(DENSE, convert(DENSE))[0]["reason"] == "structure"

    monkeypatch.setattr(parts, "DENSIFY", 0)
    assert all(c["agrees"] for c in documents(convert(DENSE), convert(DENSE)))
    apart = documents(convert(changed), convert(DENSE))
    assert [c["output"] for c in apart if not c["agrees"]] == ["output.values()"]
    moved = documents(convert(DENSE.flip(1)), convert(DENSE))
    assert any(not c["agrees"] and "indices()" in c["output"] for c in moved)


def test_duplicates_and_explicit_zeros_do_not_differ():
    twice = torch.sparse_coo_tensor([[0, 0, 1, 1], [1, 1, 0, 2]], [1.0, 1.0, 3.0, 0.0], (2, 3))
    assert documents(twice, DENSE.to_sparse_coo())[0]["agrees"]


def test_an_index_out_of_range_is_a_finding_and_not_a_crash():
    with torch.sparse.check_sparse_tensor_invariants(False):
        broken = torch.sparse_coo_tensor([[0], [10**9]], [1.0], (2, 3), check_invariants=False)
    (comparison,) = documents(broken, DENSE.to_sparse_coo())
    assert comparison["reason"] == "structure"
    assert "no valid" in comparison["message"]


@pytest.mark.filterwarnings("ignore")
def test_quantized():
    def quantized(values, scale):
        return torch.quantize_per_tensor(torch.tensor(values), scale, 0, torch.qint8)

    assert all(c["agrees"] for c in documents(quantized([1.0, 2.0], 0.5), quantized([1.0, 2.0], 0.5)))
    failed = [c for c in documents(quantized([1.0, 2.0], 0.5), quantized([1.0, 2.5], 0.5)) if not c["agrees"]]
    assert [(c["output"], c["max_abs"]) for c in failed] == [("output.int_repr()", 1)]
    failed = [c["output"] for c in documents(quantized([1.0], 0.5), quantized([2.0], 1.0)) if not c["agrees"]]
    assert failed == ["output.q_scale()"]
    assert documents(quantized([1.0], 0.5), torch.ones(1))[0]["reason"] == "dtype"


@pytest.mark.filterwarnings("ignore")
def test_quantized_per_channel():
    def quantized(scales):
        return torch.quantize_per_channel(torch.ones(2, 2), torch.tensor(scales), torch.zeros(2), 0, torch.qint8)

    assert all(c["agrees"] for c in documents(quantized([0.5, 1.0]), quantized([0.5, 1.0])))
    assert not all(c["agrees"] for c in documents(quantized([0.5, 1.0]), quantized([0.5, 0.5])))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested(layout):
    def nested(*values):
        return torch.nested.nested_tensor([torch.tensor(v) for v in values], layout=layout)

    assert [c["output"] for c in documents(nested([1.0], [2.0, 3.0]), nested([1.0], [2.0, 3.0]))] == [
        "output.unbind()[0]", "output.unbind()[1]"]
    wrong = [c for c in documents(nested([1.0], [2.0, 4.0]), nested([1.0], [2.0, 3.0])) if not c["agrees"]]
    assert [(c["output"], c["first"]["index"]) for c in wrong] == [("output.unbind()[1]", [1])]
    assert documents(nested([1.0]), nested([1.0], [2.0]))[0]["reason"] == "structure"
    assert documents(nested([1.0]), torch.ones(1, 1))[0]["reason"] == "structure"
