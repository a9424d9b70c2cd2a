"""From what a user says to a draft: names, modes, and every problem at once."""

import hashlib
import re
from pathlib import Path

import pytest

from opdebug.model.errors import OpdebugError
from opdebug.model.specs import Case
from opdebug.plan.grammar import parse_inputs
from opdebug.plan.operator import Draft, checked, from_config, name_of, new_run_id, over_modes, split_modes
from opdebug.plan.sources import read_source


def case(*inputs, **attributes):
    return Case("base", "eager", parse_inputs(inputs), attributes)


def problems(draft):
    with pytest.raises(OpdebugError) as caught:
        checked(draft)
    return "\n".join(caught.value.problems)


@pytest.mark.parametrize(("candidate", "name"), [
    ("torch.softmax(x, dim=dim)", "softmax"), ("kernel.py:run", "run"), ("torch.nn.functional:gelu", "gelu"),
    ("x + y", "expression"), ("torch.ops.aten.mm(a, b)[0]", "mm"),
])
def test_an_operator_is_named_after_its_call(candidate, name):
    assert name_of(candidate) == name


def test_a_run_id_satisfies_the_manifest():

    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,127}", new_run_id("Soft Max/Ü" * 30))


def test_several_modes_mark_the_ids():
    assert [c.id for c in over_modes([case("x=float32[2]")], ["eager", "compile"])] == ["base@eager", "base@compile"]
    assert [(c.id, c.mode) for c in over_modes([case("x=float32[2]")], ["graph"])] == [("base", "graph")]
    for bad in ("eager,fast", "eager,eager", ""):
        with pytest.raises(OpdebugError, match="mode"):
            split_modes(bad)


def test_names_that_nobody_gives_are_found_before_anything_runs():
    said = problems(Draft("op", "torch.mm(x, z) + mylib.f(x)", "torch.mm(x, w)", cases=(case("x=float32[2,2]"),)))
    assert "candidate reads z, mylib" in said
    assert "reference reads w" in said


def test_an_input_that_the_candidate_ignores_is_a_mistake():
    assert "never reads dim" in problems(Draft("op", "torch.abs(x)", cases=(case("x=float32[2]", dim=1),)))


def test_names_bound_inside_an_expression_are_its_own():
    draft = Draft("op", "sum(t.sum() for t in xs) + (lambda v: v)(y)", cases=(case("xs[0]=float32[2]", "y=float32[1]"),))
    assert checked(draft).name == "op"


def test_every_problem_is_told_at_once(tmp_path):
    (tmp_path / "broken.py").write_text("def f(:\n")
    said = problems(Draft("op", f"{tmp_path}/broken.py:f", f"{tmp_path}/absent.py:f", reference_dtype="float16"))
    assert "broken.py is not Python" in said and "absent.py" in said and "float16" in said


def test_source_text_is_normalised_and_hashed(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\ny = 2\r\n")
    found = read_source(str(path), "candidate")
    assert found.text == "x = 1\ny = 2\n"
    assert found.sha256 == hashlib.sha256(b"x = 1\ny = 2\n").hexdigest()
    path.write_bytes(b"x = '\xff'\n")
    with pytest.raises(OpdebugError, match="not UTF-8"):
        read_source(str(path), "candidate")


def config(**changes):
    document = {
        "operator": {"name": "softmax", "invocation": "torch.softmax(x, -1)", "owner": "me"},
        "tolerance": {"atol": 1, "rtol": 0},
        "cases": [{"id": "a", "mode": "eager", "note": "kept", "inputs": [
            {"name": "x", "shape": [2, 3], "dtype": "float32", "layout": "ND", "colour": "red"}]}], "ticket": 7,
    }
    return {**document, **changes}


def test_unknown_fields_of_a_config_come_back():
    draft = from_config(config(), Path())
    document = draft.config([c.to_document() for c in draft.cases], draft.tolerance, {})
    assert document["ticket"] == 7 and document["operator"]["owner"] == "me"
    assert document["cases"][0]["note"] == "kept" and document["cases"][0]["inputs"][0]["colour"] == "red"


@pytest.mark.parametrize(("change", "message"), [
    ({"cases": [{"id": "a", "mode": "eager", "inputs": [{"name": "x", "shape": [2], "dtype": "float99", "layout": "ND"}]}]},
     "float99"),
    ({"cases": [{"id": "a", "mode": "eager", "inputs": [
        {"name": "x", "shape": [2], "strides": [1, 1], "dtype": "float32", "layout": "ND"}]}]}, "strides"),
    ({"cases": [{"id": "a", "mode": "eager", "device": "npu", "inputs": [
        {"name": "x", "shape": [2], "dtype": "float32", "layout": "ND"}]}]}, "one device"),
    ({"operator": {"name": "a", "invocation": "x", "imports": "torch_npu"}}, "operator.imports"),
    ({"tolerance": {"atol": -1, "rtol": 0}}, "tolerance.atol"),
])
def test_a_config_that_cannot_be_run_says_why(change, message):
    with pytest.raises(OpdebugError, match=message):
        from_config(config(**change), Path())
