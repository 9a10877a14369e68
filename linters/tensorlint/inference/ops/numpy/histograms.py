"""Histograms of numpy: the counts, and the edges of the bins, one more than there are bins."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.numpy.creation import ranked
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import laid, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import NONE, Const, Number, Opaque, Scalar, Sequence, Tensor, Value

_NUMBERS = (Const, Number, Scalar)


def _bins(value: Value) -> Size:
    """How many bins a number, or the edges between them, make."""
    if isinstance(value, Tensor) and len(value.shape or ()) == 1:
        return S.subtract((value.shape or ())[0], 1)
    if (
        isinstance(value, Sequence)
        and value.items is not None
        and all(isinstance(one, _NUMBERS) for one in value.items)
    ):
        return len(value.items) - 1
    if isinstance(value, Opaque) and not value.integer:
        return S.counter()  # a number, edges, or the name of a rule
    number = values.size_of(value)
    if number is None or isinstance(value, Tensor):
        raise Undecided
    return number


def _edges(call: Call, bins: Size, between: Value = NONE) -> Value:
    """The edges `between` two numbers."""
    if isinstance(between, Tensor) or (isinstance(between, Sequence) and any(map(_is_array, between.items or ()))):
        raise Undecided
    return laid(call, "numpy", (S.add(bins, 1),), None, None)


@op("numpy.histogram", "a bins=10 range=None density=None weights=None", tensor=False)
def histogram(call: Call, bins: Value, range: Value, **rest: Value) -> Value:
    number = _bins(bins)
    return tuple_of([laid(call, "numpy", (number,), (1,), None), _edges(call, number, range)])


@op("numpy.histogram_bin_edges", "a bins=10 range=None weights=None")
def histogram_bin_edges(call: Call, bins: Value, range: Value, **rest: Value) -> Value:
    return _edges(call, _bins(bins), range)


def _is_array(value: Value) -> bool:
    return isinstance(value, (Tensor, Sequence))


def _each(bins: Value, axes: int) -> list[Size]:
    """The bins of each axis: one number for all, or one for each."""
    if isinstance(bins, Sequence):
        if bins.items is None or len(bins.items) != axes:
            raise Undecided
        return [_bins(each) for each in bins.items]
    if isinstance(bins, Tensor):
        raise Undecided
    if isinstance(bins, Opaque) and not bins.integer:
        return [S.counter() for _ in range(axes)]  # or one of these for each
    return [_bins(bins)] * axes


@op("numpy.histogram2d", "x y bins=10 range=None density=None weights=None", tensor=False)
def histogram2d(call: Call, bins: Value, **rest: Value) -> Value:
    first, second = _each(bins, 2)
    return tuple_of([unplaced(call, "numpy", (first, second), None), _edges(call, first), _edges(call, second)])


@op("numpy.histogramdd", "sample bins=10 range=None density=None weights=None", tensor=False)
def histogramdd(call: Call, sample: Value, bins: Value, **rest: Value) -> Value:
    """Points by rows: an axis for each column."""
    shape = ranked(call, sample).shape or ()
    if not isinstance(sample, Tensor) or len(shape) != 2 or not isinstance(shape[1], int):
        raise Undecided
    if not 1 <= shape[1] <= arguments.MOST_AXES:
        raise Undecided
    sizes = _each(bins, shape[1])
    return tuple_of([unplaced(call, "numpy", tuple(sizes), None), tuple_of(_edges(call, size) for size in sizes)])
