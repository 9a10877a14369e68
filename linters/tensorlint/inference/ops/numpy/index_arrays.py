"""Arrays of indices: of diagonals and triangles, and between places in an array and in its flat order."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import own, ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import laid, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Scalar, Sequence, Tensor, Value


def _several(call: Call, count: int, size: Size) -> Value:
    return tuple_of(Tensor("numpy", (size,), None, "int64", None, call.node) for _ in range(count))


@op("numpy.tril_indices numpy.triu_indices", "n k=0 m=None", tensor=False)
def triangle_indices(call: Call, n: Value, k: Value, m: Value) -> Value:
    return _several(call, 2, S.counter())


@op("numpy.tril_indices_from numpy.triu_indices_from", "arr k=0", tensor=False)
def triangle_indices_from(call: Call, arr: Value, k: Value) -> Value:
    return _several(call, 2, S.counter())


@op("numpy.mask_indices", "n mask_func k=0", tensor=False)
def mask_indices(call: Call, n: Value, mask_func: Value, k: Value) -> Value:
    return _several(call, 2, S.counter())


@op("numpy.diag_indices", "n ndim=2", tensor=False)
def diag_indices(call: Call, n: Value, ndim: Value) -> Value:
    axes, size = arguments.whole(ndim), values.size_of(n)
    if size is None or isinstance(n, Tensor) or not 0 <= axes <= arguments.MOST_AXES or not arguments.at_least(size, 0):
        raise Undecided
    return _several(call, axes, size)


@op("numpy.diag_indices_from", "arr", tensor=False)
def diag_indices_from(call: Call, arr: Value) -> Value:
    shape = own(call, arr).shape or ()
    if len(shape) < 2:
        raise Undecided
    return _several(call, len(shape), shape[0])


@op("numpy.unravel_index", "indices shape order='C'", tensor=False)
def unravel_index(call: Call, indices: Value, shape: Value, order: Value) -> Value:
    """A place, or an array of places, by each axis; of one number that is a number for each."""
    given, sizes = array_of(call, indices), arguments.shape([shape])
    if given.shape is None:
        raise Undecided
    if given.shape == ():
        return tuple_of(Scalar("int") for _ in sizes)
    return tuple_of(unplaced(call, "numpy", given.shape, "int64") for _ in sizes)


@op("numpy.ravel_multi_index", "multi_index dims mode='raise' order='C'")
def ravel_multi_index(call: Call, multi_index: Value, dims: Value, **rest: Value) -> Value:
    if not isinstance(multi_index, Sequence) or not multi_index.items:
        raise Undecided
    shapes = [ranked(call, each).shape or () for each in multi_index.items]
    return unplaced(call, "numpy", broadcast(*shapes), "int64")


@op("numpy.compress .compress", "condition a axis=None out=None")
def compress(call: Call, condition: Value, a: Value, axis: Value, out: Value) -> Value:
    """The rows that the condition picks: how many, only it knows."""
    given = own(call, condition if not call.name.startswith("numpy.") else a)
    shape = given.shape or ()
    if not values.is_none(out) or not shape:
        raise Undecided
    if values.is_none(axis):
        return laid(call, "numpy", (S.counter(),), None, given.dtype)
    at = arguments.axis(axis, len(shape))
    return unplaced(call, "numpy", (*shape[:at], S.counter(), *shape[at + 1 :]), given.dtype)


@op("numpy.extract", "condition arr")
def extract(call: Call, condition: Value, arr: Value) -> Value:
    return laid(call, "numpy", (S.counter(),), None, own(call, arr).dtype)


@op("numpy.choose", "a choices out=None mode='raise'")
def choose(call: Call, a: Value, choices: Value, out: Value, mode: Value) -> Value:
    """Of several arrays, for each place, the one that the number there says."""
    if not isinstance(choices, Sequence) or not choices.items or not values.is_none(out):
        raise Undecided
    shapes = [ranked(call, each).shape or () for each in (a, *choices.items)]
    return unplaced(call, "numpy", broadcast(*shapes), None)


@op("numpy.unstack", "x / axis=0", tensor=False)
def unstack(call: Call, x: Value, axis: Value) -> Value:
    given = own(call, x)
    shape = given.shape or ()
    if not shape:
        raise Undecided
    at = arguments.axis(axis, len(shape))
    size, rest = shape[at], (*shape[:at], *shape[at + 1 :])
    if not rest:
        raise Undecided  # items, which may be any objects
    if isinstance(size, int) and size <= 256:
        return tuple_of(unplaced(call, "numpy", rest, given.dtype) for _ in range(size))
    return Sequence("tuple", None, unplaced(call, "numpy", rest, given.dtype), size)
