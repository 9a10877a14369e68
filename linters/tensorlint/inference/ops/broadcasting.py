"""Broadcasting over symbolic sizes, and what is told of it: a row that met a column."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import combinations

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor, Value

_RETYPES = frozenset({"float", "double", "long", "int", "to", "astype", "detach", "cpu", "numpy"})
_CONSTANT = re.compile(r"\b(?:ones|zeros|full|eye)(?:_like)?\b")


def broadcast_size(a: Size, b: Size) -> Size:
    """The size of an axis where `a` meets `b`; raises where the program would stop.

    Of two different symbolic sizes one is 1 or both are equal: the one that is surely not 1 is the result.
    """
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int):
        if isinstance(b, int):
            raise Undecided
        return a
    if isinstance(b, int):
        return b
    if S.surely_not_one(a):
        return a
    if S.surely_not_one(b):
        return b
    return S.symbol()


def broadcast(*shapes: Shape) -> Shape:
    """The shape of operands that meet."""
    result = shapes[0]
    for shape in shapes[1:]:
        if shape == result or not shape:
            continue
        if len(shape) > len(result):
            result, shape = shape, result
        start = len(result) - len(shape)
        result = result[:start] + tuple(map(broadcast_size, result[start:], shape))
    return result


def grows(shape: Shape, other: Shape) -> bool:
    """Whether broadcasting against `other` surely makes an axis of `shape` longer, or adds one."""
    offset = len(other) - len(shape)
    for axis, size in enumerate(other):
        if axis < offset or shape[axis - offset] == 1:
            if size != 1 and axis - offset >= -offset and S.surely_not_one(size):
                return True
    return False


def chosen_alike(left: Tensor, right: Tensor) -> bool:
    """Whether one mask chose the rows of both, `out[mask]` and `y[mask]`, of which one has an axis of size 1 too many. How
    many it chose is not known, and each meets each other one. So it is of one slice, `x[i : i + 16]` and `y[i : i + 16]`."""
    column, row = (left, right) if len(left.shape or ()) > len(right.shape or ()) else (right, left)
    if (
        column.shape is None
        or row.shape is None
        or len(column.shape) != 2
        or len(row.shape) != 1
        or column.shape[1] != 1
    ):
        return False
    if isinstance(column.shape[0], int) or isinstance(row.shape[0], int):
        return False
    if S.cut_alike(column.shape[0], row.shape[0]):
        return True
    chosen = _chosen_by(column.made)
    return chosen is not None and chosen == _chosen_by(row.made)


def _chosen_by(node: ast.AST | None) -> str | None:
    """The index that made the tensor, a name or a field; what numbers of each are given in another type is looked through."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _RETYPES:
        node = node.func.value
    index = node.slice if isinstance(node, ast.Subscript) else None
    root = index
    while isinstance(root, ast.Attribute):
        root = root.value
    return ast.dump(index) if index is not None and isinstance(root, ast.Name) else None


def tell(
    call: Call,
    operation: str,
    left: Tensor,
    right: Tensor,
    shape: Shape,
    at: tuple[int, int] = (0, 1),
    nodes: tuple[ast.expr | None, ast.expr | None] | None = None,
) -> None:
    """Report a broadcast in which both operands grow, or one that grows by an axis against a reduction.

    `at` are the operands' places among the arguments of a function, `nodes` their expressions where these are no arguments.
    """
    a, b = left.shape, right.shape
    if a is None or b is None or a == b or not a or not b:
        return
    if (grows(a, b) and grows(b, a)) or chosen_alike(left, right):
        call.report("broadcast", operation=operation, left=left, right=right, shape=shape, at=at, nodes=nodes)
    elif len(a) != len(b):
        smaller = left if len(a) < len(b) else right
        if "reduction" in smaller.marks:
            call.report("one_sided", operation=operation, left=left, right=right, shape=shape)


def tell_any(call: Call, operation: str, operands: Sequence[Value], shape: Shape) -> None:
    """Report the first row and column among the operands of a function of two or three, given by their places.

    Where another operand has the shape of the result already, the table was there before: `addcmul(matrix, column, row)`.
    """
    if any(isinstance(operand, Tensor) and operand.shape == shape for operand in operands):
        return
    # The receiver of a method stands in front of its arguments.
    before = 0 if call.name.startswith(("torch.", "numpy.")) else 1
    for first, second in combinations(range(len(operands)), 2):
        left, right = operands[first], operands[second]
        if isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape and right.shape:
            if (grows(left.shape, right.shape) and grows(right.shape, left.shape)) or (
                S.cut_alike(left.shape[0], right.shape[0]) and chosen_alike(left, right)
            ):
                tell(call, operation, left, right, shape, (first - before, second - before))
                return


def tell_comparison(call: Call, operation: str, left: Tensor, right: Tensor) -> None:
    """Report a row that is compared with a column as a whole. One that holds a single number, as `np.ones(n)` does, says
    the same of each item."""
    if any(tensor.how is not None and _CONSTANT.search(tensor.how) for tensor in (left, right)):
        return
    try:
        shape = broadcast(left.shape or (), right.shape or ())
    except Undecided:
        return
    tell_any(call, operation, [left, right], shape)
