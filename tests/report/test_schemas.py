"""The published schemas are those of the code, accept what opdebug writes, and refuse what its validators refuse."""

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from opdebug.diagnose.analysis import analyze_documents
from opdebug.evidence.manifest import RunManifestError, new_manifest, validate_manifest
from opdebug.evidence.run import Run
from opdebug.model.contract import validate_config, validate_result
from opdebug.model.errors import OpdebugError
from opdebug.report import schemas

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
SPEC = {"name": "x", "shape": [4, 8], "strides": [8, 1], "dtype": "bfloat16", "layout": "ND"}
CONFIG = {
    "schema_version": 1, "run_id": "r1", "operator": {"name": "n", "invocation": "f(x)", "reference": "g(x)"},
    "tolerance": {"atol": 0.001, "rtol": 0}, "source_model_failure": "logits differ", "ours": [1],
    "cases": [{"id": i, "mode": "eager", "attributes": {"dim": -1}, "inputs": [SPEC], "note": {}} for i in "abcd"],
}
RESULTS = [
    {"schema_version": 1, "case_id": "a", "status": "passed", "timing_us": 2, "extra": 1,
     "comparisons": [{"output": "o", "max_abs": None, "max_rel": 0.1, "cosine": 1}]},
    {"schema_version": 1, "case_id": "b", "status": "crash", "error": "it broke"},
    {"schema_version": 1, "case_id": "c", "status": "unsupported", "error": "no", "source": "theirs"},
]
CODE = {"source_head": "1" * 40, "snapshot_commit": "2" * 40, "dirty": True}


def accepts(name, document):
    return Draft202012Validator(schemas.documents()[f"{name}.schema.json"]).is_valid(document)


def changed(document, path, value=None):
    """`document` with the value at `path` replaced, or taken out where `value` is None."""
    document = copy.deepcopy(document)
    *parents, last = path
    holder = document
    for key in parents:
        holder = holder[key]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return document


def test_the_files_are_current():
    found = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.iterdir()}
    assert found == schemas.documents(), f"run: python -m opdebug.report.schemas {FOLDER.relative_to(FOLDER.parents[1])}"


@pytest.mark.parametrize("name", schemas.documents())
def test_each_is_a_schema_of_its_draft(name):
    Draft202012Validator.check_schema(schemas.documents()[name])


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("code", [None, CODE])
def test_every_document_of_a_run_is_accepted(tmp_path, extended, code):
    with Run.create(tmp_path / "run", CONFIG, code=code) as run:
        assert accepts("manifest", json.loads((run.directory / "manifest.json").read_text()))
        for result in RESULTS:
            assert accepts("result", result)
            run.record(result)
        state = run.state()
        analysis = analyze_documents(state.config, state.matrix, {"results": state.results}, extended=extended)
        run.finish("inconclusive", artifacts=[("analysis", "analysis", "analysis.json")])
    assert accepts("analysis", analysis)
    for schema, name in (("config", "operator-config"), ("config-extended", "operator-config"),
                         ("case-matrix", "case-matrix"), ("results", "results"), ("manifest", "manifest")):
        assert accepts(schema, json.loads((tmp_path / "run" / f"{name}.json").read_text())), name


def test_the_analysis_schema_names_every_key_of_an_analysis():
    matrix = {"cases": [{**case, "status": "pending"} for case in CONFIG["cases"]]}
    described = schemas.analysis()
    assert set(described["properties"]) == set(analyze_documents(CONFIG, matrix, {"results": []}, extended=True))
    assert set(described["required"]) == set(analyze_documents(CONFIG, matrix, {"results": []})) - {"warnings"}


FIRST = ("cases", 0, "inputs", 0)
BAD_CONFIGS = [
    (("schema_version",), 2), (("schema_version",), True), (("schema_version",), None), (("run_id",), ""), (("run_id",), 7),
    (("operator",), "n"), (("operator", "name"), ""), (("operator", "invocation"), None), (("operator", "reference"), None),
    (("tolerance",), [1]), (("tolerance", "atol"), -1), (("tolerance", "rtol"), True), (("tolerance", "rtol"), None),
    (("cases",), []), (("cases", 0), "a"), (("cases", 0, "id"), ""), (("cases", 0, "mode"), "lazy"),
    (("cases", 0, "mode"), None),
    (("cases", 0, "inputs"), []), (("cases", 0, "inputs", 0), 1), (("cases", 0, "attributes"), [1]),
    ((*FIRST, "name"), ""), ((*FIRST, "dtype"), None), ((*FIRST, "layout"), 1), ((*FIRST, "shape"), [-1]),
    ((*FIRST, "shape"), [True]), ((*FIRST, "shape"), None), ((*FIRST, "strides"), [1.5]),
]


