"""Addresses become callables in the worker only, and every problem is told at once."""

import hashlib

import pytest
import torch

from opdebug.model.errors import OpdebugError
from opdebug.worker import sources
from opdebug.worker.call import Arguments, bind, torch_constant


def request(candidate, reference=None, cases=None, files=None, imports=()):
    return {"candidate": candidate, "reference": reference, "cases": cases, "imports": list(imports), "files": files or {}}


def file_entry(path, text):
    path.write_text(text)
    return {str(path): {"path": str(path), "text": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}}


def test_a_file_that_serves_several_roles_is_executed_once(tmp_path):
    path = tmp_path / "both.py"
    marker = tmp_path / "runs"
    files = file_entry(path, f"open({str(marker)!r}, 'a').write('x')\ndef f(x): return x\ndef g(x): return -x\n"
                             "TOLERANCE = {'atol': 1.0, 'rtol': 0.0}\ndef cases(device): return []\n")
    loaded = sources.load(request(f"{path}:f", f"{path}:g", f"{path}:cases", files))
    assert marker.read_text() == "x"
    assert loaded.candidate.function(())(2) == 2 and loaded.reference.function(())(2) == -2
    assert loaded.cases_tolerance == {"atol": 1.0, "rtol": 0.0}


def test_a_text_that_is_not_the_hashed_one_is_not_executed(tmp_path):
    path = tmp_path / "kernel.py"
    files = file_entry(path, "def f(x): return x\n")
    files[str(path)]["text"] = "raise SystemExit\n"
    with pytest.raises(OpdebugError, match="not the text that was hashed"):
        sources.load(request(f"{path}:f", files=files))


def test_siblings_of_a_file_can_be_imported(tmp_path):
    (tmp_path / "opdebug_test_sibling.py").write_text("VALUE = 5\n")
    path = tmp_path / "kernel.py"
    files = file_entry(path, "import opdebug_test_sibling\ndef f(): return opdebug_test_sibling.VALUE\n")
    assert sources.load(request(f"{path}:f", files=files)).candidate.function(())() == 5


def test_all_that_does_not_resolve_is_told_together(tmp_path):
    files = file_entry(tmp_path / "kernel.py", "raise RuntimeError('at import')\n")
    with pytest.raises(OpdebugError) as caught:
        sources.load(request("torch.sofmax(x)", f"{tmp_path}/kernel.py:f", "json:dumb", files, ["no_such_module_at_all"]))
    said = "\n".join(caught.value.problems)
    for part in ("no_such_module_at_all", "sofmax", "at import", "dumb"):
        assert part in said


def test_what_is_no_callable_is_refused():
    with pytest.raises(OpdebugError, match="not a callable"):
        sources.load(request("math:pi"))


def test_an_expression_takes_inputs_and_attributes_by_name():
    target = sources.load(request("torch.softmax(x, dim=dim)")).candidate
    x = torch.ones(2, 2)
    function, args, kwargs = bind(target, Arguments({"x": x, "dim": -1}, True))
    assert torch.equal(function(*args, **kwargs), torch.full((2, 2), 0.5))


def test_named_arguments_go_by_name_where_the_callable_knows_them_and_by_position_where_not():
    x, w = torch.ones(1), torch.ones(2)
    by_name = sources.load(request("json:dumps")).candidate
    by_name.resolved = lambda w, x, scale=1: None
    assert bind(by_name, Arguments({"x": x, "w": w}, True))[1:] == ((), {"x": x, "w": w})
    by_name.resolved = lambda first, second, scale=1: None
    assert bind(by_name, Arguments({"x": x, "scale": 3, "w": w}, True))[1:] == ((x, w), {"scale": 3})


def test_torch_constants_in_attributes_become_objects():
    assert torch_constant("torch.float16") is torch.float16
    assert torch_constant("torch.channels_last") is torch.channels_last
    assert torch_constant(["torch.int8", 1]) == [torch.int8, 1]
    assert torch_constant("torch.softmax") == "torch.softmax" and torch_constant("torch.float16 ") == "torch.float16 "
