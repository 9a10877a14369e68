"""numpy's constructors."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, ranges
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.literals import array_of, of_objects
from tensorlint.inference.ops.numpy.registry import NUMPY, op
from tensorlint.inference.ops.results import (
    LASTING,
    RAMP,
    RETYPED,
    SPELLED,
    fresh,
    laid,
    literal_marks,
    rank_one,
    seen,
    spelled_out,
    tuple_of,
    unplaced,
    unranked,
)
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Library, Sequence, Tensor, Value, copy, hold_elements, integer


def array(call: Call, value: Value) -> Tensor:
    """An argument as an array: nested lists and numbers are taken as `np.asarray` takes them."""
    return array_of(call, value)


def ranked(call: Call, value: Value) -> Tensor:
    return tensor(array_of(call, value))


def own(call: Call, value: Value) -> Tensor:
    """An array, and surely none of torch's, of which some functions make a tensor again."""
    if not isinstance(value, (Tensor, Sequence)) or (isinstance(value, Tensor) and value.framework != "numpy"):
        raise Undecided
    return ranked(call, value)


def chosen(dtype: Value, otherwise: str | None) -> str | None:
    return otherwise if values.is_none(dtype) else dtypes.named(dtype, "numpy")


def created(call: Call, shape: Shape, dtype: str | None, order: Value = values.NONE) -> Tensor:
    result = fresh(call, "numpy", shape, dtype, marks=literal_marks(shape), how=spelled_out(call, shape))
    if not values.is_none(order):
        result.strides = in_order(order, shape)
    return rank_one(call, result)


def in_order(order: Value, shape: Shape) -> Strides | None:
    if isinstance(order, Const) and order.value == "C":
        return layout.contiguous(shape)
    if isinstance(order, Const) and order.value == "F":
        return layout.dense(tuple(reversed(range(len(shape)))), shape)
    return None


def has_axes(dtype: Value) -> bool:
    """Whether an element of the type may be an array of its own, whose axes follow: `"2f4"`, `(np.float32, (3, 3))`."""
    if isinstance(dtype, values.LibraryObject) and dtype.path == "numpy.dtype" and dtype.positional:
        return has_axes(dtype.positional[0])
    if isinstance(dtype, Const) and isinstance(dtype.value, str):
        return dtype.value[:1].isdigit() or dtype.value.startswith("(") or dtype.value == "c"
    return isinstance(dtype, Sequence) and dtype.kind == "tuple"


def may_be_records(object: Value, dtype: Value) -> bool:
    """Whether tuples may be elements: `np.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)])`."""
    if values.is_none(dtype) or dtypes.named(dtype, "numpy") is not None:
        return False
    if isinstance(dtype, Library) and dtype.path.startswith(("numpy.", "builtins.", "torch.")):
        return False
    if isinstance(dtype, Const) and isinstance(dtype.value, str) and "," not in dtype.value:
        return False
    return _has_tuple(object)


def _has_tuple(value: Value) -> bool:
    if not isinstance(value, Sequence):
        return False
    if value.kind == "tuple":
        return True
    return _has_tuple(value.element) if value.items is None else any(map(_has_tuple, value.items))


def sized(
    call: Call, shape: Value, dtype: str | None, order: Value = values.NONE, given: Value = values.NONE
) -> Tensor:
    try:
        if dtype is None and has_axes(given):
            raise Undecided
        sizes = arguments.shape([shape])
    except Undecided:
        return unranked("numpy", dtype)
    return created(call, sizes, dtype, order)


@op("numpy.zeros numpy.ones numpy.empty", "shape dtype=None order='C' / like=None device=None")
def filled(call: Call, shape: Value, dtype: Value, order: Value, **rest: Value) -> Value:
    return sized(call, shape, chosen(dtype, "float64"), order, dtype)


@op("numpy.full", "shape fill_value dtype=None order='C' / like=None device=None")
def full(call: Call, shape: Value, fill_value: Value, dtype: Value, order: Value, **rest: Value) -> Value:
    kind = dtypes.of_scalar(fill_value)
    inferred = ("bool", "int64", "float64", "complex128")[kind] if kind is not None else None
    if isinstance(fill_value, Tensor):
        inferred = fill_value.dtype
    elif of_objects(fill_value):
        inferred = dtypes.OBJECT
    return sized(call, shape, chosen(dtype, inferred), order, dtype)


