"""Nested arguments and results: every tensor in them with the path a reader would write (`batch["x"][1]`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Replace = Callable[[Any], Any]


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """The members of a container with the suffix each adds to the path; nothing for what is no container."""
    if _is_namedtuple(value):
        for name in value._fields:
            yield f".{name}", getattr(value, name)
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield f"[{index}]", item
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield f"[{key!r}]", item
    elif _is_dataclass(value):
        for item in dataclasses.fields(value):
            if item.init:
                yield f".{item.name}", getattr(value, item.name)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Everything that is no container, depth first, with its path."""
    if _is_namedtuple(value) or isinstance(value, tuple | list | Mapping) or _is_dataclass(value):
        for suffix, item in _children(value):
            yield from leaves(item, path + suffix)
    else:
        yield path, value


def rebuild(value: Any, replace: Replace) -> Any:
    """The same structure with every non-container `leaf` replaced by `replace(leaf)`. Containers are new objects."""
    if _is_namedtuple(value):
        return type(value)(*(rebuild(item, replace) for item in value))
    if isinstance(value, tuple | list):
        items = [rebuild(item, replace) for item in value]
        if type(value) in (tuple, list):
            return type(value)(items)
        try:
            return type(value)(items)
        except TypeError:
            return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        fresh = {key: rebuild(item, replace) for key, item in value.items()}
        if type(value) is dict:
            return fresh
        try:
            same = value.copy()
            for key, item in fresh.items():
                same[key] = item
            return same
        except Exception:
            return fresh
    if isinstance(value, Mapping):
        return {key: rebuild(item, replace) for key, item in value.items()}
    if _is_dataclass(value):
        changed = {
            item.name: rebuild(getattr(value, item.name), replace) for item in dataclasses.fields(value) if item.init
        }
        try:
            return dataclasses.replace(value, **changed)
        except Exception:
            return value
    return replace(value)
