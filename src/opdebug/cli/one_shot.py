"""A config and its results in, a finished report out: `build_report` walks plan, record and analyze in one go.

Everything is read and checked before the first file of the report exists, so that a mistake in the last result file
leaves nothing behind. The config as planned (with the fields filled in that it may leave out) passes through a
temporary file below `<root>/.vaws-local/report-inputs`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from opdebug.cli import lifecycle
from opdebug.evidence.json_files import read_json, write_json
from opdebug.model.contract import validate_config, validate_result
from opdebug.model.errors import OpdebugError
from opdebug.model.words import SCHEMA_VERSION

FOLDER = ".vaws-local"
REPORTS = "ascend-operator-debug"

Place = str | os.PathLike[str]


def build_report(config_path: Place, result_paths: Sequence[Place], *, root: Place, output_dir: Place | None = None,
                 code: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The answer of `analyze` with `manifest_ref`, for `result_paths` recorded in the order given.

    Without `output_dir` the report lies in a fresh directory below `root`. Raises OpdebugError, or OSError from the
    file system.
    """
    config = _completed(read_json(config_path, "operator config"))
    _check_results(config, result_paths)
    directory = new_report_directory(root) if output_dir is None else Path(output_dir)
    inputs = Path(root) / FOLDER / "report-inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    completed = inputs / f"operator-config-{secrets.token_hex(8)}.json"
    try:
        write_json(completed, config)
        lifecycle.plan(directory, config_path=completed, code=code)
    finally:
        completed.unlink(missing_ok=True)
    for path in result_paths:
        lifecycle.record(directory, result_path=path)
    answer = lifecycle.analyze(directory, again=False)
    return {**answer, "manifest_ref": str(directory.resolve() / "manifest.json")}


def new_report_directory(root: Place) -> Path:
    """A path for a new report below `root` that nothing else uses: `…/<YYYYmmddTHHMMSS>-<8 hex>`, in UTC."""
    stamp = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    return Path(root) / FOLDER / "reports" / REPORTS / stamp


def _completed(config: Any) -> dict[str, Any]:
    if not isinstance(config, dict):
        raise OpdebugError("operator config root must be an object")
    completed = {"schema_version": SCHEMA_VERSION, "run_id": f"report-{secrets.token_hex(6)}", **config}
    validate_config(completed)
    return completed


def _check_results(config: Mapping[str, Any], paths: Sequence[Place]) -> None:
    planned = {case["id"] for case in config["cases"]}
    seen: set[str] = set()
    for path in paths:
        case_id = validate_result(read_json(path, "operator result"), planned)["case_id"]
        if case_id in seen:
            raise OpdebugError(f"case already recorded: {case_id}")
        seen.add(case_id)
