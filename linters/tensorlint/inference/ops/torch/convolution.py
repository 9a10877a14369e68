"""Convolutions of torch.nn.functional, and the memory format they return."""

from __future__ import annotations

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, windows
from tensorlint.inference.ops.results import COLUMN, laid
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Tensor, Value


@op(
    "F.conv1d F.conv2d F.conv3d torch.conv1d torch.conv2d torch.conv3d",
    "input weight bias=None stride=1 padding=0 dilation=1 groups=1",
)
def conv(
    call: Call, input: Value, weight: Value, bias: Value, stride: Value, padding: Value, dilation: Value, groups: Value
) -> Value:
    rank = windows.rank_of(call)
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
        return windows.over_unranked(
            input,
            rank,
            {-rank - 1: outputs},
            lambda batch: convolve(call, batch, rank, outputs, kernel, stride, padding, dilation, weight),
        )
    shape = input.shape
    if len(shape) not in (rank + 1, rank + 2) or shape[-rank - 1] == 0:  # without channels torch gives none
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
    if rank == 1:
        # What is not contiguous is made so first. What is may pass for channels-last, if its axes have one element.
        settled = input.in_order or input.contiguous is False or all(map(S.surely_not_one, (input.shape or ())[-2:]))
        return layout.contiguous(target) if own and settled else None
    if len(target) != rank + 2:
        return layout.contiguous(target) if own and input.in_order else None
    result = windows.format_like(input, target, *(() if own or weight is None else (weight,)))
    if rank == 3 and result != layout.contiguous(target):
        # Of channels-last volumes some kernels make channels-last ones, some contiguous ones.
        return None
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
    rank = windows.rank_of(call)
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
        return windows.over_unranked(
            input,
            rank,
            {-rank - 1: outputs},
            lambda batch: deconvolve(call, batch, rank, outputs, kernel, stride, padding, output_padding, dilation),
        )
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
