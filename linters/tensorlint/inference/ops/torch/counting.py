"""Counts and places: histograms, elements that are not zero, indices by each axis."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.results import tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Opaque, Sequence, Tensor, Value


def _made(call: Call, shape: tuple[Size, ...], of: Tensor, dtype: str | None) -> Tensor:
    return unplaced(call, "torch", shape, dtype, of.device)


@op("histogram", "input bins range=None / weight=None density=False out=None", tensor=False)
def histogram(call: Call, input: Value, bins: Value, **rest: Value) -> Value:
    """The counts, and the edges of the bins, one more than there are bins, which may be given."""
    ranked = tensor(input)
    if isinstance(bins, Tensor):
        edges = bins.shape or ()
        if len(edges) != 1:
            raise Undecided
        return tuple_of(
            [_made(call, (S.subtract(edges[0], 1),), ranked, ranked.dtype), _made(call, edges, ranked, None)]
        )
    size = S.counter() if isinstance(bins, Opaque) and not bins.integer else arguments.count(bins)
    return tuple_of(_made(call, (each,), ranked, ranked.dtype) for each in (size, S.add(size, 1)))


@op("torch.histogramdd", "input bins range=None / weight=None density=False out=None", tensor=False)
def histogramdd(call: Call, input: Value, bins: Value, **rest: Value) -> Value:
    """Points by rows, an axis for each column, and the edges along each."""
    ranked = tensor(input)
    axes = (ranked.shape or (0,))[-1]
    if not isinstance(axes, int) or not 1 <= axes <= arguments.MOST_AXES:
        raise Undecided
    if isinstance(bins, Opaque) and not bins.integer:
        sizes: list[Size] = [S.counter() for _ in range(axes)]  # one for each, it may be, or the edges
    elif isinstance(bins, Sequence):
        if bins.items is None or len(bins.items) != axes or any(isinstance(each, Tensor) for each in bins.items):
            raise Undecided
        sizes = [arguments.count(each) for each in bins.items]
    else:
        sizes = [arguments.count(bins)] * axes
    edges = [_made(call, (S.add(size, 1),), ranked, ranked.dtype) for size in sizes]
    return tuple_of([_made(call, tuple(sizes), ranked, ranked.dtype), Sequence("tuple", list(edges))])


@op("nonzero_static", "input / size fill_value=-1 out=None")
def nonzero_static(call: Call, input: Value, size: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    return _made(call, (arguments.count(size), len(ranked.shape or ())), ranked, "int64")


@op("torch.unravel_index", "indices shape", tensor=False)
def unravel_index(call: Call, indices: Value, shape: Value) -> Value:
    """The place along each axis of each of the flat indices."""
    ranked, sizes = tensor(indices), arguments.shape([shape])
    return tuple_of(_made(call, ranked.shape or (), ranked, "int64") for _ in sizes)


@op("torch.gradient", "input / spacing=None dim=None edge_order=1", tensor=False)
def gradient(call: Call, input: Value, dim: Value, **rest: Value) -> Value:
    """One for each axis, or for each of `dim`."""
    ranked = tensor(input)
    shape = ranked.shape or ()
    count = len(shape) if values.is_none(dim) else len(arguments.axes(dim, len(shape)))
    return tuple_of(_made(call, shape, ranked, None) for _ in range(count))


@op("torch.cumulative_trapezoid", "y x=None / dx=None dim=-1")
def cumulative_trapezoid(call: Call, y: Value, x: Value, dx: Value, dim: Value) -> Value:
    ranked = tensor(y)
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    if not values.is_none(x):
        other = tensor(x).shape or ()
        if len(other) > 1 and other != shape:
            raise Undecided
    if not shape or not arguments.at_least(shape[at], 1):
        raise Undecided
    return _made(call, (*shape[:at], S.subtract(shape[at], 1), *shape[at + 1 :]), ranked, None)


@op("put", "input index source accumulate=False")
def put(call: Call, input: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    return _made(call, ranked.shape or (), ranked, ranked.dtype)


@op(".sum_to_size", "input *size")
def sum_to_size(call: Call, input: Value, size: list[Value]) -> Value:
    ranked, shape = tensor(input), arguments.shape(size)
    if -1 in shape:
        raise Undecided
    return _made(call, shape, ranked, ranked.dtype if dtypes.is_floating(ranked.dtype) else None)
