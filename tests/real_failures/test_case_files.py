"""No file in `cases/` can be left out by a slip: each says what the tests beside this one need to know."""

from __future__ import annotations

from typing import Any

from opdebug.model.words import STATUSES


def test_every_file_is_run_by_one_of_the_tests(constants: dict[str, Any]) -> None:
    assert constants["MODES"] in {("eager",), ("eager", "compile")}


def test_expectations_cover_every_mode_of_every_case(constants: dict[str, Any]) -> None:
    modes = constants["MODES"]
    if len(modes) == 1:
        assert not any("@" in case for case in constants["EXPECT"])
        return
    ids = {case.rpartition("@")[0] for case in constants["EXPECT"]}
    assert set(constants["EXPECT"]) == {f"{case}@{mode}" for case in ids for mode in modes}


def test_what_the_file_is_about_is_among_what_it_expects(constants: dict[str, Any]) -> None:
    statuses = set(constants["EXPECT"].values())
    assert statuses <= set(STATUSES)
    assert constants["KIND"] in statuses
    # A case that passes beside the failing ones is what the explanation stands on.
    assert "passed" in statuses
    assert constants["AXIS"]
    assert constants["SOURCE"]
