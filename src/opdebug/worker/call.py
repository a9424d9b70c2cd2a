"""From a case to the arguments of one call: `CaseInputs` builds or fetches them, `bind` fits them to a callable.

A case either says its tensors (spec), which are then built exactly, or points into the user's own `cases` function,
whose values are checked against the digests in the plan.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from opdebug.model.specs import Case
from opdebug.worker.inputs import CannotBuild, build, digest
from opdebug.worker.sources import Target
from opdebug.worker.trees import arguments_in, named_tensors

_ELEMENT = re.compile(r"([A-Za-z_]\w*)\[(\d+)\]")
_TORCH_CONSTANT = re.compile(r"torch\.([a-z]\w*)")


class CasesFailed(Exception):
    """The user's cases function is wrong; `gathered` cases had come before that."""

    def __init__(self, reason: str, gathered: int) -> None:
        super().__init__(reason)
        self.gathered = gathered


@dataclass(frozen=True)
class Arguments:
    """The arguments of a case, as one tree whose top-level keys name them.

    A case built from a spec has its inputs and attributes by name; one from a cases function has `args` and `kwargs`.
    """

    tree: dict[str, Any]
    are_named: bool


def torch_constant(value: Any) -> Any:
    """An attribute as the call needs it: text such as "torch.float16" becomes the object that it names."""
    if isinstance(value, list):
        return [torch_constant(v) for v in value]
    match = _TORCH_CONSTANT.fullmatch(value) if isinstance(value, str) else None
    found = getattr(torch, match[1], None) if match else None
    return found if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)) else value


def _named(case: Case, device: torch.device) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, tensor in build(list(case.inputs), device).items():
        element = _ELEMENT.fullmatch(name)
        if element is None:
            named[name] = tensor
        else:
            named.setdefault(element[1], []).append(tensor)
    return {**named, **{name: torch_constant(value) for name, value in case.attributes.items()}}


def _checked(entry: Any, index: int) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise CasesFailed(f"case {index} is a {type(entry).__name__}, not a dict", index)
    unknown = sorted(set(entry) - {"id", "args", "kwargs", "atol", "rtol", "mode"})
    if unknown:
        raise CasesFailed(f"case {index} has unknown keys {unknown}; accepted: id, args, kwargs, atol, rtol, mode", index)
    args, kwargs = entry.get("args", ()), entry.get("kwargs") or {}
    if not isinstance(args, (list, tuple)) or not isinstance(kwargs, Mapping):
        raise CasesFailed(f"case {index}: args must be a tuple or list and kwargs a dict", index)
    return {**entry, "args": tuple(args), "kwargs": dict(kwargs)}


class GivenCases:
    """The user's cases function, walked forward: one case is in memory at a time, and every walk sees the same values."""

    def __init__(self, function: Any, device: torch.device) -> None:
        self._function = function
        self._device = device
        self._walk: Iterator[Any] | None = None
        self._position = -1
        self._current: dict[str, Any] = {}
        self._random: tuple[Any, Any] | None = None

    def all(self) -> Iterator[dict[str, Any]]:
        """Every case in order. Raises CasesFailed."""
        self._restart()
        index = 0
        while self._advance():
            yield self._current
            index += 1

    def get(self, index: int) -> dict[str, Any]:
        """Case number `index`. Raises CasesFailed, also when there is none."""
        if self._walk is None or index < self._position:
            self._restart()
        while self._position < index:
            if not self._advance():
                raise CasesFailed(f"cases() gave {self._position + 1} cases this time; case {index} is gone", index)
        return self._current

    def _restart(self) -> None:
        self._random = None
        try:
            with self._own_world():
                self._walk = iter(self._function(str(self._device)))
        except Exception as error:
            raise CasesFailed(f"cases() raised {type(error).__name__}: {error}", 0) from error
        self._position = -1

    @contextlib.contextmanager
    def _own_world(self) -> Iterator[None]:
        """Inside, the cases function goes on with its own random numbers, whatever the calls between have drawn.

        They begin with a fixed seed, so that an unseeded function gives a fresh worker the inputs it gave the first one.
        """
        outside = torch.random.get_rng_state(), random.getstate()
        if self._random is None:
            torch.manual_seed(0)
            random.seed(0)
        else:
            torch.random.set_rng_state(self._random[0])
            random.setstate(self._random[1])
        try:
            with _deterministic():
                yield
        finally:
            self._random = torch.random.get_rng_state(), random.getstate()
            torch.random.set_rng_state(outside[0])
            random.setstate(outside[1])

    def _advance(self) -> bool:
        assert self._walk is not None
        try:
            with self._own_world():
                entry = next(self._walk)
        except StopIteration:
            return False
        except Exception as error:
            raise CasesFailed(f"cases() raised {type(error).__name__}: {error}", self._position + 1) from error
        self._position += 1
        self._current = _checked(entry, self._position)
        return True


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    """Inside, `torch.empty` is filled the same way every time: an output buffer must not make a case unrepeatable."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    # torch.use_deterministic_algorithms does just this after importing the whole compiler, which takes seconds.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(before[0], warn_only=before[1])


def arguments(case: Case, device: torch.device, given: GivenCases | None) -> Arguments:
    """The arguments of `case`, exactly as planned. Raises CannotBuild when that is impossible."""
    source = case.extra.get("source")
    if source is None:
        return Arguments(_named(case, device), True)
    if given is None:
        raise CannotBuild("the case comes from a cases function, and none was given")
    try:
        entry = given.get(source["index"])
    except CasesFailed as error:
        raise CannotBuild(str(error)) from None
    tensors = [tensor for _, tensor in arguments_in(entry["args"], entry["kwargs"])]
    if device.type != "cpu" and not any(tensor.device.type == device.type for tensor in tensors):
        raise CannotBuild(f"none of the case's tensors is on {device.type}; make them with device=device in cases(device)")
    planned = sorted(str(spec.data.options.get("sha256")) for spec in case.inputs)
    found = sorted(digest(tensor) for tensor in tensors)
    if planned != found:
        raise CannotBuild("cases() gave other values than when the run was planned; seed its random numbers")
    return Arguments({"args": entry["args"], "kwargs": entry["kwargs"]}, False)


def bind(target: Target, given: Arguments) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The callable with the positional and keyword arguments to call it with.

    Named arguments go by name where the callable has such parameters; otherwise tensors go by position in the order of
    the case and attributes by name.
    """
    named = given.tree
    if not given.are_named:
        args, kwargs = named["args"], named["kwargs"]
        if not target.is_expression:
            return target.function(()), args, kwargs
        named = {**{f"arg{i}": value for i, value in enumerate(args)}, **kwargs}
    if target.is_expression:
        return target.function(sorted(named)), (), named
    function = target.function(())
    parameters = target.parameters()
    if parameters is not None and _accepts(parameters, named):
        return function, (), named
    by_position = tuple(v for v in named.values() if _holds_tensors(v))
    by_name = {k: v for k, v in named.items() if not _holds_tensors(v)}
    return function, by_position, by_name


def _holds_tensors(value: Any) -> bool:
    return next(named_tensors(value, ""), None) is not None


def _accepts(parameters: Mapping[str, inspect.Parameter], named: Mapping[str, Any]) -> bool:
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return all(open_ended or (name in parameters and parameters[name].kind in by_name) for name in named)
