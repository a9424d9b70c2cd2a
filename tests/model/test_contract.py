from __future__ import annotations

import copy
import math

import pytest

from opdebug.model.contract import validate_config, validate_input_spec, validate_result
from opdebug.model.errors import OpdebugError

CONFIG = {
    "schema_version": 1, "run_id": "r1",
    "operator": {"name": "softmax", "invocation": "torch.softmax(x, -1)", "reference": "float64 on CPU"},
    "tolerance": {"atol": 0.001, "rtol": 0},
    "cases": [{"id": "a", "mode": "eager",
               "inputs": [{"name": "x", "shape": [2, 3], "dtype": "float16", "layout": "ND"}]}],
}
RESULT = {"schema_version": 1, "case_id": "a", "status": "passed"}
SPEC = CONFIG["cases"][0]["inputs"][0]


def changed(document, path, value):
    document = copy.deepcopy(document)
    *way, last = path
    node = document
    for step in way:
        node = node[step]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return document


def problems(document, **options):
    with pytest.raises(OpdebugError) as caught:
        validate_config(document, **options)
    return str(caught.value)


@pytest.mark.parametrize("extra", [{}, {"note": [1, {"deep": None}]}])
def test_a_sound_config_passes_with_unknown_fields(extra):
    validate_config({**CONFIG, **extra})


@pytest.mark.parametrize(("path", "value", "message"), [
    (["schema_version"], 2, "schema_version must be 1"),
    (["schema_version"], ..., "schema_version must be 1"),
    (["schema_version"], True, "schema_version must be 1"),
    (["schema_version"], "1", "schema_version must be 1"),
    (["run_id"], "", "run_id must be a non-empty string"),
    (["run_id"], 7, "run_id must be a non-empty string"),
    (["operator"], [], "operator must be an object"),
    (["operator", "name"], "", "operator.name must be a non-empty string"),
    (["operator", "invocation"], ..., "operator.invocation must be a non-empty string"),
    (["operator", "reference"], None, "operator.reference must be a non-empty string"),
    (["tolerance"], ..., "tolerance must be an object"),
    (["tolerance", "atol"], -1, "tolerance.atol must be non-negative"),
    (["tolerance", "atol"], True, "tolerance.atol must be non-negative"),
    (["tolerance", "atol"], math.nan, "tolerance.atol must be non-negative"),
    (["tolerance", "rtol"], math.inf, "tolerance.rtol must be non-negative"),
    (["tolerance", "rtol"], ..., "tolerance.rtol must be non-negative"),
    (["cases"], [], "cases must be a non-empty array"),
    (["cases"], {}, "cases must be a non-empty array"),
    (["cases", 0], "a", "cases[0] must be an object"),
    (["cases", 0, "id"], "", "cases[0].id must be a non-empty string"),
    (["cases", 0, "id"], ["a"], "cases[0].id must be a non-empty string"),
    (["cases", 0, "mode"], "jit", "cases[0].mode must be one of: compile, eager, graph"),
    (["cases", 0, "mode"], ["eager"], "cases[0].mode must be one of: compile, eager, graph"),
    (["cases", 0, "inputs"], [], "cases[0].inputs must be a non-empty array"),
    (["cases", 0, "inputs", 0], 3, "cases[0].inputs[0] must be an object"),
    (["cases", 0, "inputs", 0, "name"], "", "cases[0].inputs[0].name must be a non-empty string"),
    (["cases", 0, "inputs", 0, "dtype"], 1, "cases[0].inputs[0].dtype must be a non-empty string"),
    (["cases", 0, "inputs", 0, "layout"], ..., "cases[0].inputs[0].layout must be a non-empty string"),
    (["cases", 0, "inputs", 0, "shape"], [2, -1],
     "cases[0].inputs[0].shape must be an array of non-negative integers"),
    (["cases", 0, "inputs", 0, "shape"], [True],
     "cases[0].inputs[0].shape must be an array of non-negative integers"),
    (["cases", 0, "inputs", 0, "strides"], [1.0],
     "cases[0].inputs[0].strides must be an array of non-negative integers"),
    (["cases", 0, "attributes"], [], "cases[0].attributes must be an object"),
])
def test_each_rule_has_its_message_and_no_other(path, value, message):
    assert problems(changed(CONFIG, path, value)) == message


@pytest.mark.parametrize(("path", "value"), [
    (["schema_version"], 1.0), (["tolerance", "atol"], 10**400), (["cases", 0, "inputs", 0, "shape"], []),
    (["cases", 0, "inputs", 0, "strides"], None), (["cases", 0, "inputs", 0, "strides"], [1, 2, 3]),
    (["cases", 0, "id"], "../" + "x" * 10_000),
])
def test_what_the_contract_admits_is_admitted(path, value):
    validate_config(changed(CONFIG, path, value))


