"""Views: operations that return the same memory under another shape, and their copying relatives."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, indexing, reshaping
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.results import (
    NO_MARKS,
    SPELLED,
    fresh,
    laid,
    seen,
    surviving,
    tuple_of,
    unranked,
)
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import TORCH, op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Library, Sequence, Tensor, Value, copy

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
    name = dtypes.named(dtype, "torch")
    if input.shape is None or name is None or input.dtype is None:
        raise Undecided
    if dtypes.BITS.get(name) == dtypes.BITS.get(input.dtype):
        return copy(input, dtype=name)
    raise Undecided


def view_as_shape(call: Call, input: Tensor, target: Shape) -> Tensor:
    shape = reshaping.resolve(input.shape, target)
    if input.shape is None:
        return laid(call, input.framework, shape, None, input.dtype, input.device)
    result = reshaping.view(input, shape)
    if result.legal is False:
        call.report("view", tensor=input, target=shape, result=result)
    # After an illegal view the program has stopped; what a repaired one gives is contiguous or a view.
    strides = result.strides if result.legal else layout.contiguous(shape) if result.legal is False else None
    return seen(call, input, shape, strides, marks=reshaping.reshaped_marks(input, shape))


@op(".view_as", "input other")
def view_as(call: Call, input: Value, other: Value) -> Value:
    other = tensor(other)
    if not isinstance(input, Tensor) or other.shape is None:
        raise Undecided
    return view_as_shape(call, input, other.shape)


def reshape_to(call: Call, input: Tensor, target: Shape) -> Tensor:
    shape = reshaping.resolve(input.shape, target)
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
    size = reshaping.merged(S.product(shape[start : end + 1]))
    target = (*shape[:start], size, *shape[end + 1 :])
    return seen(call, input, target, reshaping.reshape(input, target), marks=reshaping.reshaped_marks(input, target))


@op("flatten", "input start_dim=0 end_dim=-1")
def flatten(call: Call, input: Value, start_dim: Value, end_dim: Value) -> Value:
    if isinstance(input, Tensor) and input.shape is None:
        if arguments.whole(start_dim) == 0 and arguments.whole(end_dim) == -1:
            return laid(call, input.framework, (S.symbol(),), None, input.dtype, input.device)
        if arguments.whole(end_dim) == -1 and arguments.whole(start_dim) > 0:
            rank = arguments.whole(start_dim) + 1
            known = input.axes or {}
            return laid(
                call,
                input.framework,
                (*(known.get(axis, S.symbol()) for axis in range(rank - 1)), S.symbol()),
                None,
                input.dtype,
                input.device,
            )
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    start, end = arguments.axis(start_dim, rank), arguments.axis(end_dim, rank)
    if start > end:
        raise Undecided
    return flatten_axes(call, ranked, start, end)


@op("ravel", "input")
def ravel(call: Call, input: Value) -> Value:
    if isinstance(input, Tensor) and input.shape is None:
        return laid(call, input.framework, (S.symbol(),), None, input.dtype, input.device)
    ranked = tensor(input)
    shape = (reshaping.merged(S.product(ranked.shape or ())),)
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


# Permutations.


def permuted(call: Call, input: Tensor, order: tuple[int, ...], words: str) -> Tensor:
    shape = input.shape or ()
    if sorted(order) != list(range(len(shape))):
        raise Undecided
    strides = None if input.strides is None else tuple(input.strides[axis] for axis in order)
    changed = order != tuple(range(len(shape)))
    return seen(
        call,
        input,
        tuple(shape[axis] for axis in order),
        strides,
        marks=surviving(input.marks, shape),
        words=words if changed else None,
    )


@op("permute", "input *dims")
def permute(call: Call, input: Value, dims: list[Value]) -> Value:
    if len(dims) == 1 and isinstance(dims[0], Sequence):
        given = dims[0].items
        if given is None:
            raise Undecided
        dims = given
    if isinstance(input, Tensor) and input.shape is None:
        known = input.axes or {}
        order = tuple(arguments.axis(dim, len(dims)) for dim in dims)
        return laid(
            call,
            input.framework,
            tuple(known[axis] if axis in known else S.symbol() for axis in order),
            None,
            input.dtype,
            input.device,
        )
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    if len(dims) != rank:
        raise Undecided
    return permuted(call, ranked, tuple(arguments.axis(dim, rank) for dim in dims), "permuted")


@op("transpose swapaxes swapdims", "input dim0 dim1")
def transpose(call: Call, input: Value, dim0: Value, dim1: Value) -> Value:
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    a, b = arguments.axis(dim0, rank), arguments.axis(dim1, rank)
    if rank <= 1:
        return ranked
    order = list(range(rank))
    order[a], order[b] = order[b], order[a]
    return permuted(call, ranked, tuple(order), "transposed")


def flip_axes(call: Call, ranked: Tensor, spelling: str) -> Tensor:
    shape = ranked.shape or ()
    if len(shape) == 1:
        call.report("rank_one_transpose", tensor=ranked, spelling=spelling)
        return copy(ranked, marks=ranked.marks | {"transposed"}, source=ranked)
    call.report("matrix_transpose")
    return permuted(call, ranked, tuple(reversed(range(len(shape)))), "transposed")


@op("t", "input")
def t(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    if len(ranked.shape or ()) > 2:
        raise Undecided
    return flip_axes(call, ranked, ".t()")


@TORCH.attribute("T")
def upper_t(call: Call, input: Value) -> Value:
    return flip_axes(call, tensor(input), ".T")


@TORCH.attribute("H")
def upper_h(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    if len(ranked.shape or ()) not in (0, 2):
        raise Undecided
    return flip_axes(call, ranked, ".H")


@TORCH.attribute("mT mH")
def matrix_t(call: Call, input: Value) -> Value:
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    if rank < 2:
        raise Undecided
    return permuted(call, ranked, (*range(rank - 2), rank - 1, rank - 2), "transposed")


@op("adjoint", "input")
def adjoint(call: Call, input: Value) -> Value:
    return matrix_t(call, input)


def moved(rank: int, sources: tuple[int, ...], targets: tuple[int, ...]) -> tuple[int, ...]:
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise Undecided
    if rank == 0:
        return ()
    order: list[int | None] = [None] * rank
    for source, target in zip(sources, targets, strict=True):
        order[target] = source
    rest = iter(axis for axis in range(rank) if axis not in sources)
    return tuple(next(rest) if axis is None else axis for axis in order)


@op("movedim moveaxis", "input source destination")
def movedim(call: Call, input: Value, source: Value, destination: Value) -> Value:
    ranked = tensor(input)
    rank = len(ranked.shape or ())
    order = moved(rank, arguments.axes(source, rank), arguments.axes(destination, rank))
    return permuted(call, ranked, order, "moved")


# Axes of size 1.


@op("unsqueeze", "input dim")
def unsqueeze(call: Call, input: Value, dim: Value) -> Value:
    return with_axis(call, tensor(input), arguments.whole(dim))


def with_axis(call: Call, input: Tensor, at: int) -> Tensor:
    shape = input.shape or ()
    rank = len(shape) + 1
    if not -rank <= at < rank:
        raise Undecided
    at %= rank
    strides: Strides | None = None
    if input.strides is not None:
        step: Size = 1 if at == rank - 1 else S.multiply(shape[at], input.strides[at])
        strides = (*input.strides[:at], step, *input.strides[at:])
    target = (*shape[:at], 1, *shape[at:])
    return seen(call, input, target, strides, marks=surviving(input.marks, target) | SPELLED, how=f".unsqueeze({at})")


@op("squeeze", "input *dim")
def squeeze(call: Call, input: Value, dim: list[Value]) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if dim:
        which = dim[0] if len(dim) == 1 else Sequence("tuple", dim)
        among = set(arguments.axes(which, len(shape)))
        if not shape:
            return ranked
    else:
        among = set(range(len(shape)))
    kept = []
    for axis, size in enumerate(shape):
        if axis not in among or S.surely_not_one(size):
            kept.append(axis)
        elif size != 1:
            raise Undecided
    target = tuple(shape[axis] for axis in kept)
    marks = surviving(ranked.marks, target)
    if not dim:
        marks |= {"squeezed"}
    strides = None if ranked.strides is None else tuple(ranked.strides[axis] for axis in kept)
    return seen(call, ranked, target, strides, marks=marks)


@op("torch.atleast_1d torch.atleast_2d torch.atleast_3d", "*tensors", tensor=False)
def atleast(call: Call, tensors: list[Value]) -> Value:
    least = int(call.name[-2]) if call.name[-1:] == "d" and call.name[-2:-1].isdigit() else 0
    if not least:
        raise Undecided
    if len(tensors) == 1 and isinstance(tensors[0], Sequence):
        if tensors[0].items is None:
            raise Undecided
        return tuple_of(at_least(call, tensor(item), least) for item in tensors[0].items)
    if len(tensors) == 1:
        return at_least(call, tensor(tensors[0]), least)
    return tuple_of(at_least(call, tensor(item), least) for item in tensors)


def at_least(call: Call, input: Tensor, least: int) -> Tensor:
    rank = len(input.shape or ())
    if rank >= least:
        return input
    if rank == 0:
        return reshape_to(call, input, (1,) * least)
    result = input
    if rank == 1:
        result = with_axis(call, result, 0)
    if least == 3:
        result = with_axis(call, result, 2)
    return result


# Expansion.


def expanded(call: Call, input: Tensor, sizes: Shape, words: str = "expanded") -> Tensor:
    shape = input.shape or ()
    offset = len(sizes) - len(shape)
    if offset < 0:
        raise Undecided
    target: list[Size] = []
    strides: list[Size] | None = [] if input.strides is not None else None
    grown = False
    for axis, size in enumerate(sizes):
        if axis < offset:
            if size == -1:
                raise Undecided
            target.append(size)
            grown = True
            if strides is not None:
                # at::inferExpandGeometry: a new axis of size 1 keeps a stride, one that repeats has 0.
                strides.append(0)
            continue
        own = shape[axis - offset]
        stride = input.strides[axis - offset] if input.strides is not None else 0
        if size == -1 or size == own:
            target.append(own)
        elif own == 1:
            target.append(size)
            stride = 0
            grown = True
        elif isinstance(own, int) and isinstance(size, int):
            raise Undecided
        else:
            # The size fits, so it is either equal or the axis was 1.
            target.append(size)
            if not S.surely_not_one(own):
                strides = None
        if strides is not None:
            strides.append(stride)
    result_shape = tuple(target)
    marks = surviving(input.marks, result_shape)
    if not shape:
        # at::inferExpandGeometry gives an expanded 0-dim tensor no strides at all.
        result_strides: Strides | None = (0,) * len(result_shape)
    else:
        result_strides = None if strides is None else expand_strides(result_shape, strides, offset)
    return seen(call, input, result_shape, result_strides, marks=marks, words=words if grown else None)


def expand_strides(shape: Shape, strides: list[Size], offset: int) -> Strides:
    """New leading axes: `expand` computes their stride as size * stride of the next axis, and 0 where they repeat."""
    result = list(strides)
    for axis in range(offset - 1, -1, -1):
        if shape[axis] == 1:
            following = S.multiply(shape[axis + 1], result[axis + 1]) if axis + 1 < len(shape) else 1
            result[axis] = following
        else:
            result[axis] = 0
    return tuple(result)


@op(".expand", "input *size")
def expand(call: Call, input: Value, size: list[Value]) -> Value:
    sizes = arguments.shape(size)
    if isinstance(input, Tensor) and input.shape is None:
        return laid(
            call,
            input.framework,
            tuple(S.symbol() if one == -1 else one for one in sizes),
            None,
            input.dtype,
            input.device,
        )
    return expanded(call, tensor(input), sizes)


@op("broadcast_to", "input size")
def broadcast_to(call: Call, input: Value, size: Value) -> Value:
    return expand(call, input, [size])


@op(".expand_as", "input other")
def expand_as(call: Call, input: Value, other: Value) -> Value:
    other = tensor(other)
    return expanded(call, tensor(input), other.shape or ())


@op("torch.broadcast_tensors", "*tensors", tensor=False)
def broadcast_tensors(call: Call, tensors: list[Value]) -> Value:
    if len(tensors) == 1 and isinstance(tensors[0], Sequence) and tensors[0].items is not None:
        tensors = tensors[0].items
    ranked = [tensor(item) for item in tensors]
    shape = broadcast(*(item.shape or () for item in ranked))
    return tuple_of(copy(expanded(call, item, shape), marks=SPELLED) for item in ranked)


@op("torch.broadcast_shapes", "*shapes", tensor=False)
def broadcast_shapes(call: Call, shapes: list[Value]) -> Value:
    return tuple_of(values.number(size) for size in broadcast(*(arguments.shape([shape]) for shape in shapes)))


@op(".repeat", "input *repeats")
def repeat(call: Call, input: Value, repeats: list[Value]) -> Value:
    counts = arguments.shape(repeats)
    if isinstance(input, Tensor) and input.shape is None:
        return unranked(input.framework, input.dtype, input.device)
    ranked = tensor(input)
    if len(counts) < len(ranked.shape or ()):
        raise Undecided
    shape = (1,) * (len(counts) - len(ranked.shape or ())) + (ranked.shape or ())
    result = tuple(S.multiply(size, times) for size, times in zip(shape, counts, strict=True))
    return fresh(call, "torch", result, ranked.dtype, ranked.device, marks=surviving(ranked.marks, result) | SPELLED)


@op("tile", "input *dims")
def tile(call: Call, input: Value, dims: list[Value]) -> Value:
    ranked = tensor(input)
    counts = arguments.shape(dims)
    padded = (1,) * (len(ranked.shape or ()) - len(counts)) + counts
    return repeat(call, ranked, [values.number(size) for size in padded])


@op("repeat_interleave", "input repeats dim=None output_size=None")
def repeat_interleave(call: Call, input: Value, repeats: Value, dim: Value, output_size: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if values.is_none(dim):
        at, shape = 0, (S.product(shape),)
    else:
        at = arguments.axis(dim, len(shape))
    if not values.is_none(output_size):
        size = arguments.count(output_size)
    elif isinstance(repeats, Tensor) and repeats.elements is None:
        size = S.symbol()
    else:
        times = values.size_of(repeats)
        size = S.symbol() if times is None else S.multiply(shape[at], times)
    return fresh(call, "torch", (*shape[:at], size, *shape[at + 1 :]), ranked.dtype, ranked.device)


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


@op("diagonal linalg.diagonal", "input offset=0 dim1=0 dim2=1")
def diagonal(call: Call, input: Value, offset: Value, dim1: Value, dim2: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if call.name.endswith("linalg.diagonal"):
        raise Undecided
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
