"""Resampling, padding and rearranging space: interpolate, pad, pixel shuffle, unfold, grid_sample."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments, windows
from tensorlint.inference.ops.results import fresh, laid, surviving, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Number, Sequence, Tensor, Value


@op(
    "F.interpolate F.upsample",
    "input size=None scale_factor=None mode='nearest' align_corners=None recompute_scale_factor=None antialias=False",
)
def interpolate(call: Call, input: Value, size: Value, scale_factor: Value, mode: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    shape = input.shape
    rank = len(shape) - 2
    if rank < 1:
        raise Undecided
    space: list[Size] = []
    if not values.is_none(size):
        space = [S.symbol() if one is None else one for one in arguments.pair(size, rank)]
    elif values.is_none(scale_factor):
        raise Undecided
    else:
        factors = scale_factor.items if isinstance(scale_factor, Sequence) else [scale_factor] * rank
        if factors is None or len(factors) != rank:
            raise Undecided
        space = [scaled(own, factor) for own, factor in zip(shape[2:], factors, strict=True)]
    target = (*shape[:2], *space)
    strides = windows.format_like(input, target) if rank > 1 or input.in_order else None
    if rank == 3 and not input.in_order and not (isinstance(mode, Const) and mode.value in ("nearest", "trilinear")):
        strides = None  # "area" is an adaptive pool, whose volumes are contiguous
    return laid(call, "torch", target, strides, input.dtype, input.device)


@op("F.upsample_nearest F.upsample_bilinear", "input size=None scale_factor=None")
def upsample(call: Call, input: Value, size: Value, scale_factor: Value) -> Value:
    """`interpolate` in one mode."""
    mode = Const("nearest" if call.name.endswith("nearest") else "bilinear")
    return interpolate(call, input, size, scale_factor, mode)


def scaled(size: Size, factor: Value) -> Size:
    """floor(size * factor)."""
    if isinstance(factor, Const) and isinstance(factor.value, (int, float)):
        number = factor.value
        if float(number).is_integer():
            return S.multiply(size, int(number))
        if isinstance(size, int):
            return int(float(size) * number)
        if float(1 / number).is_integer():
            exact = S.floor_divide(size, int(1 / number))
            return S.symbol() if exact is None else exact
        return S.symbol()
    if isinstance(factor, Number):
        return S.multiply(size, factor.size)
    return S.symbol()


@op("F.pad torch.constant_pad_nd", "input pad mode='constant' value=None")
def pad(call: Call, input: Value, pad: Value, mode: Value, value: Value) -> Value:
    ranked = tensor(input)
    result = padded(call, ranked, arguments.shape([pad]))
    if not ranked.in_order and not (isinstance(mode, Const) and mode.value == "constant"):
        result.strides = None
    return result


def padded(call: Call, ranked: Tensor, widths: Shape) -> Tensor:
    shape = list(ranked.shape or ())
    if len(widths) % 2 or len(widths) // 2 > len(shape):
        raise Undecided
    for number in range(len(widths) // 2):
        axis = len(shape) - 1 - number
        shape[axis] = S.add(shape[axis], S.add(widths[2 * number], widths[2 * number + 1]))
    target = tuple(shape)
    strides = layout.contiguous(target) if ranked.in_order else windows.format_like(ranked, target)
    if strides is not None and not ranked.contiguous and len(target) not in (4, 5):
        strides = None if len(target) < 4 and ranked.contiguous is None else strides
    if not any(isinstance(width, int) and width > 0 for width in widths):
        # Where nothing is added the result is a clone.
        numbers = all(isinstance(width, int) for width in widths)
        if numbers or not ranked.in_order:
            clone = layout.preserve(target, ranked.strides)
            strides = clone if clone == strides or numbers else None
    if 0 in target:
        strides = None  # a clone of a slice without elements keeps the slice's strides
    return laid(call, "torch", target, strides, ranked.dtype, ranked.device, marks=surviving(ranked.marks, target))


@op("pixel_shuffle torch.pixel_shuffle F.pixel_shuffle", "input upscale_factor")
def pixel_shuffle(call: Call, input: Value, upscale_factor: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    factor = arguments.count(upscale_factor)
    if len(shape) < 3:
        raise Undecided
    channels = S.floor_divide(shape[-3], S.multiply(factor, factor))
    if channels is None:
        raise Undecided
    target = (*shape[:-3], channels, S.multiply(shape[-2], factor), S.multiply(shape[-1], factor))
    strides = layout.contiguous(target) if ranked.strides == layout.contiguous(shape) else None
    return laid(call, "torch", target, strides, ranked.dtype, ranked.device)


@op("pixel_unshuffle torch.pixel_unshuffle F.pixel_unshuffle", "input downscale_factor")
def pixel_unshuffle(call: Call, input: Value, downscale_factor: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    factor = arguments.count(downscale_factor)
    if len(shape) < 3:
        raise Undecided
    if not all(arguments.at_least(size, 1) for size in shape):
        # Of a tensor without elements a CPU gives the shape back as it is, a GPU that which others have.
        if 0 in shape and ranked.device == "cpu":
            return unplaced(call, "torch", shape, ranked.dtype, ranked.device)
        raise Undecided
    high, wide = S.floor_divide(shape[-2], factor), S.floor_divide(shape[-1], factor)
    if high is None or wide is None:
        raise Undecided
    target = (*shape[:-3], S.multiply(shape[-3], S.multiply(factor, factor)), high, wide)
    strides = layout.contiguous(target) if ranked.strides == layout.contiguous(shape) else None
    return laid(call, "torch", target, strides, ranked.dtype, ranked.device)


@op("F.channel_shuffle torch.channel_shuffle F.native_channel_shuffle", "input groups")
def channel_shuffle(call: Call, input: Value, groups: Value) -> Value:
    ranked = tensor(input)
    return unplaced(call, "torch", ranked.shape or (), ranked.dtype, ranked.device)


@op("F.unfold", "input kernel_size dilation=1 padding=0 stride=1")
def unfold(call: Call, input: Value, kernel_size: Value, dilation: Value, padding: Value, stride: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if len(shape) not in (3, 4):
        raise Undecided
    kernel = arguments.pair(kernel_size, 2)
    counts = [
        windows.windows(*each)
        for each in zip(
            shape[-2:],
            kernel,
            arguments.pair(stride, 2),
            arguments.pair(padding, 2),
            arguments.pair(dilation, 2),
            strict=True,
        )
    ]
    known = kernel[0] is not None and kernel[1] is not None
    rows = S.multiply(shape[-3], S.multiply(kernel[0] or 1, kernel[1] or 1)) if known else S.symbol()
    return fresh(call, "torch", (*shape[:-3], rows, S.product(counts)), ranked.dtype, ranked.device)


@op("F.fold", "input output_size kernel_size dilation=1 padding=0 stride=1")
def fold(call: Call, input: Value, output_size: Value, kernel_size: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    kernel, size = arguments.pair(kernel_size, 2), arguments.pair(output_size, 2)
    if len(shape) not in (2, 3):
        raise Undecided
    channels = None
    if kernel[0] is not None and kernel[1] is not None:
        channels = S.floor_divide(shape[-2], S.multiply(kernel[0], kernel[1]))
    image = (S.symbol() if each is None else each for each in (channels, *size))
    return fresh(call, "torch", (*shape[:-2], *image), ranked.dtype, ranked.device)


@op("F.grid_sample", "input grid mode='bilinear' padding_mode='zeros' align_corners=None")
def grid_sample(call: Call, input: Value, grid: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor) or not isinstance(grid, Tensor):
        raise Undecided
    rank = grid.rank if input.rank is None else input.rank  # both have as many axes
    shape, places = (
        tuple(S.symbol() for _ in range(rank or 0)) if each.shape is None else each.shape for each in (input, grid)
    )
    if len(shape) not in (4, 5) or len(places) != len(shape):
        raise Undecided
    target = (*shape[:2], *places[1:-1])
    strides = layout.contiguous(target) if input.strides and input.strides == layout.contiguous(shape) else None
    return laid(call, "torch", target, strides, input.dtype, input.device)


@op("F.affine_grid", "theta size align_corners=None")
def affine_grid(call: Call, theta: Value, size: Value, align_corners: Value) -> Value:
    ranked = tensor(theta)
    sizes = arguments.shape([size])
    if len(sizes) not in (4, 5):
        raise Undecided
    return unplaced(call, "torch", (sizes[0], *sizes[2:], len(sizes) - 2), ranked.dtype, ranked.device)