def test_every_problem_is_told_in_document_order():
    case = {"id": "", "mode": "x", "inputs": [{"shape": 1}], "attributes": 0}
    assert problems({"operator": {}, "tolerance": {}, "cases": [case]}) == "; ".join([
        "schema_version must be 1", "run_id must be a non-empty string", "operator.name must be a non-empty string",
        "operator.invocation must be a non-empty string", "operator.reference must be a non-empty string",
        "tolerance.atol must be non-negative", "tolerance.rtol must be non-negative",
        "cases[0].id must be a non-empty string", "cases[0].mode must be one of: compile, eager, graph",
        "cases[0].inputs[0].name must be a non-empty string",
        "cases[0].inputs[0].shape must be an array of non-negative integers",
        "cases[0].inputs[0].dtype must be a non-empty string", "cases[0].inputs[0].layout must be a non-empty string",
        "cases[0].attributes must be an object",
    ])


def test_a_duplicate_id_is_named():
    assert problems({**CONFIG, "cases": CONFIG["cases"] * 2}) == "case id is duplicated: a"


@pytest.mark.parametrize("root", [[], None, "text", 1])
def test_the_root_must_be_an_object(root):
    assert problems(root) == "operator config root must be an object"


def test_one_shot_defaults_excuse_absence_but_not_nonsense():
    bare = {key: value for key, value in CONFIG.items() if key not in ("schema_version", "run_id")}
    validate_config(bare, drop_in_defaults=True)
    assert problems({**bare, "run_id": ""}, drop_in_defaults=True) == "run_id must be a non-empty string"


def test_extended_admits_a_policy_without_numbers_and_no_reference():
    document = {**CONFIG, "operator": {"name": "n", "invocation": "i"}, "tolerance": {"policy": "budget"}}
    validate_config(document, extended=True)
    assert problems(document) == (
        "operator.reference must be a non-empty string; tolerance.atol must be non-negative; "
        "tolerance.rtol must be non-negative"
    )
    wrong = {**document, "tolerance": {"policy": "budget", "atol": -1}}
    assert problems(wrong, extended=True) == "tolerance.atol must be non-negative"


def test_a_call_without_tensors_is_admitted_on_request():
    validate_config(changed(CONFIG, ["cases", 0, "inputs"], []), allow_no_inputs=True)


def test_an_input_spec_reports_under_the_given_path():
    errors = ["before"]
    validate_input_spec({**SPEC, "name": ""}, "here", errors)
    assert errors == ["before", "here.name must be a non-empty string"]


@pytest.mark.parametrize(("change", "message"), [
    ({"schema_version": 2}, "schema_version must be 1"),
    ({"schema_version": True}, "schema_version must be 1"),
    ({"case_id": "b"}, "case_id must identify a planned case"),
    ({"case_id": ["a"]}, "case_id must identify a planned case"),
    ({"status": "failed"}, "status must be one of: crash, numerical_mismatch, passed, unsupported"),
    ({"status": {}}, "status must be one of: crash, numerical_mismatch, passed, unsupported"),
    ({"status": "crash"}, "crash result requires error"),
    ({"status": "unsupported", "error": ""}, "unsupported result requires error"),
    ({"comparisons": {}}, "comparisons must be an array"),
    ({"comparisons": [1]}, "comparisons[0] must be an object"),
    ({"comparisons": [{}]}, "comparisons[0].output must be a non-empty string"),
    ({"comparisons": [{"output": "o", "max_abs": True}]}, "comparisons[0].max_abs must be finite"),
    ({"comparisons": [{"output": "o", "max_rel": math.nan}]}, "comparisons[0].max_rel must be finite"),
    ({"comparisons": [{"output": "o", "cosine": "1"}]}, "comparisons[0].cosine must be finite"),
    ({"comparisons": [{"output": "o", "max_abs": 10**400}]}, "comparisons[0].max_abs must be finite"),
    ({"timing_us": -1}, "timing_us must be a non-negative finite number"),
    ({"timing_us": math.inf}, "timing_us must be a non-negative finite number"),
    ({"timing_us": False}, "timing_us must be a non-negative finite number"),
    ({"source": 1}, "source must be a string"),
])
def test_each_result_rule_has_its_message(change, message):
    with pytest.raises(OpdebugError) as caught:
        validate_result({**RESULT, **change}, {"a"})
    assert str(caught.value) == message


def test_a_result_root_must_be_an_object():
    with pytest.raises(OpdebugError, match="operator result root must be an object"):
        validate_result([RESULT], {"a"})


def test_the_normalised_row_keeps_every_field_and_a_null_metric():
    given = {**RESULT, "comparisons": [{"output": "o", "max_abs": 1, "max_rel": None, "note": 3}], "timing_us": 5,
             "own": [1]}
    row = validate_result(given, {"a"})
    assert row == given
    assert type(row["comparisons"][0]["max_abs"]) is float
    assert type(row["timing_us"]) is float
    assert "cosine" not in row["comparisons"][0]
    assert validate_result(RESULT, {"a"}) == {**RESULT, "comparisons": [], "timing_us": None}
