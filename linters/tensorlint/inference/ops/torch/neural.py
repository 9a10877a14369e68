"""torch.nn.functional, apart from the losses."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, windows
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.elementwise import elementwise, unary_of
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.reducing import reduce
from tensorlint.inference.ops.results import COLUMN, LASTING, fresh, laid, surviving, tuple_of, unplaced, unranked
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Number, Opaque, Sequence, Tensor, Value, copy

_ACTIVATIONS = """F.relu F.relu6 F.gelu F.silu F.mish F.elu F.selu F.celu F.leaky_relu F.rrelu F.hardswish F.hardsigmoid
    F.hardtanh F.softplus F.tanhshrink F.softsign F.logsigmoid F.sigmoid F.tanh F.hardshrink F.softshrink
    F.threshold torch.selu torch.celu torch.rrelu torch.relu6 torch.hardshrink .hardshrink torch.threshold"""


@op(
    _ACTIVATIONS,
    "input *args / inplace=False approximate=None alpha=None negative_slope=None lower=None upper=None training=None "
    "min_val=None max_val=None beta=None threshold=None lambd=None value=None",
)
def activation(call: Call, input: Value, **rest: object) -> Value:
    name = call.name.rpartition(".")[2]
    kind = "float" if name in ("sigmoid", "tanh", "softsign", "tanhshrink") else "same"
    return unary_of(call, input, kind=kind, framework="torch")


@op("F.prelu prelu", "input weight")
def prelu(call: Call, input: Value, weight: Value) -> Value:
    return unary_of(call, tensor(input), framework="torch")


@op("F.glu torch.glu", "input dim=-1")
def glu(call: Call, input: Value, dim: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    half = S.floor_divide(shape[at], 2)
    if half is None or (isinstance(shape[at], int) and shape[at] % 2):  # type: ignore[operator]
        raise Undecided
    target = (*shape[:at], half, *shape[at + 1 :])
    strides = layout.contiguous(target) if ranked.contiguous else None
    return laid(call, "torch", target, strides, ranked.dtype, ranked.device)


@op(
    "F.dropout F.alpha_dropout F.feature_alpha_dropout F.dropout1d F.dropout2d F.dropout3d torch.dropout",
    "input p=0.5 training=True inplace=False train=None",
)
def dropout(call: Call, input: Value, p: Value, training: Value, inplace: Value, train: Value) -> Value:
    return dropped(call, input)


def dropped(call: Call, input: Value) -> Value:
    """A copy of the same layout in training, the tensor itself in evaluation: what both have in common."""
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    kept = None if input.strides is None else layout.elementwise([(input.shape, input.strides)], input.shape)
    return copy(input, strides=input.strides if kept == input.strides else None)


@op("F.linear", "input weight bias=None")
def linear(call: Call, input: Value, weight: Value, bias: Value) -> Value:
    if not isinstance(weight, Tensor) or weight.shape is None or not isinstance(input, Tensor):
        raise Undecided
    if len(weight.shape) == 1:
        ranked = tensor(input)
        return unplaced(call, "torch", (ranked.shape or (1,))[:-1], ranked.dtype, ranked.device)
    return linear_to(call, input, weight.shape[-1], weight.shape[0], weight.dtype)


def linear_to(
    call: Call, input: Tensor, inputs: Size, outputs: Size, dtype: str | None, how: str | None = None
) -> Tensor:
    name = input.dtype if input.dtype is not None else dtype
    if input.shape is None:
        result = unranked("torch", name, input.device)
        result.axes = {-1: outputs}
        if outputs == 1:
            result.marks = COLUMN
            result.how = how
        return result
    shape = input.shape
    if not shape:
        raise Undecided
    agree(shape[-1], inputs)
    target = (*shape[:-1], outputs)
    marks = COLUMN if outputs == 1 else surviving(input.marks, target)
    return fresh(call, "torch", target, name, input.device, marks=marks, how=how)


@op("F.bilinear", "input1 input2 weight bias=None")
def bilinear(call: Call, input1: Value, input2: Value, weight: Value, bias: Value) -> Value:
    first, by = tensor(input1), tensor(weight)
    return fresh(call, "torch", (*(first.shape or ())[:-1], (by.shape or ())[0]), first.dtype, first.device)


@op("F.embedding", "input weight padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False sparse=False")
def embedding(call: Call, input: Value, weight: Value, **rest: Value) -> Value:
    ranked, table = tensor(input), tensor(weight)
    if len(table.shape or ()) != 2:
        raise Undecided
    return fresh(call, "torch", (*(ranked.shape or ()), (table.shape or ())[1]), table.dtype, table.device)


# Convolutions.


def _rank_of(call: Call) -> int:
    name = call.name
    for number in (1, 2, 3):
        if f"{number}d" in name:
            return number
    raise Undecided


@op(
    "F.conv1d F.conv2d F.conv3d torch.conv1d torch.conv2d torch.conv3d",
    "input weight bias=None stride=1 padding=0 dilation=1 groups=1",
)
def conv(
    call: Call, input: Value, weight: Value, bias: Value, stride: Value, padding: Value, dilation: Value, groups: Value
) -> Value:
    rank = _rank_of(call)
    by = tensor(weight)
    if not isinstance(input, Tensor) or len(by.shape or ()) != rank + 2:
        raise Undecided
    shape = by.shape or ()
    return convolve(call, input, rank, shape[0], shape[2:], stride, padding, dilation, by)


def convolve(
    call: Call,
    input: Tensor,
    rank: int,
    outputs: Size,
    kernel: windows.Window,
    stride: Value,
    padding: Value,
    dilation: Value,
    weight: Tensor | None,
    how: str | None = None,
) -> Tensor:
    """A convolution over the last `rank` axes of (N, C, ...) or (C, ...)."""
    marks = COLUMN if outputs == 1 else frozenset()
    if input.shape is None:
        result = unranked("torch", input.dtype, input.device)
        result.axes = {-rank - 1: outputs}
        return result
    shape = input.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise Undecided
    space = shape[-rank:]
    steps, spread = arguments.pair(stride, rank), arguments.pair(dilation, rank)
    sizes: list[Size] = []
    if isinstance(padding, Const) and isinstance(padding.value, str):
        if padding.value == "same":
            sizes = list(space)
        elif padding.value == "valid":
            sizes = [windows.windows(*each) for each in zip(space, kernel, steps, (0,) * rank, spread, strict=True)]
        else:
            raise Undecided
    else:
        around = arguments.pair(padding, rank)
        sizes = [windows.windows(*each) for each in zip(space, kernel, steps, around, spread, strict=True)]
    target = (*shape[: -rank - 1], outputs, *sizes)
    return laid(
        call, "torch", target, conv_layout(input, target, rank, weight), input.dtype, input.device, marks=marks, how=how
    )


def conv_layout(input: Tensor, target: Shape, rank: int, weight: Tensor | None) -> Strides | None:
    """Channels-last where the input or the weight suggests it; `weight` None is a layer's own, contiguous one."""
    own = weight is None or weight.contiguous is True
    if len(target) != rank + 2 or rank == 1:
        if not own:
            return None
        return layout.contiguous(target) if input.contiguous or rank == 1 else None
    result = windows.format_like(input, target, *(() if own or weight is None else (weight,)))
    return result if (own and result == layout.contiguous(target)) or input.dtype == "float32" else None


