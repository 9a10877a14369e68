"""Views: operations that return the same memory under another shape, and their copying relatives."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, indexing, reshaping
from tensorlint.inference.ops.results import (
    NO_MARKS,
    laid,
    seen,
)
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import TORCH, op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Library, Tensor, Value, copy

# Viewing and reshaping.


def names_dtype(shape: list[Value]) -> bool:
    return len(shape) == 1 and isinstance(shape[0], Library)


@op(".view", "input *shape dtype=None")
def view(call: Call, input: Value, shape: list[Value], dtype: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if names_dtype(shape) or not values.is_none(dtype):
        return view_dtype(input, dtype if not values.is_none(dtype) else shape[0])
    if len(shape) == 1 and isinstance(shape[0], Const) and isinstance(shape[0].value, str):
        raise Undecided
    return view_as_shape(call, input, arguments.shape(shape))


def view_dtype(input: Tensor, dtype: Value) -> Value:
    """The same bytes read as another type: of a wider one there are fewer along the last axis."""
    name = dtypes.named(dtype, "torch")
    if input.shape is None or name is None:
        raise Undecided
    return retyped(input, name)


def retyped(input: Tensor, name: str) -> Tensor:
    shape = input.shape or ()
    width, before = dtypes.BITS.get(name), dtypes.BITS.get(input.dtype or "")
    if not shape or (before is not None and width == before):
        return copy(input, dtype=name)
    last: Size | None = None
    if width and before:
        last = (
            S.multiply(shape[-1], before // width) if width < before else S.divide_exactly(shape[-1], width // before)
        )
    target = (*shape[:-1], S.symbol() if last is None else last)
    strides = layout.contiguous(target) if width and before and input.in_order else None
    return copy(input, dtype=name, shape=target, strides=strides, marks=frozenset())


def view_as_shape(call: Call, input: Tensor, target: Shape) -> Tensor:
    shape = reshaping.resolve_for(input, target)
    if input.shape is None:
        return laid(call, input.framework, shape, None, input.dtype, input.device)
    result = reshaping.view(input, shape)
    if result.legal is False:
        call.report("view", tensor=input, target=shape, result=result)
    else:
        if result.legal is None:
            tell_of_batch(call, input, shape)
        tell_of_branches(call, input, target)
    # After an illegal view the program has stopped; what a repaired one gives is contiguous or a view.
    strides = result.strides if result.legal else layout.contiguous(shape) if result.legal is False else None
    return seen(call, input, shape, strides, marks=reshaping.reshaped_marks(input, shape))


def tell_of_batch(call: Call, input: Tensor, target: Shape) -> None:
    """A view that torch refuses of a batch, `data[i : i + 16]`, whatever its length, unless that is 1."""
    cut = {atom for size in (*(input.shape or ()), *target) for atom in S.symbols(size) if atom.cut}
    if not cut or input.strides is None:
        return
    batch: dict[S.Symbol, Size] = {atom: S.of_symbol(S.Symbol(plural=True)) for atom in cut}
    shape, strides, wanted = (
        tuple(S.substitute(size, batch) for size in sizes) for sizes in (input.shape or (), input.strides, target)
    )
    several = copy(input, shape=shape, strides=strides)
    result = reshaping.view(several, wanted)
    if result.legal is False:
        call.report("view", tensor=several, target=wanted, result=result)


def tell_of_branches(call: Call, input: Tensor, target: Shape) -> None:
    """A view that torch refuses of what one branch of an `if` made of the tensor."""
    for each in input.alternatives:
        if each.shape is not None and each.strides is not None:
            shape = reshaping.resolve(each.shape, target)
            result = reshaping.view(each, shape)
            if result.legal is False:
                call.report("view", tensor=each, target=shape, result=result, branch=True, met=input.alternatives_at)
                return


@op(".view_as", "input other")
def view_as(call: Call, input: Value, other: Value) -> Value:
    other = tensor(other)
    if not isinstance(input, Tensor) or other.shape is None:
        raise Undecided
    return view_as_shape(call, input, other.shape)


def reshape_to(call: Call, input: Tensor, target: Shape) -> Tensor:
    shape = reshaping.resolve_for(input, target)
    if input.shape is None:
        return laid(call, input.framework, shape, None, input.dtype, input.device)
    strides = reshaping.reshape(input, shape)
    return seen(call, input, shape, strides, marks=reshaping.reshaped_marks(input, shape))


@op(".reshape", "input *shape")
def reshape(call: Call, input: Value, shape: list[Value]) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    return reshape_to(call, input, arguments.shape(shape))


@op("torch.reshape", "input shape")
def reshape_function(call: Call, input: Value, shape: Value) -> Value:
    return reshape(call, input, [shape])


@op(".reshape_as", "input other")
def reshape_as(call: Call, input: Value, other: Value) -> Value:
    other = tensor(other)
    if not isinstance(input, Tensor) or other.shape is None:
        raise Undecided
    return reshape_to(call, input, other.shape)


def flatten_axes(call: Call, input: Tensor, start: int, end: int) -> Tensor:
    shape = tensor(input).shape or ()
    if not shape:
        return reshape_to(call, input, (1,))
    if start == end:
        return input
    size = S.relied(S.product(shape[start : end + 1]))
    target = (*shape[:start], size, *shape[end + 1 :])
    return seen(call, input, target, reshaping.reshape(input, target), marks=reshaping.reshaped_marks(input, target))


@op("flatten", "input start_dim=0 end_dim=-1")
def flatten(call: Call, input: Value, start_dim: Value, end_dim: Value) -> Value:
    if isinstance(input, Tensor) and input.shape is None:
        first, last = arguments.whole(start_dim), arguments.whole(end_dim)
        if first >= 0 > last and first - last <= arguments.MOST_AXES:  # what stands before, one, and what stands behind
            known = input.axes or {}
            before = [known.get(axis, S.symbol()) for axis in range(first)]
            behind = [known.get(axis, S.symbol()) for axis in range(last + 1, 0)]
            size = reshaping.of_unknown(input)
            return laid(call, input.framework, (*before, size, *behind), None, input.dtype, input.device)
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    start, end = arguments.axis(start_dim, rank), arguments.axis(end_dim, rank)
    if start > end:
        raise Undecided
    return flatten_axes(call, ranked, start, end)


@op("ravel", "input")
def ravel(call: Call, input: Value) -> Value:
    if isinstance(input, Tensor) and input.shape is None:
        return laid(call, input.framework, (reshaping.of_unknown(input),), None, input.dtype, input.device)
    ranked = tensor(input)
    shape = (S.relied(S.product(ranked.shape or ())),)
    if ranked.shape is not None and len(ranked.shape) == 1:
        return ranked if ranked.strides == (1,) else seen(call, ranked, shape, (1,) if ranked.contiguous else None)
    strides = (1,) if ranked.strides is not None and ranked.contiguous is not None else None
    return seen(call, ranked, shape, strides)


@op("unflatten", "input dim sizes")
def unflatten(call: Call, input: Value, dim: Value, sizes: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    inner = reshaping.resolve((shape[at],), arguments.shape([sizes]))
    target = (*shape[:at], *inner, *shape[at + 1 :])
    result = reshaping.view(ranked, target)
    return seen(call, ranked, target, result.strides if result.legal else None)


# Parts.


@op("select", "input dim index")
def select(call: Call, input: Value, dim: Value, index: Value) -> Value:
    ranked = tensor(input)
    return indexing.without_axis(call, ranked, arguments.axis(dim, len(ranked.shape or ())))


@op("narrow", "input dim start length")
def narrow(call: Call, input: Value, dim: Value, start: Value, length: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    size = arguments.count(length)
    target = (*shape[:at], size, *shape[at + 1 :])
    return seen(call, ranked, target, ranked.strides, words=None if size == shape[at] else "narrowed")


@op("linalg.diagonal", "A / offset=0 dim1=-2 dim2=-1")
def last_diagonal(call: Call, A: Value, offset: Value, dim1: Value, dim2: Value) -> Value:
    return diagonal(call, A, offset, dim1, dim2)


@op("diagonal", "input offset=0 dim1=0 dim2=1")
def diagonal(call: Call, input: Value, offset: Value, dim1: Value, dim2: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    a, b = arguments.axis(dim1, len(shape)), arguments.axis(dim2, len(shape))
    return diagonal_of(call, ranked, arguments.whole(offset), a, b)


def diagonal_of(call: Call, ranked: Tensor, offset: int, a: int, b: int) -> Tensor:
    shape = ranked.shape or ()
    if a == b:
        raise Undecided
    rows, columns = shape[a], shape[b]
    size: Size
    if isinstance(rows, int) and isinstance(columns, int):
        size = max(min(rows, columns - offset), 0) if offset >= 0 else max(min(rows + offset, columns), 0)
    elif rows == columns and offset == 0:
        size = rows
    else:
        size = S.symbol()
    rest = [axis for axis in range(len(shape)) if axis not in (a, b)]
    strides: Strides | None = None
    if ranked.strides is not None:
        own = ranked.strides
        strides = (*(own[axis] for axis in rest), S.add(own[a], own[b]))
    return seen(call, ranked, (*(shape[axis] for axis in rest), size), strides, words="taken as a diagonal")


@op(".unfold", "input dimension size step")
def unfold(call: Call, input: Value, dimension: Value, size: Value, step: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    at = arguments.axis(dimension, len(shape))
    window, stride = arguments.count(size), arguments.count(step)
    windows = S.floor_divide(S.subtract(shape[at], window), stride)
    if windows is None:
        raise Undecided
    strides: Strides | None = None
    if ranked.strides is not None:
        own = ranked.strides
        strides = (*own[:at], S.multiply(own[at], stride), *own[at + 1 :], own[at])
    return seen(call, ranked, (*shape[:at], S.add(windows, 1), *shape[at + 1 :], window), strides, words="unfolded")


@op("as_strided", "input size stride storage_offset=None")
def as_strided(call: Call, input: Value, size: Value, stride: Value, storage_offset: Value) -> Value:
    if isinstance(input, Tensor) and input.shape is None:
        return laid(call, input.framework, arguments.shape([size]), None, input.dtype, input.device)
    ranked = tensor(input)
    strides = arguments.shape([stride])
    return seen(call, ranked, arguments.shape([size]), strides, marks=NO_MARKS, words="as_strided")


# Complex numbers.


@TORCH.attribute("real")
def real(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    return complex_part(call, ranked)


@TORCH.attribute("imag")
def imag(call: Call, input: Value) -> Value:
    return complex_part(call, tensor(input))


@op("torch.real torch.imag")
def real_function(call: Call) -> Value:
    raise Undecided


def complex_part(call: Call, ranked: Tensor) -> Value:
    if ranked.dtype is None:
        return seen(call, ranked, ranked.shape or (), None)
    if dtypes.category(ranked.dtype) != dtypes.COMPLEX:
        return ranked
    strides = None if ranked.strides is None else tuple(S.multiply(stride, 2) for stride in ranked.strides)
    result = seen(call, ranked, ranked.shape or (), strides)
    result.dtype = dtypes.real_of(ranked.dtype)
    return result


@op("torch.view_as_real", "input")
def view_as_real(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    strides = None if ranked.strides is None else (*(S.multiply(stride, 2) for stride in ranked.strides), 1)
    result = seen(call, ranked, (*(ranked.shape or ()), 2), strides)
    result.dtype = dtypes.real_of(ranked.dtype)
    return result


@op("torch.view_as_complex", "input")
def view_as_complex(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    strides: Strides | None = None
    if ranked.strides is not None:
        halves = [S.divide_exactly(stride, 2) for stride in ranked.strides[:-1]]
        if all(half is not None for half in halves):
            strides = tuple(half for half in halves if half is not None)
    result = seen(call, ranked, shape[:-1], strides)
    result.dtype = dtypes.complex_of(ranked.dtype)
    return result


@op("resolve_conj resolve_neg", "input")
def resolved(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    if ranked.dtype is not None and dtypes.category(ranked.dtype) != dtypes.COMPLEX:
        return ranked
    return copy(ranked, strides=None)
