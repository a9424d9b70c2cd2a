"""An attribute of a call, `NAME=VALUE`, read as the value that a person would mean.

`parse_value` tries JSON, then a Python literal, and otherwise keeps the text as a string; `parse_attribute` reads one
`NAME=VALUE`, `parse_attributes` all of a command line. Text such as `torch.float16` stays a string here: the worker
turns it into the torch object. Values live in JSON documents, so what JSON cannot hold is refused and not approximated.
"""

from __future__ import annotations

import ast
import json
import keyword
import math
from collections.abc import Iterable
from typing import Any

from opdebug.model.errors import OpdebugError

SYNTAX = "NAME=VALUE, such as dim=-1, mode=mean, keepdim=true, dims=[0,1] or dtype=torch.float16"


def parse_attributes(texts: Iterable[str]) -> dict[str, Any]:
    """All attributes of a call. Raises OpdebugError with every problem, a name given twice included."""
    attributes: dict[str, Any] = {}
    found: list[str] = []
    for text in texts:
        try:
            name, value = parse_attribute(text)
        except OpdebugError as error:
            found += error.problems
            continue
        if name in attributes:
            found.append(f"attribute {name!r} is given twice")
        attributes[name] = value
    if found:
        raise OpdebugError(found)
    return attributes


def parse_attribute(text: str) -> tuple[str, Any]:
    """Name and value of one attribute. Raises OpdebugError."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise OpdebugError(f"attribute {text!r} cannot be read; accepted: {SYNTAX}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise OpdebugError(f"attribute name {name!r} must be a Python identifier and no keyword")
    return name, parse_value(value, f"attribute {name!r}")


def parse_value(text: str, field: str) -> Any:
    """The value that `text` stands for; `field` is what an error calls it.

    Raises OpdebugError for a value that a JSON document cannot hold.
    """
    try:
        value = _literal(text)
        return _as_json(value, field)
    except RecursionError:
        raise OpdebugError(f"{field} is nested too deeply to be read") from None


def _literal(text: str) -> Any:
    bare = text[1:].lower() if text[:1] in ("+", "-") else text.lower()
    if bare in ("inf", "infinity", "nan"):
        return float(bare) if not text.startswith("-") else -float(bare)
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError):
            continue
    return text


def _as_json(value: Any, field: str) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise OpdebugError(
            f"{field} is {value!r}, which a JSON document cannot hold; write it into the expression, "
            f"as in float('{value!r}')"
        )
    if isinstance(value, (list, tuple)):
        return [_as_json(item, field) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _as_json(item, field) for key, item in value.items()}
    raise OpdebugError(f"{field} holds {value!r}, which a JSON document cannot hold; accepted are numbers, strings, "
                       "true, false, null, lists, and objects with string keys")