@op("numpy.zeros_like numpy.ones_like numpy.empty_like", "a dtype=None order='K' subok=True shape=None / device=None")
def like(call: Call, a: Value, dtype: Value, order: Value, shape: Value, **rest: Value) -> Value:
    """`order` is K (as `a` is laid out), A (column-major if `a` is), C or F."""
    given = array(call, a)
    name = chosen(dtype, given.dtype)
    if not values.is_none(shape):
        return unplaced(call, "numpy", arguments.shape([shape]), name)
    if given.shape is None:
        return unranked("numpy", name)
    kept = values.is_none(order) or (isinstance(order, Const) and order.value == "K")
    strides = kept_order(given) if kept else in_order(order, given.shape)
    return laid(call, "numpy", given.shape, strides, name, marks=given.marks & LASTING)


def kept_order(given: Tensor) -> Strides | None:
    """K order where it is plain."""
    shape, strides = given.shape or (), given.strides
    if strides is None:
        return None
    if given.contiguous is True:
        return layout.contiguous(shape)
    if 1 not in shape and layout.is_dense(shape, strides):
        return strides
    return None


@op("numpy.full_like", "a fill_value dtype=None order='K' subok=True shape=None / device=None")
def full_like(call: Call, a: Value, fill_value: Value, **rest: Value) -> Value:
    return like(call, a, **rest)


@op("numpy.arange", "start stop=None step=1 / dtype=None device=None like=None")
def arange(call: Call, start: Value, stop: Value, step: Value, dtype: Value, **rest: Value) -> Value:
    if values.is_none(stop):
        start, stop = Const(0), start
    if not values.is_none(step) and isinstance(step, Const) and isinstance(step.value, str):
        raise Undecided
    size = ranges.clipped(ranges.length(start, stop, step))  # torch refuses an end before the start
    kinds = [dtypes.of_scalar(value) for value in (start, stop, step)]
    inferred = None
    if None not in kinds and dtypes.COMPLEX not in kinds:
        inferred = "int64" if all(kind is not None and kind <= dtypes.INTEGER for kind in kinds) else "float64"
    return laid(call, "numpy", (size,), (1,), chosen(dtype, inferred), marks=RAMP)


@op("numpy.linspace", "start stop num=50 endpoint=True retstep=False dtype=None axis=0 / device=None", tensor=False)
def linspace(
    call: Call, start: Value, stop: Value, num: Value, retstep: Value, dtype: Value, axis: Value, **rest: Value
) -> Value:
    result = spaced(call, start, stop, num, dtype, axis)
    if arguments.flag(retstep):
        return tuple_of([result, values.UNKNOWN])
    return result


@op("numpy.logspace numpy.geomspace", "start stop num=50 endpoint=True base=10.0 dtype=None axis=0")
def logspace(
    call: Call, start: Value, stop: Value, num: Value, dtype: Value, axis: Value, base: Value, **rest: Value
) -> Value:
    if not isinstance(base, (Const, values.Number, values.Scalar)):
        raise Undecided
    return spaced(call, start, stop, num, dtype, axis)


def spaced(call: Call, start: Value, stop: Value, num: Value, dtype: Value, axis: Value) -> Tensor:
    size = arguments.count(num)
    if any(isinstance(end, Sequence) or (isinstance(end, Tensor) and end.shape != ()) for end in (start, stop)):
        ends = broadcast(*(ranked(call, end).shape or () for end in (start, stop)))  # a vector of them for each
        at = arguments.axis(axis, len(ends) + 1)
        return unplaced(call, "numpy", (*ends[:at], size, *ends[at:]), chosen(dtype, None))
    if not all(isinstance(end, (Const, values.Number, values.Scalar, Tensor)) for end in (start, stop)):
        raise Undecided  # what nobody knows may be an array
    real = not any(isinstance(end, Tensor) and end.dtype != "float64" for end in (start, stop)) and not any(
        dtypes.of_scalar(end) == dtypes.COMPLEX for end in (start, stop)
    )
    return laid(call, "numpy", (size,), (1,), chosen(dtype, "float64" if real else None), marks=RAMP)


@op("numpy.identity", "n dtype=None / like=None")
def identity(call: Call, n: Value, dtype: Value, like: Value) -> Value:
    rows = arguments.count(n)
    return fresh(call, "numpy", (rows, rows), chosen(dtype, "float64"))


@op("numpy.eye", "N M=None k=0 dtype=None order='C' / like=None device=None")
def eye(call: Call, N: Value, M: Value, dtype: Value, order: Value, **rest: Value) -> Value:
    rows = arguments.count(N)
    columns = rows if values.is_none(M) else arguments.count(M)
    return laid(call, "numpy", (rows, columns), in_order(order, (rows, columns)), chosen(dtype, "float64"))


@op("numpy.tri", "N M=None k=0 dtype=None / like=None")
def tri(call: Call, N: Value, M: Value, dtype: Value, **rest: Value) -> Value:
    rows = arguments.count(N)
    columns = rows if values.is_none(M) else arguments.count(M)
    if any(isinstance(size, int) and size < 0 for size in (rows, columns)):
        raise Undecided
    return fresh(call, "numpy", (rows, columns), chosen(dtype, "float64"))


