"""Pools that take their windows at random, and the inverse of a pool, which puts the values back where they were."""

from __future__ import annotations

from tensorlint.inference import sizes as S
from tensorlint.inference import values
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments, windows
from tensorlint.inference.ops.results import tuple_of, unplaced
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.pooling import adaptive_max_pool, max_pool
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import TRUE, Const, Sequence, Tensor, Value, copy


@op("F.max_pool1d_with_indices F.max_pool2d_with_indices F.max_pool3d_with_indices torch.max_pool1d_with_indices",
    "input kernel_size stride=None padding=0 dilation=1 ceil_mode=False return_indices=False",
    tensor=False)  # fmt: skip
def max_pool_with_indices(call: Call, return_indices: Value, **bound: Value) -> Value:
    return max_pool(call, return_indices=TRUE, **bound)


@op("F.adaptive_max_pool1d_with_indices F.adaptive_max_pool2d_with_indices F.adaptive_max_pool3d_with_indices",
    "input output_size return_indices=False", tensor=False)  # fmt: skip
def adaptive_max_pool_with_indices(call: Call, input: Value, output_size: Value, return_indices: Value) -> Value:
    return adaptive_max_pool(call, input, output_size, TRUE)


def fractional(call: Call, input: Value, rank: int, output_size: Value, output_ratio: Value) -> Tensor:
    """As large as `output_size` says, or the sizes times the ratio, which gives whole numbers rounded down."""
    ranked = tensor(input)
    shape = ranked.shape or ()
    if len(shape) not in (rank + 1, rank + 2):
        raise Undecided
    if not values.is_none(output_size):
        space = [S.symbol() if size is None else size for size in arguments.pair(output_size, rank)]
    else:
        items = output_ratio.items if isinstance(output_ratio, Sequence) else [output_ratio] * rank
        if items is None or len(items) != rank:
            raise Undecided
        space = [_part(size, ratio) for size, ratio in zip(shape[-rank:], items, strict=True)]
    return unplaced(call, "torch", (*shape[:-rank], *space), ranked.dtype, ranked.device)


def _part(size: Size, ratio: Value) -> Size:
    if isinstance(size, int) and isinstance(ratio, Const) and isinstance(ratio.value, float):
        return int(size * ratio.value)
    return S.symbol()


@op("F.fractional_max_pool2d F.fractional_max_pool3d F.fractional_max_pool2d_with_indices F.fractional_max_pool3d_with_indices",
    "input kernel_size output_size=None output_ratio=None return_indices=False _random_samples=None",
    tensor=False)  # fmt: skip
def fractional_max_pool(
    call: Call, input: Value, output_size: Value, output_ratio: Value, return_indices: Value, **rest: Value
) -> Value:
    rank = 2 if "pool2d" in call.name else 3
    result = fractional(call, input, rank, output_size, output_ratio)
    pair = call.name.endswith("_with_indices") or arguments.flag(return_indices)
    return tuple_of([result, copy(result, dtype="int64")]) if pair else result


def unpooled(
    call: Call, input: Value, rank: int, kernel: Value, stride: Value, padding: Value, output: Value
) -> Tensor:
    """What a pool with this window may have been given; `output_size` says which of several it was."""
    ranked = tensor(input)
    shape = ranked.shape or ()
    if len(shape) not in (rank + 1, rank + 2):
        raise Undecided
    space: Shape
    if not values.is_none(output):
        given = arguments.shape([output])
        if len(given) < rank:
            raise Undecided
        space = given[-rank:]
    else:
        sizes = arguments.pair(kernel, rank)
        steps = sizes if values.is_none(stride) else arguments.pair(stride, rank)
        space = tuple(
            S.symbol()
            if None in (size, step, pad)
            else S.add(S.subtract(S.multiply(S.subtract(own, 1), step), S.multiply(2, pad)), size)  # type: ignore[arg-type]
            for own, size, step, pad in zip(shape[-rank:], sizes, steps, arguments.pair(padding, rank), strict=True)
        )
    return unplaced(call, "torch", (*shape[:-rank], *space), ranked.dtype, ranked.device)


@op("F.max_unpool1d F.max_unpool2d F.max_unpool3d", "input indices kernel_size stride=None padding=0 output_size=None")
def max_unpool(
    call: Call, input: Value, kernel_size: Value, stride: Value, padding: Value, output_size: Value, **rest: Value
) -> Value:
    return unpooled(call, input, windows.rank_of(call), kernel_size, stride, padding, output_size)
