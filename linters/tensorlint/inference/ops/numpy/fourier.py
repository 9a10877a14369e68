"""Fourier transforms of numpy.fft."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.ops.fourier import along_axes, along_axis
from tensorlint.inference.ops.numpy.creation import ranked
from tensorlint.inference.ops.numpy.linear_algebra import computed
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.results import RAMP, laid, unplaced
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import Sequence, Tensor, Value


@op("numpy.fft.fft numpy.fft.ifft numpy.fft.rfft numpy.fft.irfft numpy.fft.hfft numpy.fft.ihfft",
    "a n=None axis=-1 norm=None out=None")  # fmt: skip
def fft(call: Call, a: Value, n: Value, axis: Value, norm: Value, out: Value) -> Value:
    shape, _ = along_axis(call.name.rpartition(".")[2], ranked(call, a).shape or (), n, axis)
    return computed(call, shape, None)


@op("numpy.fft.fft2 numpy.fft.ifft2 numpy.fft.rfft2 numpy.fft.irfft2", "a s=None axes='last' norm=None out=None")
@op("numpy.fft.fftn numpy.fft.ifftn numpy.fft.rfftn numpy.fft.irfftn", "a s=None axes=None norm=None out=None")
def fftn(call: Call, a: Value, s: Value, axes: Value, norm: Value, out: Value) -> Value:
    return computed(call, along_axes(call.name.rpartition(".")[2], ranked(call, a).shape or (), s, axes), None)


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