def not_plain(object: Value, dtype: Value) -> bool:
    """Whether lists may be elements, which of objects may differ in length, or tuples, or an element has axes."""
    if values.is_none(dtype):
        return False
    return dtypes.named(dtype, "numpy") == dtypes.OBJECT or has_axes(dtype) or may_be_records(object, dtype)


def with_axes_in_front(call: Call, given: Value, least: int | None) -> Value:
    """An array with as many axes as `ndmin` asks for."""
    if least is None or not isinstance(given, Tensor) or given.shape is None:
        raise Undecided
    more = least - len(given.shape)
    return given if more <= 0 else seen(call, given, (*(1,) * more, *given.shape), None, marks=SPELLED)


@op("numpy.array", "object dtype=None / copy=True order='K' subok=False ndmin=0 like=None")
def new_array(call: Call, object: Value, dtype: Value, copy: Value, order: Value, ndmin: Value, **rest: Value) -> Value:
    if arguments.truth(ndmin) is not False:
        made = new_array(call, object, dtype, copy, order, values.Const(0), **rest)
        return with_axes_in_front(call, made, integer(ndmin))
    if isinstance(object, Tensor):
        return converted(call, object, dtype, order)
    if not_plain(object, dtype):
        return unranked("numpy", chosen(dtype, None))
    result = array_of(call, object, texts=True)
    result.dtype = chosen(dtype, result.dtype)
    if result.shape is None:
        return result
    result.marks = literal_marks(result.shape)
    result.how = f"np.array(...) of shape {S.show_shape(result.shape)}"
    if not (isinstance(order, Const) and order.value in ("K", "C", "A", None)):
        result.strides = in_order(order, result.shape)
    return rank_one(call, result)


@op(
    "numpy.asarray numpy.asanyarray numpy.ascontiguousarray numpy.asfortranarray numpy.asarray_chkfinite numpy.require",
    "a dtype=None order=None / like=None copy=None device=None",
)
def asarray(call: Call, a: Value, dtype: Value, order: Value, **rest: Value) -> Value:
    given_copy = rest["copy"]
    if call.name == "numpy.asanyarray" and not isinstance(a, (Tensor, Sequence)):
        return values.UNKNOWN  # a matrix, whose `flatten()` has two axes, stays one
    if not isinstance(a, Tensor) and not_plain(a, dtype):
        return unranked("numpy", chosen(dtype, None))
    given = array_of(call, a, texts=True)
    name = call.name.rpartition(".")[2]
    if given.framework != "numpy":
        given = copy(given, framework="numpy", device=None)
    if not isinstance(a, Tensor):
        result = copy(given, dtype=chosen(dtype, given.dtype), made=call.node)
        if given.shape:  # not of `np.array(3)`, which can be changed
            hold_elements(result, given.elements)
    elif name in ("ascontiguousarray", "asfortranarray"):
        result = copy(given, dtype=chosen(dtype, given.dtype))
    else:
        result = converted(call, given, dtype, order, view=values.is_none(given_copy))
    if result.shape is not None:
        if name == "ascontiguousarray":
            shape = result.shape or (1,)
            result = copy(result, shape=shape, strides=None if 1 in shape else layout.contiguous(shape))
        elif name == "asfortranarray":
            shape = result.shape or (1,)
            result = copy(result, shape=shape, strides=None if 1 in shape else in_order(Const("F"), shape))
    return result


def converted(call: Call, given: Tensor, dtype: Value, order: Value, view: bool = False) -> Tensor:
    """A copy in K order (`np.array`, `astype`), or the array itself where nothing changes (`asarray`)."""
    name = chosen(dtype, given.dtype)
    if given.framework != "numpy":
        given = copy(given, framework="numpy", device=None)
    if given.shape is None:
        return unranked("numpy", name)
    strides = kept_order(given)
    if view and given.strides != strides:
        strides = given.strides if name is not None and name == given.dtype else None
    if not values.is_none(order) and not (isinstance(order, Const) and order.value == "K"):
        strides = None if 1 in given.shape or view else in_order(order, given.shape)
    return copy(given, dtype=name, strides=strides)


@op(".astype numpy.astype", "x dtype order='K' casting='unsafe' subok=True copy=True")
def astype(call: Call, x: Value, dtype: Value, order: Value, copy: Value, **rest: Value) -> Value:
    if not isinstance(x, Tensor) or values.is_none(dtype):
        raise Undecided
    name = dtypes.named(dtype, "numpy")
    result = converted(call, x, dtype, order, view=arguments.truth(copy) is not True)
    result.dtype = name
    if x.framework is None:
        result.framework = None  # it may be a table
    if x.source is None and len(x.shape or ()) > 1:
        result.source, result.marks = x, result.marks | RETYPED
    return result


