"""What is known of single axes of a tensor although nobody knows how many it has.

`nn.Linear(d, n)` gives a last axis of n whatever came in, `nn.Conv2d` so many channels three axes before the end. The
axes are counted from the end (-1 is the last) or from the start (0 is the first), and an entry also says that the tensor
has that axis. Each function here says what an operation leaves of them; what cannot be told is left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from tensorlint.inference import ranks
from tensorlint.inference import sizes as S
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    NONE,
    PLAIN,
    Const,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Unknown,
    Value,
    integer,
    is_none,
    size_of,
)

Axes = dict[int, Size]


def of(value: Value | None) -> Axes:
    """The known axes of a value; those of a known shape are all of them, from both ends."""
    if isinstance(value, Tensor) and value.shape is not None:
        rank = len(value.shape)
        return {at: size for axis, size in enumerate(value.shape) for at in (axis, axis - rank)}
    if isinstance(value, (Tensor, Opaque)) and value.axes:
        return dict(value.axes)
    return {}


def least_rank(axes: Axes) -> int:
    """How many axes there are at least."""
    return max((axis + 1 if axis >= 0 else -axis for axis in axes), default=0)


def _of_least_rank(axes: Axes, rank: int) -> Axes:
    """The same axes of a tensor that has at least so many."""
    return axes if least_rank(axes) >= rank else axes | {-rank: S.symbol()}


def in_both(a: Tensor, b: Tensor) -> Axes | None:
    """What is true of the axes of either."""
    first, second = of(a), of(b)
    return {axis: size for axis, size in first.items() if second.get(axis) == size} or None


# -- operations ----------------------------------------------------------------------------------------------------


def broadcast(operands: Iterable[Value]) -> Axes:
    """Operands that meet elementwise. Beside an axis that is longer than 1 any other is as long, or 1, or missing."""
    found: Axes = {}
    unsure: set[int] = set()
    given = [value for value in operands if not _is_number(value)]
    if all(isinstance(value, Tensor) and value.shape is not None for value in given):
        return {}  # the operation is one of which nothing is known
    for value in given:
        for axis, size in of(value).items():
            if axis >= 0 and len(given) > 1:
                continue  # the others may have more axes before it
            if S.surely_not_one(size) or len(given) == 1:
                known = found.get(axis)
                if known is None or isinstance(size, int):
                    found[axis] = size
            else:
                unsure.add(axis)
    if unsure:
        for axis in unsure - found.keys():
            found[axis] = _met(axis, given)
    return found


def _met(axis: int, given: list[Value]) -> Size:
    """The size of an axis that some operand has, where none of them is known to be longer than 1 there."""
    sizes: list[Size | None] = []
    for value in given:
        if isinstance(value, Tensor) and value.shape is not None and len(value.shape) < -axis:
            continue
        sizes.append(of(value).get(axis))
    first = sizes[0]
    if first is not None and all(size == first for size in sizes):
        return first
    return S.counter() if any(size is not None and may_be_empty(size) for size in sizes) else S.symbol()


def with_last(axes: Axes, *sizes: Size) -> Axes:
    """The last axes replaced, as a linear map does: those from the start may be among them."""
    count = len(sizes)
    kept = {axis: size for axis, size in axes.items() if axis < -count}
    for axis, size in axes.items():
        if 0 <= axis < least_rank(axes) - count:
            kept[axis] = size
    return _of_least_rank(kept | {at - count: size for at, size in enumerate(sizes)}, least_rank(axes))


def with_axis(axes: Axes, at: int, size: Size) -> Axes:
    """A new axis at that place of the result."""
    least = least_rank(axes)
    found: Axes = {at: size}
    for axis, own in axes.items():
        if at >= 0:
            if axis >= 0:
                found[axis + (axis >= at)] = own
            elif least + axis >= at:
                found[axis] = own
        elif axis < 0:
            found[axis if axis > at else axis - 1] = own
        elif least + at + 1 > axis:
            found[axis] = own
    return found


def without_axes(axes: Axes, gone: list[int]) -> Axes:
    """The axes left when some are taken away."""
    least = least_rank(axes)
    found: Axes = {}
    for axis, own in axes.items():
        if axis in gone:
            continue
        shift = 0
        for each in gone:
            if (each < 0) == (axis < 0):
                shift += (axis < each) if axis < 0 else -(axis > each)
            elif not _before(each, axis, least):
                break
        else:
            found[axis + shift] = own
    return found


def _before(gone: int, axis: int, least: int) -> bool:
    """Whether an axis keeps its number when another, counted from the other end, is taken away or changed."""
    return least + axis > gone if axis < 0 else least + gone > axis


def changed(axes: Axes, at: int, size: Size | None) -> Axes:
    """One axis has another size; the tensor is known to have it."""
    least = least_rank(axes)
    found = {
        axis: own for axis, own in axes.items() if axis != at and ((axis < 0) == (at < 0) or _before(at, axis, least))
    }
    return found | {at: S.symbol() if size is None else size}


def swapped(axes: Axes, first: int, second: int) -> Axes:
    """Two axes in each other's place."""
    least = least_rank(axes)
    found: Axes = {}
    for axis, own in axes.items():
        if axis in (first, second):
            other = second if axis == first else first
            found[other] = own
        elif all((axis < 0) == (at < 0) or _before(at, axis, least) for at in (first, second)):
            found[axis] = own
    for axis in (first, second):
        if axis in axes and axis not in found:
            found[axis] = S.symbol()
    return found


