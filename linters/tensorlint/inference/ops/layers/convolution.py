"""Convolutions, pools, padding and upsampling."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.layers.linear import bias, parameter, size, spelled
from tensorlint.inference.ops.modules import argument, layer
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import tuple_of
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch import convolution, pooling, resampling, unpooling
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, LibraryObject, Sequence, Tensor, Value, copy


def rank_of(obj: LibraryObject) -> int:
    return int(obj.path[-2])


def kernel(obj: LibraryObject, rank: int) -> tuple[Size | None, ...]:
    return arguments.pair(argument(obj, "kernel_size"), rank)


def _grouped(total: Size, groups: Size) -> Size:
    each = S.floor_divide(total, groups)
    return S.symbol() if each is None else each


def _conv_attribute(obj: LibraryObject, name: str) -> Value | None:
    rank = rank_of(obj)
    outputs, inputs, groups = size(obj, "out_channels"), size(obj, "in_channels"), size(obj, "groups")
    if name == "weight":
        sizes: Shape = tuple(S.symbol() if one is None else one for one in kernel(obj, rank))
        if "Transpose" in obj.path:
            return parameter(obj, (inputs, _grouped(outputs, groups), *sizes))
        return parameter(obj, (outputs, _grouped(inputs, groups), *sizes))
    if name == "bias":
        return bias(obj, (outputs,))
    if name in ("kernel_size", "stride", "dilation") or (
        name == "padding"
        and not (isinstance(argument(obj, name), Const) and isinstance(argument(obj, name).value, str))  # type: ignore[attr-defined]
    ):
        each = arguments.pair(argument(obj, name), rank)
        return tuple_of(values.UNKNOWN if one is None else values.number(one) for one in each)
    return None


_CONV = (
    "in_channels out_channels kernel_size stride=1 padding=0 dilation=1 groups=1 bias=True padding_mode='zeros' "
    "device=None dtype=None"
)


@layer("Conv1d Conv2d Conv3d", _CONV, attribute=_conv_attribute)
def conv(call: Call, obj: LibraryObject, input: Value) -> Value:
    rank = rank_of(obj)
    given = input if isinstance(input, Tensor) else Tensor("torch")
    if given.shape is not None and len(given.shape) in (rank + 1, rank + 2):
        agree(given.shape[-rank - 1], size(obj, "in_channels"))
    outputs = size(obj, "out_channels")
    result = convolution.convolve(
        call,
        given,
        rank,
        outputs,
        kernel(obj, rank),
        argument(obj, "stride"),
        argument(obj, "padding"),
        argument(obj, "dilation"),
        None,
        spelled(obj, "in_channels", "out_channels") if outputs == 1 else None,
    )
    mode = argument(obj, "padding_mode")
    if not (isinstance(mode, Const) and mode.value == "zeros"):
        if given.contiguous is not True or not (given.in_order or given.device == "cpu"):
            result.strides = None
    return result


@layer("LazyConv1d LazyConv2d LazyConv3d", _CONV.replace("in_channels ", ""))
def lazy_conv(call: Call, obj: LibraryObject, input: Value) -> Value:
    rank = rank_of(obj)
    given = input if isinstance(input, Tensor) else Tensor("torch")
    return convolution.convolve(
        call,
        given,
        rank,
        size(obj, "out_channels"),
        kernel(obj, rank),
        argument(obj, "stride"),
        argument(obj, "padding"),
        argument(obj, "dilation"),
        None,
    )


_DECONV = (
    "in_channels out_channels kernel_size stride=1 padding=0 output_padding=0 groups=1 bias=True dilation=1 "
    "padding_mode='zeros' device=None dtype=None"
)


@layer(
    "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    _DECONV.replace("in_channels ", ""),
    "input output_size=None",
)
@layer("ConvTranspose1d ConvTranspose2d ConvTranspose3d", _DECONV, "input output_size=None", attribute=_conv_attribute)
def conv_transpose(call: Call, obj: LibraryObject, input: Value, output_size: Value) -> Value:
    rank = rank_of(obj)
    given = input if isinstance(input, Tensor) else Tensor("torch")
    outputs = size(obj, "out_channels")
    result = convolution.deconvolve(
        call,
        given,
        rank,
        outputs,
        kernel(obj, rank),
        argument(obj, "stride"),
        argument(obj, "padding"),
        argument(obj, "output_padding"),
        argument(obj, "dilation"),
        spelled(obj, "in_channels", "out_channels") if outputs == 1 and "Lazy" not in obj.path else None,
    )
    if not values.is_none(output_size):
        if result.shape is None:
            raise Undecided
        sizes = arguments.shape([output_size])
        shape = (*result.shape[:-rank], *sizes[-rank:])
        return copy(result, shape=shape, strides=None)
    return result


# Pools.


@layer(
    "MaxPool1d MaxPool2d MaxPool3d",
    "kernel_size stride=None padding=0 dilation=1 return_indices=False ceil_mode=False",
    tensor=False,
)
def max_pool(call: Call, obj: LibraryObject, input: Value) -> Value:
    given = input if isinstance(input, Tensor) else Tensor("torch")
    result = pooling.pooled(
        call,
        given,
        rank_of(obj),
        argument(obj, "kernel_size"),
        argument(obj, "stride"),
        argument(obj, "padding"),
        argument(obj, "dilation"),
        argument(obj, "ceil_mode"),
    )
    if arguments.flag(argument(obj, "return_indices")):
        return tuple_of([result, copy(result, dtype="int64")])
    return result


@layer(
    "AvgPool1d AvgPool2d AvgPool3d",
    "kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True divisor_override=None",
)
def avg_pool(call: Call, obj: LibraryObject, input: Value) -> Value:
    given = input if isinstance(input, Tensor) else Tensor("torch")
    return pooling.pooled(
        call,
        given,
        rank_of(obj),
        argument(obj, "kernel_size"),
        argument(obj, "stride"),
        argument(obj, "padding"),
        Const(1),
        argument(obj, "ceil_mode"),
    )


@layer("LPPool1d LPPool2d LPPool3d", "norm_type kernel_size stride=None ceil_mode=False")
def lp_pool(call: Call, obj: LibraryObject, input: Value) -> Value:
    given = input if isinstance(input, Tensor) else Tensor("torch")
    result = pooling.pooled(
        call,
        given,
        rank_of(obj),
        argument(obj, "kernel_size"),
        argument(obj, "stride"),
        Const(0),
        Const(1),
        argument(obj, "ceil_mode"),
    )
    result.dtype = dtypes.torch_float(result.dtype, call.default_dtype)
    if not given.in_order:
        result.strides = None
    return result


@layer("AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d", "output_size")
def adaptive_avg_pool(call: Call, obj: LibraryObject, input: Value) -> Value:
    return pooling.adaptive(call, input, rank_of(obj), argument(obj, "output_size"))


@layer("AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d", "output_size return_indices=False", tensor=False)
def adaptive_max_pool(call: Call, obj: LibraryObject, input: Value) -> Value:
    result = pooling.adaptive(call, input, rank_of(obj), argument(obj, "output_size"))
    if arguments.flag(argument(obj, "return_indices")):
        return tuple_of([result, copy(result, dtype="int64")])
    return result


@layer(
    "FractionalMaxPool2d FractionalMaxPool3d",
    "kernel_size output_size=None output_ratio=None return_indices=False _random_samples=None",
    tensor=False,
)
def fractional_max_pool(call: Call, obj: LibraryObject, input: Value) -> Value:
    result = unpooling.fractional(
        call, input, rank_of(obj), argument(obj, "output_size"), argument(obj, "output_ratio")
    )
    if arguments.flag(argument(obj, "return_indices")):
        return tuple_of([result, copy(result, dtype="int64")])
    return result


@layer("MaxUnpool1d MaxUnpool2d MaxUnpool3d", "kernel_size stride=None padding=0", "input indices output_size=None")
def max_unpool(call: Call, obj: LibraryObject, input: Value, indices: Value, output_size: Value) -> Value:
    kernel, stride, padding = (argument(obj, name) for name in ("kernel_size", "stride", "padding"))
    return unpooling.unpooled(call, input, rank_of(obj), kernel, stride, padding, output_size)


# Padding and resampling.


_PADS = " ".join(
    f"{kind}Pad{rank}d" for kind in ("Zero", "Reflection", "Replication", "Circular") for rank in (1, 2, 3)
)


@layer(_PADS, "padding")
def pad(call: Call, obj: LibraryObject, input: Value) -> Value:
    return padded(call, obj, input)


@layer("ConstantPad1d ConstantPad2d ConstantPad3d", "padding value")
def constant_pad(call: Call, obj: LibraryObject, input: Value) -> Value:
    return padded(call, obj, input)


def padded(call: Call, obj: LibraryObject, input: Value) -> Value:
    rank = rank_of(obj)
    given = argument(obj, "padding")
    if isinstance(given, Sequence):
        widths = arguments.shape([given])
    else:
        widths = (arguments.count(given),) * (2 * rank)
    if len(widths) != 2 * rank:
        raise Undecided
    ranked = tensor(input)
    result = resampling.padded(call, ranked, widths)
    if not ranked.in_order:
        result.strides = None
    return result


@layer("Upsample", "size=None scale_factor=None mode='nearest' align_corners=None recompute_scale_factor=None")
def upsample(call: Call, obj: LibraryObject, input: Value) -> Value:
    return resampling.interpolate(
        call, input, argument(obj, "size"), argument(obj, "scale_factor"), argument(obj, "mode")
    )


@layer("UpsamplingNearest2d UpsamplingBilinear2d", "size=None scale_factor=None")
def upsampling(call: Call, obj: LibraryObject, input: Value) -> Value:
    return resampling.interpolate(call, input, argument(obj, "size"), argument(obj, "scale_factor"), Const("nearest"))
