"""The tensors that can be reached by the names of a module.

Code that is not followed may give any of them another shape, and such code may be called in every other line: a file of
many classes is gone through anew only when something has changed there since.
"""

from __future__ import annotations

from typing import Any

from tensorlint.inference.contents import tensors_within
from tensorlint.inference.frames import Frame
from tensorlint.inference.values import (
    Attribute,
    Class,
    Dictionary,
    Function,
    Opaque,
    Partial,
    Sequence,
    Tensor,
    Value,
)

# What can only come to hold something else in a way that `Around.holds` sees.
_WATCHED = frozenset({Class, Function, Partial, Attribute, Sequence, Dictionary, Opaque, Tensor})


class Around:
    """What was found by way of a module's names when the log of changes had `seen` entries."""

    def __init__(self, module: Frame, seen: int) -> None:
        self.found: dict[int, Value] = {}
        self.tensors = tensors_within(module.env.values(), self.found, {})
        self.seen = seen
        self.names = list(module.env.values())  # themselves: nothing else gets their ids
        self.lasts = _WATCHED.issuperset(map(type, self.found.values()))
        self.holders = [each for each in self.found.values() if isinstance(each, (Sequence, Dictionary, Opaque))]
        self.held = list(map(_held, self.holders))

    def holds(self, module: Frame, mutations: list[tuple[Any, str | None]]) -> bool:
        """Whether nothing has changed since."""
        if not self.lasts or len(module.env) != len(self.names):
            return False
        if any(now is not before for now, before in zip(module.env.values(), self.names, strict=True)):
            return False
        for at in range(self.seen, len(mutations)):
            owner = mutations[at][0]
            if owner.__class__ is Function or id(owner) in self.found:
                return False
        self.seen = len(mutations)
        return self.held == list(map(_held, self.holders))


def _held(value: Sequence | Dictionary | Opaque) -> tuple[int, ...]:
    """Whether these are other items, or attributes; the log tells of items that are put where others were."""
    if isinstance(value, Opaque):
        return tuple(map(id, (value.fields or {}).values()))
    items = value.items
    return id(items), 0 if items is None else len(items), id(value.element)
