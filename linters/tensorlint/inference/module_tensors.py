"""The tensors that can be reached by the names of a module.

Code that is not followed may give any of them another shape, and such code may be called in every other line: a file of
many classes is gone through anew only when something has changed there since.
"""

from __future__ import annotations

from typing import Any

from tensorlint.inference.contents import tensors_within
from tensorlint.inference.frames import Frame
from tensorlint.inference.values import (
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Sequence,
    Tensor,
    Value,
)

# What comes to hold something else without an entry in the log: attributes that are made when they are asked for.
_HOLDERS = (Sequence, Dictionary, Instance, LibraryObject, Opaque)


class Around:
    """What was found by way of a module's names when the log of changes had `seen` entries."""

    def __init__(self, module: Frame, seen: int) -> None:
        self.found: dict[int, Value] = {}
        self.tensors = tensors_within(module.env.values(), self.found, {})
        self.seen = seen
        self.names = list(module.env.values())  # themselves: nothing else gets their ids
        self.holders = [each for each in self.found.values() if isinstance(each, _HOLDERS)]
        self.held = list(map(_held, self.holders))

    def holds(self, module: Frame, mutations: list[tuple[Any, str | None]]) -> bool:
        """Whether nothing has changed since."""
        if len(module.env) != len(self.names):
            return False
        if any(now is not before for now, before in zip(module.env.values(), self.names, strict=True)):
            return False
        for at in range(self.seen, len(mutations)):
            owner = mutations[at][0]
            if type(owner) is Function or (id(owner) in self.found and type(owner) is not Tensor):
                return False  # (by way of a tensor nothing else is reached)
        self.seen = len(mutations)
        return self.held == list(map(_held, self.holders))


def _held(value: Sequence | Dictionary | Instance | LibraryObject | Opaque) -> tuple[object, ...]:
    """What is compared to see whether these are other items, or attributes; the log tells of items that are put where
    others were."""
    if isinstance(value, Opaque):
        return tuple((value.fields or {}).values())
    if isinstance(value, Instance):
        return *value.held.values(), value.given, value.parts
    if isinstance(value, LibraryObject):
        return *value.fields.values(), value.parts
    items = value.items
    return items, 0 if items is None else len(items), value.element
