"""Fourier transforms of torch.fft."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.results import RAMP, fresh, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor, Value


@op("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft", "input n=None dim=-1 norm=None / out=None")
def fft(call: Call, input: Value, n: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    at = arguments.axis(dim, len(shape))
    name = call.name.rpartition(".")[2]
    size: Size | None = shape[at] if values.is_none(n) else arguments.count(n)
    if name == "rfft":
        size = S.floor_divide(size, 2)  # type: ignore[arg-type]
        size = None if size is None else S.add(size, 1)
    elif name in ("irfft", "hfft") and values.is_none(n):
        size = S.multiply(S.subtract(shape[at], 1), 2)
    if size is None:
        raise Undecided
    result = (*shape[:at], size, *shape[at + 1 :])
    dtype = dtypes.torch_float(ranked.dtype, call.default_dtype)
    dtype = dtypes.real_of(dtype) if name in ("irfft", "hfft") else dtypes.complex_of(dtype)
    if at == len(shape) - 1 and ranked.strides == layout.contiguous(shape):
        return fresh(call, "torch", result, dtype, ranked.device)
    return unplaced(call, "torch", result, dtype, ranked.device)


@op("fft.fft2 fft.ifft2 fft.fftn fft.ifftn", "input s=None dim=None norm=None / out=None")
def fftn(call: Call, input: Value, s: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = list(ranked.shape or ())
    if not values.is_none(s):
        sizes = arguments.shape([s])
        where = range(len(shape) - len(sizes), len(shape)) if values.is_none(dim) else arguments.axes(dim, len(shape))
        if any(size == -1 for size in sizes):
            raise Undecided
        for axis, size in zip(where, sizes, strict=True):
            shape[axis] = size
    dtype = dtypes.complex_of(dtypes.torch_float(ranked.dtype, call.default_dtype))
    return unplaced(call, "torch", tuple(shape), dtype, ranked.device)


@op("fft.rfft2 fft.rfftn", "input s=None dim=None norm=None / out=None")
def rfftn(call: Call, input: Value, s: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = list(ranked.shape or ())
    if not values.is_none(s) or not shape:
        raise Undecided
    at = len(shape) - 1 if values.is_none(dim) else arguments.axes(dim, len(shape))[-1]
    half = S.floor_divide(shape[at], 2)
    if half is None:
        raise Undecided
    shape[at] = S.add(half, 1)
    dtype = dtypes.complex_of(dtypes.torch_float(ranked.dtype, call.default_dtype))
    return unplaced(call, "torch", tuple(shape), dtype, ranked.device)


@op("fft.fftshift fft.ifftshift", "input dim=None")
def fftshift(call: Call, input: Value, dim: Value) -> Value:
    ranked = tensor(input)
    return unplaced(call, "torch", ranked.shape or (), ranked.dtype, ranked.device)


@op("fft.fftfreq fft.rfftfreq", "n d=1.0 / dtype=None device=None out=None layout=None requires_grad=False")
def fftfreq(call: Call, n: Value, **rest: Value) -> Value:
    size: Size | None = arguments.count(n)
    if isinstance(size, int) and size < 1:
        raise Undecided
    if call.name.endswith("rfftfreq"):
        half = S.floor_divide(size, 2)  # type: ignore[arg-type]
        size = None if half is None else S.add(half, 1)
    if size is None:
        raise Undecided
    name = call.default_dtype if values.is_none(rest["dtype"]) else dtypes.named(rest["dtype"], "torch")
    return Tensor("torch", (size,), (1,), name, None, call.node, marks=RAMP)
