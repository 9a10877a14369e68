"""Elements of numpy's arrays: diagonals, picked, found, sorted out, counted."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast_size
from tensorlint.inference.ops.indexing import may_be_object
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import laid, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.values import UNKNOWN, Sequence, Tensor, Value


@op("diagonal", "a offset=0 axis1=0 axis2=1")
def diagonal(call: Call, a: Value, offset: Value, axis1: Value, axis2: Value) -> Value:
    from tensorlint.inference.ops.torch.views import diagonal_of

    given = ranked(call, a)
    rank = len(given.shape or ())
    first, second = arguments.axis(axis1, rank), arguments.axis(axis2, rank)
    return diagonal_of(call, given, arguments.whole(offset), first, second)


@op("numpy.take .take", "a indices axis=None out=None mode='raise'")
def take(call: Call, a: Value, indices: Value, axis: Value, **rest: Value) -> Value:
    given, picked = ranked(call, a), ranked(call, indices)
    shape, index = given.shape or (), picked.shape or ()
    if values.is_none(axis):
        target = index
    else:
        at = arguments.axis(axis, len(shape))
        target = (*shape[:at], *index, *shape[at + 1 :])
    if target == () and may_be_object(given):
        return UNKNOWN
    return unplaced(call, "numpy", target, given.dtype)


@op("numpy.take_along_axis", "arr indices axis=-1")
def take_along_axis(call: Call, arr: Value, indices: Value, axis: Value) -> Value:
    given, picked = ranked(call, arr), ranked(call, indices)
    if values.is_none(axis):
        return unplaced(call, "numpy", picked.shape or (), given.dtype)
    shape, index = given.shape or (), picked.shape or ()
    if len(shape) != len(index):
        raise Undecided
    at = arguments.axis(axis, len(shape))
    target = tuple(index[i] if i == at else broadcast_size(shape[i], index[i]) for i in range(len(shape)))
    return unplaced(call, "numpy", target, given.dtype)


@op("numpy.delete", "arr obj axis=None")
def delete(call: Call, arr: Value, obj: Value, axis: Value) -> Value:
    given = ranked(call, arr)
    shape = given.shape or ()
    if values.is_none(axis):
        whole = S.product(shape)
        if values.integer(obj) is not None and arguments.at_least(whole, 1):
            return laid(call, "numpy", (S.subtract(whole, 1),), (1,), given.dtype)
        return laid(call, "numpy", (S.counter(),), (1,), given.dtype)
    at = arguments.axis(axis, len(shape))
    size = S.subtract(shape[at], 1) if values.integer(obj) is not None else S.counter()
    return unplaced(call, "numpy", (*shape[:at], size, *shape[at + 1 :]), given.dtype)


@op("nonzero numpy.flatnonzero numpy.argwhere", "a", tensor=False)
def nonzero(call: Call, a: Value) -> Value:
    name = call.name.rpartition(".")[2]
    if isinstance(a, Tensor) and a.shape is None and a.framework == "numpy":
        if name == "flatnonzero":
            return laid(call, "numpy", (S.counter(),), None, "int64")
        if name == "argwhere":
            return laid(call, "numpy", (S.counter(), S.symbol()), None, "int64")
        size = S.counter(variant=True)
        return Sequence("tuple", None, Tensor("numpy", (size,), None, "int64", None, call.node))
    given = ranked(call, a)
    count = S.counter()
    rank = len(given.shape or ())
    if name == "argwhere":
        return laid(call, "numpy", (count, rank), None, "int64")
    if name == "flatnonzero":
        return laid(call, "numpy", (count,), None, "int64")
    return tuple_of(Tensor("numpy", (count,), None, "int64", None, call.node) for _ in range(rank))


@op(
    "numpy.unique",
    "ar return_index=False return_inverse=False return_counts=False axis=None / equal_nan=True sorted=True",
    tensor=False,
)
def unique(
    call: Call, ar: Value, return_index: Value, return_inverse: Value, return_counts: Value, axis: Value, **rest: Value
) -> Value:
    given = array_of(call, ar)
    count = arguments.some_of(given.shape)
    if values.is_none(axis):
        first = laid(call, "numpy", (count,), (1,), given.dtype, marks=frozenset({"distinct"}))
    else:
        shape = tensor(given).shape or ()
        at = arguments.axis(axis, len(shape))
        first = unplaced(call, "numpy", (*shape[:at], count, *shape[at + 1 :]), given.dtype)
    results: list[Value] = [first]
    if arguments.flag(return_index):
        results.append(laid(call, "numpy", (count,), (1,), "int64"))
    if arguments.flag(return_inverse):
        results.append(values.UNKNOWN)
    if arguments.flag(return_counts):
        results.append(laid(call, "numpy", (count,), (1,), "int64"))
    return first if len(results) == 1 else tuple_of(results)


@op("numpy.searchsorted .searchsorted", "a v side='left' sorter=None")
def searchsorted(call: Call, a: Value, v: Value, **rest: Value) -> Value:
    return unplaced(call, "numpy", ranked(call, v).shape or (), "int64")


@op("numpy.digitize", "x bins right=False")
def digitize(call: Call, x: Value, **rest: Value) -> Value:
    return unplaced(call, "numpy", ranked(call, x).shape or (), "int64")


@op("numpy.unique_values numpy.unique_counts numpy.unique_inverse numpy.unique_all", "x", tensor=False)
def unique_values(call: Call, x: Value) -> Value:
    """The values, with where they stand first, which one each element is, and how often each is there."""
    given = array_of(call, x)
    count = S.symbol()
    first = laid(call, "numpy", (count,), (1,), given.dtype)
    indices = laid(call, "numpy", (count,), (1,), "int64")
    inverse = unplaced(call, "numpy", given.shape, "int64") if given.shape else values.UNKNOWN
    which = call.name.rpartition("_")[2]
    if which == "values":
        return first
    if which == "counts":
        return tuple_of([first, indices])
    return tuple_of([first, inverse] if which == "inverse" else [first, indices, inverse, indices])
