"""numpy's reductions, and what runs along an axis: cumsum, sort, argsort."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import chosen
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.reducing import reduce
from tensorlint.inference.ops.results import laid, numeric, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.values import Const, Scalar, Sequence, Tensor, Value, copy, hold_elements


def summed(dtype: str | None) -> str | None:
    """Small integers are summed as int64 (uint64)."""
    if dtype == dtypes.OBJECT:
        return dtype
    if dtype is None or dtype not in dtypes.CATEGORY:
        return None
    if dtypes.CATEGORY[dtype] <= dtypes.INTEGER:
        return "uint64" if dtype.startswith("u") else "int64"
    return dtype


def averaged(dtype: str | None) -> str | None:
    if dtype == dtypes.OBJECT:
        return dtype
    if dtype is None or dtype not in dtypes.CATEGORY:
        return None
    return "float64" if dtypes.CATEGORY[dtype] <= dtypes.INTEGER else dtype


def same(dtype: str | None) -> str | None:
    return dtype


_KINDS: dict[str, Callable[[str | None], str | None]] = {
    "sum prod numpy.nansum numpy.nanprod": summed,
    "mean numpy.nanmean": averaged,
    "std var numpy.nanstd numpy.nanvar": lambda dtype: dtypes.real_of(averaged(dtype)),
    "max min numpy.amax numpy.amin numpy.nanmax numpy.nanmin": same,
    "all any": lambda dtype: "bool",
    "argmax argmin numpy.nanargmax numpy.nanargmin": lambda dtype: "int64",
    "numpy.median numpy.nanmedian": averaged,
    "numpy.count_nonzero": lambda dtype: "int64",
    "ptp": same,
}


def _reduction(rule: Callable[[str | None], str | None]) -> Callable[..., Value]:
    def transfer(call: Call, a: Value, axis: Value, dtype: Value, out: Value, keepdims: Value, **rest: Value) -> Value:
        if not values.is_none(out):
            raise Undecided
        return reduced(call, a, axis, keepdims, dtype, rule)

    return transfer


def reduced(
    call: Call, a: Value, axis: Value, keepdims: Value, dtype: Value, rule: Callable[[str | None], str | None]
) -> Value:
    given = array_of(call, a)
    if isinstance(axis, Sequence) and axis.items == []:
        raise Undecided
    name = chosen(dtype, rule(given.dtype))
    result = reduce(call, given, axis, keepdims, name, contiguous=False)
    if name is None and given.marks:
        result.marks |= numeric("numpy", None, (given,))
    if call.name.rpartition(".")[2] == "prod" and given.elements is not None and result.shape == ():
        hold_elements(result, (S.product(given.elements),))
    return result


for _names, _rule in _KINDS.items():
    _first = _names.split()[0].rpartition(".")[2]
    if _first in ("mean", "sum", "std"):
        _text = "a axis=None dtype=None out=None"
    elif _first in ("median",):
        _text = "a axis=None out=None overwrite_input=None"
    elif _first == "count_nonzero":
        _text = "a axis=None"
    else:
        _text = "a axis=None out=None"
    _given = {word.partition("=")[0] for word in _text.split()}
    _spare = "dtype=None out=None keepdims=False ddof=0 correction=None initial=None where=None mean=None"
    _more = " ".join(word for word in _spare.split() if word.partition("=")[0] not in _given)
    _positional = {
        "std": " ddof=0 keepdims=False",
        "sum": " keepdims=False",
        "mean": " keepdims=False",
        "max": " keepdims=False",
    }
    _tail = _positional.get(_first, "")
    _more = " ".join(word for word in _more.split() if word.partition("=")[0] + "=" not in _tail.replace(" ", " "))
    op(_names, f"{_text}{_tail} / {_more}")(_reduction(_rule))


@op("numpy.average", "a axis=None weights=None returned=False / keepdims=False")
def average(call: Call, a: Value, axis: Value, weights: Value, returned: Value, keepdims: Value) -> Value:
    if arguments.truth(returned) is not False:
        raise Undecided
    given = array_of(call, a)
    name = averaged(given.dtype) if values.is_none(weights) else None
    return reduce(call, given, axis, keepdims, name, contiguous=False)


@op(
    "numpy.percentile numpy.quantile numpy.nanpercentile numpy.nanquantile",
    "a q axis=None out=None overwrite_input=False method='linear' keepdims=False / weights=None interpolation=None",
)
def percentile(call: Call, a: Value, q: Value, axis: Value, keepdims: Value, **rest: Value) -> Value:
    given = array_of(call, a)
    result = reduce(call, given, axis, keepdims, None, contiguous=False)
    if isinstance(q, (Const, Scalar)):
        result.strides = None if result.shape else result.strides
        return result
    levels = tensor(array_of(call, q))
    if result.shape is None or levels.shape is None or len(levels.shape) > 1:
        raise Undecided
    return unplaced(call, "numpy", (*levels.shape, *result.shape), None)


@op("cumsum cumprod numpy.nancumsum numpy.nancumprod", "a axis=None dtype=None out=None")
def cumsum(call: Call, a: Value, axis: Value, dtype: Value, out: Value) -> Value:
    given = tensor(array_of(call, a))
    shape = given.shape or ()
    name = chosen(dtype, summed(given.dtype))
    if values.is_none(axis):
        return laid(call, "numpy", (S.product(shape),), (1,), name)
    if not shape:
        raise Undecided
    arguments.axis(axis, len(shape))
    return laid(call, "numpy", shape, layout.contiguous(shape) if given.contiguous else None, name)


@op("numpy.cumulative_sum numpy.cumulative_prod", "x / axis=None dtype=None out=None include_initial=False")
def cumulative(call: Call, x: Value, axis: Value, dtype: Value, out: Value, include_initial: Value) -> Value:
    """As `cumsum`, with what is there before the first if `include_initial` says so."""
    given = tensor(array_of(call, x))
    shape = given.shape or ()
    if not shape or not values.is_none(out) or (values.is_none(axis) and len(shape) != 1):
        raise Undecided
    at = 0 if values.is_none(axis) else arguments.axis(axis, len(shape))
    size = S.add(shape[at], 1) if arguments.flag(include_initial) else shape[at]
    return unplaced(call, "numpy", (*shape[:at], size, *shape[at + 1 :]), chosen(dtype, summed(given.dtype)))


def _may_be_none(axis: Value) -> bool:
    """Whether it is nobody knows what: without an axis an array is flattened first."""
    return axis is values.UNKNOWN or (isinstance(axis, values.Opaque) and not axis.integer)


@op("numpy.partition numpy.argpartition .argpartition", "a kth axis=-1 kind=None order=None")
def partition(call: Call, a: Value, axis: Value, **rest: Value) -> Value:
    given = tensor(array_of(call, a))
    shape = given.shape or ()
    name = "int64" if "arg" in call.name else given.dtype
    if values.is_none(axis):
        return laid(call, "numpy", (S.product(shape),), (1,), name)
    if _may_be_none(axis):
        raise Undecided
    if shape and isinstance(axis, Const):
        call.report("weighed", tensor=given, axis=arguments.axis(axis, len(shape)))
    return unplaced(call, "numpy", shape, name) if shape else unranked("numpy", name)


@op(
    "numpy.sort numpy.argsort .argsort",
    "a axis=-1 kind=None order=None / stable=None kth=None",
)
def sort(call: Call, a: Value, axis: Value, **rest: Value) -> Value:
    given = tensor(array_of(call, a))
    shape = given.shape or ()
    name = "int64" if "arg" in call.name else given.dtype
    if values.is_none(axis):
        return laid(call, "numpy", (S.product(shape),), (1,), name)
    if not shape or _may_be_none(axis):
        raise Undecided
    if isinstance(axis, Const):
        call.report("weighed", tensor=given, axis=arguments.axis(axis, len(shape)))
    return copy(given, dtype=name, strides=layout.contiguous(shape) if given.contiguous else None, made=call.node)


@op("numpy.diff", "a n=1 axis=-1 prepend=None append=None", tensor=False)
def diff(call: Call, a: Value, n: Value, axis: Value, prepend: Value, append: Value) -> Value:
    given = tensor(array_of(call, a))
    shape = given.shape or ()
    if not values.is_none(prepend) or not values.is_none(append):
        raise Undecided
    at = arguments.axis(axis, len(shape))
    times = arguments.whole(n)
    if not times:
        raise Undecided
    size = shape[at]
    if isinstance(size, int):
        size = max(size - times, 0)
    elif arguments.at_least(size, times):
        size = S.subtract(size, times)
    else:
        size = S.counter()
    return (
        unplaced(call, "numpy", (*shape[:at], size, *shape[at + 1 :]), given.dtype)
        if len(shape) > 1
        else laid(call, "numpy", (size,), (1,), given.dtype)
    )


@op("numpy.gradient", "f *varargs / axis=None edge_order=1", tensor=False)
def gradient(call: Call, f: Value, axis: Value, **rest: object) -> Value:
    given = tensor(array_of(call, f))
    if len(given.shape or ()) != 1 and not isinstance(axis, Const):
        raise Undecided
    if len(given.shape or ()) != 1 and values.is_none(axis):
        raise Undecided
    return laid(call, "numpy", given.shape or (), None, averaged(given.dtype))


@op("numpy.bincount", "x weights=None minlength=0")
def bincount(call: Call, x: Value, weights: Value, minlength: Value) -> Value:
    weighted = "float64" if isinstance(weights, (Tensor, Sequence)) else None  # what nobody knows may be None
    return laid(call, "numpy", (S.symbol(),), (1,), "int64" if values.is_none(weights) else weighted)


@op(".item", "input *args", tensor=False)
def item(call: Call, input: Value, args: list[Value]) -> Value:
    if isinstance(input, Tensor) and input.elements is not None and len(input.elements) == 1:
        return values.number(input.elements[0])
    if isinstance(input, Tensor) and input.dtype is not None and input.dtype in dtypes.CATEGORY:
        return Scalar(dtypes.SCALAR_KINDS[dtypes.CATEGORY[input.dtype]])
    raise Undecided