def reduced(axes: Axes, dim: Value, keepdim: bool) -> Axes:
    gone = _axes_of(dim)
    if gone is None or not axes:
        return {}
    if not keepdim:
        return without_axes(axes, gone)
    for each in gone:
        axes = changed(axes, each, 1)
    return axes


def _axes_of(dim: Value) -> list[int] | None:
    items = dim.items if isinstance(dim, Sequence) else [dim]
    if not items:
        return None
    found = [integer(item) for item in items]
    return None if any(axis is None for axis in found) else [axis for axis in found if axis is not None]


def alike(given: list[Axes]) -> Axes:
    """Tensors of one shape: what is known of one is known of all."""
    found: Axes = {}
    for axes in given:
        for axis, size in axes.items():
            if axis not in found or isinstance(size, int) or S.is_named(size):
                found[axis] = size
    return found


def joined(parts: list[Value], dim: int) -> Axes:
    """`torch.cat`: the sizes along the axis add up, the others are each other's."""
    # A vector without elements takes part in anything.
    given = [of(part) for part in parts if not (isinstance(part, Tensor) and part.shape == (0,))]
    least = max(map(least_rank, given), default=0)
    found = {
        axis: size
        for axis, size in alike(given).items()
        if axis != dim and ((axis < 0) == (dim < 0) or _before(dim, axis, least))
    }
    total: Size | None = 0
    for axes in given:
        own = axes.get(dim)
        total = None if own is None or total is None else S.add(total, own)
    if total is not None:
        found[dim] = total
    elif any(dim in axes for axes in given):
        found[dim] = S.symbol()
    return found


def product(a: Value, b: Value) -> Axes:
    """`a @ b`: rows of the one, columns of the other."""
    first, second = of(a), of(b)
    if isinstance(b, Tensor) and b.shape is not None and len(b.shape) == 1:
        return without_axes(first, [-1])
    if least_rank(second) < 2:
        return {}
    if isinstance(b, Tensor) and b.shape is not None and len(b.shape) == 2:
        return with_last(first, b.shape[-1]) if least_rank(first) > 0 else {-1: b.shape[-1]}
    found = {-1: second.get(-1, S.symbol())}
    if least_rank(first) >= 2:
        found[-2] = first.get(-2, S.symbol())
    return found


def indexed(axes: Axes, index: Value) -> Axes | None:
    """Numbers, slices, None and an ellipsis; None where the index holds something else. What is chosen may be empty."""
    if isinstance(index, Tensor) and index.dtype == "bool":
        return {0: S.counter()}
    items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    if items is None:
        return None
    at = next((place for place, item in enumerate(items) if isinstance(item, Const) and item.value is Ellipsis), None)
    before, after = (items, []) if at is None else (items[:at], items[at + 1 :])
    for item in (*before, *after):
        if not (isinstance(item, (Slice, Number)) or integer(item) is not None or is_none(item)):
            return None
    # The axes are there, or the index would raise.
    asked = (sum(not is_none(item) for item in before), sum(not is_none(item) for item in after))
    known, unnamed = set(axes.values()), S.symbol()
    first: Axes = {axis: unnamed for axis in range(asked[0]) if axis not in axes}
    last: Axes = {-1 - axis: unnamed for axis in range(asked[1]) if -1 - axis not in axes}
    axes = _of_least_rank(axes | first | last, sum(asked))
    # From the end first, then from the start: each step leaves axes that the next one finds.
    rest = sum(isinstance(item, Slice) for item in (*before, *after)) + max(0, least_rank(axes) - sum(asked))
    axes = _stepped(axes, after[::-1], from_end=True)
    axes = _stepped(axes, before, from_end=False)
    kept = {axis: size for axis, size in axes.items() if size in known or not _is_unnamed(size) or may_be_empty(size)}
    return _of_least_rank(kept, rest)


