"""Attributes are read as a person means them, and what JSON cannot hold is refused."""

import pytest

from opdebug.model.errors import OpdebugError
from opdebug.plan.attributes import parse_attribute, parse_attributes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dim=-1", -1), ("p=0.5", 0.5), ("keepdim=true", True), ("keepdim=True", True), ("out=None", None),
        ("out=null", None), ("dims=[0,1]", [0, 1]), ("dims=(0,1)", [0, 1]), ("mode=trunc", "trunc"),
        ("mode='a=b'", "a=b"), ('mode="x"', "x"), ("dtype=torch.float16", "torch.float16"), ('o={"k":[1]}', {"k": [1]}),
    ],
)
def test_values(text, value):
    found = parse_attribute(text)
    assert found == (text.partition("=")[0], value)
    assert type(found[1]) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dim", "accepted: NAME=VALUE"), ("dim=", "accepted: NAME=VALUE"), ("a b=1", "Python identifier"),
        ("if=1", "no keyword"), ("v=-inf", "float('-inf')"), ("v=NaN", "float('nan')"), ("v=[1e999]", "is inf"),
        ("v=1+2j", "JSON document cannot hold"), ("v={1:2}", "JSON document cannot hold"),
        ("v=" + "[" * 5000 + "]" * 5000, "nested too deeply"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(OpdebugError, match="attribute") as caught:
        parse_attribute(text)
    assert message in str(caught.value)


def test_all_problems_come_at_once():
    with pytest.raises(OpdebugError) as caught:
        parse_attributes(["a=1", "a=2", "b=inf", "c"])
    assert len(caught.value.problems) == 3
