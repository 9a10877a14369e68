"""Less common functions of numpy: sets, windows, index helpers."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import complex_part, own, ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import NUMERIC, SPELLED, laid, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.values import Const, Number, Tensor, Value, copy


@op("numpy.real numpy.imag", "val")
def real(call: Call, val: Value) -> Value:
    """Of anything that has a `real` it is that: of a number a number."""
    if not isinstance(val, (Tensor, values.Sequence)):
        return values.UNKNOWN
    return complex_part(call, tensor(array_of(call, val)))


@op("numpy.isin numpy.in1d", "element test_elements assume_unique=False invert=False / kind=None")
def isin(call: Call, element: Value, **rest: Value) -> Value:
    given = ranked(call, element)
    shape = given.shape or ()
    return unplaced(call, "numpy", (S.product(shape),) if call.name.endswith("in1d") else shape, "bool")


@op("numpy.intersect1d numpy.union1d numpy.setdiff1d numpy.setxor1d", "ar1 ar2 assume_unique=False")
def sets(call: Call, ar1: Value, ar2: Value, assume_unique: Value) -> Value:
    first, second = array_of(call, ar1), array_of(call, ar2)
    name = first.dtype if first.dtype == second.dtype else None
    return laid(call, "numpy", (S.counter(),), None, name)


@op("numpy.ix_", "*args", tensor=False)
def ix(call: Call, args: list[Value]) -> Value:
    found: list[Value] = []
    for at, item in enumerate(args):
        given = ranked(call, item)
        if len(given.shape or ()) != 1 or given.dtype in (None, "bool"):
            raise Undecided
        shape = tuple((given.shape or ())[0] if place == at else 1 for place in range(len(args)))
        name = given.dtype if given.shape != (0,) else None
        found.append(Tensor("numpy", shape, None, name, None, call.node, None, SPELLED))
    return tuple_of(found)


@op("numpy.trapezoid numpy.trapz", "y x=None dx=1.0 axis=-1")
def trapezoid(call: Call, y: Value, x: Value, dx: Value, axis: Value) -> Value:
    given = ranked(call, y)
    shape = given.shape or ()
    if not values.is_none(x) and len(ranked(call, x).shape or ()) > 1:
        raise Undecided
    if isinstance(dx, (Tensor, values.Sequence)):
        raise Undecided
    at = arguments.axis(axis, len(shape))
    return unplaced(call, "numpy", (*shape[:at], *shape[at + 1 :]), None)


@op("numpy.vander", "x N=None increasing=False")
def vander(call: Call, x: Value, N: Value, increasing: Value) -> Value:
    given = ranked(call, x)
    shape = given.shape or ()
    if len(shape) != 1:
        raise Undecided
    return unplaced(call, "numpy", (shape[0], shape[0] if values.is_none(N) else arguments.count(N)), None)


@op("numpy.lexsort", "keys axis=-1")
def lexsort(call: Call, keys: Value, axis: Value) -> Value:
    given = ranked(call, keys)
    if len(given.shape or ()) < 2:
        raise Undecided
    return unplaced(call, "numpy", (given.shape or ())[1:], "int64")


@op("numpy.nan_to_num", "x copy=True nan=0.0 posinf=None neginf=None")
def nan_to_num(call: Call, x: Value, **rest: Value) -> Value:
    given = tensor(array_of(call, x))
    return copy(given, strides=given.strides if given.in_order else None)


@op("numpy.hanning numpy.hamming numpy.blackman numpy.bartlett numpy.kaiser", "M beta=0")
def window(call: Call, M: Value, beta: Value) -> Value:
    size = arguments.count(M)
    if isinstance(M, Tensor) or (isinstance(size, int) and size < 1):
        raise Undecided
    return laid(
        call, "numpy", (size,), (1,), "float64" if isinstance(M, (Const, Number)) and isinstance(beta, Const) else None
    )


@op("numpy.unwrap numpy.i0", "p discont=None axis=-1 / period=6.283185307179586")
def same_shape(call: Call, p: Value, **rest: Value) -> Value:
    given = ranked(call, p)
    if not given.shape:
        raise Undecided
    return unplaced(call, "numpy", given.shape, None)


@op("numpy.piecewise", "x condlist funclist *args")
def piecewise(call: Call, x: Value, **rest: object) -> Value:
    given = ranked(call, x)
    if not given.shape:
        raise Undecided
    return unplaced(call, "numpy", given.shape, given.dtype)


@op("numpy.ediff1d", "ary to_end=None to_begin=None", tensor=False)
def ediff1d(call: Call, ary: Value, to_end: Value, to_begin: Value) -> Value:
    size = S.product(own(call, ary).shape or ())
    if not values.is_none(to_end) or not values.is_none(to_begin) or not arguments.at_least(size, 1):
        raise Undecided
    return unplaced(call, "numpy", (S.subtract(size, 1),), None)


@op("numpy.resize", "a new_shape")
def resize(call: Call, a: Value, new_shape: Value) -> Value:
    shape = arguments.shape([new_shape])
    if -1 in shape:
        raise Undecided
    return unplaced(call, "numpy", shape, ranked(call, a).dtype)


@op("numpy.insert", "arr obj values axis=None", tensor=False)
def insert(call: Call, arr: Value, obj: Value, axis: Value, **rest: Value) -> Value:
    """A number, or a row, put in at one place makes the axis longer by one."""
    given, added = own(call, arr), ranked(call, rest["values"])
    shape, more = given.shape or (), added.shape or ()
    if values.integer(obj) is None:
        raise Undecided
    if values.is_none(axis) and not more:
        return unplaced(call, "numpy", (S.add(S.product(shape), 1),), given.dtype)
    if values.is_none(axis) or len(more) >= len(shape):
        raise Undecided
    at = arguments.axis(axis, len(shape))
    return unplaced(call, "numpy", (*shape[:at], S.add(shape[at], 1), *shape[at + 1 :]), given.dtype)


@op("numpy.lib.stride_tricks.sliding_window_view", "x window_shape axis=None / subok=False writeable=False")
def sliding_windows(call: Call, x: Value, window_shape: Value, axis: Value, **rest: Value) -> Value:
    """Windows along each axis; all of them stand behind the axes."""
    given = ranked(call, x)
    shape, sizes = given.shape or (), arguments.shape([window_shape])
    if not values.is_none(axis) or len(sizes) != len(shape) or -1 in sizes:
        raise Undecided
    places = tuple(S.add(S.subtract(size, window), 1) for size, window in zip(shape, sizes, strict=True))
    return unplaced(call, "numpy", (*places, *sizes), given.dtype)


@op("numpy.linalg.multi_dot", "arrays out=None")
def multi_dot(call: Call, arrays: Value, out: Value) -> Value:
    items = arrays.items if isinstance(arrays, values.Sequence) else None
    if not items or len(items) < 2 or not values.is_none(out):
        raise Undecided
    first, last = ranked(call, items[0]).shape or (), ranked(call, items[-1]).shape or ()
    if len(first) not in (1, 2) or len(last) not in (1, 2):
        raise Undecided
    return unplaced(call, "numpy", (*first[:-1], *last[1:]), None)


@op("numpy.sort_complex", "a")
def sort_complex(call: Call, a: Value) -> Value:
    given = own(call, a)
    if not given.shape:
        raise Undecided
    return unplaced(call, "numpy", given.shape, None, marks=NUMERIC)


@op("numpy.real_if_close", "a tol=100")
def real_if_close(call: Call, a: Value, tol: Value) -> Value:
    given = ranked(call, a)
    name = given.dtype if given.dtype is not None and dtypes.category(given.dtype) != dtypes.COMPLEX else None
    return unplaced(call, "numpy", given.shape or (), name)


@op("numpy.packbits", "a / axis=None bitorder='big'")
def packbits(call: Call, a: Value, axis: Value, bitorder: Value) -> Value:
    """Eight bits in each byte, of the axis or of all."""
    shape = list(own(call, a).shape or ())
    if values.is_none(axis):
        shape = [S.product(shape)]
    at = arguments.axis(axis, len(shape)) if not values.is_none(axis) else 0
    size = S.floor_divide(S.add(shape[at], 7), 8)
    if size is None:
        raise Undecided
    shape[at] = size
    return unplaced(call, "numpy", tuple(shape), "uint8")


@op("numpy.unpackbits", "a / axis=None count=None bitorder='big'")
def unpackbits(call: Call, a: Value, axis: Value, count: Value, bitorder: Value) -> Value:
    shape = list(own(call, a).shape or ())
    if not values.is_none(count):
        raise Undecided
    if values.is_none(axis):
        shape = [S.product(shape)]
    at = arguments.axis(axis, len(shape)) if not values.is_none(axis) else 0
    shape[at] = S.multiply(shape[at], 8)
    return unplaced(call, "numpy", tuple(shape), "uint8")
