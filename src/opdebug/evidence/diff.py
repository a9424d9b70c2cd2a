"""Did a change help? Two runs compared case by case, by what their results say and nothing else.

`diff` sorts every case id of either run into one list. A case without a result counts as missing, never as passed.
"""

from __future__ import annotations

import os
from typing import Any

from opdebug.evidence.run import Run
from opdebug.evidence.state import RunState
from opdebug.model.words import DIAGNOSED, FAILING, INCONCLUSIVE, PASSED

MISSING = "missing"
LISTS = ("fixed", "broken", "still_failing", "still_passing", "changed", "unchanged", "new", "gone")


def diff(run1: str | os.PathLike[str], run2: str | os.PathLike[str]) -> dict[str, Any]:
    """Compare the runs in two directories, the first taken as before and the second as after.

    `fixed` failed and passes; `broken` passed, or was not failing, and fails; `still_failing` and `still_passing` say
    what they are; `changed` holds `{case_id, before, after}` for every other change of status and `unchanged` the ids
    that stayed unsupported or missing; `new` and `gone` are in one run only, also as `{case_id, before, after}`.
    `redefined` lists ids whose case is not the same call in both runs; they are compared by id all the same.
    `status` is diagnosed when anything is broken, else inconclusive when a case that passed, or a result, was lost,
    else passed. Raises OpdebugError when a run cannot be read.
    """
    before, after = _state(run1), _state(run2)
    lists: dict[str, list[Any]] = {name: [] for name in LISTS}
    first, second = _statuses(before), _statuses(after)
    for case_id in [*first, *(case_id for case_id in second if case_id not in first)]:
        old, new = first.get(case_id), second.get(case_id)
        name = _list_of(old, new)
        plain = name not in ("changed", "new", "gone")
        lists[name].append(case_id if plain else {"case_id": case_id, "before": old, "after": new})
    lost = any(change["after"] == MISSING or change["before"] == PASSED for change in lists["changed"])
    status = DIAGNOSED if lists["broken"] else INCONCLUSIVE if lost else PASSED
    return {
        "schema_version": 1,
        "status": status,
        "before": before.config["run_id"],
        "after": after.config["run_id"],
        **lists,
        "redefined": _redefined(before, after),
    }


def _state(directory: str | os.PathLike[str]) -> RunState:
    with Run.open(directory) as run:
        return run.state()


def _statuses(state: RunState) -> dict[str, str]:
    return {
        case_id: state.result_of[case_id]["status"] if case_id in state.result_of else MISSING for case_id in state.case_ids
    }


def _list_of(old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return "new" if old is None else "gone"
    if new in FAILING:
        return "still_failing" if old in FAILING else "broken" if old != MISSING else "changed"
    if new == PASSED and old in FAILING:
        return "fixed"
    if old == new:
        return "still_passing" if new == PASSED else "unchanged"
    return "changed"


def _redefined(before: RunState, after: RunState) -> list[str]:
    calls = {case["id"]: case for case in before.config["cases"]}
    return [case["id"] for case in after.config["cases"] if case["id"] in calls and calls[case["id"]] != case]
