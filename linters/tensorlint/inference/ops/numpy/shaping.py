"""numpy's views: other shapes, other orders of axes, broadcasting."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, reshaping
from tensorlint.inference.ops.broadcasting import broadcast, broadcast_size, tell_comparison
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import ranked
from tensorlint.inference.ops.numpy.registry import NUMPY, op
from tensorlint.inference.ops.results import SPELLED, laid, lists_of, permuted, seen, surviving, tuple_of
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.values import Const, Sequence, Tensor, Value, copy


@op(".reshape", "a *shape / order='C' copy=None")
def reshape_method(call: Call, a: Value, shape: list[Value], order: Value, copy: Value) -> Value:
    return reshaped(call, a, arguments.shape(shape), order)


@op("numpy.reshape", "a shape order='C' / copy=None")
def reshape(call: Call, a: Value, shape: Value, order: Value, copy: Value) -> Value:
    return reshaped(call, a, arguments.shape([shape]), order)


def reshaped(call: Call, a: Value, target: Shape, order: Value) -> Value:
    given = array_of(call, a)
    shape = reshaping.resolve_for(given, target)
    if given.shape is None:
        return laid(call, "numpy", shape, None, given.dtype)
    plain = isinstance(order, Const) and order.value == "C"
    strides = layout.contiguous(shape) if plain and given.contiguous is True else None
    if plain and given.contiguous is False and strides is None and 1 not in shape:
        result = layout.view(given.shape, given.strides, shape)
        strides = result.strides if result.legal else layout.contiguous(shape) if result.legal is False else None
    return seen(call, given, shape, strides, marks=reshaping.reshaped_marks(given, shape))


@op("ravel .flatten numpy.ravel", "a order='C'")
def ravel(call: Call, a: Value, order: Value) -> Value:
    given = array_of(call, a)
    if given.shape is None:
        return laid(call, "numpy", (reshaping.of_unknown(given),), (1,), given.dtype)
    return seen(call, given, (S.relied(S.product(given.shape)),), (1,))


@op("numpy.transpose", "a axes=None")
def transpose(call: Call, a: Value, axes: Value) -> Value:
    if values.is_none(axes):
        return flipped(call, ranked(call, a), "np.transpose")
    given = array_of(call, a)
    if given.shape is None:
        return of_as_many_axes(call, given, axes)
    return permuted(call, given, arguments.axes(axes, len(given.shape or ())), "transposed")


def of_as_many_axes(call: Call, given: Tensor, axes: Value) -> Tensor:
    """What a transposition gives of an array of nobody knows how many axes: as many as it names."""
    named = axes.items if isinstance(axes, Sequence) else None
    if named is None:
        raise Undecided
    known = given.axes or {}
    order = arguments.axes(axes, len(named))
    return laid(call, given.framework, tuple(known.get(at, S.symbol()) for at in order), None, given.dtype, None)


@op("numpy.permute_dims", "a axes=None")
def permute_dims(call: Call, a: Value, axes: Value) -> Value:
    return transpose(call, a, axes)


@op(".transpose", "a *axes")
def transpose_method(call: Call, a: Value, axes: list[Value]) -> Value:
    if not axes or (len(axes) == 1 and values.is_none(axes[0])):
        return flipped(call, tensor(a), ".transpose()")
    which = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else Sequence("tuple", axes)
    if isinstance(a, Tensor) and a.shape is None:
        return of_as_many_axes(call, a, which)
    given = tensor(a)
    return permuted(call, given, arguments.axes(which, len(given.shape or ())), "transposed")


@NUMPY.attribute("T")
def upper_t(call: Call, input: Value) -> Value:
    return flipped(call, tensor(input), ".T")


@NUMPY.attribute("mT")
def matrix_t(call: Call, input: Value) -> Value:
    given = tensor(input)
    rank = len(given.shape or ())
    if rank < 2:
        raise Undecided
    return permuted(call, given, (*range(rank - 2), rank - 1, rank - 2), "transposed")


@op("numpy.matrix_transpose numpy.linalg.matrix_transpose", "x")
def matrix_transpose(call: Call, x: Value) -> Value:
    return matrix_t(call, ranked(call, x))


@NUMPY.attribute("flat")
def flat(call: Call, input: Value) -> Value:
    return values.UNKNOWN  # an iterator, no array


def flipped(call: Call, given: Tensor, spelling: str) -> Tensor:
    rank = len(given.shape or ())
    if rank == 1:
        call.report("rank_one_transpose", tensor=given, spelling=spelling)
        return copy(given, marks=given.marks | {"transposed"}, source=given)
    call.report("matrix_transpose")
    return permuted(call, given, tuple(reversed(range(rank))), "transposed")


@op("swapaxes", "a axis1 axis2")
def swapaxes(call: Call, a: Value, axis1: Value, axis2: Value) -> Value:
    given = ranked(call, a)
    order = list(range(len(given.shape or ())))
    first, second = arguments.axis(axis1, len(order)), arguments.axis(axis2, len(order))
    order[first], order[second] = order[second], order[first]
    return permuted(call, given, tuple(order), "transposed")


@op("numpy.moveaxis", "a source destination")
def moveaxis(call: Call, a: Value, source: Value, destination: Value) -> Value:
    from tensorlint.inference.ops.torch.permutations import moved

    given = ranked(call, a)
    rank = len(given.shape or ())
    return permuted(
        call, given, moved(rank, arguments.axes(source, rank), arguments.axes(destination, rank)), "transposed"
    )


@op("numpy.rollaxis", "a axis start=0")
def rollaxis(call: Call, a: Value, axis: Value, start: Value) -> Value:
    given = ranked(call, a)
    rank = len(given.shape or ())
    at = arguments.axis(axis, rank)
    to = arguments.whole(start)
    to += rank if to < 0 else 0
    if not 0 <= to <= rank:
        raise Undecided
    if at < to:
        to -= 1
    order = list(range(rank))
    order.remove(at)
    order.insert(to, at)
    return permuted(call, given, tuple(order), "transposed")


@op("numpy.expand_dims", "a axis")
def expand_dims(call: Call, a: Value, axis: Value) -> Value:
    given = ranked(call, a)
    shape = given.shape or ()
    count = len(axis.items or ()) if isinstance(axis, Sequence) else 1
    where = arguments.axes(axis, len(shape) + count)
    rest = iter(range(len(shape)))
    target = tuple(1 if at in where else shape[next(rest)] for at in range(len(shape) + count))
    strides = layout.contiguous(target) if given.contiguous else None
    return seen(call, given, target, strides, marks=surviving(given.marks, target) | SPELLED, how=".expand_dims")


@op("squeeze", "a axis=None")
def squeeze(call: Call, a: Value, axis: Value) -> Value:
    given = ranked(call, a)
    shape = given.shape or ()
    among = set(range(len(shape))) if values.is_none(axis) else set(arguments.axes(axis, len(shape)))
    kept = []
    for at, size in enumerate(shape):
        if at not in among:
            kept.append(at)
        elif S.surely_not_one(size):
            if not values.is_none(axis):
                raise Undecided
            kept.append(at)
        elif size != 1 and values.is_none(axis):
            raise Undecided
    target = tuple(shape[at] for at in kept)
    marks = surviving(given.marks, target)
    if values.is_none(axis):
        marks |= {"squeezed"}
    strides = None if given.strides is None else tuple(given.strides[at] for at in kept)
    return seen(call, given, target, strides, marks=marks)


@op("numpy.atleast_1d numpy.atleast_2d numpy.atleast_3d", "*arys", tensor=False)
def atleast(call: Call, arys: list[Value]) -> Value:
    least = int(call.name[-2])
    results: list[Value] = [at_least(call, ranked(call, item), least) for item in arys]
    return results[0] if len(results) == 1 else tuple_of(results)


def at_least(call: Call, given: Tensor, least: int) -> Tensor:
    shape = given.shape or ()
    if len(shape) >= least:
        return given
    before = 1 if len(shape) == 1 and least > 1 else 0
    after = least - len(shape) - before
    target: Shape = (*(1,) * before, *shape, *(1,) * after)
    strides: Strides | None = None
    if not shape:
        strides = layout.contiguous(target)  # it is reshaped, where others are indexed with newaxis
    elif given.strides is not None:
        strides = (*(0,) * before, *given.strides, *(0,) * after)
    return seen(call, given, target, strides, marks=SPELLED)


@op("numpy.broadcast_to", "array shape subok=False")
def broadcast_to(call: Call, array: Value, shape: Value, subok: Value) -> Value:
    given = ranked(call, array)
    sizes = arguments.shape([shape])
    own = given.shape or ()
    offset = len(sizes) - len(own)
    if offset < 0:
        raise Undecided
    for at, size in enumerate(own):
        broadcast_size(size, sizes[at + offset])
    return stretched(call, given, sizes, words="expanded")


def stretched(call: Call, given: Tensor, sizes: Shape, words: str | None = None) -> Tensor:
    own = given.shape or ()
    offset = len(sizes) - len(own)
    strides: Strides | None = None
    if (
        given.strides is not None
        and 1 not in sizes
        and all(own[at] == 1 or own[at] == sizes[at + offset] for at in range(len(own)))
    ):
        strides = (
            *(0 for _ in range(offset)),
            *(0 if own[at] == 1 else given.strides[at] for at in range(len(own))),
        )
    return seen(call, given, sizes, strides, words=words)


@op("numpy.broadcast_arrays", "*args / subok=False", tensor=False)
def broadcast_arrays(call: Call, args: list[Value], subok: Value) -> Value:
    arrays = [ranked(call, item) for item in args]
    shape = broadcast(*(item.shape or () for item in arrays))
    return tuple_of(copy(stretched(call, item, shape), marks=SPELLED) for item in arrays)


@op(".view", "input dtype=None type=None")
def view(call: Call, input: Value, dtype: Value, type: Value) -> Value:
    """A view of another element type, never a reshape."""
    given = tensor(input)
    if values.is_none(dtype) and values.is_none(type):
        return copy(given)
    name = dtypes.named(dtype, "numpy")
    if name is None or given.dtype is None or not values.is_none(type) or given.dtype not in dtypes.BITS:
        raise Undecided
    from tensorlint.inference.ops.torch.views import retyped

    return retyped(given, name)


@op(".tolist numpy.ndarray.tolist", "input", tensor=False)
def tolist(call: Call, input: Value) -> Value:
    return lists_of(tensor(input))


@op(".numel .tobytes", "input", tensor=False)
def plain(call: Call, input: Value) -> Value:
    raise Undecided


@op("numpy.allclose", "a b rtol=None atol=None equal_nan=None", tensor=False)
def allclose(call: Call, a: Value, b: Value, **rest: object) -> Value:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        tell_comparison(call, "np.allclose", a, b)
    return values.Scalar("bool")


@op(
    "numpy.array_equal numpy.isscalar numpy.iterable numpy.array_equiv",
    "*args / rtol=None atol=None equal_nan=None",
    tensor=False,
)
def a_truth(call: Call, **rest: object) -> Value:
    return values.Scalar("bool")