def adds_axis(index: Value) -> bool:
    """`x[None]`, `x[:, None]`: the axis is of size 1, however many there are."""
    if isinstance(index, Sequence) and index.kind == "tuple":
        return any(map(is_none, index.items or ()))
    return is_none(index)


def may_choose(index: Value) -> bool:
    """Whether an index may leave an axis without elements: a mask, or a slice with bounds."""
    items = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    return any(map(_may_choose, items or ()))


def _may_choose(item: Value) -> bool:
    if isinstance(item, Slice):
        return not (is_none(item.start) and is_none(item.stop))
    return isinstance(item, (Tensor, Unknown)) or (isinstance(item, Opaque) and item.kind is None and not item.integer)


def _stepped(axes: Axes, items: list[Value], *, from_end: bool) -> Axes:
    at = 0
    for item in items:
        axis = -1 - at if from_end else at
        if is_none(item):
            axes = with_axis(axes, axis, 1)
            at += 1
        elif isinstance(item, Slice):
            if not (is_none(item.start) and is_none(item.stop) and is_none(item.step)):
                left = _sliced(axes.get(axis), item)
                axes = changed(axes, axis, S.counter() if left is None else left)
            at += 1
        else:
            axes = without_axes(axes, [axis])
    return axes


def _sliced(size: Size | None, part: Slice) -> Size | None:
    """How many `x[start:stop]` leaves, where it is plain."""
    if isinstance(size, int) and size >= 0:
        start, stop, step = (None if is_none(each) else integer(each) for each in (part.start, part.stop, part.step))
        plain = all(
            is_none(each) or known is not None
            for each, known in zip((part.start, part.stop, part.step), (start, stop, step), strict=True)
        )
        return len(range(*slice(start, stop, step).indices(size))) if plain and step != 0 else None
    return None


def may_be_empty(size: Size) -> bool:
    """Whether the axis was cut, or its elements chosen, and none may be left."""
    return size == 0 or any(atom.counts for atom in S.symbols(size))


def _is_unnamed(size: Size) -> bool:
    symbol = S.single(size)
    return symbol is not None and symbol.name is None


def reshaped(tail: tuple[Value, ...]) -> Axes:
    """`x.view(*some, n, m)`: the last sizes as they are told."""
    found: Axes = {}
    for place, item in enumerate(tail):
        size = size_of(item)
        told = size is not None and not (isinstance(size, int) and size < 0) and not isinstance(item, Tensor)
        found[place - len(tail)] = size if told and size is not None else S.symbol()
    return found


# -- by name ---------------------------------------------------------------------------------------------------------

_OTHER_SIZES = frozenset(
    {"pad", "interpolate", "pixel_shuffle", "pixel_unshuffle", "transpose", "swapaxes", "permute", "narrow", "index_select", "movedim"}
)  # fmt: skip
# Functions that keep every size of their first argument.
SAME = frozenset(
    name
    for name in (*ranks.SAME, "type_as", "asarray", "ascontiguousarray", "from_numpy", "as_tensor", "numpy")
    if name not in _OTHER_SIZES and "conv" not in name and "pool" not in name
)
# Functions of several tensors that broadcast.
ELEMENTWISE = frozenset([
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod", "pow",
    "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "where", "masked_fill", "clamp", "clip", "clamp_min", "clamp_max", "lerp",
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ne", "lt", "le", "gt",
    "ge", "rsub", "addcmul", "addcdiv", "isclose", "logaddexp",
])  # fmt: skip
_REDUCTIONS = frozenset(
    {"sum", "mean", "amax", "amin", "argmax", "argmin", "prod", "any", "all", "logsumexp", "std", "var", "max", "min"}
)
_SAME_LAYERS = ranks.SAME_LAYERS
_NOT_SAME = ("Linear", "Conv", "Pool", "Upsampl", "Pixel", "Pad")


