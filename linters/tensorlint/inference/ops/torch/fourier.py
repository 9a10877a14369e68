"""Fourier transforms of torch.fft."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.fourier import DOUBLED, along_axes, along_axis
from tensorlint.inference.ops.results import RAMP, fresh, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor, Value


def _dtype(call: Call, name: str, given: Tensor) -> str | None:
    dtype = dtypes.torch_float(given.dtype, call.default_dtype)
    return dtypes.real_of(dtype) if name in DOUBLED else dtypes.complex_of(dtype)


@op("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", "input n=None dim=-1 norm=None / out=None")
def fft(call: Call, input: Value, n: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    name = call.name.rpartition(".")[2]
    result, at = along_axis(name, shape, n, dim)
    dtype = _dtype(call, name, ranked)
    if name != "ihfft" and at == len(shape) - 1 and ranked.strides == layout.contiguous(shape):
        return fresh(call, "torch", result, dtype, ranked.device)
    return unplaced(call, "torch", result, dtype, ranked.device)


@op("fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.hfft2 fft.ihfft2", "input s=None dim='last' norm=None / out=None")
@op("fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.hfftn fft.ihfftn", "input s=None dim=None norm=None / out=None")
def fftn(call: Call, input: Value, s: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    name = call.name.rpartition(".")[2]
    return unplaced(
        call, "torch", along_axes(name, ranked.shape or (), s, dim), _dtype(call, name, ranked), ranked.device
    )


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
