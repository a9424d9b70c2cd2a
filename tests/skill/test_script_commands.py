"""The script through its command line: every row of the drop-in contract for plan, record, analyze and their documents."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DELETE = object()
FIRST_FLAVOUR = {"schema_version", "run_id", "parent_run_id", "run_type", "workspace_snapshot", "environment", "model",
                 "topology", "command", "environment_variables", "artifacts", "status", "created_at", "updated_at"}
# The identity of this work tree, which is not under test, takes longer than everything else.
PLAIN = ("--manifest", "plain")
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]


def changed(document, path, value):
    """`document` with the member at `path` (keys and indices) replaced or deleted."""
    copy = json.loads(json.dumps(document))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    if value is DELETE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return copy


def everything_in(folder: Path):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# -- 1: the operator config ---------------------------------------------------------------------------------------------

SHAPE = "cases[0].inputs[0].shape must be an array of non-negative integers"
STRIDES = "cases[0].inputs[0].strides must be an array of non-negative integers"
MODE = "cases[0].mode must be one of: compile, eager, graph"
INPUT = ("cases", 0, "inputs", 0)

CONFIG_ERRORS = [
    (("schema_version",), DELETE, "schema_version must be 1"),
    (("schema_version",), 2, "schema_version must be 1"),
    (("schema_version",), "1", "schema_version must be 1"),
    (("schema_version",), True, "schema_version must be 1"),
    (("run_id",), DELETE, "run_id must be a non-empty string"),
    (("run_id",), "", "run_id must be a non-empty string"),
    (("run_id",), 7, "run_id must be a non-empty string"),
    (("run_id",), "Upper", "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    (("run_id",), "../x", "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    (("run_id",), "a" * 129, "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    (("operator",), DELETE, "operator must be an object"),
    (("operator",), "softmax", "operator must be an object"),
    (("operator", "name"), "", "operator.name must be a non-empty string"),
    (("operator", "invocation"), DELETE, "operator.invocation must be a non-empty string"),
    (("operator", "reference"), 1, "operator.reference must be a non-empty string"),
    (("tolerance",), DELETE, "tolerance must be an object"),
    (("tolerance", "atol"), -1, "tolerance.atol must be non-negative"),
    (("tolerance", "rtol"), True, "tolerance.rtol must be non-negative"),
    (("tolerance", "rtol"), "0", "tolerance.rtol must be non-negative"),
    (("tolerance", "atol"), DELETE, "tolerance.atol must be non-negative"),
    (("cases",), [], "cases must be a non-empty array"),
    (("cases",), {}, "cases must be a non-empty array"),
    (("cases", 0), "a", "cases[0] must be an object"),
    (("cases", 0, "id"), "", "cases[0].id must be a non-empty string"),
    (("cases", 0, "id"), 3, "cases[0].id must be a non-empty string"),
    (("cases", 1, "id"), "a", "case id is duplicated: a"),
    (("cases", 0, "mode"), "jit", MODE),
    (("cases", 0, "mode"), ["eager"], MODE),
    (("cases", 0, "inputs"), [], "cases[0].inputs must be a non-empty array"),
    (("cases", 0, "inputs"), DELETE, "cases[0].inputs must be a non-empty array"),
    (INPUT, 1, "cases[0].inputs[0] must be an object"),
    ((*INPUT, "name"), DELETE, "cases[0].inputs[0].name must be a non-empty string"),
    ((*INPUT, "dtype"), "", "cases[0].inputs[0].dtype must be a non-empty string"),
    ((*INPUT, "layout"), None, "cases[0].inputs[0].layout must be a non-empty string"),
    ((*INPUT, "shape"), DELETE, SHAPE),
    ((*INPUT, "shape"), [4, -1], SHAPE),
    ((*INPUT, "shape"), [4, True], SHAPE),
    ((*INPUT, "shape"), "4", SHAPE),
    ((*INPUT, "strides"), [1.0], STRIDES),
    ((*INPUT, "strides"), [False], STRIDES),
    (("cases", 0, "attributes"), [1], "cases[0].attributes must be an object"),
    (("environment",), "x", "environment must be an object"),
    (("model",), 3, "model must be an object"),
    (("workspace_snapshot",), [], "workspace_snapshot must be an object"),
    (("command",), "python x", "command must be an array of strings"),
    (("command",), [1], "command must be an array of strings"),
]


@pytest.mark.parametrize(("path", "value", "message"), CONFIG_ERRORS,
                         ids=[f"{'.'.join(map(str, p))}-{i}" for i, (p, _, _) in enumerate(CONFIG_ERRORS)])
def test_a_config_that_breaks_a_rule_is_refused_with_nothing_written(bench, config_of, path, value, message):
    name = bench.write("operator.json", changed(config_of("a", "b"), path, value))
    assert bench.refusal("plan", "--output-dir", "deep/run", "--config", name, *PLAIN) == message
    assert [p.name for p in bench.folder.iterdir()] == ["operator.json"]


def test_all_errors_of_a_config_come_together_in_document_order(bench):
    bad = {"operator": {"name": ""}, "tolerance": {"atol": "x", "rtol": -1}, "cases": [
        {"mode": "x", "inputs": [{"shape": [-1], "strides": ["a"]}], "attributes": 1}, 4, {"id": "b", "mode": "eager"}]}
    name = bench.write("operator.json", bad)
    assert bench.refusal("plan", "--output-dir", "run", "--config", name, *PLAIN).split("; ") == [
        "schema_version must be 1", "run_id must be a non-empty string", "operator.name must be a non-empty string",
        "operator.invocation must be a non-empty string", "operator.reference must be a non-empty string",
        "tolerance.atol must be non-negative", "tolerance.rtol must be non-negative",
        "cases[0].id must be a non-empty string", MODE, "cases[0].inputs[0].name must be a non-empty string", SHAPE,
        "cases[0].inputs[0].dtype must be a non-empty string", "cases[0].inputs[0].layout must be a non-empty string",
        STRIDES, "cases[0].attributes must be an object", "cases[1] must be an object",
        "cases[2].inputs must be a non-empty array"]


@pytest.mark.parametrize("text", ["", "{", "\x00", '{"a": 1, "a": 2}', '{"tolerance": NaN}', "[" * 5000, "latin"])
def test_a_config_that_is_no_json_is_refused_by_name(bench, text):
    path = bench.folder / "operator.json"
    path.write_bytes(b'{"a": "\xe9"}' if text == "latin" else text.encode())
    assert bench.refusal("plan", "--output-dir", "run", "--config", "operator.json", *PLAIN).startswith(
        "cannot read operator config operator.json: ")
    assert not (bench.folder / "run").exists()


def test_a_config_that_is_absent_or_no_object_is_refused(bench):
    assert bench.refusal("plan", "--output-dir", "run", "--config", "gone.json", *PLAIN).startswith(
        "cannot read operator config gone.json: ")
    assert bench.refusal("plan", "--output-dir", "run", "--config", bench.write("list.json", []), *PLAIN) == (
        "operator config root must be an object")


def test_what_the_config_rules_leave_free_is_accepted(bench, config_of):
    config = config_of("a", schema_version=1.0, tolerance={"atol": 0, "rtol": 1})
    config["cases"][0]["inputs"] = [
        {"name": "s", "shape": [], "dtype": "any text", "layout": "FRACTAL_NZ", "strides": None},
        {"name": "v", "shape": [0, 3], "dtype": "hifloat8", "layout": "ND", "strides": [1, 2, 3]}]
    del config["cases"][0]["attributes"]
    assert bench.plan(config)["case_count"] == 1


def test_unknown_fields_survive_the_whole_trip(bench, config_of, result_of):
    config = config_of("a", note={"ümlaut": ["é", None, 1.5]}, owner="kernel team")
    config["operator"]["ticket"] = 12
    config["cases"][0].update(origin="layer 7", status="mine")
    config["cases"][0]["inputs"][0]["storage_offset"] = 4
    bench.plan(config)
    assert bench.read("run/operator-config.json") == config
    assert bench.read("run/case-matrix.json")["cases"] == [{**config["cases"][0], "status": "pending"}]
    result = result_of("a", "numerical_mismatch", device="npu:3", nested={"deep": [1, {"x": None}]})
    result["comparisons"][0]["ulp"] = 17
    bench.record(result)
    bench.analyze()
    stored = bench.read("run/results.json")["results"][0]
    assert {key: stored[key] for key in ("device", "nested")} == {key: result[key] for key in ("device", "nested")}
    assert stored["comparisons"][0]["ulp"] == 17
    assert bench.read("run/analysis.json")["results"] == [stored]


# -- 2: a result ----------------------------------------------------------------------------------------------------------

STATUS = "status must be one of: crash, numerical_mismatch, passed, unsupported"
RESULT_ERRORS = [
    (("schema_version",), DELETE, "schema_version must be 1"),
    (("schema_version",), True, "schema_version must be 1"),
    (("case_id",), "zz", "case_id must identify a planned case"),
    (("case_id",), DELETE, "case_id must identify a planned case"),
    (("case_id",), ["a"], "case_id must identify a planned case"),
    (("status",), "failed", STATUS),
    (("status",), DELETE, STATUS),
    (("status",), "crash", "crash result requires error"),
    (("status",), "unsupported", "unsupported result requires error"),
    (("comparisons",), {}, "comparisons must be an array"),
    (("comparisons", 0), 1, "comparisons[0] must be an object"),
    (("comparisons", 0, "output"), "", "comparisons[0].output must be a non-empty string"),
    (("comparisons", 0, "output"), DELETE, "comparisons[0].output must be a non-empty string"),
    (("comparisons", 0, "max_abs"), True, "comparisons[0].max_abs must be finite"),
    (("comparisons", 0, "max_rel"), "1", "comparisons[0].max_rel must be finite"),
    (("comparisons", 0, "cosine"), [], "comparisons[0].cosine must be finite"),
    (("timing_us",), -1, "timing_us must be a non-negative finite number"),
    (("timing_us",), True, "timing_us must be a non-negative finite number"),
    (("source",), 5, "source must be a string"),
]


@pytest.fixture(scope="module")
def planned(tmp_path_factory, request):
    """A planned run that every refused result must leave as it is."""
    folder = tmp_path_factory.mktemp("planned")
    make_bench, make_config = request.getfixturevalue("bench_of_module")
    bench = make_bench(folder)
    bench.plan(make_config("a", "b"))
    return bench


@pytest.mark.parametrize(("path", "value", "message"), RESULT_ERRORS,
                         ids=[f"{'.'.join(map(str, p))}-{i}" for i, (p, _, _) in enumerate(RESULT_ERRORS)])
def test_a_result_that_breaks_a_rule_is_refused_with_nothing_recorded(planned, result_of, path, value, message):
    before = everything_in(planned.folder / "run")
    name = planned.write("result.json", changed(result_of("a"), path, value))
    assert planned.refusal("record", "--output-dir", "run", "--result", name) == message
    assert everything_in(planned.folder / "run") == before


@pytest.mark.parametrize("text", ["[]", '"x"'])
def test_a_result_must_be_one_object(planned, text):
    assert planned.refusal("record", "--output-dir", "run", "--result", planned.write("result.json", text)) == (
        "operator result root must be an object")


@pytest.mark.parametrize("text", ["{", '{"timing_us": Infinity}', '{"case_id": "a", "case_id": "b"}'])
def test_a_result_that_is_no_json_is_refused_by_name(planned, text):
    assert planned.refusal("record", "--output-dir", "run", "--result", planned.write("result.json", text)).startswith(
        "cannot read operator result result.json: ")


def test_a_result_is_stored_normalised(bench, config_of, result_of):
    bench.plan(config_of("a", "b"))
    bench.record(result_of("a", comparisons=[{"output": "y", "max_abs": 1, "max_rel": None}], timing_us=7))
    bench.record(result_of("b", source="lab 3", recorded_at="mine"))
    first, second = bench.read("run/results.json")["results"]
    assert first["comparisons"] == [{"output": "y", "max_abs": 1.0, "max_rel": None}]
    assert isinstance(first["comparisons"][0]["max_abs"], float) and isinstance(first["timing_us"], float)
    assert first["source"] == str((bench.folder / "result.json").resolve())
    assert first["recorded_at"].endswith("Z")
    assert second["source"] == "lab 3" and second["timing_us"] is None and second["recorded_at"].endswith("Z")


def test_a_result_needs_no_comparison(bench, config_of, result_of):
    bench.plan(config_of("a"))
    result = result_of("a", "crash")
    del result["comparisons"]
    assert bench.record(result)["remaining"] == 0
    assert bench.read("run/results.json")["results"][0]["comparisons"] == []


# -- 3: the three verbs ---------------------------------------------------------------------------------------------------


def test_answers_have_their_keys_in_order(bench, config_of, result_of):
    config = config_of("a", "b")
    config["operator"]["name"] = "算子"
    planned = bench.raw("plan", "--output-dir", "run", "--config", bench.write("operator.json", config), *PLAIN)
    assert planned.stdout == '{"status": "planned", "run_id": "swiglu-001", "operator": "算子", "case_count": 2}\n'
    assert planned.stderr == ""
    recorded = bench.raw("record", "--output-dir", "run", "--result", bench.write("result.json", result_of("b")))
    assert recorded.stdout == '{"status": "recorded", "case_id": "b", "remaining": 1}\n'
    answer = bench.analyze()
    assert list(answer) == ["status", "crash_cases", "mismatch_cases", "missing_cases", "analysis", "report"]
    run = (bench.folder / "run").resolve()
    assert answer == {"status": "inconclusive", "crash_cases": [], "mismatch_cases": [], "missing_cases": ["a"],
                      "analysis": str(run / "analysis.json"), "report": str(run / "report.md")}


USAGE = [
    [], ["frobnicate"], ["plan"], ["plan", "--output-dir", "run"], ["plan", "--config", "operator.json"],
    ["record", "--output-dir", "run"], ["record", "--result", "r.json"], ["analyze"], ["analyze", "--output-dir"],
    ["analyze", "--output-dir", "run", "--again"], ["plan", "--output-dir", "run", "--config", "x", "--manifest", "big"],
    ["--results", "r.json"], ["--config"], ["--config", "x", "--colour"], ["run"],
    ["run", "--kernel", "k.py:f", "--reference", "r.py:f"],
    *(["run", "--kernel", "k.py:f", "--reference", "r.py:f", "--cases", "c.py:f", *bad] for bad in (
        ["--device", "tpu"], ["--device", "npu:x"], ["--atol", "nan"], ["--rtol", "-1"], ["--atol", "inf"],
        ["--warmups", "-1"], ["--repeats", "1.5"], ["--max-cases", "0"], ["--timeout-seconds", "0"])),
]


@pytest.mark.parametrize("arguments", USAGE, ids=[" ".join(u[:1] + u[-2:]) or "nothing" for u in USAGE])
def test_a_wrong_command_line_ends_with_2_and_an_empty_stdout(bench, arguments):
    ran = bench.raw(*arguments)
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr.startswith("usage: ") and "Traceback" not in ran.stderr
    assert list(bench.folder.iterdir()) == []


def test_the_run_directory_holds_what_the_contract_lists(bench, config_of, result_of):
    bench.plan(config_of("a", "b"))
    run = bench.folder / "run"
    listed = {"manifest.json", "operator-config.json", "case-matrix.json", "results.json", "reproduction.md", "raw-results",
              "input-metadata", "artifacts"}
    ours = {"journal.jsonl"}
    assert {p.name for p in run.iterdir() if not p.name.startswith(".")} == listed | ours
    assert all((run / name).is_dir() and not any((run / name).iterdir())
               for name in ("raw-results", "input-metadata", "artifacts"))
    assert bench.read("run/results.json") == {"schema_version": 1, "results": []}
    matrix = bench.read("run/case-matrix.json")
    assert set(matrix) == {"schema_version", "operator", "cases"} and matrix["operator"] == "npu_swiglu"
    assert [case["status"] for case in matrix["cases"]] == ["pending", "pending"]
    text = (run / "reproduction.md").read_text(encoding="utf-8")
    for part in ("- Operator: `npu_swiglu`", "- Invocation: `torch_npu.npu_swiglu(x, dim=-1)`", "- Reference: `silu(a)*b`"):
        assert part in text
    bench.record(result_of("b"))
    assert [case["status"] for case in bench.read("run/case-matrix.json")["cases"]] == ["pending", "recorded"]
    bench.analyze()
    assert {p.name for p in run.iterdir() if not p.name.startswith(".")} == listed | ours | {"analysis.json", "report.md"}
    assert not list(run.rglob("*.tmp"))
    for path in run.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_plan_takes_an_absent_or_empty_directory_and_no_other(bench, config_of):
    name = bench.write("operator.json", config_of("a"))
    (bench.folder / "empty").mkdir()
    assert bench.answer("plan", "--output-dir", "empty", "--config", name, *PLAIN)["status"] == "planned"
    assert bench.answer("plan", "--output-dir", "new/below", "--config", name, *PLAIN)["status"] == "planned"
    (bench.folder / "full").mkdir()
    (bench.folder / "full" / "precious").write_text("mine")
    full = str(bench.folder / "full")
    assert bench.refusal("plan", "--output-dir", full, "--config", name, *PLAIN) == f"output directory is not empty: {full}"
    assert [p.name for p in (bench.folder / "full").iterdir()] == ["precious"]


def test_record_checks_the_run_before_the_result(bench, config_of, result_of):
    bench.plan(config_of("a", "b"))
    run = bench.folder / "run"
    bad = bench.write("bad.json", "{")

    def error(result):
        return bench.refusal("record", "--output-dir", "run", "--result", result)

    matrix = (run / "case-matrix.json").read_bytes()
    results = (run / "results.json").read_bytes()
    (run / "case-matrix.json").write_text("{")
    (run / "results.json").write_text("{")
    assert error(bad).startswith("cannot read case matrix ")
    (run / "case-matrix.json").write_bytes(matrix)
    assert error(bad).startswith("cannot read results ")
    (run / "results.json").write_bytes(results)
    assert error(bad).startswith("cannot read operator result ")
    bench.record(result_of("a"))
    assert error(bench.write("r.json", result_of("a", "odd"))) == STATUS
    assert error(bench.write("r.json", result_of("a"))) == "case already recorded: a"
    (run / "case-matrix.json").write_text((run / "case-matrix.json").read_text().replace('"pending"', '"skipped"'))
    assert error(bench.write("r.json", result_of("b"))) == "case is not pending: b"


def test_no_command_takes_what_is_no_run(bench, result_of):
    name = bench.write("r.json", result_of("a"))
    (bench.folder / "empty").mkdir()
    for directory in ("gone", "empty", "r.json"):
        assert directory in bench.refusal("record", "--output-dir", directory, "--result", name)
        assert directory in bench.refusal("analyze", "--output-dir", directory)
    assert sorted(p.name for p in bench.folder.iterdir()) == ["empty", "r.json"]


def test_the_manifest_follows_the_run(bench, config_of, result_of):
    bench.plan(config_of("a", "b", command=["python", "x.py"], environment={"cann": "8"}, model={"name": "m"},
                         workspace_snapshot={"head": "x"}))
    manifest = bench.read("run/manifest.json")
    assert set(manifest) == FIRST_FLAVOUR
    assert (manifest["run_type"], manifest["run_id"], manifest["status"]) == ("debug", "swiglu-001", "planned")
    assert manifest["command"] == ["python", "x.py"] and manifest["environment"] == {"cann": "8"}
    assert manifest["model"] == {"name": "m"} and manifest["workspace_snapshot"] == {"head": "x"}
    assert manifest["created_at"] == manifest["updated_at"] and manifest["created_at"].endswith("Z")
    planned = [("operator-config", "operator-config", "operator-config.json"),
               ("case-matrix", "case-matrix", "case-matrix.json"), ("results", "operator-results", "results.json"),
               ("reproduction", "reproduction", "reproduction.md")]
    assert [(a["name"], a["kind"], a["uri"]) for a in manifest["artifacts"]] == planned
    bench.record(result_of("a"))
    assert bench.read("run/manifest.json")["status"] == "running"
    bench.record(result_of("b"))
    bench.analyze()
    manifest = bench.read("run/manifest.json")
    assert manifest["status"] == "passed"
    assert [(a["name"], a["kind"], a["uri"]) for a in manifest["artifacts"]] == [
        *planned, ("analysis", "analysis", "analysis.json"), ("report", "report", "report.md")]


def test_an_analyzed_run_takes_nothing_more(bench, config_of, result_of):
    bench.plan(config_of("a", "b"))
    bench.record(result_of("a"))
    bench.analyze()
    before = everything_in(bench.folder / "run")
    assert "duplicated" in bench.refusal("analyze", "--output-dir", "run")
    assert "inconclusive" in bench.refusal("record", "--output-dir", "run", "--result",
                                           bench.write("r.json", result_of("b")))
    assert everything_in(bench.folder / "run") == before


# -- 4: the analysis ------------------------------------------------------------------------------------------------------

VERDICTS = [
    ([], "inconclusive", "inconclusive"),
    (["passed"], "inconclusive", "inconclusive"),
    (["crash"], "inconclusive", "inconclusive"),
    (["passed", "passed"], "passed", "passed"),
    (["passed", "unsupported"], "inconclusive", "inconclusive"),
    (["crash", "unsupported"], "diagnosed", "failed"),
    (["numerical_mismatch", "passed"], "diagnosed", "failed"),
]


@pytest.mark.parametrize(("statuses", "verdict", "manifest"), VERDICTS, ids=["-".join(v[0]) or "none" for v in VERDICTS])
def test_the_verdict_comes_from_coverage_first(bench, config_of, result_of, statuses, verdict, manifest):
    bench.plan(config_of("b", "a", source_model_failure="logits differ"))
    for case_id, status in zip("ab", statuses):
        bench.record(result_of(case_id, status))
    answer = bench.analyze()
    assert answer["status"] == verdict
    assert answer["missing_cases"] == [case_id for case_id in "ba" if case_id not in "ab"[:len(statuses)]]
    assert answer["crash_cases"] == [c for c, status in zip("ab", statuses) if status == "crash"]
    analysis = bench.read("run/analysis.json")
    assert analysis["status_counts"] == {s: statuses.count(s)
                                         for s in ("crash", "numerical_mismatch", "passed", "unsupported")}
    assert analysis["integration_hint"] == (
        "isolated-operator-cases-pass-check-integration-boundary" if verdict == "passed" else None)
    assert bench.read("run/manifest.json")["status"] == manifest


def test_the_failure_axes_are_those_of_failing_cases(bench, config_of, result_of):
    config = config_of("z", "b", "ok", "no", source_model_failure="")
    config["cases"][0].update(mode="graph", attributes={"dim": -1, "keep": False, "how": {"b": 1, "a": "é"}})
    config["cases"][0]["inputs"] = [{"name": "s", "shape": [], "dtype": "float16", "layout": "ND"},
                                    {"name": "v", "shape": [3], "dtype": "float32", "layout": "ND"}]
    bench.plan(config)
    for case_id, status in (("z", "crash"), ("b", "numerical_mismatch"), ("ok", "passed"), ("no", "unsupported")):
        bench.record(result_of(case_id, status))
    answer = bench.analyze()
    analysis = bench.read("run/analysis.json")
    assert answer["status"] == analysis["status"] == "diagnosed"
    assert {"schema_version", "status", "operator", "missing_cases", "crash_cases", "mismatch_cases", "unsupported_cases",
            "status_counts", "failure_axes", "integration_hint", "results"} <= set(analysis)
    assert analysis["schema_version"] == 1 and analysis["operator"] == "npu_swiglu"
    assert (analysis["crash_cases"], analysis["mismatch_cases"], analysis["unsupported_cases"]) == (["z"], ["b"], ["no"])
    assert analysis["failure_axes"] == {
        "mode": {"graph": ["z"], "eager": ["b"]}, "dtype": {"float16": ["z"], "float32": ["z"], "bfloat16": ["b"]},
        "layout": {"ND": ["b", "z"]}, "shape": {",3": ["z"], "4x128": ["b"]}, "attribute:dim": {"-1": ["b", "z"]},
        "attribute:keep": {"false": ["z"]}, "attribute:how": {'{"a": "\\u00e9", "b": 1}': ["z"]}}
    assert [row["case_id"] for row in analysis["results"]] == ["z", "b", "ok", "no"]
    assert analysis["results"] == bench.read("run/results.json")["results"]


def test_the_report_has_its_lines_in_order(bench, config_of, result_of):
    bench.plan(config_of("a", "b", "c", "d", source_model_failure="x"))
    for case_id, status in (("c", "crash"), ("a", "numerical_mismatch"), ("b", "crash")):
        bench.record(result_of(case_id, status))
    bench.analyze()
    lines = (bench.folder / "run" / "report.md").read_text(encoding="utf-8").splitlines()
    axes = json.dumps(bench.read("run/analysis.json")["failure_axes"], indent=2, sort_keys=True).splitlines()
    assert lines[:11] == [
        "# Ascend operator debug report", "", "- Status: **inconclusive**", "- Operator: `npu_swiglu`",
        "- Missing: d", "- Crashes: b, c", "- Numerical mismatches: a", "- Unsupported: none", "", "## Failure axes", ""]
    assert lines[11:11 + len(axes) + 2] == ["```json", *axes, "```"]
    assert "## Integration boundary" not in lines
    start = lines.index("## Results")
    block = lines[start + 3:lines.index("```", start)]
    assert lines[start + 2] == "```json"
    assert json.loads("\n".join(block)) == bench.read("run/results.json")["results"]


def test_the_report_of_a_passed_run_points_at_the_boundary_if_the_model_failed(bench, config_of, result_of):
    bench.plan(config_of("a", source_model_failure=["logits"]))
    bench.record(result_of("a"))
    bench.analyze()
    lines = (bench.folder / "run" / "report.md").read_text(encoding="utf-8").splitlines()
    axes = lines.index("## Failure axes")
    assert lines[axes:axes + 5] == ["## Failure axes", "", "```json", "{}", "```"]
    boundary = lines.index("## Integration boundary")
    assert axes < boundary < lines.index("## Results")
    paragraph = lines[boundary + 2]
    for word in ("metadata", "aliasing", "stream", "lifetime", "graph", "consumer"):
        assert word in paragraph


def test_foreign_results_that_contradict_themselves_are_listed_and_kept(bench, config_of, result_of):
    bench.plan(config_of("over", "bare", "silent", "within"))
    bench.record(result_of("over", comparisons=[{"output": "y", "max_abs": 9, "max_rel": 5}]))
    bench.record(result_of("bare", comparisons=[]))
    bench.record(result_of("silent", "numerical_mismatch", comparisons=[]))
    bench.record(result_of("within", "numerical_mismatch", comparisons=[{"output": "y", "max_abs": 0.0001}]))
    assert bench.analyze()["mismatch_cases"] == ["silent", "within"]
    analysis = bench.read("run/analysis.json")
    assert [(w["case_id"], w["kind"]) for w in analysis["warnings"]] == [
        ("over", "passed_outside_tolerance"), ("bare", "passed_without_comparison"), ("silent", "mismatch_without_metric"),
        ("within", "mismatch_within_tolerance")]
    assert analysis["status_counts"]["passed"] == 2


# -- 5: the flavours of the manifest --------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path, bench_of, script_path):
    """The skill as installed into a project of its own, in the folder that agents look into."""
    project = tmp_path / "project"
    shutil.copytree(script_path.parents[1], project / ".agents" / "skills" / "ascend-operator-debug",
                    ignore=shutil.ignore_patterns("__pycache__"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    return bench_of(elsewhere, project / ".agents" / "skills" / "ascend-operator-debug" / "scripts" / "operator_debug.py")


def commit(project: Path) -> str:
    subprocess.run([*GIT, "init", "-q"], cwd=project, check=True)
    subprocess.run([*GIT, "add", "."], cwd=project, check=True)
    subprocess.run([*GIT, "commit", "-qm", "x"], cwd=project, check=True)
    head = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, text=True)
    return head.stdout.strip()


def test_outside_a_work_tree_the_manifest_has_no_code(installed, config_of):
    installed.plan(config_of("a"), "--manifest", "auto")
    assert set(installed.read("run/manifest.json")) == FIRST_FLAVOUR
    name = installed.write("operator.json", config_of("a"))
    error = installed.refusal("plan", "--output-dir", "other", "--config", name, "--manifest", "code")
    assert "must be a git work tree with a commit" in error and not (installed.folder / "other").exists()


def test_inside_a_work_tree_the_manifest_says_which_code_it_was(installed, config_of, result_of):
    project = installed.folder.parent / "project"
    head = commit(project)
    name = installed.write("operator.json", config_of("a"))
    installed.answer("plan", "--output-dir", "run", "--config", name)
    manifest = installed.read("run/manifest.json")
    assert set(manifest) == FIRST_FLAVOUR | {"code"}
    assert manifest["code"] == {"source_head": head, "snapshot_commit": head, "dirty": False}
    installed.record(result_of("a"))
    assert installed.analyze()["status"] == "passed"
    (project / "changed.py").write_text("x = 1\n")
    installed.answer("plan", "--output-dir", "dirty", "--config", name, "--manifest", "code")
    code = installed.read("dirty/manifest.json")["code"]
    assert code["source_head"] == head and code["dirty"] is True and code["snapshot_commit"] != head
    shown = subprocess.run([*GIT, "show", f"{code['snapshot_commit']}:changed.py"], cwd=project, check=True,
                           capture_output=True, text=True)
    assert shown.stdout == "x = 1\n"
    installed.answer("plan", "--output-dir", "plain", "--config", name, "--manifest", "plain")
    assert "code" not in installed.read("plain/manifest.json")


# -- finding the package, start-up, and several processes -----------------------------------------------------------------


def test_without_the_package_the_answer_says_how_to_install_it(installed, bench_of):
    bare = bench_of(installed.folder, Path(installed._command[1]), flags=("-I", "-S"))
    for arguments in (["analyze", "--output-dir", "run"], ["--help"]):
        assert "pip install" in bare.refusal(*arguments)


def test_the_package_is_found_beside_the_skill(installed, bench_of, script_path, config_of):
    bare = bench_of(installed.folder, Path(installed._command[1]), flags=("-I", "-S"))
    os.symlink(script_path.parents[3] / "src", installed.folder.parent / "project" / "src")
    assert bare.plan(config_of("a"))["status"] == "planned"


def test_help_imports_neither_torch_nor_what_it_does_not_need(bench, script_path):
    ran = subprocess.run([sys.executable, "-X", "importtime", str(script_path), "--help"], cwd=bench.folder,
                         capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "opdebug.model.contract" in imported
    assert {name.partition(".")[0] for name in imported}.isdisjoint({"torch", "numpy", "sqlite3", "subprocess"})
    for word in ("plan", "record", "analyze", "run", "--config FILE", "--results FILE"):
        assert word in ran.stdout


def test_processes_that_record_at_once_lose_and_double_nothing(bench, config_of, result_of):
    ids = [f"c{i}" for i in range(10)]
    bench.plan(config_of(*ids))
    for case_id in ids:
        bench.write(f"{case_id}.json", result_of(case_id))
    running = [(case_id, bench.start("record", "--output-dir", "run", "--result", f"{case_id}.json"))
               for case_id in ids * 2]
    answers = [(case_id, json.loads(process.communicate()[0]), process.returncode) for case_id, process in running]
    recorded = [answer for _, answer, code in answers if code == 0]
    assert sorted(a["case_id"] for a in recorded) == ids
    assert sorted(a["remaining"] for a in recorded) == list(range(10))
    assert sorted(answer["error"] for _, answer, code in answers if code == 1) == [
        f"case already recorded: {case_id}" for case_id in ids]
    assert sorted(row["case_id"] for row in bench.read("run/results.json")["results"]) == ids
    assert bench.analyze()["status"] == "passed"
