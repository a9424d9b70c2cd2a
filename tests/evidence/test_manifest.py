from __future__ import annotations

import hashlib
import math
import re

import pytest

from opdebug.evidence import manifest as m
from opdebug.evidence.manifest import RunManifestError

NOW = "2026-01-02T03:04:05Z"
CODE = {"source_head": "a" * 40, "snapshot_commit": "b" * 40, "dirty": True}


def first(**changes):
    return {**m.new_manifest(run_type="debug", run_id="r1", created_at=NOW), **changes}


def newer(**changes):
    return {**m.new_manifest(run_type="debug", run_id="r1", created_at=NOW, code=CODE), **changes}


def test_the_first_flavour_has_exactly_its_keys():
    assert set(first()) == {
        "schema_version", "run_id", "parent_run_id", "run_type", "workspace_snapshot", "environment", "model",
        "topology", "command", "environment_variables", "artifacts", "status", "created_at", "updated_at",
    }
    assert first()["status"] == "planned"
    assert set(newer()) == {*first(), "code"}


@pytest.mark.parametrize(("change", "message"), [
    ({"schema_version": 2}, "schema_version must be 1"),
    ({"run_id": "Upper"}, "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    ({"run_id": "a\n"}, "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    ({"run_id": "a" * 129}, "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    ({"run_id": None}, "run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    ({"parent_run_id": "-x"}, "parent_run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$"),
    ({"run_type": "other"}, "run_type must be one of: change-validation, correctness, debug, performance, profiling"),
    ({"workspace_snapshot": []}, "workspace_snapshot must be an object"),
    ({"environment": None}, "environment must be an object"),
    ({"model": "m"}, "model must be an object"),
    ({"topology": 1}, "topology must be an object"),
    ({"command": "ls"}, "command must be an array of strings"),
    ({"command": [1]}, "command must be an array of strings"),
    ({"environment_variables": {"A": 1}}, "environment_variables must be an object of strings"),
    ({"environment_variables": {"my_api_key": ""}}, "environment_variables must not hold secrets: my_api_key"),
    ({"environment_variables": {"HF_TOKEN": ""}}, "environment_variables must not hold secrets: HF_TOKEN"),
    ({"artifacts": {}}, "artifacts must be an array"),
    ({"artifacts": [1]}, "artifacts[0] must be an object"),
    ({"artifacts": [{"name": " ", "kind": "k", "uri": "u"}]}, "artifacts[0].name must be a non-blank string"),
    ({"artifacts": [{"name": "n", "kind": "k", "uri": "u", "sha256": "A"}]},
     "artifacts[0].sha256 must be 64 lowercase hex digits"),
    ({"artifacts": [{"name": "n", "kind": "k", "uri": "u"}] * 2}, "artifact name is duplicated: 'n'"),
    ({"status": "done"}, "status must be one of: planned, running, passed, failed, inconclusive, cancelled"),
    ({"created_at": "2026-01-02T03:04:05"}, "created_at must be an RFC 3339 UTC timestamp ending in Z"),
    ({"updated_at": "2026-13-02T03:04:05Z"}, "updated_at must be an RFC 3339 UTC timestamp ending in Z"),
    ({"extra": 1, "also": 2}, "unknown top-level fields: also, extra"),
])
def test_each_rule_has_its_message(change, message):
    with pytest.raises(RunManifestError) as caught:
        m.validate_manifest(first(**change))
    assert str(caught.value) == message


def test_missing_fields_are_named_and_all_problems_joined():
    document = first(status="x", run_id="")
    del document["model"], document["command"]
    with pytest.raises(RunManifestError) as caught:
        m.validate_manifest(document)
    assert str(caught.value) == (
        "missing top-level fields: command, model; run_id must match ^[a-z0-9][a-z0-9._-]{0,127}$; "
        "status must be one of: planned, running, passed, failed, inconclusive, cancelled"
    )
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEYBOARD", "COMPASS", "PASSWD", "MY_KEY"])
def test_names_that_only_resemble_secrets_pass_in_the_first_flavour(name):
    m.validate_manifest(first(environment_variables={name: "1"}))


@pytest.mark.parametrize(("change", "message"), [
    ({"code": {**CODE, "source_head": "0" * 40}}, "code.source_head must be 40 lowercase hex digits, not all zero"),
    ({"code": {**CODE, "snapshot_commit": "b"}}, "code.snapshot_commit must be 40 lowercase hex digits, not all zero"),
    ({"code": {**CODE, "dirty": 1}}, "code.dirty must be a boolean"),
    ({"code": None}, "code must be an object of source_head, snapshot_commit and dirty"),
    ({"schema_version": 1.0}, "schema_version must be 1"),
    ({"environment_variables": {"MY_KEY": ""}}, "environment_variables must not hold secrets: MY_KEY"),
    ({"environment_variables": {"PASSWD": ""}}, "environment_variables must not hold secrets: PASSWD"),
    ({"artifacts": [{"name": "n", "kind": "k", "uri": "u", "sha256": "a" * 64}]},
     "artifacts[0] has unknown fields: sha256"),
    ({"model": {"x": math.nan}}, "document cannot be written as JSON"),
])
def test_the_newer_flavour_is_stricter(change, message):
    with pytest.raises(RunManifestError) as caught:
        m.validate_manifest(newer(**change))
    assert message in str(caught.value)


@pytest.mark.parametrize(("start", "end", "code", "allowed"), [
    ("planned", "running", None, True), ("planned", "cancelled", None, True), ("planned", "failed", None, False),
    ("planned", "inconclusive", None, False), ("planned", "failed", CODE, True), ("planned", "inconclusive", CODE, True),
    ("planned", "passed", CODE, False), ("running", "passed", None, True), ("running", "planned", None, False),
    ("failed", "running", None, False), ("passed", "passed", CODE, False),
])
def test_status_moves_one_way(start, end, code, allowed):
    document = newer(status=start) if code else first(status=start)
    if allowed:
        moved = m.transition_status(document, end, updated_at="2026-01-03T00:00:00.5Z")
        assert (moved["status"], moved["updated_at"]) == (end, "2026-01-03T00:00:00.5Z")
        assert document["status"] == start
    else:
        with pytest.raises(RunManifestError, match=f"^invalid status transition: {start} -> {end}$"):
            m.transition_status(document, end)


def test_artifacts_are_added_once():
    once = m.add_artifact(first(), name="a", kind="k", uri="u", sha256="c" * 64)
    assert once["artifacts"] == [{"name": "a", "kind": "k", "uri": "u", "sha256": "c" * 64}]
    with pytest.raises(RunManifestError, match="artifact name is duplicated: 'a'"):
        m.add_artifact(once, name="a", kind="k", uri="u")


def test_construction_without_code_is_refused_where_code_is_required(tmp_path):
    with pytest.raises(RunManifestError, match="code or workspace_root is required"):
        m.new_manifest(run_type="debug", flavour="newer")
    with pytest.raises(RunManifestError, match="must be a git work tree with a commit"):
        m.new_manifest(run_type="debug", workspace_root=tmp_path)


def test_generated_ids_and_times():
    assert re.fullmatch(r"debug-\d{8}-\d{6}-[0-9a-f]{8}", m.generate_run_id("debug"))
    with pytest.raises(RunManifestError, match="run_type must be one of"):
        m.generate_run_id("other")
    assert m.is_timestamp(m.utc_now())


def test_a_manifest_survives_the_disk(tmp_path):
    path = tmp_path / "manifest.json"
    m.write_manifest(path, newer())
    assert m.load_manifest(path) == newer()
    assert m.sha256_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(RunManifestError, match=r"cannot read manifest .*absent\.json: No such file"):
        m.load_manifest(tmp_path / "absent.json")
    path.write_text("{")
    with pytest.raises(RunManifestError, match="cannot read manifest"):
        m.load_manifest(path)
