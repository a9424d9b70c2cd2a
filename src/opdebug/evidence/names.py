"""What may be called what inside a run directory: fixed document names, and safe file names for hostile ids.

`file_name_for` turns any case id into a file name that is readable, unique and harmless; `path_inside` turns a relative
path into one that cannot leave the run directory, neither by `..` nor through a symbolic link.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from opdebug.model.errors import OpdebugError

JOURNAL = "journal.jsonl"
UNFINISHED_JOURNAL = ".journal.jsonl.tmp"
INDEX = ".index.sqlite"
HEAD = ".journal.head"

MANIFEST = "manifest.json"
CONFIG = "operator-config.json"
MATRIX = "case-matrix.json"
RESULTS = "results.json"
REPRODUCTION = "reproduction.md"
ENVIRONMENT = "environment.json"

VIEWS = (MANIFEST, CONFIG, MATRIX, RESULTS, REPRODUCTION)
FOLDERS = ("raw-results", "input-metadata", "artifacts")

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def file_name_for(case_id: str) -> str:
    """A file name for `case_id`, at most 71 ASCII characters: a readable part and ten hex digits of its sha256.

    Ids that differ only in case, or only in characters that files cannot carry, get different names.
    """
    digest = hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    readable = _UNSAFE.sub("-", case_id[:200]).strip(".-")[:60]
    return f"{readable or 'case'}-{digest}"


def path_inside(directory: Path, relative: str) -> Path:
    """`directory / relative`, for a `relative` of plain components separated by `/`.

    Raises OpdebugError for an absolute path, `..`, control characters, a name the journal or a view has, or a path
    that passes through a symbolic link.
    """
    parts = relative.split("/")
    plain = all(part not in ("", ".", "..") and part.isprintable() and "\\" not in part for part in parts)
    if not plain:
        raise OpdebugError(f"file path {relative!r} must be relative, of plain names separated by /")
    if relative in VIEWS or parts[0].startswith(".") or parts[0] == JOURNAL:
        raise OpdebugError(f"file path {relative!r} is kept for the run's own documents; choose another name")
    path = directory
    for part in parts[:-1]:
        path = path / part
        if path.is_symlink():
            raise OpdebugError(f"{path} is a symbolic link; nothing is written through it out of the run directory")
    return path / parts[-1]
