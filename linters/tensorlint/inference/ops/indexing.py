"""`tensor[index]`: basic indexing gives views, advanced indexing gives copies, as numpy and torch each define them."""

from __future__ import annotations

import ast

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops.arguments import always_at_least, at_least
from tensorlint.inference.ops.broadcasting import broadcast, tell
from tensorlint.inference.ops.dtypes import OBJECT
from tensorlint.inference.ops.literals import PERHAPS_NONE, leaf_dtype, nested
from tensorlint.inference.ops.ranges import clipped
from tensorlint.inference.ops.results import ITEM, NUMERIC, SPELLED, surviving
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    UNKNOWN,
    Const,
    Number,
    Range,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Value,
    hold_elements,
    integer,
    is_integer,
    is_none,
    size_of,
)


class _Axes:
    """The indexed tensor while its index is read from left to right."""

    def __init__(self, tensor: Tensor) -> None:
        self.own_shape: Shape = tensor.shape or ()
        self.own_strides = tensor.strides
        self.at = 0
        self.shape: list[Size] = []
        self.strides: list[Size] | None = None if tensor.strides is None else []
        # The positions among the axes kept so far that an advanced index replaces, with its shape.
        self.advanced: dict[int, tuple[Shape, Strides]] = {}
        # Where integers stood, which numpy counts among the advanced ones.
        self.selected_at: list[int] = []
        # The index from left to right: an advanced index or integer (True), or what separates these (False).
        self.order: list[bool] = []
        self.copied = False
        self.spelled = False
        self.cut = False

    def take(self) -> tuple[Size, Size]:
        if self.at >= len(self.own_shape):
            raise Undecided
        size = self.own_shape[self.at]
        stride = 0 if self.own_strides is None else self.own_strides[self.at]
        self.at += 1
        return size, stride

    def keep(self, size: Size, stride: Size | None) -> None:
        self.shape.append(size)
        if stride is None:
            self.strides = None
        elif self.strides is not None:
            self.strides.append(stride)


def getitem(call: Call, tensor: Tensor, index: Value) -> Value:
    """The value of `tensor[index]`."""
    try:
        found = _getitem(call, tensor, index)
    except Undecided:
        if tensor.dtype == OBJECT:
            return UNKNOWN
        perhaps = ITEM if tensor.shape is None and may_be_object(tensor) and _picks(index) else frozenset()
        return Tensor(tensor.framework, None, None, tensor.dtype, tensor.device, marks=perhaps)
    return UNKNOWN if isinstance(found, Tensor) and found.shape == () and may_be_object(tensor) else found


def may_be_object(array: Tensor) -> bool:
    """Whether what is taken out of the array may be anything: `np.ravel(bounds)` of a list with None in it."""
    if array.dtype is None:
        return array.framework == "numpy" and "numeric" not in array.marks
    return array.dtype == OBJECT


def _picks(index: Value) -> bool:
    """Whether the index may choose one item, of an array with as many axes: `cells[x, y]`."""
    parts = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    return parts is None or not any(
        isinstance(part, (Slice, Sequence, Range))
        or (isinstance(part, Const) and (part.value is None or part.value is Ellipsis))
        or (isinstance(part, Tensor) and bool(part.shape))
        for part in parts
    )


def _getitem(call: Call, tensor: Tensor, index: Value) -> Value:
    if tensor.shape is None:
        raise Undecided
    if isinstance(index, Sequence) and index.kind == "tuple":
        if index.items is None:
            raise Undecided
        items = index.items
    elif tensor.framework != "numpy" and isinstance(index, Sequence) and _read_as_tuple(index):
        raise Undecided
    else:
        items = [index]
    if tensor.elements is not None and len(tensor.shape) == 1 and len(items) == 1:
        picked = _element(call, tensor, items[0])
        if picked is not None:
            return picked
    if any(isinstance(item, Tensor) and "optional" in item.marks for item in items):
        raise Undecided  # None would make an axis
    consumed = sum(_consumes(item) for item in items)
    if consumed > len(tensor.shape):
        return UNKNOWN
    axes = _Axes(tensor)
    ellipsis_seen = False
    for item in items:
        if isinstance(item, Const) and item.value is Ellipsis:
            if ellipsis_seen:
                raise Undecided
            ellipsis_seen = True
            axes.order.append(False)
            for _ in range(len(tensor.shape) - consumed):
                axes.keep(*axes.take())
            continue
        _one(tensor, axes, item, call.node)
    while axes.at < len(axes.own_shape):
        axes.keep(*axes.take())
    if axes.advanced:
        found = _advanced(call, tensor, axes)
        if len(axes.advanced) > 1:
            _tell_of_indices(call, items)
        return found
    shape = tuple(axes.shape)
    marks = surviving(tensor.marks, shape) | (tensor.marks & NUMERIC)
    how = None
    if axes.spelled:
        marks = marks | SPELLED
        how = "[:, None]" if shape and shape[-1] == 1 else "[None]"
    strides = None if axes.strides is None or (axes.copied and len(shape) > 0) else tuple(axes.strides)
    trail = tensor.layout_trail
    if axes.cut and call.node is not None:
        trail = (*trail[-3:], (call.node, "sliced"))
    return Tensor(
        tensor.framework, shape, strides, tensor.dtype, tensor.device, call.node, how, marks, layout_trail=trail
    )


