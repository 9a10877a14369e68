"""Fourier transforms of torch.fft."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.results import RAMP, fresh, tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Tensor, Value

# Of a transform of real numbers one half is kept; the inverse gives twice as many, less one at either end.
_HALVED = frozenset({"rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn"})
_DOUBLED = frozenset({"irfft", "hfft", "irfft2", "irfftn", "hfft2", "hfftn"})
_LAST_TWO = tuple_of([Const(-2), Const(-1)])


def _last_size(name: str, size: Size, is_given: bool) -> Size:
    """The size of the axis that is halved or doubled, from what is transformed or asked for."""
    if name in _HALVED:
        half = S.floor_divide(size, 2)
        if half is None:
            raise Undecided
        return S.add(half, 1)
    return S.multiply(S.subtract(size, 1), 2) if name in _DOUBLED and not is_given else size


def _dtype(call: Call, name: str, given: Tensor) -> str | None:
    dtype = dtypes.torch_float(given.dtype, call.default_dtype)
    return dtypes.real_of(dtype) if name in _DOUBLED else dtypes.complex_of(dtype)


@op("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", "input n=None dim=-1 norm=None / out=None")
def fft(call: Call, input: Value, n: Value, dim: Value, norm: Value, out: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    at = arguments.axis(dim, len(shape))
    name = call.name.rpartition(".")[2]
    size = shape[at] if values.is_none(n) else arguments.count(n)
    result = (*shape[:at], _last_size(name, size, not values.is_none(n)), *shape[at + 1 :])
    dtype = _dtype(call, name, ranked)
    if name != "ihfft" and at == len(shape) - 1 and ranked.strides == layout.contiguous(shape):
        return fresh(call, "torch", result, dtype, ranked.device)
    return unplaced(call, "torch", result, dtype, ranked.device)


@op("fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.hfft2 fft.ihfft2", "input s=None dim='last' norm=None / out=None")
def fft2(call: Call, input: Value, s: Value, dim: Value, norm: Value, out: Value) -> Value:
    return _transformed(call, input, s, _LAST_TWO if isinstance(dim, Const) and dim.value == "last" else dim)


@op("fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.hfftn fft.ihfftn", "input s=None dim=None norm=None / out=None")
def fftn(call: Call, input: Value, s: Value, dim: Value, norm: Value, out: Value) -> Value:
    return _transformed(call, input, s, dim)


def _transformed(call: Call, input: Value, s: Value, dim: Value) -> Tensor:
    """The sizes of the input, those of `s` in their places: of the axes `dim`, of the last ones, or of all."""
    ranked = tensor(input)
    shape = list(ranked.shape or ())
    given = None if values.is_none(s) else arguments.shape([s])
    if not values.is_none(dim):
        where = arguments.axes(dim, len(shape))
    else:
        where = tuple(range(len(shape) - (len(shape) if given is None else len(given)), len(shape)))
    if (where and where[0] < 0) or (given is not None and (len(given) != len(where) or -1 in given)):
        raise Undecided
    for at, size in zip(where, given or (), strict=False):
        shape[at] = size
    name = call.name.rpartition(".")[2]
    if name in _HALVED | _DOUBLED:
        if not where:
            raise Undecided
        shape[where[-1]] = _last_size(name, shape[where[-1]], given is not None)
    return unplaced(call, "torch", tuple(shape), _dtype(call, name, ranked), ranked.device)


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
