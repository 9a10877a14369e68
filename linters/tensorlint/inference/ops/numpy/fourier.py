"""Fourier transforms of numpy.fft."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.numpy.creation import ranked
from tensorlint.inference.ops.numpy.linear_algebra import computed
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import RAMP, laid, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value

# Of a transform of real numbers one half is kept; the inverse gives twice as many, less one at either end.
_HALVED = frozenset({"rfft", "ihfft", "rfft2", "rfftn"})
_LAST_TWO = tuple_of([Const(-2), Const(-1)])
_DOUBLED = frozenset({"irfft", "hfft", "irfft2", "irfftn"})


def _last_size(name: str, size: Size, is_given: bool) -> Size:
    """The size of the axis that is halved or doubled, from what is transformed or asked for."""
    if name in _HALVED:
        half = S.floor_divide(size, 2)
        if half is None:
            raise Undecided
        return S.add(half, 1)
    return S.multiply(S.subtract(size, 1), 2) if name in _DOUBLED and not is_given else size


@op("numpy.fft.fft numpy.fft.ifft numpy.fft.rfft numpy.fft.irfft numpy.fft.hfft numpy.fft.ihfft",
    "a n=None axis=-1 norm=None out=None")  # fmt: skip
def fft(call: Call, a: Value, n: Value, axis: Value, norm: Value, out: Value) -> Value:
    shape = ranked(call, a).shape or ()
    at = arguments.axis(axis, len(shape))
    size = shape[at] if values.is_none(n) else arguments.count(n)
    size = _last_size(call.name.rpartition(".")[2], size, not values.is_none(n))
    return computed(call, (*shape[:at], size, *shape[at + 1 :]), None)


@op("numpy.fft.fft2 numpy.fft.ifft2 numpy.fft.rfft2 numpy.fft.irfft2", "a s=None axes='last' norm=None out=None")
def fft2(call: Call, a: Value, s: Value, axes: Value, norm: Value, out: Value) -> Value:
    if isinstance(axes, Const) and axes.value == "last":
        axes = _LAST_TWO
    return computed(call, _transformed(call, a, s, axes), None)


@op("numpy.fft.fftn numpy.fft.ifftn numpy.fft.rfftn numpy.fft.irfftn", "a s=None axes=None norm=None out=None")
def fftn(call: Call, a: Value, s: Value, axes: Value, norm: Value, out: Value) -> Value:
    return computed(call, _transformed(call, a, s, axes), None)


def _transformed(call: Call, a: Value, s: Value, axes: Value) -> Shape:
    """The sizes of `a`, those of `s` in their places: of the `axes`, of the last ones, or of all."""
    shape = list(ranked(call, a).shape or ())
    given = None if values.is_none(s) else arguments.shape([s])
    if not values.is_none(axes):
        if not isinstance(axes, Sequence):
            raise Undecided
        where = arguments.axes(axes, len(shape))
    else:
        where = tuple(range(len(shape) - (len(shape) if given is None else len(given)), len(shape)))
    if not where or where[0] < 0 or (given is not None and (len(given) != len(where) or -1 in given)):
        raise Undecided
    for at, size in zip(where, given or (), strict=False):
        shape[at] = size
    shape[where[-1]] = _last_size(call.name.rpartition(".")[2], shape[where[-1]], given is not None)
    return tuple(shape)


@op("numpy.fft.fftshift numpy.fft.ifftshift", "x axes=None")
def fftshift(call: Call, x: Value, axes: Value) -> Value:
    given = ranked(call, x)
    return unplaced(call, "numpy", given.shape or (), given.dtype)


@op("numpy.fft.fftfreq numpy.fft.rfftfreq", "n d=1.0 device=None")
def fftfreq(call: Call, n: Value, **rest: Value) -> Value:
    size = values.size_of(n)
    if size is None or any(isinstance(one, (Tensor, Sequence)) for one in (n, *rest.values())):
        raise Undecided
    if call.name.endswith("rfftfreq"):
        half = S.floor_divide(size, 2)
        if half is None:
            raise Undecided
        size = S.add(half, 1)
    return laid(call, "numpy", (size,), None, None, marks=RAMP)
