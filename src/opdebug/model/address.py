"""How a candidate, a reference or a case source is named: the five forms of an address.

`parse(text)` recognises, in this order, `path/file.py:callable`, `builtin:<name>`, `aclnn:<Name>`,
`package.module:callable`, and otherwise a Python expression over the inputs and attributes. Nothing is imported or
evaluated here.
"""

from __future__ import annotations

import ast
import keyword
import re
from dataclasses import dataclass

from opdebug.model.errors import OpdebugError

FILE = "file"
MODULE = "module"
BUILTIN = "builtin"
ACLNN = "aclnn"
EXPRESSION = "expression"

_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_FILE = re.compile(rf"(?P<where>.+\.py):(?P<name>{_DOTTED})", re.DOTALL)
_NAMED = re.compile(rf"(?P<kind>builtin|aclnn):(?P<name>{_DOTTED})")
_MODULE = re.compile(rf"(?P<where>{_DOTTED}):(?P<name>{_DOTTED})")


@dataclass(frozen=True)
class Address:
    """A parsed address. `where` is the file or module ("" for the others), `name` the callable or the expression."""

    kind: str
    text: str
    where: str = ""
    name: str = ""


def parse(text: str, field: str) -> Address:
    """Recognise `text`; `field` is what an error calls it.

    Raises OpdebugError for an empty text or one that is no address and no expression.
    """
    stripped = text.strip()
    if not stripped:
        raise OpdebugError(f"{field} is empty; give FILE.py:callable, module:callable or an expression")
    for kind, pattern in ((FILE, _FILE), (None, _NAMED), (MODULE, _MODULE)):
        match = pattern.fullmatch(stripped)
        if match is None:
            continue
        parts = match.groupdict()
        if kind == MODULE and any(keyword.iskeyword(word) for word in parts["where"].split(".")):
            continue
        return Address(kind or parts["kind"], stripped, parts.get("where", ""), parts["name"])
    try:
        ast.parse(stripped, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise OpdebugError(
            f"{field} {_short(stripped)!r} is neither FILE.py:callable, module:callable "
            f"nor a Python expression: {reason}"
        ) from None
    return Address(EXPRESSION, stripped, "", stripped)


def names_used(expression: str) -> tuple[str, ...]:
    """The free names that an expression reads, in order of first use (names it binds itself are left out)."""
    tree = ast.parse(expression, mode="eval")
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return tuple(dict.fromkeys(name for name in used if name not in bound))


def _short(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
