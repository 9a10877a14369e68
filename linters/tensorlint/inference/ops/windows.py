"""Sizes of convolutions, pools and resamplings, and the memory format they return."""

from __future__ import annotations

from collections.abc import Callable

from tensorlint.inference import known_axes, layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Tensor, copy

Window = tuple[Size | None, ...]


def rank_of(call: Call) -> int:
    """How many axes the windows of an operation run over, by its name: 2 for `conv2d`."""
    name = call.name
    for number in (1, 2, 3):
        if f"{number}d" in name:
            return number
    raise Undecided


def windows(
    size: Size,
    kernel: Size | None,
    stride: Size | None,
    padding: Size | None,
    dilation: Size | None,
    ceil_mode: bool | None = False,
) -> Size:
    """How many windows fit: floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1; with `ceil_mode`, the
    ceiling of it."""
    if kernel is None or stride is None or padding is None or dilation is None or stride == 0:
        return S.symbol()
    span = S.subtract(S.subtract(S.add(size, S.multiply(2, padding)), S.multiply(dilation, S.subtract(kernel, 1))), 1)
    if stride == 1:
        result = S.add(span, 1)
    elif ceil_mode is None:
        return S.symbol()
    elif ceil_mode:
        if not isinstance(span, int) or not isinstance(stride, int) or not isinstance(padding, int):
            return S.symbol()
        count = -(-span // stride) + 1
        # The last window starts inside the input or the left padding.
        if not isinstance(size, int):
            return S.symbol()
        result = count - 1 if (count - 1) * stride >= size + padding else count
    else:
        quotient = S.floor_divide(span, stride)
        if quotient is None:
            return S.symbol()
        result = S.add(quotient, 1)
    if isinstance(result, int) and result < 1:
        raise Undecided
    return result


def transposed(
    size: Size,
    kernel: Size | None,
    stride: Size | None,
    padding: Size | None,
    output_padding: Size | None,
    dilation: Size | None,
) -> Size:
    """(size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1."""
    if kernel is None or stride is None or padding is None or output_padding is None or dilation is None:
        return S.symbol()
    result = S.add(
        S.subtract(S.multiply(S.subtract(size, 1), stride), S.multiply(2, padding)),
        S.add(S.add(S.multiply(dilation, S.subtract(kernel, 1)), output_padding), 1),
    )
    if isinstance(result, int) and result < 1:
        raise Undecided
    return result


def format_like(input: Tensor, shape: Shape, *others: Tensor) -> Strides | None:
    """Channels-last where an operand suggests it, contiguous where none does, None where that is not known."""
    from tensorlint.inference.ops.torch.joining import suggests_channels_last

    if len(shape) not in (4, 5):
        return layout.contiguous(shape)
    verdicts = [suggests_channels_last(operand) for operand in (input, *others)]
    if any(verdict is True for verdict in verdicts):
        return layout.channels_last(shape)
    if all(verdict is False for verdict in verdicts):
        return layout.contiguous(shape)
    return None


def over_unranked(input: Tensor, rank: int, told: known_axes.Axes, over: Callable[[Tensor], Tensor]) -> Tensor:
    """Windows over images of which it is not known whether they come in a batch: `over` tells of a batch what its last
    `rank + 1` axes become, and those of a single image become the same. `told` is known in any case."""
    known = known_axes.of(input)
    last = tuple(known.get(axis, S.symbol()) for axis in range(-rank - 1, 0))
    axes = dict(told)
    try:
        shape = over(copy(input, shape=(S.symbol(), *last), strides=None)).shape or ()
        axes = {axis: shape[axis] for axis in range(-rank - 1, 0)} | axes
    except Undecided:
        pass
    return Tensor("torch", None, None, input.dtype, input.device, axes=axes or None)
