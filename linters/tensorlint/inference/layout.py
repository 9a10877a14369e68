"""Strides: torch's own rules for what a layout allows and what layout a result has.

Strides count elements. A layout is a tuple of sizes as long as the shape, or None where it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorlint.inference import sizes as S
from tensorlint.inference.sizes import Size

Shape = tuple[Size, ...]
Strides = tuple[Size, ...]


def contiguous(shape: Shape) -> Strides:
    """Row-major strides; as torch has it, an empty axis counts as 1."""
    if not shape:
        return ()
    step: Size = 1
    strides = [step]
    for size in shape[:0:-1]:  # from the last axis to the second
        step = S.multiply(step, size or 1)
        strides.append(step)
    strides.reverse()
    return tuple(strides)


def channels_last(shape: Shape) -> Strides | None:
    """NHWC (rank 4) or NDHWC (rank 5) strides of a shape given as N, C, ..."""
    if len(shape) not in (4, 5):
        return None
    order = (*range(2, len(shape)), 1)
    return dense((0, *order), shape)


def dense(order: tuple[int, ...], shape: Shape) -> Strides:
    """Gap-free strides with the axes of `order` from the slowest to the quickest."""
    strides: list[Size] = [0] * len(shape)
    step: Size = 1
    for axis in reversed(order):
        strides[axis] = step
        step = S.multiply(step, shape[axis] or 1)
    return tuple(strides)


def is_contiguous(shape: Shape, strides: Strides | None) -> bool | None:
    """torch's `is_contiguous`: axes of size 1 are free; None where the sizes do not decide it."""
    if strides is None:
        return None
    return _fills(shape, strides, range(len(shape)))


def is_channels_last(shape: Shape, strides: Strides | None) -> bool | None:
    """torch's `is_contiguous(memory_format=torch.channels_last)`, of rank 4 and 5."""
    if strides is None or len(shape) not in (4, 5):
        return None if strides is None else False
    return _fills(shape, strides, (0, *range(2, len(shape)), 1))


def _fills(shape: Shape, strides: Strides, order: Sequence[int]) -> bool | None:
    """Whether the axes lie without a gap with those of `order` from the slowest to the quickest."""
    if not all(shape):  # one of them is 0
        return True
    step: Size = 1
    for axis in reversed(order):
        size, stride = shape[axis], strides[axis]
        if size == 1:
            continue
        if stride != step:
            if S.surely_differ(stride, step) and S.surely_not_one(size):
                return False
            return None
        step = S.multiply(step, size)
    return True


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ViewResult:
    """`legal` is None where unknown sizes decide. `broken` is the boundary (axis, axis + 1) that cannot be merged."""

    legal: bool | None
    strides: Strides | None = None
    broken: tuple[int, int] | None = None


_UNDECIDED = ViewResult(None)