@op(
    "F.conv_transpose1d F.conv_transpose2d F.conv_transpose3d torch.conv_transpose1d torch.conv_transpose2d "
    "torch.conv_transpose3d",
    "input weight bias=None stride=1 padding=0 output_padding=0 groups=1 dilation=1",
)
def conv_transpose(
    call: Call,
    input: Value,
    weight: Value,
    bias: Value,
    stride: Value,
    padding: Value,
    output_padding: Value,
    groups: Value,
    dilation: Value,
) -> Value:
    rank = _rank_of(call)
    by = tensor(weight)
    if not isinstance(input, Tensor) or len(by.shape or ()) != rank + 2:
        raise Undecided
    shape = by.shape or ()
    outputs = S.multiply(shape[1], arguments.count(groups))
    result = deconvolve(call, input, rank, outputs, shape[2:], stride, padding, output_padding, dilation)
    if by.contiguous is not True:
        result.strides = None
    return result


def deconvolve(
    call: Call,
    input: Tensor,
    rank: int,
    outputs: Size,
    kernel: windows.Window,
    stride: Value,
    padding: Value,
    output_padding: Value,
    dilation: Value,
    how: str | None = None,
) -> Tensor:
    if input.shape is None:
        result = unranked("torch", input.dtype, input.device)
        result.axes = {-rank - 1: outputs}
        return result
    shape = input.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise Undecided
    each = zip(
        shape[-rank:],
        kernel,
        arguments.pair(stride, rank),
        arguments.pair(padding, rank),
        arguments.pair(output_padding, rank),
        arguments.pair(dilation, rank),
        strict=True,
    )
    target = (*shape[: -rank - 1], outputs, *(windows.transposed(*one) for one in each))
    marks = COLUMN if outputs == 1 else frozenset()
    return laid(
        call, "torch", target, conv_layout(input, target, rank, None), input.dtype, input.device, marks=marks, how=how
    )


