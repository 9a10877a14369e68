"""Broadcasting over symbolic sizes, and what is told of it: a row that met a column."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor


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


def tell(call: Call, operation: str, left: Tensor, right: Tensor, shape: Shape, at: tuple[int, int] = (0, 1)) -> None:
    """Report a broadcast in which both operands grow, or one that grows by an axis against a reduction.

    `at` are the operands' places among the arguments of a function.
    """
    a, b = left.shape, right.shape
    if a is None or b is None or a == b or not a or not b:
        return
    left_grows = grows(a, b)
    right_grows = grows(b, a)
    if left_grows and right_grows:
        call.report("broadcast", operation=operation, left=left, right=right, shape=shape, at=at)
    elif len(a) != len(b):
        smaller = left if len(a) < len(b) else right
        if "reduction" in smaller.marks:
            call.report("one_sided", operation=operation, left=left, right=right, shape=shape)
