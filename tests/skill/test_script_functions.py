"""The script imported by its path: the functions and constants that callers of the contract use, by their signatures."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "skills" / "ascend-operator-debug" / "scripts" / "operator_debug.py"

SIGNATURES = {
    "plan": "(output_dir, *, config_path, created_at=None, code=None, workspace_root=None)",
    "record": "(output_dir, *, result_path, recorded_at=None)",
    "analyze": "(output_dir, *, updated_at=None)",
    "analyze_documents": "(config, matrix, results)",
    "validate_input_spec": "(spec, path, errors)",
    "validate_result": "(result, planned_ids)",
    "render_report": "(analysis)",
    "build_parser": "()",
    "main": "(argv=None)",
    "_prepare_report": "(output_dir, *, config_path, created_at=None, code=None, workspace_root=None)",
    "_record_result": "(output_dir, *, result_path, recorded_at=None)",
    "_analyze_report": "(output_dir, *, updated_at=None)",
}


@pytest.fixture(scope="module")
def script():
    """A module of its own; nothing may be left in the skill's folder by importing it."""
    spec = importlib.util.spec_from_file_location("operator_debug_by_path", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = kept
    return module


def names_and_defaults(function):
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(function).parameters.values()]
    return str(inspect.Signature(parameters))


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_have_the_signatures_of_the_contract(script, name):
    assert names_and_defaults(getattr(script, name)) == SIGNATURES[name]


def test_constants_and_the_error(script):
    assert script.SCHEMA_VERSION == 1
    assert {"eager", "compile", "graph"} == script.MODES
    assert {"passed", "numerical_mismatch", "crash", "unsupported"} == script.RESULT_STATUSES
    assert SCRIPT.parents[3] == script.ROOT
    assert issubclass(script.OperatorDebugError, ValueError)


def test_the_root_of_a_skill_in_an_agents_folder_is_the_project(tmp_path):
    path = tmp_path / ".agents" / "skills" / "ascend-operator-debug" / "scripts" / "operator_debug.py"
    path.parent.mkdir(parents=True)
    path.write_bytes(SCRIPT.read_bytes())
    spec = importlib.util.spec_from_file_location("operator_debug_installed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert tmp_path.resolve() == module.ROOT


def test_the_manifest_functions_are_reachable_and_nothing_else_is_made_up(script):
    manifest = script.new_manifest(run_type="debug", run_id="r1")
    running = script.transition_status(script.add_artifact(manifest, name="n", kind="k", uri="u"), "running")
    assert script.validate_manifest(running)["status"] == "running"
    with pytest.raises(script.RunManifestError, match="invalid status transition: running -> planned"):
        script.transition_status(running, "planned")
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = script.no_such_thing


def test_the_three_steps_with_times_of_the_callers_own(script, tmp_path, config_of, result_of):
    config, result = tmp_path / "c.json", tmp_path / "r.json"
    config.write_text(json.dumps(config_of("a")))
    result.write_text(json.dumps(result_of("a")))
    run = tmp_path / "run"
    assert script.plan(run, config_path=config, created_at="2026-01-01T00:00:00Z")["status"] == "planned"
    assert "code" not in json.loads((run / "manifest.json").read_text())
    assert script.record(run, result_path=result, recorded_at="2026-01-02T00:00:00Z")["remaining"] == 0
    assert script.analyze(run, updated_at="2026-01-03T00:00:00Z")["status"] == "passed"
    manifest = json.loads((run / "manifest.json").read_text())
    assert (manifest["created_at"], manifest["updated_at"]) == ("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")
    assert json.loads((run / "results.json").read_text())["results"][0]["recorded_at"] == "2026-01-02T00:00:00Z"
    with pytest.raises(script.OperatorDebugError, match="duplicated"):
        script.analyze(run)


def test_code_comes_from_the_caller_or_from_a_work_tree(script, tmp_path, config_of):
    config = tmp_path / "c.json"
    config.write_text(json.dumps(config_of("a")))
    code = {"source_head": "a" * 40, "snapshot_commit": "b" * 40, "dirty": True}
    script.plan(tmp_path / "one", config_path=config, code=code, workspace_root=tmp_path)
    assert json.loads((tmp_path / "one" / "manifest.json").read_text())["code"] == code
    with pytest.raises(script.OperatorDebugError, match="must be a git work tree with a commit"):
        script.plan(tmp_path / "two", config_path=config, workspace_root=tmp_path)
    assert not (tmp_path / "two").exists()


def test_documents_are_analyzed_and_rendered_without_files(script, config_of, result_of):
    config = config_of("a", "b")
    matrix = {"cases": [{**case, "status": "pending"} for case in config["cases"]]}
    analysis = script.analyze_documents(config, matrix, {"results": [result_of("a", "crash")]})
    assert (analysis["status"], analysis["missing_cases"]) == ("inconclusive", ["b"])
    assert script.render_report(analysis).startswith("# Ascend operator debug report\n\n- Status: **inconclusive**\n")
    with pytest.raises(script.OperatorDebugError, match="run_id must be a non-empty string"):
        script.analyze_documents({**config, "run_id": ""}, matrix, {"results": []})


def test_validators(script, config_of, result_of):
    script.validate_config(config_of("a"))
    script.validate_result(result_of("a"), {"a"})
    errors = []
    script.validate_input_spec({"name": "x", "shape": [1], "dtype": ""}, "here", errors)
    assert errors == ["here.dtype must be a non-empty string", "here.layout must be a non-empty string"]
    with pytest.raises(script.OperatorDebugError) as caught:
        script.validate_result(result_of("b", "odd"), {"a"})
    assert str(caught.value).startswith("case_id must identify a planned case; status must be one of: ")


def test_a_report_from_python(script, tmp_path, config_of, result_of):
    config, result = tmp_path / "c.json", tmp_path / "r.json"
    config.write_text(json.dumps(config_of("a")))
    result.write_text(json.dumps(result_of("a")))
    answer = script.build_report(config, [result], output_dir=tmp_path / "out", workspace_root=tmp_path)
    assert answer["status"] == "passed" and answer["manifest_ref"] == str((tmp_path / "out" / "manifest.json").resolve())
    fresh = script.build_report(config, [], workspace_root=tmp_path)
    assert fresh["missing_cases"] == ["a"] and str(tmp_path / ".vaws-local" / "reports") in fresh["manifest_ref"]
    with pytest.raises(script.OperatorDebugError, match="already"):
        script.build_report(config, [result, result], output_dir=tmp_path / "twice", workspace_root=tmp_path)


def test_one_parser_serves_all_forms(script):
    parser = script.build_parser()
    assert parser.parse_args(["plan", "--output-dir", "d", "--config", "c"]).command == "plan"
    report = parser.parse_args(["--config", "c", "--results", "a", "b", "--output-dir", "d"])
    assert [str(path) for path in report.results] == ["a", "b"]
    assert parser.parse_args(["run", "--kernel", "k", "--reference", "r", "--cases", "c"]).device == "npu"


def test_main_returns_the_exit_code(script, capsys, tmp_path):
    assert script.main(["analyze", "--output-dir", str(tmp_path / "gone")]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["status", "error"] and answer["status"] == "failed"
    with pytest.raises(SystemExit) as stop:
        script.main(["analyze"])
    assert stop.value.code == 2 and capsys.readouterr().out == ""