def view(shape: Shape, strides: Strides | None, new_shape: Shape) -> ViewResult:
    """Whether `.view(new_shape)` is legal, and the strides it gives.

    Restates `at::detail::computeStride` (aten/src/ATen/TensorUtils.cpp; mirrored in
    torch/_subclasses/fake_impls.py::_compute_stride) over symbolic sizes: the axes of the old shape form chunks
    that are adjacent in memory, and each chunk must be filled exactly by consecutive new axes.
    """
    if strides is None:
        return _UNDECIDED
    if not all(shape):  # one of them is 0
        return ViewResult(True, contiguous(new_shape))
    if not shape:
        return ViewResult(True, (1,) * len(new_shape))
    simplify = S.assume_divisible
    new_strides: list[Size] = [0] * len(new_shape)
    target = len(new_shape) - 1
    chunk_base = strides[-1]
    # `h * (C // h)` is compared as C, since a view needs it to be; strides are made of the products as they are.
    chunk: Size = 1
    filled: Size = 1
    exact_chunk: Size = 1
    exact: Size = 1
    for axis in range(len(shape) - 1, -1, -1):
        exact_chunk = S.multiply(exact_chunk, shape[axis])
        chunk = simplify(exact_chunk)
        boundary = axis - 1
        if axis > 0:
            if shape[boundary] == 1:
                continue
            # Whether axes are adjacent is no matter of what the view needs: `x.unfold(-1, 2, 2)` may leave a column.
            step = S.relied(S.multiply(exact_chunk, chunk_base))
            stride = S.relied(strides[boundary])
            if stride == step:
                continue
            # The chunk ends here for every value of the sizes only if the strides surely differ.
            certain = S.surely_differ(stride, step) and S.surely_not_one(shape[boundary])
        else:
            certain = True
        while target >= 0 and filled != chunk:
            if not S.surely_differ(filled, chunk):
                return _UNDECIDED  # the chunk may be full here or not
            wanted = new_shape[target]
            if wanted != 1 and _surely_above(filled, chunk):
                break
            new_strides[target] = S.multiply(exact, chunk_base)
            exact = S.multiply(exact, wanted)
            filled = simplify(exact)
            target -= 1
        if filled == chunk:
            exact = exact_chunk
        while target >= 0 and new_shape[target] == 1 and filled == chunk:
            new_strides[target] = S.multiply(exact, chunk_base)
            target -= 1
        if filled != chunk:
            if certain and _surely_above(filled, chunk):
                return ViewResult(False, None, (boundary, axis) if axis > 0 else None)
            return _UNDECIDED
        # Full: whether or not the next axis happens to be adjacent, it starts a chunk whose strides are right.
        if axis > 0:
            chunk_base = strides[boundary]
            chunk = exact_chunk = 1
            filled = exact = 1
    if target >= 0:
        return _UNDECIDED
    return ViewResult(True, tuple(new_strides))


def _surely_above(filled: Size, chunk: Size) -> bool:
    """The new axes taken so far hold more than the chunk, or cannot be made to hold exactly it."""
    if isinstance(filled, int) and isinstance(chunk, int):
        return filled > chunk or (filled < chunk and chunk % filled != 0 if filled else False)
    quotient = S.multiple(filled, chunk)
    return quotient is not None and S.surely_not_one(quotient) and not (isinstance(quotient, int) and quotient < 1)


def elementwise(operands: list[tuple[Shape, Strides | None]], shape: Shape) -> Strides | None:
    """The strides of what an elementwise operation returns.

    Restates `TensorIteratorBase::reorder_dimensions` and its fast set-up (aten/src/ATen/TensorIterator.cpp):
    operands of one shape and one gap-free layout pass it on; otherwise the axes are sorted by the strides of the
    first operand that decides, and the result is gap-free in that order.
    """
    rank = len(shape)
    if rank == 0:
        return ()
    known: list[tuple[Shape, Strides]] = []
    for operand_shape, strides in operands:
        if not operand_shape:
            continue
        if strides is None:
            return None
        known.append((operand_shape, strides))
    if not known:
        return contiguous(shape)
    same_shape = all(operand_shape == shape for operand_shape, _ in operands)
    if same_shape:
        flags = [is_contiguous(*operand) for operand in known]
        if all(flags):
            return contiguous(shape)
        if rank == 4 and 1 in shape:
            # An axis of size 1 gets the stride that it has in this format, whatever it was.
            formats = [is_channels_last(shape, strides) for _, strides in known]
            if all(formats):
                return channels_last(shape)
            if all(verdict is not False for verdict in formats):
                return None
        first = known[0][1]
        if all(strides == first for _, strides in known) and is_dense(shape, first):
            return first
    # Strides as TensorIterator sees them: an axis of size 1 that is broadcast has stride 0.
    expanded: list[list[Size]] = []
    for operand_shape, strides in known:
        row: list[Size] = [0] * (rank - len(operand_shape))
        for axis, (size, stride) in enumerate(zip(operand_shape, strides, strict=True)):
            full = shape[axis + rank - len(operand_shape)]
            row.append(0 if size == 1 and full != 1 else stride)
        expanded.append(row)
    order = list(range(rank - 1, -1, -1))  # quickest first, as TensorIterator keeps them
    for i in range(1, rank):
        at = i
        for before in range(i - 1, -1, -1):
            verdict = _should_swap(expanded, shape, order[before], order[at])
            if verdict is None:
                return None
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    return dense(tuple(reversed(order)), shape)


