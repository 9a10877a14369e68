"""Axes of size 1 and what is repeated along them: unsqueeze, squeeze, expand, repeat."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.results import (
    REPEATS,
    SPELLED,
    fresh,
    laid,
    seen,
    surviving,
    tuple_of,
    unranked,
)
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.ops.torch.views import reshape_to
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Sequence, Tensor, Value, copy


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
    repeats: list[int] = []
    for axis, size in enumerate(sizes):
        if axis < offset:
            if size == -1:
                raise Undecided
            target.append(size)
            grown = True
            repeats.append(axis)
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
            repeats.append(axis)
        elif isinstance(own, int) and isinstance(size, int):
            raise Undecided
        else:
            # The size fits, so it is either equal or the axis was 1, be it called by a name: two names are seldom one size.
            target.append(size)
            if not isinstance(own, int):
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
    if result_strides is None:
        marks |= _repeating(repeats)
    return seen(call, input, result_shape, result_strides, marks=marks, words=words if grown else None)


def _repeating(axes: list[int]) -> frozenset[str]:
    return frozenset((REPEATS + ",".join(map(str, axes)),)) if axes else frozenset()


def _of_unknown_rank(input: Tensor, sizes: Shape) -> list[int]:
    """The axes that repeat what the input has once, where it has an axis of size 1 for them, or none: `x[None].expand(n, -1)`."""
    known = input.axes or {}
    aligned = bool(sizes) and sizes[0] == -1  # an axis that is kept is no new one: the input has as many
    return [
        axis
        for axis, size in enumerate(sizes)
        if size not in (-1, 1)
        and (known.get(axis - len(sizes)) == 1 or (known.get(axis) == 1 and (aligned or axis == 0)))
    ]


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
        shape = tuple(S.symbol() if one == -1 else one for one in sizes)
        return laid(
            call,
            input.framework,
            shape,
            None,
            input.dtype,
            input.device,
            marks=_repeating(_of_unknown_rank(input, sizes)),
        )
    return expanded(call, tensor(input), sizes)


@op("torch.broadcast_to", "input size")
def broadcast_to(call: Call, input: Value, size: Value) -> Value:
    return expand(call, input, [size])


@op(".broadcast_to", "input *size")
def broadcast_to_sizes(call: Call, input: Value, size: list[Value]) -> Value:
    return expand(call, input, size)


@op(".expand_as", "input other")
def expand_as(call: Call, input: Value, other: Value) -> Value:
    other = tensor(other)
    if isinstance(input, Tensor) and input.shape is None:
        sizes = other.shape or ()
        marks = _repeating(_of_unknown_rank(input, sizes))
        return laid(call, input.framework, sizes, None, input.dtype, input.device, marks=marks)
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
