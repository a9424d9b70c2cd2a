"""The files behind the addresses: read, hashed and parsed here, never imported."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opdebug.model import address as addresses
from opdebug.model.errors import OpdebugError

LONGEST = 16 * 2**20
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)


@dataclass(frozen=True)
class SourceFile:
    """A Python file as it will be executed: BOM dropped, line ends as LF; `sha256` is of that text in UTF-8."""

    path: str
    text: str
    sha256: str


def read_source(path: str, field: str, base: Path | None = None) -> SourceFile:
    """Read the file at `path`, looked for in the current directory and then in `base`.

    Raises OpdebugError when it is missing, not UTF-8 or not Python.
    """
    found = Path(path)
    if not found.exists() and base is not None and not found.is_absolute():
        found = base / path
    try:
        if found.exists() and not found.is_file():
            raise OpdebugError(f"{field}: {path} is not a regular file")
        if found.stat().st_size > LONGEST:
            raise OpdebugError(f"{field}: {path} is larger than {LONGEST} bytes; source files are not")
        raw = found.read_bytes()
    except OSError as error:
        raise OpdebugError(f"{field}: cannot read {path}: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OpdebugError(f"{field}: {path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    text = text.replace("\r\n", "\n")
    cookie = _COOKIE.search("\n".join(text.split("\n", 2)[:2]))
    if cookie is not None and cookie[1].lower().replace("_", "-") not in ("utf-8", "utf8", "ascii", "us-ascii"):
        raise OpdebugError(f"{field}: {path} declares the encoding {cookie[1]}; save it as UTF-8 and drop the line")
    try:
        ast.parse(text, filename=path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        raise OpdebugError(f"{field}: {path} is not Python: {error}{line}") from None
    return SourceFile(str(found.resolve()), text, hashlib.sha256(text.encode("utf-8")).hexdigest())


def read_sources(named: Iterable[tuple[str, str | None]], base: Path | None = None) -> dict[str, SourceFile]:
    """Every file that the addresses in `named` (field, address) point to, by the path in the address.

    Raises OpdebugError with every problem.
    """
    files: dict[str, SourceFile] = {}
    problems: list[str] = []
    for field, text in named:
        if text is None:
            continue
        try:
            address = addresses.parse(text, field)
            if address.kind == addresses.FILE and address.where not in files:
                files[address.where] = read_source(address.where, field, base)
        except OpdebugError as error:
            problems += error.problems
    if problems:
        raise OpdebugError(problems)
    return files
