"""The script's one-shot form: a config and results in, a finished report out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
KEYS = ["status", "crash_cases", "mismatch_cases", "missing_cases", "analysis", "report", "manifest_ref"]
PLAIN = ("--manifest", "plain")


@pytest.fixture
def project(tmp_path, bench_of, script_path):
    """The skill in a project, and a directory beside it from which it is called."""
    root = tmp_path / "project"
    shutil.copytree(script_path.parents[1], root / "skills" / "ascend-operator-debug",
                    ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "elsewhere").mkdir()
    return bench_of(tmp_path / "elsewhere", root / "skills" / "ascend-operator-debug" / "scripts" / "operator_debug.py")


def test_the_answer_is_that_of_analyze_with_the_manifest(bench, config_of, result_of):
    config = bench.write("operator.json", config_of("a", "b"))
    results = [bench.write("b.json", result_of("b", "crash")), bench.write("a.json", result_of("a"))]
    answer = bench.answer("--config", config, "--results", *results, "--output-dir", "out", *PLAIN)
    assert list(answer) == KEYS
    out = (bench.folder / "out").resolve()
    assert answer == {"status": "diagnosed", "crash_cases": ["b"], "mismatch_cases": [], "missing_cases": [],
                      "analysis": str(out / "analysis.json"), "report": str(out / "report.md"),
                      "manifest_ref": str(out / "manifest.json")}
    assert [row["case_id"] for row in bench.read("out/results.json")["results"]] == ["b", "a"]
    assert bench.read("out/manifest.json")["status"] == "failed"
    assert bench.read("out/results.json")["results"][0]["source"] == str((bench.folder / "b.json").resolve())


def test_version_and_id_are_filled_in_and_the_rest_is_kept(bench, config_of):
    config = config_of("a", note={"x": "ü"})
    del config["schema_version"], config["run_id"]
    before = bench.write("operator.json", config)
    answer = bench.answer("--config", before, "--output-dir", "out", *PLAIN)
    assert answer["status"] == "inconclusive" and answer["missing_cases"] == ["a"]
    planned = bench.read("out/operator-config.json")
    assert re.fullmatch("report-[0-9a-f]{12}", planned.pop("run_id"))
    assert planned == {**config, "schema_version": 1}
    assert bench.read("operator.json") == config


def test_an_empty_list_of_results_is_a_list(bench, config_of):
    config = bench.write("operator.json", config_of("a"))
    assert bench.answer("--config", config, "--results", "--output-dir", "out", *PLAIN)["status"] == "inconclusive"


@pytest.mark.parametrize("is_work_tree", [True, False])
def test_by_default_the_report_lies_below_the_root(project, config_of, result_of, is_work_tree):
    root = project.folder.parent / "project"
    if is_work_tree:
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
            subprocess.run([*GIT, *command], cwd=root, check=True)
    else:
        root = project.folder
    config = config_of("a")
    del config["run_id"]
    given = project.write("operator.json", config), project.write("a.json", result_of("a"))
    answers = [project.answer("--config", given[0], "--results", given[1]) for _ in range(2)]
    folders = [Path(answer["manifest_ref"]).parent for answer in answers]
    assert folders[0] != folders[1]
    for folder in folders:
        assert folder.parent == root.resolve() / ".vaws-local" / "reports" / "ascend-operator-debug"
        assert re.fullmatch(r"\d{8}T\d{6}-[0-9a-f]{8}", folder.name)
        assert ("code" in json.loads((folder / "manifest.json").read_text())) == is_work_tree
    assert list((root / ".vaws-local" / "report-inputs").iterdir()) == []


REFUSED = [
    ({"config": "gone.json"}, "cannot read operator config gone.json: "),
    ({"results": ["gone.json"]}, "cannot read operator result gone.json: "),
    ({"results": ["a.json", "b.json", "a.json"]}, "case already recorded: a"),
    ({"results": ["a.json", "foreign.json"]}, "case_id must identify a planned case"),
    ({"config": "list.json"}, "operator config root must be an object"),
    ({"config": "bare.json"}, "operator must be an object; tolerance must be an object; cases must be a non-empty array"),
    ({"config": "badid.json"}, "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    ({"output": "full"}, "output directory is not empty: "),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_a_mistake_anywhere_leaves_no_report_behind(project, config_of, result_of, changes, message):
    project.write("operator.json", config_of("a", "b"))
    project.write("badid.json", config_of("a", "b", run_id="No"))
    project.write("list.json", [])
    project.write("bare.json", {})
    for name in ("a", "b", "foreign"):
        project.write(f"{name}.json", result_of(name))
    (project.folder / "full").mkdir()
    (project.folder / "full" / "mine").write_text("x")
    results = changes.get("results", ["a.json"])
    error = project.refusal("--config", changes.get("config", "operator.json"), "--results", *results,
                            "--output-dir", changes.get("output", "out"))
    assert error.startswith(message)
    assert not (project.folder / "out").exists()
    assert [p.name for p in (project.folder / "full").iterdir()] == ["mine"]
    assert [str(p) for p in (project.folder / ".vaws-local").rglob("*") if p.is_file()] == []
