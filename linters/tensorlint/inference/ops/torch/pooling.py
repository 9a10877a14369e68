"""Pools of torch.nn.functional: windows that are reduced."""

from __future__ import annotations

from tensorlint.inference import known_axes, layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes, windows
from tensorlint.inference.ops.results import laid, tuple_of
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.values import Const, Opaque, Sequence, Tensor, Value, copy


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
        return windows.over_unranked(
            input,
            rank,
            {},
            lambda batch: pooled(call, batch, rank, kernel, stride, padding, dilation, ceil_mode),
        )
    shape = input.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise Undecided
    sizes = arguments.pair(kernel, rank)
    empty = values.is_none(stride) or (isinstance(stride, Sequence) and stride.items == [])
    steps = sizes if empty else arguments.pair(stride, rank)
    ceil = arguments.truth(ceil_mode)
    target = (
        *shape[:-rank],
        *(
            windows.windows(*each, ceil)
            for each in zip(
                shape[-rank:], sizes, steps, arguments.pair(padding, rank), arguments.pair(dilation, rank), strict=True
            )
        ),
    )
    return laid(call, "torch", target, pool_layout(call, input, target, rank), dtype or input.dtype, input.device)


def pool_layout(call: Call, input: Tensor, target: Shape, rank: int) -> Strides | None:
    if len(target) == rank + 2 and rank > 1:
        strides = windows.format_like(input, target)
        # Of channels-last volumes some pools make channels-last ones, some contiguous ones.
        return strides if rank == 2 or strides == layout.contiguous(target) else None
    if (
        rank == 1
        and len(target) == 3
        and "avg" in call.name.lower()
        and input.shape is not None
        and input.strides is not None
    ):
        # Pooled as an image of one row, whose axis is put in front of the last.
        (batch, channels, length), (first, second, last) = input.shape, input.strides
        image = copy(input, shape=(batch, channels, 1, length), strides=(first, second, S.multiply(length, last), last))
        found = windows.format_like(image, (*target[:-1], 1, target[-1]))
        return None if found is None or 1 in target else (*found[:2], found[3])
    if (not input.in_order and rank != 2) or (rank == 1 and 1 in target):
        return None  # some pools of volumes keep channels-last without a batch too
    return layout.contiguous(target)


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
    result = pooled(call, input, windows.rank_of(call), kernel_size, stride, padding, dilation, ceil_mode)
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
    return pooled(call, input, windows.rank_of(call), kernel_size, stride, padding, Const(1), ceil_mode)


@op("F.lp_pool1d F.lp_pool2d F.lp_pool3d", "input norm_type kernel_size stride=None ceil_mode=False")
def lp_pool(call: Call, input: Value, norm_type: Value, kernel_size: Value, stride: Value, ceil_mode: Value) -> Value:
    if not isinstance(input, Tensor):
        raise Undecided
    result = pooled(call, input, windows.rank_of(call), kernel_size, stride, Const(0), Const(1), ceil_mode)
    result.dtype = dtypes.torch_float(result.dtype, call.default_dtype)
    result.strides = None if result.shape is None or not input.in_order else result.strides
    return result


@op("F.adaptive_avg_pool1d F.adaptive_avg_pool2d F.adaptive_avg_pool3d torch.adaptive_avg_pool1d", "input output_size")
def adaptive_avg_pool(call: Call, input: Value, output_size: Value) -> Value:
    return adaptive(call, input, windows.rank_of(call), output_size)


@op(
    "F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d torch.adaptive_max_pool1d",
    "input output_size return_indices=False",
    tensor=False,
)
def adaptive_max_pool(call: Call, input: Value, output_size: Value, return_indices: Value) -> Value:
    result = adaptive(call, input, windows.rank_of(call), output_size)
    pair = call.name.startswith("torch.adaptive_max_pool1d") or arguments.flag(return_indices)
    return tuple_of([result, copy(result, dtype="int64")]) if pair else result


def adaptive(call: Call, input: Value, rank: int, output_size: Value) -> Tensor:
    if not isinstance(input, Tensor):
        raise Undecided
    if input.shape is None:
        result = windows.over_unranked(input, rank, {}, lambda batch: adaptive(call, batch, rank, output_size))
        if -rank - 1 not in known_axes.of(input):
            # A pool to one element along each axis also takes what has no axis before these.
            result.axes = {axis: size for axis, size in (result.axes or {}).items() if axis >= -rank} or None
        return result
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
    return laid(call, "torch", target, pool_layout(call, input, target, rank), input.dtype, input.device)
