"""What numpy's functions say of a shape: `np.shape(x)`, `np.ndim(x)`, `np.size(x, 1)`."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import tuple_of
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import Const, Opaque, Sequence, Tensor, Unknown, Value, number


def _shape_of(call: Call, value: Value) -> Shape:
    """The sizes of what is an array, a nested list or a number. Nobody knows those of anything else: it may be a list."""
    if isinstance(value, (Opaque, Unknown)):
        raise Undecided
    found = array_of(call, value).shape
    if found is None:
        raise Undecided
    return found


@op("numpy.shape", "a", tensor=False)
def shape(call: Call, a: Value) -> Value:
    if isinstance(a, Tensor) and a.shape is None and call.interpreter is not None:
        known: Value = call.interpreter.shape_of(a)
        return known
    return tuple_of(map(number, _shape_of(call, a)))


@op("numpy.ndim", "a", tensor=False)
def ndim(call: Call, a: Value) -> Value:
    return Const(len(_shape_of(call, a)))


@op("numpy.size", "a axis=None", tensor=False)
def size(call: Call, a: Value, axis: Value) -> Value:
    if values.is_none(axis):
        return number(S.product(_shape_of(call, a)))
    if isinstance(a, Tensor) and a.shape is None and call.interpreter is not None:
        known: Value = call.interpreter.axis_size(a, arguments.whole(axis))
        return known
    found = _shape_of(call, a)
    if not found:
        raise Undecided
    return number(S.product([found[at] for at in arguments.axes(axis, len(found))]))


@op("numpy.broadcast_shapes", "*args", tensor=False)
def broadcast_shapes(call: Call, args: list[Value]) -> Value:
    shapes = [
        (arguments.count(each),) if not isinstance(each, Sequence) else arguments.shape([each])
        for each in args
        if not isinstance(each, (Opaque, Unknown, Tensor))
    ]
    if len(shapes) != len(args):
        raise Undecided
    return tuple_of(map(number, broadcast(*shapes)))
