"""JSON files read strictly and written in one fixed form, so that a document's bytes follow from its value alone.

`read_json` refuses what JSON does not have (NaN, duplicate keys, other encodings) and what is out of bounds (size,
depth); `encode` and `document_bytes` give exactly `json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)`,
faster on large lists; `write_atomic` is the one way a whole file comes into being.
"""

from __future__ import annotations

import gc
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opdebug.model.errors import OpdebugError

MAX_BYTES = 256 * 1024 * 1024
"""The largest JSON document read, in bytes: about six times a plan of 100 000 cases."""

MAX_DEPTH = 100
"""The deepest nesting read. Documents of ours nest less than 20 deep."""


def read_json(path: str | os.PathLike[str], what: str, *, limit: int = MAX_BYTES) -> Any:
    """The value in the file `path`; `what` is how an error calls it.

    Raises OpdebugError `cannot read <what> <path>: <cause>`.
    """
    try:
        return parse(read_bytes(path, limit))
    except OSError as error:
        raise OpdebugError(f"cannot read {what} {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise OpdebugError(f"cannot read {what} {path}: {error}") from None


def read_bytes(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file no larger than `limit`. Raises OSError, or ValueError when it is larger."""
    with Path(path).open("rb") as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise ValueError(f"file is larger than {limit} bytes, the most that is read")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"input is longer than {limit} bytes, the most that is read")
    return data


def parse(data: bytes) -> Any:
    """The JSON value in `data`, at most MAX_DEPTH deep. Raises ValueError saying what is wrong and where."""
    with collector_paused():
        value = _decoded(data, _STRICT)
    if is_too_deep(value, data):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels, the most that is read")
    return value


def parse_own(data: bytes) -> Any:
    """As `parse`, for what this package wrote and vouches for by digest: depth and duplicate keys are not looked for."""
    return _decoded(data, _TRUSTING)


def _decoded(data: bytes, decoder: json.JSONDecoder) -> Any:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}") from None
    try:
        return decoder.decode(text)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels, the most that is read") from None


def encode(value: Any, pad: str = "\n") -> str:
    """`value` as indented JSON text; `pad` is the line break and indent of the line it begins on.

    Raises OpdebugError for what JSON cannot hold: NaN, an infinity, a key that is no string, a foreign type.
    """
    try:
        return _text(value, pad)
    except RecursionError:
        raise OpdebugError("document is nested too deeply to be written as JSON") from None
    except (TypeError, ValueError) as error:
        raise OpdebugError(f"document cannot be written as JSON: {error}") from None


def object_text(members: dict[str, str], pad: str = "\n") -> str:
    """An object composed of members that are JSON text already, encoded with the indent `pad + "  "`."""
    if not members:
        return "{}"
    inner = pad + "  "
    return "{" + inner + ("," + inner).join([f"{quote(k)}: {members[k]}" for k in sorted(members)]) + pad + "}"


def list_text(items: list[str], pad: str = "\n") -> str:
    """A list composed of items that are JSON text already, encoded with the indent `pad + "  "`."""
    inner = pad + "  "
    return "[" + inner + ("," + inner).join(items) + pad + "]" if items else "[]"


def to_bytes(text: str) -> bytes:
    """JSON text as UTF-8; a lone surrogate, which UTF-8 cannot hold, becomes its JSON escape."""
    return text.encode("utf-8", "backslashreplace")


def document_bytes(value: Any) -> bytes:
    """A whole JSON file: `encode(value)` and a final newline, as UTF-8."""
    return to_bytes(encode(value) + "\n")


def compact_line(value: Any) -> bytes:
    """`value` as one line of JSON without spaces, ending in a newline. Raises OpdebugError as `encode` does."""
    try:
        return to_bytes(_COMPACT.encode(value) + "\n")
    except RecursionError:
        raise OpdebugError("document is nested too deeply to be written as JSON") from None
    except (TypeError, ValueError) as error:
        raise OpdebugError(f"document cannot be written as JSON: {error}") from None


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write `value` as a whole JSON file, atomically. Raises OpdebugError, or OSError from the file system."""
    write_atomic(path, document_bytes(value))


def write_atomic(path: str | os.PathLike[str], data: bytes, *, sync: bool = True) -> None:
    """Put `data` at `path` so that a reader sees the old file or the new one, never a part.

    A symbolic link at `path` is replaced, not followed. `sync` makes the bytes survive a power failure before the name
    points at them. Raises OSError; then nothing is left behind.
    """
    target = Path(path)
    # A temporary name must fit the file system's limit whatever the length of the target's own.
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        try:
            write_all(handle, data)
            if sync:
                os.fsync(handle)
        finally:
            os.close(handle)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_all(handle: int, data: bytes) -> None:
    """Write every byte of `data`; a short write is continued until the system says why it cannot be."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view):]


def is_too_deep(value: Any, data: bytes = b"\\") -> bool:
    """Whether `value` nests deeper than MAX_DEPTH; `data`, its JSON, lets a large value be judged without a walk."""
    if _is_plainly_shallow(data):
        return False
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _is_plainly_shallow(data: bytes) -> bool:
    """True only if the brackets of `data` nest within MAX_DEPTH and none of them stands in a string."""
    marks = data.translate(None, _UNMARKED)
    if b"\\" in marks:
        return False
    # Without escapes a run of quotes is odd exactly where a bracket follows inside a string.
    brackets = marks.replace(b'""', b"")
    for _ in range(MAX_DEPTH):
        if not brackets:
            return True
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return not brackets


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cyclic garbage collection inside: building millions of containers would set off one useless pass after another."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {json.dumps(repeated)} in one object")
    return value


def _no_constant(literal: str) -> Any:
    raise ValueError(f"{literal} is not JSON; write a finite number or null")


def _float_text(value: float) -> str:
    if value - value != 0:
        raise ValueError(f"{value!r} is not JSON; a finite number or null is")
    return float.__repr__(value)


quote: Callable[[str], str] = json.encoder.encode_basestring
_SCALARS: dict[type, Callable[[Any], str]] = {
    str: quote,
    int: int.__repr__,
    float: _float_text,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}
_UNMARKED = bytes(byte for byte in range(256) if byte not in b'[]{}"\\')
_STRICT = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
_TRUSTING = json.JSONDecoder(parse_constant=_no_constant)
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _text(value: Any, pad: str) -> str:
    scalar = _SCALARS.get(type(value))
    if scalar is not None:
        return scalar(value)
    inner, find = pad + "  ", _SCALARS.get
    if isinstance(value, dict):
        if not value:
            return "{}"
        members = [
            f"{quote(key)}: {direct(item) if (direct := find(type(item := value[key]))) else _text(item, inner)}"
            for key in sorted(value)
        ]
        return "{" + inner + ("," + inner).join(members) + pad + "}"
    if isinstance(value, (list, tuple)):
        if not value:
            return "[]"
        items = [direct(item) if (direct := find(type(item))) else _text(item, inner) for item in value]
        return "[" + inner + ("," + inner).join(items) + pad + "]"
    # Subclasses of str, int and float; anything else is a TypeError that names the type.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
