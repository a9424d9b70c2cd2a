"""Reading a tolerance object: what each form means, and every way it is refused."""

import json

import pytest
import torch

from opdebug.judge.policies import policy
from opdebug.model.errors import OpdebugError


def numbers(document, candidate=torch.float32, reference=torch.float32):
    return policy(document).bound("output", candidate, reference).linear


def test_atol_and_rtol_alone_are_allclose():
    assert numbers({"atol": 1, "rtol": 0.5}) == (1.0, 0.5)
    assert policy({"atol": 1, "rtol": 0.5}).to_document() == {"policy": "allclose", "atol": 1.0, "rtol": 0.5}


@pytest.mark.parametrize("document", [{"policy": "allclose"}, {"policy": "torch-default"}, {}])
def test_without_numbers_torch_decides_by_dtype(document):
    chosen = policy(document)
    assert chosen.to_document() == {"policy": "torch-default"}
    assert "torch.testing" in chosen.source
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
                  torch.float8_e4m3fn):
        rtol, atol = torch.testing._comparison.default_tolerances(dtype)
        assert numbers(document, dtype, dtype) == (atol, rtol)


def test_the_looser_dtype_decides():
    assert numbers({"policy": "torch-default"}, torch.float64, torch.bfloat16) == (1e-5, 1.6e-2)


def test_exact():
    assert numbers({"policy": "exact"}, torch.float16) == (0.0, 0.0)


@pytest.mark.parametrize("document", [{"atol": 1e-3, "rtol": 0}, {"policy": "torch-default"}, {"policy": "exact"}])
def test_documents_read_back_as_the_same_policy(document):
    chosen = policy(document)
    assert policy(json.loads(json.dumps(chosen.to_document()))) == chosen


@pytest.mark.parametrize(("document", "words"), [
    ({"policy": "close"}, ["tolerance.policy", "'close'", "allclose", "exact", "torch-default"]),
    ({"policy": ["exact"]}, ["tolerance.policy", "['exact']"]),
    ({"atol": 0, "rtol": 0, "ulp": 3}, ["tolerance.ulp", "3", "atol", "rtol"]),
    ({"policy": "exact", "atol": 0}, ["tolerance.atol", "accepted: policy"]),
    ({"atol": -1e-9, "rtol": 0}, ["tolerance.atol", "-1e-09", "not negative"]),
    ({"atol": 0, "rtol": float("nan")}, ["tolerance.rtol", "nan"]),
    ({"atol": float("inf"), "rtol": 0}, ["tolerance.atol", "inf", "finite"]),
    ({"atol": 10**400, "rtol": 0}, ["tolerance.atol", "finite"]),
    ({"atol": True, "rtol": 0}, ["tolerance.atol", "True"]),
    ({"atol": "1e-3", "rtol": 0}, ["tolerance.atol", "'1e-3'"]),
    ({"atol": 1e-3}, ["tolerance.rtol", "missing"]),
    ({"rtol": 1e-3}, ["tolerance.atol", "missing"]),
])
def test_refusals_name_field_value_and_what_is_accepted(document, words):
    with pytest.raises(OpdebugError) as error:
        policy(document)
    assert [word for word in words if word not in str(error.value)] == []


def test_all_problems_are_named_at_once():
    with pytest.raises(OpdebugError) as error:
        policy({"atol": -1, "rtol": True, "extra": 0})
    assert len(error.value.problems) == 3