def _tell_of_indices(call: Call, items: list[Value]) -> None:
    """Of a column of indices and a row of as many each meets each: `scores[np.arange(n), labels]` of labels `(n, 1)`."""
    index = call.node.slice if isinstance(call.node, ast.Subscript) else None
    nodes: list[ast.expr] = index.elts if isinstance(index, ast.Tuple) else []
    found = [(item, node) for item, node in zip(items, nodes, strict=False) if isinstance(item, Tensor) and item.shape]
    if len(found) == 2 and len(nodes) == len(items):
        (left, first), (right, second) = found
        if {left.rank, right.rank} == {1, 2}:
            tell(call, "indexing", left, right, broadcast(left.shape or (), right.shape or ()), nodes=(first, second))


def _read_as_tuple(index: Sequence) -> bool:
    """Whether torch may take a list for a tuple, which depends on its version: `x[[[0, 1], [1, 2]]]` was `x[[0, 1], [1, 2]]`."""
    items = [index.element] if index.items is None else index.items
    return not all(isinstance(item, (Number, Scalar, Const)) and not is_none(item) for item in items)


def _element(call: Call, tensor: Tensor, item: Value) -> Tensor | None:
    at = integer(item)
    if at is None or tensor.elements is None or not -len(tensor.elements) <= at < len(tensor.elements):
        return None
    result = Tensor(tensor.framework, (), (), tensor.dtype, tensor.device, call.node)
    hold_elements(result, (tensor.elements[at],))
    return result


def _consumes(item: Value) -> int:
    """How many axes of the tensor one part of the index stands for."""
    if isinstance(item, Const) and (item.value is None or item.value is Ellipsis):
        return 0
    if isinstance(item, Const) and isinstance(item.value, bool):
        raise Undecided
    if isinstance(item, Tensor):
        if item.shape is None or (item.dtype is None and len(item.shape) != 1):
            raise Undecided
        return len(item.shape) if item.dtype in ("bool", "uint8") else 1
    return 1


def _one(tensor: Tensor, axes: _Axes, item: Value, node: ast.AST | None) -> None:
    axes.order.append(not isinstance(item, Slice) and not is_none(item))
    if isinstance(item, Slice):
        size, stride = axes.take()
        length, step = slice_length(size, item)
        if S.cut_of(length) == ("slice", item, size):
            length = S.cut_by(("slice", _written(node, axes.at - 1), size))
        if length != size or step != 1:
            axes.cut = True
        if step is None:
            axes.keep(length, None)
        else:
            axes.keep(length, S.multiply(stride, step))
        return
    if isinstance(item, Const) and item.value is None:
        stride = 0
        if tensor.framework == "torch" and axes.own_strides is not None:
            # `unsqueeze` in front of the axis that comes next.
            rest = axes.at
            stride = S.multiply(axes.own_shape[rest], axes.own_strides[rest]) if rest < len(axes.own_shape) else 1
        axes.keep(1, stride)
        axes.spelled = True
        return
    if isinstance(item, (Const, Number)) or is_integer(item):
        if isinstance(item, Const) and type(item.value) is not int:
            raise Undecided
        size, _ = axes.take()
        if isinstance(item, Const) and isinstance(size, int) and not -size <= item.value < size:
            raise Undecided
        axes.selected_at.append(len(axes.shape))
        return
    if isinstance(item, Tensor) and item.dtype is None and item.shape is not None and len(item.shape) == 1:
        if tensor.framework != "torch" and _is_of_torch(item) and not S.surely_not_one(item.shape[0]):
            raise Undecided
        # Indices or a mask: both choose along one axis.
        axes.take()
        key = S.cut_of(item.shape[0])
        count = S.cut_by(("chosen", item.shape[0]) if key is None else key)
        axes.advanced[len(axes.shape)] = ((count,), (1,))
        axes.keep(count, 0)
        return
    shape, dtype, strides = _index_array(item)
    if dtype in ("bool", "uint8"):
        if dtype == "uint8" and tensor.framework != "torch":
            raise Undecided
        if not shape:
            raise Undecided
        count = S.cut_by(("chosen", item))  # a mask may choose nothing
        for _ in shape:
            axes.take()
            axes.advanced[len(axes.shape)] = ((count,), (1,))
            axes.keep(count, 0)
        return
    if shape and tensor.framework != "torch" and _is_of_torch(item):
        # numpy takes a tensor with one number, on however many axes, for that number: `rows[torch.tensor([0])]`.
        if all(size == 1 for size in shape):
            shape = ()
        elif not any(map(S.surely_not_one, shape)):
            raise Undecided
    if not shape:
        axes.take()
        axes.selected_at.append(len(axes.shape))
        axes.copied = tensor.framework != "torch"
        return
    axes.take()
    axes.advanced[len(axes.shape)] = (shape, strides if strides is not None else ())
    if strides is None:
        axes.strides = None
    axes.keep(1, 0)