def _should_swap(expanded: list[list[Size]], shape: Shape, first: int, second: int) -> int | None:
    """1: `first` is slower than `second` and must come later; -1: in order; 0: undecided by any operand."""
    for strides in expanded:
        a, b = strides[first], strides[second]
        if a == 0 or b == 0:
            continue
        order = _compare(a, b)
        if order is None:
            return None
        if order < 0:
            return -1
        if order > 0:
            return 1
        size_order = _compare(shape[first], shape[second])
        if size_order is None:
            return None if shape[first] != shape[second] else 0
        if size_order > 0:
            return 1
    return 0


def _compare(a: Size, b: Size) -> int | None:
    """-1, 0 or 1 where that holds for every value of the sizes that is not 0; None otherwise."""
    if isinstance(a, int) and isinstance(b, int):
        return (a > b) - (a < b)
    if a == b:
        return 0
    if a == 0 or b == 0:
        return -1 if a == 0 else 1
    quotient = S.ratio(a, b)
    if quotient is not None and S.surely_not_one(quotient):
        return 1
    quotient = S.ratio(b, a)
    if quotient is not None and S.surely_not_one(quotient):
        return -1
    return None


def joined(parts: list[tuple[Shape, Strides | None]], shape: Shape) -> Strides | None:
    """The strides of the array that numpy joins these to, which have an axis of size 1 along a new one.

    Restates `PyArray_CreateMultiSortedStridePerm` (numpy/_core/src/multiarray/shape.c): the axes are sorted by their
    strides, an axis of size 1 has none to compare, and where the arrays disagree they stay as they are.
    """
    if all(is_contiguous(*part) for part in parts):
        return contiguous(shape)
    if 0 in shape:
        return None
    order = list(range(len(shape)))
    for i in range(1, len(shape)):
        at = i
        for before in range(i - 1, -1, -1):
            verdicts = {_is_slower(*part, i, order[before]) for part in parts} - {None}
            if "unknown" in verdicts:
                return None
            if verdicts == {True}:
                at = before
            elif verdicts:
                break
        order.insert(at, order.pop(i))
    return dense(tuple(order), shape)


def _is_slower(shape: Shape, strides: Strides | None, axis: int, other: int) -> bool | str | None:
    """Whether an axis takes the longer steps, None where one of the two takes none."""
    if shape[axis] == 1 or shape[other] == 1:
        return None
    if strides is None or not (S.surely_not_one(shape[axis]) and S.surely_not_one(shape[other])):
        return "unknown"
    if not all(isinstance(stride, int) or all(factor > 0 for _, factor in stride.terms) for stride in strides):
        return "unknown"
    a, b = strides[axis], strides[other]
    order = _compare(abs(a) if isinstance(a, int) else a, abs(b) if isinstance(b, int) else b)
    return "unknown" if order is None else order > 0


def is_dense(shape: Shape, strides: Strides) -> bool:
    """torch's `is_non_overlapping_and_dense`, where it can be told (else False)."""
    axes = [axis for axis, size in enumerate(shape) if size != 1]
    try:
        axes.sort(key=lambda axis: _SortKey(strides[axis]))
    except _Undecided:
        return False
    step: Size = 1
    for axis in axes:
        if strides[axis] != step:
            return False
        step = S.multiply(step, shape[axis])
    return True


class _Undecided(Exception):
    pass


class _SortKey:
    __slots__ = ("stride",)

    def __init__(self, stride: Size) -> None:
        self.stride = stride

    def __lt__(self, other: _SortKey) -> bool:
        order = _compare(self.stride, other.stride)
        if order is None:
            raise _Undecided
        return order < 0


def preserve(shape: Shape, strides: Strides | None) -> Strides | None:
    """`clone()`, `to(dtype)`, `empty_like`: a dense layout is kept, any other follows the elementwise rule."""
    if strides is None:
        return None
    if is_dense(shape, strides):
        return strides
    if any(not isinstance(size, int) and not S.surely_not_one(size) for size in shape):
        return None  # dense after all where that axis has size 1
    return elementwise([(shape, strides)], shape)