@op(".copy", "a order='C'")
def copy_method(call: Call, a: Value, order: Value) -> Value:
    return copied(call, a, order)


@op("numpy.copy", "a order='K' subok=False")
def copied(call: Call, a: Value, order: Value, **rest: Value) -> Value:
    given = array(call, a)
    if given.shape is None:
        return unranked("numpy", given.dtype)
    if isinstance(order, Const) and order.value == "K":
        return copy(given, strides=kept_order(given))
    return copy(given, strides=None if 1 in given.shape else in_order(order, given.shape))


@op("numpy.frombuffer numpy.fromiter numpy.fromstring", "buffer dtype=None count=-1 offset=0 / like=None sep=None")
def frombuffer(call: Call, buffer: Value, dtype: Value, count: Value, **rest: Value) -> Value:
    name = None if values.is_none(dtype) else dtypes.named(dtype, "numpy")
    size = values.size_of(count)
    if size is None or size == -1:
        # Of what a condition chose there may be nothing.
        size = S.counter() if isinstance(buffer, Sequence) and buffer.some is False else S.symbol()
    return laid(call, "numpy", (size,), (1,), name)


@op("numpy.meshgrid", "*xi / copy=True sparse=False indexing='xy'", tensor=False)
def meshgrid(call: Call, xi: list[Value], copy: Value, sparse: Value, indexing: Value) -> Value:
    arrays = [ranked(call, item) for item in xi]
    if not isinstance(indexing, Const):
        raise Undecided
    lengths: list[Size] = [S.product(item.shape or ()) for item in arrays]
    axes = list(range(len(arrays)))
    if indexing.value == "xy" and len(arrays) > 1:
        axes[0], axes[1] = 1, 0
    full = tuple(lengths[axes.index(place)] for place in range(len(arrays)))
    thin = arguments.flag(sparse)
    made = arguments.flag(copy)
    results: list[Value] = []
    for number, item in enumerate(arrays):
        shape = tuple(size if place == axes[number] else 1 for place, size in enumerate(full)) if thin else full
        strides = layout.contiguous(shape) if made and not thin else None
        results.append(Tensor("numpy", shape, strides, item.dtype, None, call.node, None, SPELLED))
    return tuple_of(results)


@op("numpy.indices", "dimensions dtype='int64' sparse=False", tensor=False)
def indices(call: Call, dimensions: Value, dtype: Value, sparse: Value) -> Value:
    sizes = arguments.shape([dimensions])
    if arguments.flag(sparse):
        raise Undecided
    return fresh(call, "numpy", (len(sizes), *sizes), chosen(dtype, "float64"))


@op("numpy.diag numpy.diagflat", "v k=0")
def diag(call: Call, v: Value, k: Value) -> Value:
    given = ranked(call, v)
    shape = given.shape or ()
    offset = arguments.whole(k)
    if call.name.endswith("diagflat") or len(shape) == 1:
        size = S.add(S.product(shape), abs(offset))
        return fresh(call, "numpy", (size, size), given.dtype)
    if len(shape) != 2:
        raise Undecided
    from tensorlint.inference.ops.torch.views import diagonal_of

    return diagonal_of(call, given, offset, 0, 1)


_SCALARS = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 bool_ double single half intp int_ float_"


def _scalar_type(name: str) -> None:
    dtype = dtypes.named(Const(name), "numpy") if name in dtypes.CATEGORY else dtypes._NUMPY_NAMES.get(name)

    @op(f"numpy.{name}", "x=0")
    def scalar(call: Call, x: Value) -> Value:
        given = array_of(call, x)
        if given.shape is None:
            raise Undecided
        result = copy(given, dtype=dtype, strides=kept_order(given), framework="numpy")
        hold_elements(result, given.elements)
        return result


for _name in _SCALARS.split():
    _scalar_type(_name)


@NUMPY.attribute("real")
def real(call: Call, input: Value) -> Value:
    return complex_part(call, tensor(input))


@NUMPY.attribute("imag")
def imag(call: Call, input: Value) -> Value:
    return complex_part(call, tensor(input))


def complex_part(call: Call, given: Tensor) -> Tensor:
    if given.dtype is None:
        return copy(given, strides=None)
    if dtypes.category(given.dtype) != dtypes.COMPLEX:
        return copy(given, strides=given.strides if call.name.endswith("real") else None)
    strides = None if given.strides is None else tuple(S.multiply(stride, 2) for stride in given.strides)
    return copy(given, strides=strides, dtype=dtypes.real_of(given.dtype))
