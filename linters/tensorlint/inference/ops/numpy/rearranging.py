"""numpy's copies of whole arrays: repeated, turned, rolled, padded."""

from __future__ import annotations

from tensorlint.inference import layout, ranks, values
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import SPELLED, laid, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value


@op("numpy.tile", "a reps")
def tile(call: Call, a: Value, reps: Value) -> Value:
    given = ranked(call, a)
    shape, counts = given.shape or (), arguments.shape([reps])
    rank = max(len(shape), len(counts))
    left = (1,) * (rank - len(shape)) + shape
    right = (1,) * (rank - len(counts)) + counts
    return unplaced(call, "numpy", tuple(map(S.multiply, left, right)), given.dtype, marks=SPELLED)


@op("repeat", "a repeats axis=None")
def repeat(call: Call, a: Value, repeats: Value, axis: Value) -> Value:
    given = ranked(call, a)
    shape = given.shape or ()
    at = 0
    if values.is_none(axis):
        shape = (S.product(shape),)
    else:
        at = arguments.axis(axis, len(shape))
    times = values.size_of(repeats) if not isinstance(repeats, (Tensor, Sequence)) else None
    size: Size = S.symbol() if times is None else S.multiply(shape[at], times)
    target = (*shape[:at], size, *shape[at + 1 :])
    return laid(call, "numpy", target, layout.contiguous(target), given.dtype)


@op("numpy.flip numpy.fliplr numpy.flipud", "m axis=None")
def flip(call: Call, m: Value, axis: Value) -> Value:
    given = ranked(call, m)
    return laid(call, "numpy", given.shape or (), None, given.dtype, marks=given.marks)


@op("numpy.roll", "a shift axis=None")
def roll(call: Call, a: Value, shift: Value, axis: Value) -> Value:
    given = ranked(call, a)
    strides = layout.contiguous(given.shape or ()) if given.contiguous else None
    return laid(call, "numpy", given.shape or (), strides, given.dtype)


@op("numpy.rot90", "m k=1 axes=None")
def rot90(call: Call, m: Value, k: Value, axes: Value) -> Value:
    given = ranked(call, m)
    shape = list(given.shape or ())
    if len(shape) < 2:
        raise Undecided
    a, b = (0, 1) if values.is_none(axes) else arguments.axes(axes, len(shape))
    if arguments.whole(k) % 2:
        shape[a], shape[b] = shape[b], shape[a]
    return laid(call, "numpy", tuple(shape), None, given.dtype)


@op("numpy.tril numpy.triu", "m k=0")
def tril(call: Call, m: Value, k: Value) -> Value:
    given = ranked(call, m)
    if len(given.shape or ()) < 2:
        raise Undecided
    strides = layout.contiguous(given.shape or ()) if given.contiguous else None
    return laid(call, "numpy", given.shape or (), strides, given.dtype)


@op(
    "numpy.pad",
    "array pad_width mode='constant' / constant_values=0 stat_length=None end_values=None reflect_type=None",
)
def pad(call: Call, array: Value, pad_width: Value, **rest: Value) -> Value:
    given = array_of(call, array)
    shape = given.shape
    if shape is None:
        told = ranks.of_widths(pad_width)
        if told is None:
            raise Undecided
        known = given.axes or {}
        shape = tuple(known.get(axis, known.get(axis - told, S.symbol())) for axis in range(told))
    rank = len(shape)
    if isinstance(pad_width, Sequence) and pad_width.items is not None:
        items = pad_width.items
        if items and all(isinstance(item, Sequence) for item in items):
            if len(items) == 1:
                items = items * rank
            if len(items) != rank:
                raise Undecided
            widths = [arguments.shape([item]) for item in items]
        else:
            one = arguments.shape([pad_width])
            widths = [one] * rank
    else:
        if not isinstance(pad_width, (Const, values.Number)):
            raise Undecided
        widths = [(arguments.count(pad_width),)] * rank
    target = []
    for size, width in zip(shape, widths, strict=True):
        if len(width) == 1:
            width = width * 2
        if len(width) != 2:
            raise Undecided
        target.append(S.add(size, S.add(*width)))
    return unplaced(call, "numpy", tuple(target), given.dtype)