@pytest.mark.parametrize(("path", "value"), BAD_CONFIGS)
def test_what_the_validator_refuses_in_a_config_the_schema_refuses(path, value):
    config = changed(CONFIG, path, value)
    with pytest.raises(OpdebugError):
        validate_config(config)
    assert not accepts("config", config)


@pytest.mark.parametrize(("path", "value"), [
    (("schema_version",), 1.0), (("operator", "more"), 1), (("cases", 0, "attributes"), None), ((*FIRST, "strides"), None),
    ((*FIRST, "shape"), []), (("tolerance", "atol"), 10**30)])
def test_what_the_validator_accepts_in_a_config_the_schema_accepts(path, value):
    config = changed(CONFIG, path, value)
    validate_config(config)
    assert accepts("config", config)


def test_only_the_extended_schema_admits_a_policy_no_reference_and_no_tensors():
    config = {**CONFIG, "operator": {"name": "n", "invocation": "f()"}, "tolerance": {"policy": "exact"}}
    config["cases"] = [{"id": "a", "mode": "eager", "inputs": []}]
    validate_config(config, extended=True, allow_no_inputs=True)
    assert accepts("config-extended", config)
    assert not accepts("config", config)
    assert not accepts("config-extended", {**config, "tolerance": {}})


@pytest.mark.parametrize(("which", "path", "value"), [
    (0, ("schema_version",), True), (0, ("schema_version",), None), (0, ("case_id",), None), (0, ("status",), "failed"),
    (0, ("comparisons",), {}), (0, ("comparisons", 0), 1), (0, ("comparisons", 0, "output"), ""),
    (0, ("comparisons", 0, "max_abs"), "0.1"), (0, ("comparisons", 0, "max_rel"), True), (0, ("timing_us",), -1),
    (0, ("timing_us",), "2"), (0, ("source",), 1), (1, ("error",), ""), (1, ("error",), None), (2, ("error",), 5)])
def test_what_the_validator_refuses_in_a_result_the_schema_refuses(which, path, value):
    result = changed(RESULTS[which], path, value)
    with pytest.raises(OpdebugError):
        validate_result(result, {"a", "b", "c"})
    assert not accepts("result", result)


ARTIFACT = {"name": "n", "kind": "k", "uri": "u"}


@pytest.mark.parametrize("code", [None, CODE])
@pytest.mark.parametrize(("path", "value"), [
    (("more",), 1), (("artifacts",), None), (("schema_version",), True), (("run_id",), "Upper"), (("parent_run_id",), ""),
    (("run_type",), "other"), (("model",), []), (("command",), "x"), (("command",), [1]), (("status",), "done"),
    (("created_at",), "2026-01-02"), (("updated_at",), "2026-01-02T03:04:05+00:00"), (("environment_variables",), {"A": 1}),
    (("environment_variables",), {"my_Api_Key": "x"}), (("environment_variables",), {"token": "x"}),
    (("artifacts",), [{**ARTIFACT, "uri": " "}]), (("artifacts",), [{**ARTIFACT, "sha256": "X"}])])
def test_what_the_validator_refuses_in_a_manifest_the_schema_refuses(code, path, value):
    manifest = changed(new_manifest(run_type="debug", code=code), path, value)
    with pytest.raises(RunManifestError):
        validate_manifest(manifest)
    assert not accepts("manifest", manifest)


@pytest.mark.parametrize(("code", "field", "value", "sound"), [
    (None, "artifacts", [{**ARTIFACT, "sha256": "a" * 64}], True),
    (CODE, "artifacts", [{**ARTIFACT, "sha256": "a" * 64}], False),
    (None, "environment_variables", {"SORT_KEY": "x"}, True), (CODE, "environment_variables", {"SORT_KEY": "x"}, False),
    (CODE, "code", {**CODE, "source_head": "0" * 40}, False), (CODE, "code", {**CODE, "more": 1}, False)])
def test_the_two_flavours_of_a_manifest_are_told_apart(code, field, value, sound):
    manifest = {**new_manifest(run_type="debug", code=code), field: value}
    if sound:
        validate_manifest(manifest)
    else:
        with pytest.raises(RunManifestError):
            validate_manifest(manifest)
    assert accepts("manifest", manifest) == sound