# Pools.


def pooled(
    call: Call,
    input: Tensor,
    rank: int,
    kernel: Value,
    stride: Value,
    padding: Value,
    dilation: Value,
    ceil_mode: Value,
    dtype: str | None = None,
) -> Tensor:
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    shape = input.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise Undecided
    sizes = arguments.pair(kernel, rank)
    empty = values.is_none(stride) or (isinstance(stride, Sequence) and stride.items == [])
    steps = sizes if empty else arguments.pair(stride, rank)
    ceil = arguments.flag(ceil_mode)
    target = (
        *shape[:-rank],
        *(
            windows.windows(*each, ceil)
            for each in zip(
                shape[-rank:], sizes, steps, arguments.pair(padding, rank), arguments.pair(dilation, rank), strict=True
            )
        ),
    )
    return laid(call, "torch", target, pool_layout(input, target, rank), dtype or input.dtype, input.device)


def pool_layout(input: Tensor, target: Shape, rank: int) -> Strides | None:
    if len(target) == rank + 2 and rank > 1:
        return windows.format_like(input, target)
    return layout.contiguous(target) if rank > 1 or input.contiguous else None


@op(
    "F.max_pool1d F.max_pool2d F.max_pool3d torch.max_pool1d torch.max_pool2d torch.max_pool3d",
    "input kernel_size stride=None padding=0 dilation=1 ceil_mode=False return_indices=False",
    tensor=False,
)
def max_pool(
    call: Call,
    input: Value,
    kernel_size: Value,
    stride: Value,
    padding: Value,
    dilation: Value,
    ceil_mode: Value,
    return_indices: Value,
) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    result = pooled(call, input, _rank_of(call), kernel_size, stride, padding, dilation, ceil_mode)
    if arguments.flag(return_indices):
        return tuple_of([result, copy(result, dtype="int64")])
    return result


@op(
    "F.avg_pool1d F.avg_pool2d F.avg_pool3d torch.avg_pool1d",
    "input kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True divisor_override=None",
)
def avg_pool(
    call: Call, input: Value, kernel_size: Value, stride: Value, padding: Value, ceil_mode: Value, **rest: Value
) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    return pooled(call, input, _rank_of(call), kernel_size, stride, padding, Const(1), ceil_mode)


