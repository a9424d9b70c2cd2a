"""From the address of a callable to the callable: files, modules and expressions, executed only here, in a worker.

`load(request)` resolves everything a run needs at once and reports every problem together. A file that serves several
roles is executed once, from the very text whose sha256 the run recorded.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import linecache
import math
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from opdebug.model import address as addresses
from opdebug.model.address import Address
from opdebug.model.errors import OpdebugError


@dataclass
class Target:
    """A candidate or reference. `function(names)` gives the callable; an expression is compiled for the names it gets."""

    address: Address
    scope: dict[str, Any]
    resolved: Callable[..., Any] | None = None
    _compiled: dict[tuple[str, ...], Callable[..., Any]] = field(default_factory=dict)

    @property
    def is_expression(self) -> bool:
        return self.address.kind == addresses.EXPRESSION

    def function(self, names: Sequence[str]) -> Callable[..., Any]:
        """The callable; for an expression, one that takes `names` as keyword arguments."""
        if self.resolved is not None:
            return self.resolved
        key = tuple(names)
        if key not in self._compiled:
            self._compiled[key] = _compile_expression(self.address.name, key, self.scope)
        return self._compiled[key]

    def parameters(self) -> Mapping[str, inspect.Parameter] | None:
        """The parameters of a callable whose signature Python can see, else None."""
        if self.resolved is None:
            return None
        try:
            return inspect.signature(self.resolved).parameters
        except (TypeError, ValueError):
            return None


@dataclass
class Sources:
    """Everything a run executes. `reference` None: the candidate itself, lifted."""

    candidate: Target
    reference: Target | None
    cases: Callable[..., Any] | None
    cases_tolerance: Mapping[str, Any] | None = None


def _compile_expression(text: str, names: Sequence[str], scope: dict[str, Any]) -> Callable[..., Any]:
    body = ast.parse(text, mode="eval").body
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(arg=name) for name in names], kwonlyargs=[],
                              kw_defaults=[], defaults=[])
    definition = ast.parse("def expression(): return None").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.args = arguments
    definition.body = [ast.Return(value=body)]
    module = ast.fix_missing_locations(ast.Module(body=[definition], type_ignores=[]))
    filename = f"<expression {text[:60]}>"
    linecache.cache[filename] = (len(text), None, [f"{text}\n"], filename)
    namespace: dict[str, Any] = dict(scope)
    exec(compile(module, filename, "exec"), namespace)  # noqa: S102 - running the user's code is what a worker is for
    function: Callable[..., Any] = namespace["expression"]
    return function


def _run_file(path: str, text: str, sha256: str) -> types.ModuleType:
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != sha256:
        raise OpdebugError(f"{path}: the text that arrived is not the text that was hashed")
    module = types.ModuleType(f"_opdebug_{Path(path).stem}_{sha256[:8]}")
    module.__file__ = path
    # torch.library, triton.jit and dataclasses look their module up while it is still being executed.
    sys.modules[module.__name__] = module
    folder = str(Path(path).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102 - running the user's code is what a worker is for
    return module


class _Loader:
    """Resolves addresses; remembers the files already executed."""

    def __init__(self, files: Mapping[str, Mapping[str, str]], imports: Sequence[str]) -> None:
        self._files = files
        self._modules: dict[str, types.ModuleType] = {}
        self.scope: dict[str, Any] = {"torch": torch, "math": math}
        self.problems: list[str] = []
        for name in imports:
            try:
                importlib.import_module(name)
                root = name.partition(".")[0]
                self.scope[root] = sys.modules[root]
            except BaseException as error:
                self._problem(f"imports: cannot import {name!r}", error)

    def _problem(self, what: str, error: BaseException) -> None:
        self.problems.append(f"{what}: {type(error).__name__}: {error}")

    def file_module(self, path: str) -> types.ModuleType:
        if path not in self._modules:
            entry = self._files[path]
            self._modules[path] = _run_file(entry["path"], entry["text"], entry["sha256"])
        return self._modules[path]

    def target(self, text: str, role: str) -> Target | None:
        """The target at address `text`, or None after noting the problem. A user's module may raise anything."""
        try:
            address = addresses.parse(text, role)
            if address.kind == addresses.EXPRESSION:
                self._check_expression(address.name)
                return Target(address, self.scope)
            if address.kind not in (addresses.FILE, addresses.MODULE):
                raise OpdebugError(f"{address.kind}: addresses cannot be run by this version; give FILE.py:callable, "
                                   "module:callable or an expression")
            found: Any = (self.file_module(address.where) if address.kind == addresses.FILE
                          else importlib.import_module(address.where))
            for part in address.name.split("."):
                found = getattr(found, part)
            if not callable(found):
                raise OpdebugError(f"{address.name} is a {type(found).__name__}, not a callable")
            return Target(address, self.scope, found)
        except BaseException as error:
            self._problem(f"{role} {text!r} does not resolve", error)
            return None

    def _check_expression(self, text: str) -> None:
        """Follow dotted names from what is in scope, so that a misspelt operator is found before anything runs."""
        for node in ast.walk(ast.parse(text, mode="eval")):
            chain, inner = [], node
            while isinstance(inner, ast.Attribute):
                chain.append(inner.attr)
                inner = inner.value
            if not chain or not isinstance(inner, ast.Name) or inner.id not in self.scope:
                continue
            found: Any = self.scope[inner.id]
            for part in reversed(chain):
                if not isinstance(found, types.ModuleType) and not hasattr(found, part):
                    break
                found = getattr(found, part)


def load(request: Mapping[str, Any]) -> Sources:
    """Resolve `candidate`, `reference` and `cases` of a load request.

    `files` maps each path in an address to {path, text, sha256}. Raises OpdebugError with every problem.
    """
    loader = _Loader(request["files"], request["imports"])
    candidate = loader.target(request["candidate"], "candidate")
    reference = loader.target(request["reference"], "reference") if request["reference"] else None
    cases = loader.target(request["cases"], "cases") if request["cases"] else None
    if loader.problems or candidate is None:
        raise OpdebugError(loader.problems)
    tolerance = None
    if cases is not None and cases.address.kind == addresses.FILE:
        tolerance = getattr(loader.file_module(cases.address.where), "TOLERANCE", None)
    return Sources(candidate, reference, None if cases is None else cases.function(()), tolerance)

