from __future__ import annotations

import pytest

from opdebug.evidence.diff import diff
from opdebug.evidence.run import Run
from opdebug.model.errors import OpdebugError


@pytest.fixture
def run_of(tmp_path, config_of, result_of):
    made = 0

    def make(statuses, **changes):
        nonlocal made
        made += 1
        config = config_of(list(statuses), run_id=f"r{made}", **changes)
        with Run.create(tmp_path / f"r{made}", config) as run:
            for case_id, status in statuses.items():
                if status:
                    run.record(result_of(case_id, status))
        return tmp_path / f"r{made}"

    return make


def test_every_case_is_in_one_list(run_of):
    before = run_of({"f": "crash", "b": "passed", "b2": "unsupported", "sf": "crash", "sp": "passed", "c": "unsupported",
                     "u": "unsupported", "m": None, "g": "passed"})
    after = run_of({"f": "passed", "b": "numerical_mismatch", "b2": "crash", "sf": "numerical_mismatch", "sp": "passed",
                    "c": "passed", "u": "unsupported", "m": None, "n": "crash"})
    found = diff(before, after)
    assert (found["before"], found["after"], found["status"]) == ("r1", "r2", "diagnosed")
    assert found["fixed"] == ["f"]
    assert found["broken"] == ["b", "b2"]
    assert found["still_failing"] == ["sf"]
    assert found["still_passing"] == ["sp"]
    assert found["changed"] == [{"case_id": "c", "before": "unsupported", "after": "passed"}]
    assert found["unchanged"] == ["u", "m"]
    assert found["new"] == [{"case_id": "n", "before": None, "after": "crash"}]
    assert found["gone"] == [{"case_id": "g", "before": "passed", "after": None}]
    assert found["redefined"] == []


@pytest.mark.parametrize(("before", "after", "status"), [
    ({"a": "crash"}, {"a": "passed"}, "passed"), ({"a": "passed"}, {"a": None}, "inconclusive"),
    ({"a": "crash"}, {"a": None}, "inconclusive"), ({"a": "passed"}, {"a": "unsupported"}, "inconclusive"),
    ({"a": "crash"}, {"a": "crash"}, "passed"), ({"a": None}, {"a": "passed"}, "passed"),
    ({"a": "passed"}, {"a": "crash"}, "diagnosed"),
])
def test_the_status_says_whether_anything_was_lost(run_of, before, after, status):
    assert diff(run_of(before), run_of(after))["status"] == status


def test_a_case_that_became_another_call_is_told(run_of, config_of):
    other = config_of(["a"])["cases"]
    other[0]["mode"] = "graph"
    assert diff(run_of({"a": "passed"}), run_of({"a": "passed"}, cases=other))["redefined"] == ["a"]


def test_an_unreadable_run_is_an_error(run_of, tmp_path):
    with pytest.raises(OpdebugError):
        diff(run_of({"a": "passed"}), tmp_path / "none")