@op("F.lp_pool1d F.lp_pool2d F.lp_pool3d", "input norm_type kernel_size stride=None ceil_mode=False")
def lp_pool(call: Call, input: Value, norm_type: Value, kernel_size: Value, stride: Value, ceil_mode: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    result = pooled(call, input, _rank_of(call), kernel_size, stride, Const(0), Const(1), ceil_mode)
    result.strides = None if result.shape is None or not input.contiguous else result.strides
    return result


@op("F.adaptive_avg_pool1d F.adaptive_avg_pool2d F.adaptive_avg_pool3d torch.adaptive_avg_pool1d", "input output_size")
def adaptive_avg_pool(call: Call, input: Value, output_size: Value) -> Value:
    return adaptive(call, input, _rank_of(call), output_size)


@op(
    "F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d torch.adaptive_max_pool1d",
    "input output_size return_indices=False",
    tensor=False,
)
def adaptive_max_pool(call: Call, input: Value, output_size: Value, return_indices: Value) -> Value:
    result = adaptive(call, input, _rank_of(call), output_size)
    pair = arguments.truth(return_indices) or call.name.startswith("torch.adaptive_max_pool1d")
    return tuple_of([result, copy(result, dtype="int64")]) if pair else result


def adaptive(call: Call, input: Value, rank: int, output_size: Value) -> Tensor:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    shape = input.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise Undecided
    space = []
    items = output_size.items if isinstance(output_size, Sequence) else [output_size] * rank
    if items is None:
        items = [Opaque(None)] * rank
    if len(items) == 1:
        items = items * rank
    for own, item in zip(shape[-rank:], items, strict=True):
        space.append(own if values.is_none(item) else arguments.count(item))
    target = (*shape[:-rank], *space)
    return laid(call, "torch", target, pool_layout(input, target, rank), input.dtype, input.device)


# Resampling and rearranging space.


@op(
    "F.interpolate F.upsample",
    "input size=None scale_factor=None mode='nearest' align_corners=None recompute_scale_factor=None antialias=False",
)
def interpolate(call: Call, input: Value, size: Value, scale_factor: Value, **rest: Value) -> Value:
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
    strides = windows.format_like(input, target) if rank > 1 or input.contiguous else None
    return laid(call, "torch", target, strides, input.dtype, input.device)


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
    if ranked.contiguous is not True and not (isinstance(mode, Const) and mode.value == "constant"):
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
    strides = layout.contiguous(target) if ranked.contiguous else windows.format_like(ranked, target)
    if strides is not None and not ranked.contiguous and len(target) not in (4, 5):
        strides = None if len(target) < 4 and ranked.contiguous is None else strides
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
    strides = layout.contiguous(target) if ranked.contiguous else None
    return laid(call, "torch", target, strides, ranked.dtype, ranked.device)


@op("pixel_unshuffle torch.pixel_unshuffle F.pixel_unshuffle", "input downscale_factor")
def pixel_unshuffle(call: Call, input: Value, downscale_factor: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    factor = arguments.count(downscale_factor)
    if len(shape) < 3:
        raise Undecided
    high, wide = S.floor_divide(shape[-2], factor), S.floor_divide(shape[-1], factor)
    if high is None or wide is None:
        raise Undecided
    target = (*shape[:-3], S.multiply(shape[-3], S.multiply(factor, factor)), high, wide)
    strides = layout.contiguous(target) if ranked.contiguous else None
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
    if kernel[0] is None or kernel[1] is None:
        raise Undecided
    rows = S.multiply(shape[-3], S.multiply(kernel[0], kernel[1]))
    return fresh(call, "torch", (*shape[:-3], rows, S.product(counts)), ranked.dtype, ranked.device)


@op("F.fold", "input output_size kernel_size dilation=1 padding=0 stride=1")
def fold(call: Call, input: Value, output_size: Value, kernel_size: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    kernel, size = arguments.pair(kernel_size, 2), arguments.pair(output_size, 2)
    if len(shape) not in (2, 3) or kernel[0] is None or kernel[1] is None or size[0] is None or size[1] is None:
        raise Undecided
    channels = S.floor_divide(shape[-2], S.multiply(kernel[0], kernel[1]))
    if channels is None:
        raise Undecided
    return fresh(call, "torch", (*shape[:-2], channels, size[0], size[1]), ranked.dtype, ranked.device)


@op("F.grid_sample", "input grid mode='bilinear' padding_mode='zeros' align_corners=None")
def grid_sample(call: Call, input: Value, grid: Value, **rest: Value) -> Value:
    ranked, where = tensor(input), tensor(grid)
    shape, places = ranked.shape or (), where.shape or ()
    if len(shape) not in (4, 5) or len(places) != len(shape):
        raise Undecided
    target = (*shape[:2], *places[1:-1])
    strides = layout.contiguous(target) if ranked.contiguous else None
    return laid(call, "torch", target, strides, ranked.dtype, ranked.device)


@op("F.affine_grid", "theta size align_corners=None")
def affine_grid(call: Call, theta: Value, size: Value, align_corners: Value) -> Value:
    ranked = tensor(theta)
    sizes = arguments.shape([size])
    if len(sizes) not in (4, 5):
        raise Undecided
    return unplaced(call, "torch", (sizes[0], *sizes[2:], len(sizes) - 2), ranked.dtype, ranked.device)


# Normalisation.


def normalized(call: Call, input: Value) -> Value:
    """Results in a contiguous layout, as far as the input decides it."""
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    return laid(
        call,
        "torch",
        input.shape,
        layout.contiguous(input.shape),
        input.dtype,
        input.device,
        marks=input.marks & LASTING,
    )


@op("F.layer_norm torch.layer_norm", "input normalized_shape weight=None bias=None eps=1e-5 cudnn_enable=True")
def layer_norm(call: Call, input: Value, **rest: Value) -> Value:
    return normalized(call, input)


@op("F.rms_norm torch.rms_norm", "input normalized_shape weight=None eps=None")
def rms_norm(call: Call, input: Value, **rest: Value) -> Value:
    if not isinstance(input, Tensor) or input.contiguous is not True:
        return open_layout(call, input)
    return normalized(call, input)


def open_layout(call: Call, input: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    return copy(input, strides=None, made=call.node) if input.shape is not None else unranked("torch", input.dtype)


@op("F.group_norm torch.group_norm", "input num_groups weight=None bias=None eps=1e-5")
def group_norm(call: Call, input: Value, **rest: Value) -> Value:
    return batch_like(call, input)


@op(
    "F.batch_norm torch.batch_norm",
    "input running_mean running_var weight=None bias=None training=False momentum=0.1 eps=1e-5",
)
def batch_norm(call: Call, input: Value, **rest: Value) -> Value:
    return batch_like(call, input)


@op(
    "F.instance_norm torch.instance_norm",
    "input running_mean=None running_var=None weight=None bias=None use_input_stats=True "
    "momentum=0.1 eps=1e-5 cudnn_enabled=True",
)
def instance_norm(call: Call, input: Value, **rest: Value) -> Value:
    return contiguous_only(call, input)


def contiguous_only(call: Call, input: Value) -> Value:
    result = batch_like(call, input)
    if isinstance(result, Tensor) and isinstance(input, Tensor) and input.contiguous is not True:
        result.strides = None
    return result


def batch_like(call: Call, input: Value) -> Value:
    """Contiguous for a contiguous input; other layouts depend on the kernel."""
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        return unranked("torch", input.dtype, input.device)
    if len(input.shape) in (4, 5):
        strides = windows.format_like(input, input.shape)
        if input.contiguous is not True and strides != input.strides:
            strides = None
    else:
        strides = layout.contiguous(input.shape)
    return laid(call, "torch", input.shape, strides, input.dtype, input.device, marks=input.marks & LASTING)


@op("F.local_response_norm", "input size alpha=1e-4 beta=0.75 k=1.0")
def local_response_norm(call: Call, input: Value, **rest: Value) -> Value:
    result = open_layout(call, input)
    if isinstance(result, Tensor):
        result.dtype = result.dtype if dtypes.is_floating(result.dtype) else None
    return result


@op("F.normalize", "input p=2.0 dim=1 eps=1e-12 out=None")
def normalize(call: Call, input: Value, **rest: Value) -> Value:
    ranked = tensor(input)
    return unary_of(call, ranked, framework="torch")


# Distances.


@op("F.cosine_similarity torch.cosine_similarity", "x1 x2 dim=1 eps=1e-8")
def cosine_similarity(call: Call, x1: Value, x2: Value, dim: Value, eps: Value) -> Value:
    a, b = tensor(x1), tensor(x2)
    shape = broadcast(a.shape or (), b.shape or ())
    at = arguments.axis(dim, len(shape))
    name = dtypes.torch_result([a, b], call.default_dtype)
    return laid(
        call,
        "torch",
        (*shape[:at], *shape[at + 1 :]),
        None if len(shape) > 2 else layout.contiguous((*shape[:at], *shape[at + 1 :])),
        dtypes.torch_float(name, call.default_dtype),
        a.device,
    )


@op("F.pairwise_distance torch.pairwise_distance", "x1 x2 p=2.0 eps=1e-6 keepdim=False")
def pairwise_distance(call: Call, x1: Value, x2: Value, p: Value, eps: Value, keepdim: Value) -> Value:
    difference = elementwise(call, [tensor(x1), tensor(x2)], framework="torch")
    if not isinstance(difference, Tensor) or not difference.shape:
        raise Undecided
    dtype = dtypes.torch_float(difference.dtype, call.default_dtype)
    return reduce(call, difference, Const(-1), keepdim, dtype)


@op("F.pdist torch.pdist", "input p=2.0")
def pdist(call: Call, input: Value, p: Value) -> Value:
    ranked = tensor(input)
    rows = (ranked.shape or ())[0]
    pairs: Size = rows * (rows - 1) // 2 if isinstance(rows, int) else S.symbol()
    return laid(call, "torch", (pairs,), (1,), ranked.dtype, ranked.device)


# Attention.


@op(
    "F.scaled_dot_product_attention",
    "query key value attn_mask=None dropout_p=0.0 is_causal=False / scale=None enable_gqa=False",
)
def attention(
    call: Call,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value,
    dropout_p: Value,
    is_causal: Value,
    scale: Value,
    enable_gqa: Value,
) -> Value:
    q = tensor(query)
    shape = q.shape or ()
    if len(shape) < 2 or not isinstance(value, Tensor):
        raise Undecided
    last = value.shape[-1] if value.shape is not None else S.symbol()
    if value.shape is None or not isinstance(key, Tensor) or key.shape is None:
        return unplaced(call, "torch", (*shape[:-1], last), q.dtype, q.device)
    grouped = arguments.truth(enable_gqa)
    if grouped is None:
        raise Undecided
    batch = shape[:-2] if grouped else broadcast(shape[:-2], key.shape[:-2], value.shape[:-2])
    target = (*batch, shape[-2], last)
    return laid(
        call, "torch", target, attention_layout(q, key, value, target, dropout_p, attn_mask, grouped), q.dtype, q.device
    )


def attention_layout(
    q: Tensor, k: Tensor, v: Tensor, target: Shape, dropout_p: Value, mask: Value, grouped: bool
) -> Strides | None:
    """CPU: the fused kernel returns a tensor laid out as the query, the plain one a contiguous tensor.

    The fused kernel (`use_flash_attention_cpp`) wants rank 4, one batch, one width, a last axis of stride 1 and no dropout,
    and no mask that needs a gradient.
    """
    shapes = (q.shape or (), k.shape or (), v.shape or ())
    if grouped:
        return None
    plain = layout.contiguous(target)
    fused = layout.preserve(q.shape or (), q.strides)
    if fused == plain and q.shape == target:
        return plain
    if len(target) != 4:
        return plain
    batch = shapes[0][:2]
    if any(shape[:2] != batch for shape in shapes[1:]) or shapes[2][-1] != shapes[0][-1]:
        return None
    if not isinstance(dropout_p, Const):
        return None
    if dropout_p.value != 0:
        return plain
    if not values.is_none(mask) and not (isinstance(mask, Tensor) and mask.dtype == "bool" and mask.rank in (2, 4)):
        return None
    for one in (q, k, v):
        if one.strides is None:
            return None
        if one.strides[-1] != 1:
            return plain if isinstance(one.strides[-1], int) and one.shape is not None and one.shape[-1] != 1 else None
    return fused


@op("F.multi_head_attention_forward", "*args", tensor=False)
def multi_head_attention_forward(call: Call, args: list[Value]) -> Value:
    raise Undecided


@op("F.gumbel_softmax", "logits tau=1 hard=False eps=1e-10 dim=-1")
def gumbel_softmax(call: Call, logits: Value, **rest: Value) -> Value:
    return (
        open_layout(call, logits)
        if not (isinstance(logits, Tensor) and logits.contiguous)
        else normalized(call, logits)
    )
