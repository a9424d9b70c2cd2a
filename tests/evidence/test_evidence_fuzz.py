"""Whatever bytes stand in a run directory or an input file: an OpdebugError, or an answer."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from opdebug.evidence import names
from opdebug.evidence.diff import diff
from opdebug.evidence.json_files import read_json
from opdebug.evidence.manifest import load_manifest
from opdebug.evidence.run import Run
from opdebug.evidence.verify import verify
from opdebug.model.contract import validate_config, validate_result
from opdebug.model.errors import OpdebugError

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4))
MUTATIONS = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert", "delete", "repeat"]), st.floats(0, 1), st.binary(max_size=6)),
    min_size=1, max_size=3,
)


def mutated(data: bytes, mutations) -> bytes:
    for kind, where, extra in mutations:
        at = int(where * len(data))
        if kind == "flip" and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:]
        elif kind == "cut":
            data = data[:at]
        elif kind == "insert":
            data = data[:at] + extra + data[at:]
        elif kind == "delete":
            data = data[:at] + data[at + len(extra):]
        elif kind == "repeat":
            data = data + data[at:]
    return data


@pytest.fixture
def sound(tmp_path, config_of, result_of, either_size):
    with Run.create(tmp_path / "sound", config_of(["a", "b", "c"])) as run:
        run.record(result_of("a"))
        run.event("attempt", {"case_id": "b"})
        run.no_evidence("b", "why")
        run.store("logs/x", b"x")
    return tmp_path / "sound"


@pytest.mark.parametrize("name", [*names.VIEWS, names.JOURNAL, names.INDEX, names.HEAD])
def test_mutated_files_of_a_run(sound, result_of, name):
    if not (sound / name).exists():
        pytest.skip("a small run has no index")
    whole = (sound / name).read_bytes()
    copy = sound.parent / "copy"

    @FUZZ
    @given(MUTATIONS)
    def check(mutations):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(sound, copy, symlinks=True)
        (copy / name).write_bytes(mutated(whole, mutations))
        for action in (
            lambda: Run.open(copy).state(), lambda: verify(copy), lambda: diff(sound, copy),
            lambda: load_manifest(copy / names.MANIFEST), lambda: record(copy, result_of("c")),
        ):
            try:
                action()
            except OpdebugError as error:
                assert str(error)

    check()


def record(directory, result):
    with Run.open(directory, write=True) as run:
        run.record(result)
    with Run.open(directory) as run:
        assert run.state().is_recorded(result["case_id"])


@FUZZ
@given(st.binary() | VALUES.map(lambda value: repr(value).encode("utf-8", "replace")))
@example(b"\xef\xbb\xbf{}")
@example(b"[" * 3000)
@example(b'{"a":1e999}')
def test_any_bytes_as_json(tmp_path, data):
    path = tmp_path / "in.json"
    path.write_bytes(data)
    try:
        read_json(path, "operator config")
    except OpdebugError as error:
        assert str(error).startswith(f"cannot read operator config {path}: ")


@FUZZ
@given(st.dictionaries(st.sampled_from(["schema_version", "run_id", "operator", "tolerance", "cases"]), VALUES) | VALUES)
def test_any_value_as_config(value):
    try:
        validate_config(value)
    except OpdebugError as error:
        assert error.problems


@FUZZ
@given(st.dictionaries(st.sampled_from(["schema_version", "case_id", "status", "comparisons", "timing_us"]), VALUES)
       | VALUES)
def test_any_value_as_result(value):
    try:
        validate_result(value, {"a"})
    except OpdebugError as error:
        assert error.problems


@FUZZ
@given(st.text(min_size=1), VALUES)
def test_any_id_and_any_field_make_the_whole_trip(tmp_path, config_of, case_id, value):
    directory = tmp_path / "trip"
    shutil.rmtree(directory, ignore_errors=True)
    config = config_of([case_id], own=value)
    try:
        Run.create(directory, config).close()
    except OpdebugError:
        assert not directory.exists()
        return
    result = {"schema_version": 1, "case_id": case_id, "status": "passed", "own": value}
    with Run.open(directory, write=True) as run:
        assert run.record(result) == 0
    assert read_json(directory / names.CONFIG, "operator config") == config
    assert read_json(directory / names.RESULTS, "results")["results"][0]["own"] == value
    assert verify(directory) == []