def after_function(name: str, args: list[Value], kwargs: dict[str, Value]) -> Axes | None:
    """What is known of the result of a function or method of torch; `name` is the last part of its path."""
    subject = args[0]
    if name in ELEMENTWISE:
        return broadcast([*args, *(value for key, value in kwargs.items() if key not in ("alpha", "value", "out"))])
    if name in ("cat", "concat", "concatenate"):
        dim = integer(_argument("dim", 1, args, kwargs, Const(0)))
        if isinstance(subject, Sequence) and subject.items is not None and dim is not None:
            return joined(subject.items, dim)
        return None
    if name == "stack":
        dim = integer(_argument("dim", 1, args, kwargs, Const(0)))
        if isinstance(subject, Sequence) and subject.items and dim is not None:
            return with_axis(alike([of(item) for item in subject.items]), dim, len(subject.items))
        return None
    if name == "matmul":
        return product(args[0], args[1]) if len(args) == 2 else None
    if name == "one_hot":
        classes = size_of(_argument("num_classes", 1, args, kwargs))
        return None if classes is None or (isinstance(classes, int) and classes < 0) else {-1: classes}
    axes = of(subject)
    if isinstance(subject, Tensor) and subject.shape is not None:
        return None
    if name == "unsqueeze":
        at = integer(_argument("dim", 1, args, kwargs))
        return None if at is None else with_axis(axes, at, 1)
    if not axes:
        return None
    if name in SAME:
        return axes
    if name in ("transpose", "swapaxes", "swapdims"):
        first = integer(_argument("dim0", 1, args, kwargs))
        second = integer(_argument("dim1", 2, args, kwargs))
        return None if first is None or second is None else swapped(axes, first, second)
    if name in ("mT", "mH", "adjoint"):
        return swapped(axes, -1, -2)
    if name == "select":
        return reduced(axes, _argument("dim", 1, args, kwargs), False)
    return after_reduction(name, args, kwargs)


def after_reduction(name: str, args: list[Value], kwargs: dict[str, Value]) -> Axes | None:
    if name not in _REDUCTIONS:
        return None
    dim = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else NONE))
    if is_none(dim) or len(args) > 2:
        return None
    kept = kwargs.get("keepdim", kwargs.get("keepdims"))
    if kept is not None and not (isinstance(kept, Const) and isinstance(kept.value, bool)):
        return None
    return reduced(of(args[0]), dim, kept is not None and bool(kept.value))


def after_split(name: str, args: list[Value], kwargs: dict[str, Value]) -> Axes | None:
    """What is known of each of the parts that `chunk`, `split`, `topk`, ... make."""
    axes = of(args[0])
    if not axes:
        return None
    if name in ("sort", "cummax", "cummin"):
        return axes
    if name in ("max", "min", "median"):
        return after_reduction("max", args, kwargs)
    if name == "unbind":
        return reduced(axes, _argument("dim", 1, args, kwargs, Const(0)), False)
    if name in ("chunk", "split", "tensor_split", "split_with_sizes", "topk"):
        dim = integer(_argument("dim", 2, args, kwargs, Const(-1 if name == "topk" else 0)))
        if dim is None:
            return None
        count = integer(_argument({"chunk": "chunks", "topk": "k"}.get(name, "-"), 1, args, kwargs))
        size = axes.get(dim)
        part: Size | None = None
        if name == "topk" and count is not None:
            part = count
        elif name == "chunk" and count and size is not None:
            part = S.divide_exactly(size, count)
        if part is None and name != "topk":
            part = S.of_symbol(S.Symbol(None, variant=True))  # another size in each part
        return changed(axes, dim, part)
    return None


def after_layer(layer: LibraryObject, given: Value) -> Axes | None:
    """What a layer of torch.nn tells of its result that gives back the sizes it is given."""
    name = layer.path.rpartition(".")[2]
    if (isinstance(given, Tensor) and given.shape is not None) or not _SAME_LAYERS.match(name):
        return None
    if any(word in name for word in _NOT_SAME):
        return None
    axes = of(given)
    if name in ("LayerNorm", "RMSNorm"):
        last = _sizes(layer.fields.get("normalized_shape", layer.arguments.get("normalized_shape")))
        return axes | {place - len(last): size for place, size in enumerate(last)}
    if name in _CHANNELS and any(_is_true(layer.arguments.get(each)) for each in ("affine", "track_running_stats")):
        channels = _sizes(layer.arguments.get(_CHANNELS[name]))
        return axes | dict(enumerate(channels, 1))
    return axes


# Layers that have a number for each channel and refuse others.
_CHANNELS = {"GroupNorm": "num_channels", "BatchNorm1d": "num_features", "SyncBatchNorm": "num_features"}


def _sizes(given: Value | None) -> list[Size]:
    """An integer or a tuple of them; nothing where it may be either."""
    items = given.items if isinstance(given, Sequence) else [given]
    found = [size_of(item) for item in items or () if isinstance(item, (Const, Number))]
    return [size for size in found if size is not None] if len(found) == len(items or ()) and None not in found else []


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Const) and value.value is True


def _argument(name: str, at: int, args: list[Value], kwargs: dict[str, Value], default: Value = NONE) -> Value:
    return kwargs.get(name, args[at] if len(args) > at else default)


def _is_number(value: Value) -> bool:
    """Whether the operand has no axis."""
    if isinstance(value, Tensor):
        return value.shape == ()
    if isinstance(value, Opaque):
        return value.kind == PLAIN
    return isinstance(value, (Number, Scalar)) or (isinstance(value, Const) and not isinstance(value.value, str))
