"""What every reduction does to a shape, and what is remembered of it."""

from __future__ import annotations

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments
from tensorlint.inference.ops.results import DROPPED, KEPT, NO_MARKS, REDUCTION, surviving, unranked
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import Scalar, Sequence, Tensor, Value


def reduced_axes(dim: Value, rank: int) -> tuple[int, ...]:
    """The axes that go; None and an empty tuple mean all of them."""
    if values.is_none(dim):
        return tuple(range(rank))
    axes = arguments.axes(dim, rank)
    if isinstance(dim, Sequence) and not axes:
        return tuple(range(rank))
    return tuple(sorted(set(axes))) if rank else ()


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdim: bool) -> Shape:
    if keepdim:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def reduce(
    call: Call,
    input: Tensor,
    dim: Value,
    keepdim: Value,
    dtype: str | None,
    *,
    contiguous: bool = True,
) -> Tensor:
    """A sum, mean, ... of `input` over `dim`."""
    if input.shape is None:
        return _unranked(call, input, dim, keepdim, dtype)
    rank = len(input.shape)
    keep = arguments.truth(keepdim)
    if keep is None:
        raise Undecided
    if not values.is_none(dim) and isinstance(dim, Scalar) and dim.kind == "int" and not isinstance(dim, Sequence):
        return _one_unknown(call, input, keep, dtype)
    axes = reduced_axes(dim, rank)
    shape = reduced_shape(input.shape, axes, keep)
    strides: Strides | None = layout.contiguous(shape)
    if not contiguous and len(shape) > 1 and (input.contiguous is not True or 0 in input.shape):
        strides = None  # of no elements every order is contiguous, and the result's is the one they were in
    marks = surviving(input.marks, shape)
    if keep:
        marks = marks | KEPT if axes else marks
        result = Tensor(
            input.framework, shape, strides, dtype, input.device, call.node, _words(call, axes, rank, keep), marks
        )
    else:
        marks = (marks if shape else NO_MARKS) | REDUCTION
        if shape and axes and axes[0] == len(shape):
            marks |= DROPPED
        result = Tensor(
            input.framework,
            shape,
            strides,
            dtype,
            input.device,
            call.node,
            _words(call, axes, rank, keep),
            marks,
            source=input,
            reduced=axes,
        )
    call.report("reduced", tensor=input, result=result, operation=call.name, axes=axes)
    return result


def marked_reduction(result: Tensor, source: Tensor, axes: tuple[int, ...]) -> Tensor:
    """A result that is `source` reduced over these axes, none of them kept."""
    marks = result.marks | REDUCTION
    if result.shape and axes and axes[0] == len(result.shape):
        marks |= DROPPED
    return values.copy(result, marks=marks, source=source, reduced=axes)


def _words(call: Call, axes: tuple[int, ...], rank: int, keep: bool) -> str:
    name = call.name.rpartition(".")[2]
    if len(axes) == rank:
        return f"{name}()"
    return f"{name}({axes[0] if len(axes) == 1 else axes}{', keepdim' if keep else ''})"


def _one_unknown(call: Call, input: Tensor, keep: bool, dtype: str | None) -> Tensor:
    rank = len(input.shape or ())
    shape = tuple(S.symbol() for _ in range(rank if keep else max(rank - 1, 0)))
    return Tensor(input.framework, shape, layout.contiguous(shape), dtype, input.device, call.node)


def _unranked(call: Call, input: Tensor, dim: Value, keepdim: Value, dtype: str | None) -> Tensor:
    if values.is_none(dim) and arguments.truth(keepdim) is False:
        result = Tensor(input.framework, (), (), dtype, input.device, call.node, None, REDUCTION, source=input)
        call.report("reduced", tensor=input, result=result, operation=call.name, axes=())
        return result
    return unranked(input.framework, dtype, input.device)