def _is_of_torch(item: Value) -> bool:
    return isinstance(item, Tensor) and item.framework == "torch"


def _index_array(item: Value) -> tuple[Shape, str, Strides | None]:
    if isinstance(item, Tensor):
        if item.shape is None or item.dtype is None:
            raise Undecided
        return item.shape, item.dtype, item.strides
    if isinstance(item, Sequence) and item.kind == "list":
        shape, leaves = nested(item)
        if leaves is None or any(isinstance(leaf, Tensor) for leaf in leaves):
            raise Undecided
        leaves = [leaf for leaf in leaves if leaf is not PERHAPS_NONE]  # a list without items chooses nothing
        dtype = leaf_dtype(leaves, "numpy", None) if leaves else "int64"
        if dtype not in ("bool", "int64"):
            raise Undecided
        return shape, dtype, layout.contiguous(shape)
    if isinstance(item, Range) and item.start is not None and item.stop is not None and item.step == 1:
        return (clipped(S.subtract(item.stop, item.start)),), "int64", (1,)
    raise Undecided


def _advanced(call: Call, tensor: Tensor, axes: _Axes) -> Value:
    positions = sorted(axes.advanced)
    together = broadcast(*(axes.advanced[position][0] for position in positions))
    # Axes that `None` or a slice made may stand between the advanced ones; numpy counts integers among these.
    if tensor.framework == "torch":
        separated = positions[-1] - positions[0] != len(positions) - 1
    else:
        separated = _separated(axes.order)
    if tensor.framework is None and (axes.selected_at or separated):
        raise Undecided
    shape = list(axes.shape)
    strides = axes.strides
    where = 0 if separated else positions[0]
    kept = [axis for axis in range(len(shape)) if axis not in axes.advanced]
    before = [axis for axis in kept if axis < where] if not separated else []
    after = [axis for axis in kept if axis not in before]
    result = (*(shape[axis] for axis in before), *together, *(shape[axis] for axis in after))
    result_strides: Strides | None = None
    if tensor.framework == "torch" and not all(map(S.surely_not_one, result)):
        # The order of axes of size 1 is the iterator's own affair.
        result_strides = layout.contiguous(result) if _leading(tensor, axes, positions) else None
    elif tensor.framework == "torch" and strides is not None:
        source = (
            *(strides[axis] for axis in before),
            *(0 for _ in together),
            *(strides[axis] for axis in after),
        )
        operands: list[tuple[Shape, Strides | None]] = [(result, source)]
        for position in positions:
            index_shape, index_strides = axes.advanced[position]
            pad = len(together) - len(index_shape)
            padded = (1,) * len(before) + (1,) * pad + index_shape + (1,) * len(after)
            operands.append(
                (
                    padded,
                    layout.contiguous(padded)
                    if index_strides == ()
                    else _padded(index_shape, index_strides, len(before) + pad, len(after)),
                )
            )
        result_strides = layout.elementwise(operands, result)
    elif tensor.framework == "numpy" and _leading(tensor, axes, positions):
        result_strides = layout.contiguous(result)
    marks = surviving(tensor.marks, result) | (tensor.marks & NUMERIC)
    return Tensor(tensor.framework, result, result_strides, tensor.dtype, tensor.device, call.node, None, marks)


def _padded(shape: Shape, strides: Strides, before: int, after: int) -> Strides:
    return (*(0 for _ in range(before)), *strides, *(0 for _ in range(after)))


