"""plan, record and analyze as functions: what they return, what they leave behind, and when they refuse."""

import json
import subprocess
import sys

import pytest

from opdebug.cli import lifecycle
from opdebug.evidence.run import Run
from opdebug.evidence.verify import verify
from opdebug.model.errors import OpdebugError

RECORD_EACH = """
import sys
from opdebug.cli import lifecycle
for path in sys.argv[2:]:
    lifecycle.record(sys.argv[1], result_path=path)
"""


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_plan_answers_in_the_order_of_the_contract(place, config_of):
    answer = lifecycle.plan(place.path / "deep" / "run", config_path=place.file(config_of("a", "b", "c")))
    assert json.dumps(answer) == '{"status": "planned", "run_id": "r1", "operator": "swiglu", "case_count": 3}'


def test_plan_leaves_the_documents_of_the_contract(place):
    run = place.planned("a", "b")
    names = {path.name for path in run.iterdir() if not path.name.startswith(".")}
    assert names == {"manifest.json", "operator-config.json", "case-matrix.json", "results.json", "reproduction.md",
                     "raw-results", "input-metadata", "artifacts", "journal.jsonl"}


@pytest.mark.parametrize("extended", [False, True])
def test_only_the_extended_format_admits_a_policy_no_reference_and_no_tensors(place, config_of, extended):
    config = config_of("a", tolerance={"policy": "exact"}, operator={"name": "n", "invocation": "f()"})
    config["cases"][0]["inputs"] = []
    path = place.file(config)
    if extended:
        assert lifecycle.plan(place.path / "run", config_path=path, extended=True)["case_count"] == 1
        return
    with pytest.raises(OpdebugError) as caught:
        lifecycle.plan(place.path / "run", config_path=path)
    assert caught.value.problems == (
        "operator.reference must be a non-empty string", "tolerance.atol must be non-negative",
        "tolerance.rtol must be non-negative", "cases[0].inputs must be a non-empty array",
    )
    assert not (place.path / "run").exists()


@pytest.mark.parametrize("changes", [{"run_id": "../x"}, {"run_id": "UPPER"}, {"command": "one string"}, {"environment": []},
                                     {"schema_version": True}])
def test_what_the_manifest_refuses_leaves_nothing_behind(place, config_of, changes):
    path = place.file(config_of("a", **changes))
    before = place.contents()
    with pytest.raises(OpdebugError, match=next(iter(changes))):
        lifecycle.plan(place.path / "run", config_path=path)
    assert place.contents() == before
    assert not (place.path / "run").exists()


def test_the_manifest_has_code_where_it_is_given(place, config_of):
    code = {"source_head": "1" * 40, "snapshot_commit": "2" * 40, "dirty": True}
    lifecycle.plan(place.path / "with", config_path=place.file(config_of()), code=code,
                   created_at="2026-01-02T03:04:05Z")
    lifecycle.plan(place.path / "without", config_path=place.file(config_of()))
    manifest = read(place.path / "with" / "manifest.json")
    assert (manifest["code"], manifest["created_at"]) == (code, "2026-01-02T03:04:05Z")
    assert "code" not in read(place.path / "without" / "manifest.json")


def test_record_answers_counts_down_and_names_the_file_as_source(place, result_of):
    run = place.planned("a", "b")
    first = place.file(result_of("b"))
    answer = lifecycle.record(run, result_path=first, recorded_at="2026-01-02T03:04:05Z")
    assert json.dumps(answer) == '{"status": "recorded", "case_id": "b", "remaining": 1}'
    assert lifecycle.record(run, result_path=place.file(result_of("a", source="theirs")))["remaining"] == 0
    rows = read(run / "results.json")["results"]
    assert [row["source"] for row in rows] == [str(first.resolve()), "theirs"]
    assert rows[0]["recorded_at"] == "2026-01-02T03:04:05Z"
    assert [case["status"] for case in read(run / "case-matrix.json")["cases"]] == ["recorded", "recorded"]
    assert read(run / "manifest.json")["status"] == "running"


