"""torch's reductions, and what keeps a shape while it runs along an axis: cumsum, softmax, sort."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.elementwise import elementwise
from tensorlint.inference.ops.reducing import reduce
from tensorlint.inference.ops.results import LASTING, fresh, laid, tuple_of, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.creation import chosen
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import FALSE, NONE, Const, Library, Scalar, Tensor, Value, copy, hold_elements

_KEPT = "sum prod nansum"


def any_tensor(input: Value) -> Tensor:
    if not isinstance(input, Tensor):
        raise Undecided
    return input


def _summed(dtype: str | None) -> str | None:
    """Sums of integers and bools are int64."""
    if dtype is None or dtype not in dtypes.CATEGORY:
        return None
    return "int64" if dtypes.CATEGORY[dtype] <= dtypes.INTEGER else dtype


@op("sum nansum", "input dim=None keepdim=False / dtype=None out=None")
def sum(call: Call, input: Value, dim: Value, keepdim: Value, dtype: Value, out: Value) -> Value:
    given = any_tensor(input)
    return reduce(call, given, dim, keepdim, chosen(dtype, _summed(given.dtype)))


@op("prod", "input dim=None keepdim=False / dtype=None out=None")
def prod(call: Call, input: Value, dim: Value, keepdim: Value, dtype: Value, out: Value) -> Value:
    given = any_tensor(input)
    result = reduce(call, given, dim, keepdim, chosen(dtype, _summed(given.dtype)))
    if given.elements is not None and result.shape == ():
        hold_elements(result, (S.product(given.elements),))
    return result


@op("mean nanmean", "input dim=None keepdim=False / dtype=None out=None")
def mean(call: Call, input: Value, dim: Value, keepdim: Value, dtype: Value, out: Value) -> Value:
    given = any_tensor(input)
    return reduce(call, given, dim, keepdim, chosen(dtype, given.dtype))


@op("std var", "input dim=None unbiased=None keepdim=False / correction=None out=None")
def std(call: Call, input: Value, dim: Value, unbiased: Value, keepdim: Value, **rest: Value) -> Value:
    given = any_tensor(input)
    if isinstance(dim, Const) and isinstance(dim.value, bool):
        dim = NONE
    return reduce(call, given, dim, keepdim, dtypes.real_of(given.dtype))


@op(
    "torch.std_mean torch.var_mean",
    "input dim=None unbiased=None keepdim=False / correction=None out=None",
    tensor=False,
)
def std_mean(call: Call, input: Value, dim: Value, unbiased: Value, keepdim: Value, **rest: Value) -> Value:
    given = any_tensor(input)
    if isinstance(dim, Const) and isinstance(dim.value, bool):
        dim = NONE
    return tuple_of(
        [reduce(call, given, dim, keepdim, dtypes.real_of(given.dtype)), reduce(call, given, dim, keepdim, given.dtype)]
    )


@op("all any", "input dim=None keepdim=False / out=None")
def all(call: Call, input: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    given = any_tensor(input)
    dtype = None if given.dtype is None else "uint8" if given.dtype == "uint8" else "bool"
    return reduce(call, given, dim, keepdim, dtype)


@op("amax amin", "input dim=None keepdim=False / out=None")
def amax(call: Call, input: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    given = any_tensor(input)
    return reduce(call, given, dim, keepdim, given.dtype)


@op("torch.aminmax .aminmax", "input / dim=None keepdim=False out=None", tensor=False)
def aminmax(call: Call, input: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    given = any_tensor(input)
    if values.is_none(dim) and arguments.truth(keepdim) is not False and given.device != "cpu":
        raise Undecided  # a CPU keeps the axes, a GPU does not
    return tuple_of([reduce(call, given, dim, keepdim, given.dtype), reduce(call, given, dim, keepdim, given.dtype)])


@op("logsumexp", "input dim keepdim=False / out=None")
def logsumexp(call: Call, input: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    given = any_tensor(input)
    return reduce(call, given, dim, keepdim, dtypes.torch_float(given.dtype, call.default_dtype))


@op("argmax argmin", "input dim=None keepdim=False / out=None")
def argmax(call: Call, input: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    return reduce(call, any_tensor(input), dim, keepdim, "int64")


@op("count_nonzero", "input dim=None")
def count_nonzero(call: Call, input: Value, dim: Value) -> Value:
    return reduce(call, any_tensor(input), dim, FALSE, "int64")


@op("max min", "input dim=None keepdim=False / other=None out=None", tensor=False)
def max(call: Call, input: Value, dim: Value, keepdim: Value, other: Value, out: Value) -> Value:
    given = any_tensor(input)
    second = dim if isinstance(dim, Tensor) else other
    if isinstance(second, Tensor):
        return elementwise(call, [given, second], framework="torch", operation=f"torch.{call.name.rpartition('.')[2]}")
    if values.is_none(dim):
        return reduce(call, given, NONE, FALSE, given.dtype)
    return _values_indices(call, given, dim, keepdim)


def _values_indices(call: Call, given: Tensor, dim: Value, keepdim: Value) -> Value:
    if given.shape is None:
        return tuple_of([unranked("torch", given.dtype, given.device), unranked("torch", "int64", given.device)])
    at = Const(arguments.axis(dim, len(given.shape)))
    return tuple_of([reduce(call, given, at, keepdim, given.dtype), reduce(call, given, at, keepdim, "int64")])


@op("median nanmedian", "input dim=None keepdim=False / out=None", tensor=False)
def median(call: Call, input: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    given = any_tensor(input)
    if values.is_none(dim):
        return reduce(call, given, NONE, FALSE, given.dtype)
    return _values_indices(call, given, dim, keepdim)


@op("mode", "input dim=-1 keepdim=False / out=None", tensor=False)
def mode(call: Call, input: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    return _values_indices(call, any_tensor(input), dim, keepdim)


@op("kthvalue", "input k dim=-1 keepdim=False / out=None", tensor=False)
def kthvalue(call: Call, input: Value, k: Value, dim: Value, keepdim: Value, out: Value) -> Value:
    return _values_indices(call, any_tensor(input), dim, keepdim)


@op("quantile nanquantile", "input q dim=None keepdim=False / interpolation='linear' out=None")
def quantile(call: Call, input: Value, q: Value, dim: Value, keepdim: Value, **rest: Value) -> Value:
    given = tensor(input)
    result = reduce(call, given, dim, keepdim, given.dtype)
    if isinstance(q, Tensor):
        if q.shape is None:
            raise Undecided
        if q.shape:
            return unplaced(call, "torch", (*q.shape, *(result.shape or ())), given.dtype, given.device)
    elif not isinstance(q, (Const, Scalar)):
        raise Undecided
    if result.shape is not None and len(result.shape) > 1:
        result.strides = None
    return result


@op("norm", "input p='fro' dim=None keepdim=False / dtype=None out=None")
def norm(call: Call, input: Value, p: Value, dim: Value, keepdim: Value, dtype: Value, out: Value) -> Value:
    given = any_tensor(input)
    if isinstance(p, Const) and p.value == "nuc":
        raise Undecided
    return reduce(call, given, dim, keepdim, dtypes.real_of(chosen(dtype, given.dtype)))


@op("linalg.vector_norm", "input ord=2 dim=None keepdim=False / dtype=None out=None")
def vector_norm(call: Call, input: Value, ord: Value, dim: Value, keepdim: Value, dtype: Value, out: Value) -> Value:
    given = any_tensor(input)
    return reduce(call, given, dim, keepdim, dtypes.real_of(chosen(dtype, given.dtype)))


@op("linalg.norm", "input ord=None dim=None keepdim=False / dtype=None out=None")
def linalg_norm(call: Call, input: Value, ord: Value, dim: Value, keepdim: Value, dtype: Value, out: Value) -> Value:
    given = any_tensor(input)
    name = dtypes.real_of(chosen(dtype, given.dtype))
    if (
        isinstance(ord, Const)
        and ord.value is not None
        and values.is_none(dim)
        and len(tensor(input).shape or ()) not in (1, 2)
    ):
        raise Undecided
    result = reduce(call, given, dim, keepdim, name)
    if result.shape is not None and len(result.shape) > 1 and not values.is_none(ord):
        result.strides = layout.contiguous(result.shape) if given.contiguous else None
    return result


@op("linalg.matrix_norm", "input ord='fro' dim=None keepdim=False / dtype=None out=None")
def matrix_norm(call: Call, input: Value, ord: Value, dim: Value, keepdim: Value, dtype: Value, out: Value) -> Value:
    given = tensor(input)
    if len(given.shape or ()) == 1:
        call.report("rank_one_matrix", tensor=given, operation="torch.linalg.matrix_norm")
    if values.is_none(dim):
        dim = values.Sequence("tuple", [Const(-2), Const(-1)])
    result = reduce(call, given, dim, keepdim, dtypes.real_of(chosen(dtype, given.dtype)))
    if result.shape is not None and len(result.shape) > 1:
        result.strides = None
    return result


# Along an axis.


@op(
    "softmax log_softmax F.softmax F.log_softmax F.softmin torch.special.softmax torch.special.log_softmax",
    "input dim=None _stacklevel=3 dtype=None / out=None",
)
def softmax(call: Call, input: Value, dtype: Value, **rest: Value) -> Value:
    given = any_tensor(input)
    name = chosen(dtype, given.dtype)
    if given.shape is None:
        return unranked("torch", name, given.device)
    if isinstance(rest.get("_stacklevel"), Library):
        # `x.softmax(-1, torch.float32)`
        stacklevel = rest["_stacklevel"]
        name = dtypes.named(stacklevel, "torch")
    if isinstance(rest.get("dim"), Const) and not values.is_none(rest["dim"]):
        call.report("weighed", tensor=given, axis=arguments.axis(rest["dim"], len(given.shape)))
    strides = layout.contiguous(given.shape)
    return laid(call, "torch", given.shape, strides, name, given.device, marks=given.marks & LASTING)


def _along(transfer: Callable[[Tensor], str | None]) -> Callable[..., Value]:
    def along(call: Call, input: Value, dim: Value, dtype: Value, out: Value) -> Value:
        given = any_tensor(input)
        name = chosen(dtype, transfer(given))
        if given.shape is None:
            return unranked("torch", name, given.device)
        return fresh(call, "torch", given.shape, name, given.device, marks=given.marks & LASTING)

    return along


op("cumsum cumprod", "input dim / dtype=None out=None")(_along(lambda given: _summed(given.dtype)))
op("logcumsumexp", "input dim / dtype=None out=None")(_along(lambda given: given.dtype))


@op("cummax cummin", "input dim / out=None", tensor=False)
def cummax(call: Call, input: Value, dim: Value, out: Value) -> Value:
    given = tensor(input)
    shape = given.shape or ()
    return tuple_of(
        [fresh(call, "torch", shape, given.dtype, given.device), fresh(call, "torch", shape, "int64", given.device)]
    )


@op("sort msort", "input dim=-1 descending=False / stable=None out=None", tensor=False)
def sort(call: Call, input: Value, **rest: Value) -> Value:
    given = any_tensor(input)
    if given.shape is None:
        return tuple_of([unranked("torch", given.dtype, given.device), unranked("torch", "int64", given.device)])
    kept = layout.preserve(given.shape, given.strides)
    ordered = copy(given, strides=kept, made=call.node)
    if call.name.rpartition(".")[2] == "msort":
        return ordered
    return tuple_of([ordered, copy(ordered, dtype="int64")])


@op("argsort", "input dim=-1 descending=False / stable=None")
def argsort(call: Call, input: Value, **rest: Value) -> Value:
    given = any_tensor(input)
    if given.shape is None:
        return unranked("torch", "int64", given.device)
    dim = rest.get("dim")
    if isinstance(dim, Const):
        call.report("weighed", tensor=given, axis=arguments.axis(dim, len(given.shape)))
    return copy(given, strides=layout.preserve(given.shape, given.strides), dtype="int64", made=call.node)


@op("topk", "input k dim=-1 largest=True sorted=True / out=None", tensor=False)
def topk(call: Call, input: Value, k: Value, dim: Value, **rest: Value) -> Value:
    given = any_tensor(input)
    if given.shape is None:
        return tuple_of([unranked("torch", given.dtype, given.device), unranked("torch", "int64", given.device)])
    shape = given.shape
    if shape:
        at = arguments.axis(dim, len(shape))
        call.report("nearest", tensor=given, axis=at)
        shape = (*shape[:at], arguments.count(k), *shape[at + 1 :])
    return tuple_of(
        [fresh(call, "torch", shape, given.dtype, given.device), fresh(call, "torch", shape, "int64", given.device)]
    )


@op("diff", "input n=1 dim=-1 prepend=None append=None / out=None")
def diff(call: Call, input: Value, n: Value, dim: Value, prepend: Value, append: Value, out: Value) -> Value:
    given = tensor(input)
    shape = given.shape or ()
    at = arguments.axis(dim, len(shape))
    size = shape[at]
    times = arguments.whole(n)
    if not times:
        return copy(given, strides=None)
    name = given.dtype
    for extra in (prepend, append):
        if not values.is_none(extra):
            size = S.add(size, (tensor(extra).shape or (1,))[at])
            name = name if tensor(extra).dtype == name else None
    if isinstance(size, int) and size < times:
        raise Undecided
    # Of fewer than `times` numbers nothing is left.
    left = S.subtract(size, times) if arguments.at_least(size, times) else S.counter()
    target = (*shape[:at], left, *shape[at + 1 :])
    if given.strides == layout.contiguous(shape) and values.is_none(prepend) and values.is_none(append):
        return fresh(call, "torch", target, given.dtype, given.device)
    return unplaced(call, "torch", target, name, given.device)


@op("histc", "input bins=100 min=0 max=0 / out=None")
def histc(call: Call, input: Value, bins: Value, **rest: Value) -> Value:
    given = any_tensor(input)
    return laid(call, "torch", (arguments.count(bins),), (1,), given.dtype, given.device)


@op("bincount", "input weights=None minlength=0")
def bincount(call: Call, input: Value, weights: Value, minlength: Value) -> Value:
    name = "int64" if values.is_none(weights) else None
    return laid(call, "torch", (S.symbol(),), (1,), name, any_tensor(input).device)
