"""Shapes as plain numbers, and who wants to hear when their axes are named. Loads nothing: the broadcast guard rests on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Shape = tuple[int, ...]

# What to do with a tensor whose axes have just been named: set while a broadcast guard is open, which follows the
# names through the operations. Called with the array and its axes' names (None for an axis without one).
on_named: list[Any] = []


def broadcast_shapes(shapes: Iterable[Shape]) -> Shape | None:
    """The shape that these broadcast to, None where they do not. Axes are aligned at the last one."""
    result: list[int] = []
    for shape in shapes:
        if len(shape) > len(result):
            result = [1] * (len(shape) - len(result)) + result
        for back in range(1, len(shape) + 1):
            size = shape[-back]
            if size != 1:
                if result[-back] not in (1, size):
                    return None
                result[-back] = size
    return tuple(result)


def show(shape: Iterable[int]) -> str:
    """A shape as people write it: `(4, 64)`, `(4,)`, `()`."""
    sizes = [str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