def test_unknown_fields_survive_the_whole_trip(place, config_of, result_of):
    config = config_of("a", ours={"é": [1, None]})
    config["cases"][0]["note"] = {"deep": [1.5]}
    lifecycle.plan(place.path / "run", config_path=place.file(config))
    result = result_of("a", extra=[{"k": "v"}])
    result["comparisons"][0].update(max_rel=None, ulp=3)
    lifecycle.record(place.path / "run", result_path=place.file(result))
    lifecycle.analyze(place.path / "run", again=False)
    assert read(place.path / "run" / "operator-config.json") == config
    assert read(place.path / "run" / "case-matrix.json")["cases"][0]["note"] == {"deep": [1.5]}
    for name in ("results.json", "analysis.json"):
        row = read(place.path / "run" / name)["results"][0]
        assert row["extra"] == [{"k": "v"}]
        assert row["comparisons"] == [{"output": "o", "max_abs": 0.0001, "max_rel": None, "ulp": 3}]


def test_record_checks_in_the_order_of_the_contract(place, result_of):
    run = place.filled(a="passed", b="missing")
    torn, invalid = place.file(b"{"), place.file(result_of("a", "crash", error=""))
    repeated = place.file(result_of("a"))
    with pytest.raises(OpdebugError, match=r"^cannot read operator result"):
        lifecycle.record(run, result_path=torn)
    with pytest.raises(OpdebugError, match=r"^crash result requires error$"):
        lifecycle.record(run, result_path=invalid)
    with pytest.raises(OpdebugError, match=r"^case already recorded: a$"):
        lifecycle.record(run, result_path=repeated)
    (run / "results.json").write_text("{")
    with pytest.raises(OpdebugError, match=r"^cannot read results"):
        lifecycle.record(run, result_path=torn)
    (run / "case-matrix.json").write_text("{")
    with pytest.raises(OpdebugError, match=r"^cannot read case matrix"):
        lifecycle.record(run, result_path=torn)


VERDICTS = [
    ({"a": "passed", "b": "passed"}, "passed", "passed"),
    ({"a": "passed", "b": "numerical_mismatch"}, "diagnosed", "failed"),
    ({"a": "crash", "b": "unsupported"}, "diagnosed", "failed"),
    ({"a": "passed", "b": "unsupported"}, "inconclusive", "inconclusive"),
    ({"a": "crash", "b": "missing"}, "inconclusive", "inconclusive"),
    ({"a": "missing", "b": "missing"}, "inconclusive", "inconclusive"),
]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(("statuses", "verdict", "ended"), VERDICTS)
def test_analyze_gives_the_verdict_and_ends_the_run(place, statuses, verdict, ended, again):
    run = place.filled(**statuses)
    answer = lifecycle.analyze(run, again=again, updated_at="2026-01-02T03:04:05Z")
    assert list(answer) == ["status", "crash_cases", "mismatch_cases", "missing_cases", "analysis", "report"]
    assert answer["status"] == verdict
    assert answer["missing_cases"] == [case for case, status in statuses.items() if status == "missing"]
    assert (answer["analysis"], answer["report"]) == (str(run / "analysis.json"), str(run / "report.md"))
    manifest = read(run / "manifest.json")
    assert (manifest["status"], manifest["updated_at"]) == (ended, "2026-01-02T03:04:05Z")
    assert [(a["name"], a["kind"], a["uri"]) for a in manifest["artifacts"]][-2:] == [
        ("analysis", "analysis", "analysis.json"), ("report", "report", "report.md")]
    assert verify(run) == []


def test_the_drop_in_analysis_has_the_keys_of_the_contract_and_warnings(place):
    run = place.filled(a="passed")
    lifecycle.analyze(run, again=False)
    assert set(read(run / "analysis.json")) == {
        "schema_version", "status", "operator", "missing_cases", "crash_cases", "mismatch_cases", "unsupported_cases",
        "status_counts", "failure_axes", "integration_hint", "results", "warnings"}


def test_the_drop_in_report_has_the_lines_of_the_contract_alone(place):
    run = place.filled(a="passed", b="crash")
    lifecycle.analyze(run, again=False)
    analysis, text = read(run / "analysis.json"), (run / "report.md").read_text()
    block = [json.dumps(analysis[key], indent=2, sort_keys=True).split("\n") for key in ("failure_axes", "results")]
    assert analysis["warnings"] == []
    assert text.split("\n") == [
        "# Ascend operator debug report", "", "- Status: **diagnosed**", "- Operator: `swiglu`", "- Missing: none",
        "- Crashes: b", "- Numerical mismatches: none", "- Unsupported: none", "", "## Failure axes", "", "```json",
        *block[0], "```", "", "## Results", "", "```json", *block[1], "```", ""]


