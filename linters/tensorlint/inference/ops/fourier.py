"""The sizes of Fourier transforms, which torch.fft and numpy.fft have alike."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.results import tuple_of
from tensorlint.inference.ops.table import Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Value

# Of a transform of real numbers one half is kept; the inverse gives twice as many, less one at either end.
HALVED = frozenset({"rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn"})
DOUBLED = frozenset({"irfft", "hfft", "irfft2", "irfftn", "hfft2", "hfftn"})
# The default of `fft2` and its kin, in a parameter list `'last'`.
_LAST_TWO = tuple_of([Const(-2), Const(-1)])


def along_axis(name: str, shape: Shape, n: Value, axis: Value) -> tuple[Shape, int]:
    """The sizes after `fft(x, n, axis)` or one of its kin, and the axis."""
    at = arguments.axis(axis, len(shape))
    size = shape[at] if values.is_none(n) else arguments.count(n)
    return (*shape[:at], _last_size(name, size, not values.is_none(n)), *shape[at + 1 :]), at


def along_axes(name: str, shape: Shape, s: Value, axes: Value) -> Shape:
    """The sizes after `fftn(x, s, axes)` or one of its kin: those of `s` in their places, of the axes, of the last ones, or
    of all."""
    if isinstance(axes, Const) and axes.value == "last":
        axes = _LAST_TWO
    given = None if values.is_none(s) else arguments.shape([s])
    if not values.is_none(axes):
        where = arguments.axes(axes, len(shape))
    else:
        where = tuple(range(len(shape) - (len(shape) if given is None else len(given)), len(shape)))
    if (where and where[0] < 0) or (given is not None and (len(given) != len(where) or -1 in given)):
        raise Undecided
    sizes = list(shape)
    for at, size in zip(where, given or (), strict=False):
        sizes[at] = size
    if name in HALVED | DOUBLED:
        if not where:
            raise Undecided
        sizes[where[-1]] = _last_size(name, sizes[where[-1]], given is not None)
    return tuple(sizes)


def _last_size(name: str, size: Size, is_given: bool) -> Size:
    """The size of the axis that is halved or doubled, from what is transformed or asked for."""
    if name in HALVED:
        half = S.floor_divide(size, 2)
        if half is None:
            raise Undecided
        return S.add(half, 1)
    return S.multiply(S.subtract(size, 1), 2) if name in DOUBLED and not is_given else size