def _leading(tensor: Tensor, axes: _Axes, positions: list[int]) -> bool:
    """numpy: one index array (or one mask) on the leading axes of a row-major array gives a row-major copy."""
    return (
        tensor.in_order
        and positions == list(range(len(positions)))
        and not axes.selected_at
        and not axes.cut
        and not axes.spelled
        and all(len(axes.advanced[position][0]) == 1 for position in positions)
    )


def _separated(order: list[bool]) -> bool:
    """Whether a slice, None or Ellipsis stands between any two advanced indices, integers counted among them."""
    first = order.index(True)
    last = len(order) - 1 - order[::-1].index(True)
    return not all(order[first : last + 1])


def slice_length(size: Size, item: Slice) -> tuple[Size, int | None]:
    """How long an axis of `size` is after a slice, and the slice's step (None where it is not known)."""
    step = 1 if is_none(item.step) else integer(item.step)
    if step is None or step == 0:
        return S.counter(), None
    length, step = _slice_length(size, item, step)
    alone = S.single(length)
    if alone is not None and alone.counts and alone.cut is None and alone.name is None and size != length:
        return S.cut_by(_cut(size, item)), step
    return length, step


def _written(node: ast.AST | None, axis: int) -> object:
    """How the slice of an axis is written, where its bounds are not known: `i : min(i + 16, n)`."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    part = parts[axis] if axis < len(parts) else None
    return ast.dump(part) if isinstance(part, ast.Slice) else S.Symbol()


def _cut(size: Size, item: Slice) -> tuple[object, ...]:
    """What the slice cuts out of an axis of this size, () where that is one item."""
    start = 0 if is_none(item.start) else size_of(item.start)
    stop = size if is_none(item.stop) else size_of(item.stop)
    if start is None or stop is None:
        return ("slice", item, size)
    width = S.subtract(stop, start)
    return () if width in (0, 1) else ("slice", start, stop, size)


def _slice_length(size: Size, item: Slice, step: int) -> tuple[Size, int | None]:
    start_none, stop_none = is_none(item.start), is_none(item.stop)
    if start_none and stop_none and step in (1, -1):
        return size, step
    start = None if start_none else size_of(item.start)
    stop = None if stop_none else size_of(item.stop)
    if (start is None and not start_none) or (stop is None and not stop_none):
        return S.counter(), step
    if isinstance(size, int) and isinstance(start or 0, int) and isinstance(stop or 0, int):
        return len(range(*slice(start, stop, step).indices(size))), step
    if step < 0:
        return S.counter(), step
    if step == 1 and start is not None and stop is not None and (end := S.end_of_rounds(start)) is not None:
        width = S.subtract(stop, start)  # `x[i : i + width]` in `for i in range(len(x) - width + 1)`
        if at_least(width, 1) and at_least(size, S.add(end, S.subtract(width, 1))):
            return width, step
    begin = 0 if start is None else _clipped(start, size)
    end = size if stop is None else _clipped(stop, size)
    if begin is None or end is None or (begin == size != start and isinstance(start, S.Poly)):
        return S.counter(), step  # a place to begin at may well be 0, unlike a size
    if at_least(end, begin):
        length = S.subtract(end, begin)
    elif at_least(begin, end):
        return 0, step
    else:
        return S.counter(), step
    if step == 1:
        return length, step
    stepped = S.floor_divide(S.add(length, step - 1), step)
    return (S.counter() if stepped is None else stepped), step


def _clipped(bound: Size, size: Size) -> Size | None:
    """A slice's bound between 0 and the size; None where that depends on the sizes' values."""
    if not at_least(bound, 0):
        if not at_least(S.negate(bound), 1):
            return None
        bound = S.add(size, bound)
        return bound if at_least(bound, 0) else None
    if at_least(size, bound):
        return bound
    if always_at_least(bound, size):  # a bound is no size of an axis: it may be 0
        return size
    return None


def without_axis(call: Call, tensor: Tensor, at: int) -> Tensor:
    """`select`: one index of an axis, which goes."""
    shape = tensor.shape or ()
    if at >= len(shape):
        raise Undecided
    target = (*shape[:at], *shape[at + 1 :])
    strides = None if tensor.strides is None else (*tensor.strides[:at], *tensor.strides[at + 1 :])
    return Tensor(
        tensor.framework,
        target,
        strides,
        tensor.dtype,
        tensor.device,
        call.node,
        None,
        surviving(tensor.marks, target),
        layout_trail=tensor.layout_trail,
    )