def test_a_result_that_contradicts_itself_is_warned_of_and_keeps_its_status(place, result_of):
    run = place.planned("a")
    lifecycle.record(run, result_path=place.file(result_of("a", comparisons=[])))
    assert lifecycle.analyze(run, again=False)["status"] == "passed"
    assert [warning["case_id"] for warning in read(run / "analysis.json")["warnings"]] == ["a"]
    assert "## Warnings" in (run / "report.md").read_text()


def test_the_integration_boundary_is_named_when_only_the_model_fails(place, result_of):
    run = place.planned("a", source_model_failure="logits differ")
    lifecycle.record(run, result_path=place.file(result_of("a")))
    lifecycle.analyze(run, again=False)
    assert read(run / "analysis.json")["integration_hint"] == "isolated-operator-cases-pass-check-integration-boundary"
    assert "## Integration boundary" in (run / "report.md").read_text()


def test_a_second_drop_in_analyze_is_refused_and_changes_nothing(place):
    run = place.filled(a="passed")
    lifecycle.analyze(run, again=False)
    before = place.contents(run)
    with pytest.raises(OpdebugError, match="artifact name is duplicated: 'analysis'"):
        lifecycle.analyze(run, again=False)
    assert place.contents(run) == before


@pytest.mark.parametrize("first", [False, True])
def test_analyze_again_gives_the_same_answer_and_settles(place, first):
    run = place.filled(a="passed", b="crash")
    answers = [lifecycle.analyze(run, again=first), lifecycle.analyze(run, again=True)]
    settled = place.contents(run)
    answers.append(lifecycle.analyze(run, again=True))
    assert answers == [answers[0]] * 3
    assert place.contents(run) == settled
    assert "explanation" in read(run / "analysis.json")
    assert verify(run) == []


def test_analyze_again_gives_back_what_was_damaged(place):
    run = place.filled(a="passed", b="crash")
    lifecycle.analyze(run, again=True)
    sound = place.contents(run)
    for name in ("analysis.json", "report.md", "results.json", "case-matrix.json"):
        (run / name).write_text("{")
    lifecycle.analyze(run, again=True)
    assert verify(run) == []
    assert {name: data for name, data in place.contents(run).items() if name.endswith((".json", ".md"))} == {
        name: data for name, data in sound.items() if name.endswith((".json", ".md"))}


def test_no_result_is_recorded_after_the_verdict(place, result_of):
    run = place.filled(a="passed", b="missing")
    lifecycle.analyze(run, again=False)
    before = place.contents(run)
    with pytest.raises(OpdebugError, match="inconclusive"):
        lifecycle.record(run, result_path=place.file(result_of("b")))
    assert place.contents(run) == before


def test_a_run_that_can_be_resumed_stays_open_while_cases_are_missing(place, result_of):
    run = place.planned("a", "b", execution={"modes": ["eager"]})
    lifecycle.record(run, result_path=place.file(result_of("a")))
    assert lifecycle.analyze(run, again=True)["status"] == "inconclusive"
    assert read(run / "manifest.json")["status"] == "running"
    assert read(run / "analysis.json")["missing_cases"] == ["b"]
    lifecycle.record(run, result_path=place.file(result_of("b")))
    assert lifecycle.analyze(run, again=True)["status"] == "passed"
    assert read(run / "manifest.json")["status"] == "passed"
    assert verify(run) == []


def test_a_reason_for_a_missing_case_reaches_the_extended_analysis(place):
    directory = place.planned("a", "b")
    with Run.open(directory, write=True) as run:
        run.no_evidence("b", "the device was gone")
    lifecycle.analyze(directory, again=True)
    assert read(directory / "analysis.json")["no_evidence"] == {"b": "the device was gone"}


def test_results_recorded_at_the_same_time_are_all_kept(place, result_of):
    ids = [f"case-{number}" for number in range(12)]
    run = place.planned(*ids)
    groups = [[place.file(result_of(case_id)) for case_id in ids[start::3]] for start in range(3)]
    workers = [subprocess.Popen([sys.executable, "-c", RECORD_EACH, run, *files]) for files in groups]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert sorted(row["case_id"] for row in read(run / "results.json")["results"]) == sorted(ids)
    assert verify(run) == []
