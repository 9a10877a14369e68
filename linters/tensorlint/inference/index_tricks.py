"""numpy's objects that join or make arrays when they are indexed: `np.c_[x, y]`, `np.r_[x, 1]`, `np.mgrid[0:3, 0:4]`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import ops
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.results import SPELLED
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    UNKNOWN,
    Const,
    Number,
    Sequence,
    Slice,
    Tensor,
    Value,
    integer,
    is_none,
    size_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

KNOWN = frozenset({"numpy.c_", "numpy.r_", "numpy.mgrid", "numpy.ogrid"})


def get(interp: State, path: str, index: Value, node: ast.AST) -> Value:
    parts = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    if not parts:
        return UNKNOWN
    if path in ("numpy.c_", "numpy.r_"):
        return _columns(interp, parts, node) if path == "numpy.c_" else _rows(interp, parts, node)
    # A single stretch gives a vector, in a tuple of its own a list of one.
    if not isinstance(index, Sequence):
        return UNKNOWN
    return _grid(parts, node, dense=path == "numpy.mgrid")


def _columns(interp: State, parts: list[Value], node: ast.AST) -> Value:
    """Vectors become columns, matrices stay."""
    entry = ops.function("numpy.column_stack")
    for part in parts:
        if not isinstance(part, Tensor) or part.shape is None or len(part.shape) not in (1, 2):
            return UNKNOWN
    return UNKNOWN if entry is None else interp.apply(entry, [Sequence("tuple", parts)], {}, node)


def _rows(interp: State, parts: list[Value], node: ast.AST) -> Value:
    """Vectors and numbers, one behind the other."""
    entry = ops.function("numpy.concatenate")
    joined: list[Value] = []
    for part in parts:
        if isinstance(part, Tensor) and part.framework == "numpy" and part.rank in (0, 1):
            joined.append(part if part.rank else Tensor("numpy", (1,), (1,), None))
        elif isinstance(part, Const) and type(part.value) in (int, float):
            joined.append(Tensor("numpy", (1,), (1,), None))
        else:
            return UNKNOWN
    return UNKNOWN if entry is None else interp.apply(entry, [Sequence("tuple", joined)], {}, node)


def _grid(parts: list[Value], node: ast.AST, *, dense: bool) -> Value:
    """`np.mgrid[0:3, 0:4]` is (2, 3, 4), `np.ogrid[0:3, 0:4]` a column and a row."""
    sizes: list[Size] = []
    for part in parts:
        size = _steps(part)
        if size is None:
            return UNKNOWN
        sizes.append(size)
    if dense:
        return Tensor("numpy", (len(sizes), *sizes), None, None, None, node)
    rank = len(sizes)
    return Sequence(
        "tuple",
        [
            Tensor(
                "numpy", tuple(size if at == place else 1 for at in range(rank)), None, None, None, node, None, SPELLED
            )
            for place, size in enumerate(sizes)
        ],
    )


def _steps(part: Value) -> Size | None:
    """How many numbers `start:stop` gives; of a name that may hold a float nobody knows."""
    if not isinstance(part, Slice) or not (is_none(part.step) or integer(part.step) == 1):
        return None
    start = 0 if is_none(part.start) else integer(part.start)
    stop = size_of(part.stop) if isinstance(part.stop, (Const, Number)) else None
    if start is None or stop is None:
        return None
    size = S.subtract(stop, start)
    return size if arguments.at_least(size, 1) else None
