"""Structures of arrays and structures of specifications, walked together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_tensorcheck.shapes import messages, misuse
from pytest_tensorcheck.shapes.arrays import is_array

# (path, array, specification, problem): a problem is a sentence about a structure that does not fit.
Leaf = tuple[str, Any, Any, str | None]


def leaves(value: Any, spec: Any, path: str = "") -> Iterator[Leaf]:
    """The arrays of a structure with the specification of each.

    A mapping of specifications looks up keys, or attributes where the value has no keys (dataclasses, named tuples,
    modules); a list or tuple of specifications goes position by position, and one that ends in `...` repeats the
    specification before it. A string is for every array below; what is no array there (a name, None) is passed by,
    unless there is no array at all.
    """
    if isinstance(spec, str):
        if is_array(value) or not _is_structure(value):
            yield path, value, spec, None
            return
        found = False
        for below, leaf in array_leaves(value, path):
            found = True
            yield below, leaf, spec, None
        if not found:
            problem = f"expected arrays of shape {spec!r} inside, found none in {messages.brief(value)}"
            yield path, value, spec, problem + misuse.shape_for_array(value)
    elif isinstance(spec, Mapping):
        yield from _by_key(value, spec, path)
    elif isinstance(spec, (list, tuple)):
        yield from _by_position(value, spec, path)
    else:
        wrong = f'a specification is a string such as "batch dim", not {messages.brief(spec)}'
        if isinstance(value, str) and is_array(spec):
            wrong += "; the array comes first"
        elif type(spec) is int:
            wrong += misuse.axes_of_any_size(spec)
        yield path, value, spec, wrong


def _by_key(value: Any, spec: Mapping[Any, Any], path: str) -> Iterator[Leaf]:
    for key, below in spec.items():
        if isinstance(value, Mapping):
            here = f"{path}[{key!r}]"
            if key in value:
                yield from leaves(value[key], below, here)
                continue
            have = ", ".join(repr(each) for each in list(value)[:8]) or "none"
            yield here, value, below, f"missing; the keys are {have}"
        else:
            here = f"{path}.{key}"
            if isinstance(key, str) and hasattr(value, key):
                yield from leaves(getattr(value, key), below, here)
                continue
            yield here, value, below, f"missing; {messages.brief(value)} has neither this key nor this attribute"


def _by_position(value: Any, spec: list[Any] | tuple[Any, ...], path: str) -> Iterator[Leaf]:
    if not isinstance(value, (list, tuple)):
        problem = misuse.not_as_text(value, spec)
        yield path, value, spec, problem or f"expected a list or tuple of {len(spec)}, got {messages.brief(value)}"
        return
    specs = list(spec)
    if len(specs) >= 2 and specs[-1] is ...:
        specs = specs[:-1] + [specs[-2]] * max(0, len(value) - len(specs) + 1)
        specs = specs[: max(len(value), len(spec) - 2)]
    if len(specs) != len(value):
        yield path, value, spec, f"expected {len(specs)} items, got {len(value)}"
        return
    for index, (item, below) in enumerate(zip(value, specs, strict=True)):
        yield from leaves(item, below, f"{path}[{index}]")


def _is_structure(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple)) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def array_leaves(value: Any, path: str = "", numbers: bool = False) -> Iterator[tuple[str, Any]]:
    """Every array of a structure with its path, such as `["image"][0]`; with `numbers` Python's numbers as well."""
    if is_array(value) or (numbers and isinstance(value, (bool, int, float, complex))):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from array_leaves(item, f"{path}[{key!r}]", numbers)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from array_leaves(item, f"{path}[{index}]", numbers)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for each in dataclasses.fields(value):
            yield from array_leaves(getattr(value, each.name), f"{path}.{each.name}", numbers)
