"""Walking the nests of lists, tuples and dicts in which calls keep their tensors.

`named_tensors` gives each tensor with the path to it, `map_tensors` rebuilds a nest with its tensors replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch


def named_tensors(tree: Any, path: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in `tree` with its path, such as `x`, `xs[0]` or `options['mask']`."""
    if isinstance(tree, torch.Tensor):
        yield path, tree
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from named_tensors(value, f"{path}[{key!r}]")
    elif isinstance(tree, (list, tuple)):
        for index, value in enumerate(tree):
            yield from named_tensors(value, f"{path}[{index}]")


def arguments_in(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor among the arguments of a call, as `args[0]` or `kwargs['out']`, deeper ones with their path."""
    yield from named_tensors(args, "args")
    yield from named_tensors(kwargs, "kwargs")


def map_tensors(function: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    """`tree` with every tensor replaced by `function(tensor)`; containers are rebuilt, other leaves shared."""
    if isinstance(tree, torch.Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: map_tensors(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_tensors(function, value) for value in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_tensors(function, value) for value in tree)
    return tree
