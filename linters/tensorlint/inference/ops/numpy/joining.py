"""numpy's joining and splitting."""

from __future__ import annotations

from collections.abc import Iterator

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.numpy.creation import chosen
from tensorlint.inference.ops.numpy.registry import op
from tensorlint.inference.ops.numpy.shaping import at_least
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import RESHAPED, SPELLED, laid, list_of, seen, short, surviving
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value


def rows(given: Value) -> Value:
    """One array in the place of a list: it is taken apart along its first axis."""
    if not isinstance(given, Tensor) or given.framework != "numpy" or not given.shape:
        return given
    row = Tensor("numpy", given.shape[1:], None if given.strides is None else given.strides[1:], given.dtype)
    count = given.shape[0]
    if isinstance(count, int) and 0 < count <= _MOST_ROWS:
        return Sequence("list", [row] * count)
    return Sequence("list", None, row, count)


_MOST_ROWS = 64


def arrays(call: Call, given: Value) -> list[Tensor]:
    given = rows(given)
    if not isinstance(given, Sequence) or not given.items:
        raise Undecided
    return [tensor(array_of(call, item)) for item in given.items]


def common(items: list[Tensor]) -> str | None:
    result = items[0].dtype
    for item in items[1:]:
        if result is None or item.dtype is None:
            return None
        result = dtypes.numpy_promote(result, item.dtype)
    return result


def ranks_differ(call: Call, items: list[Tensor], axis: int) -> None:
    """Tell of a vector that is joined with a matrix, which numpy and torch refuse."""
    ranks = [None if item.shape is None else len(item.shape) for item in items]
    if None not in ranks and 1 in ranks and 2 in ranks:
        at = ranks.index(1)
        call.report("rank_one_join", tensor=items[at], at=at, axis=axis, operation=short(call.name))


def joined(call: Call, items: list[Tensor], at: int, dtype: Value = values.NONE) -> Tensor:
    shape = items[0].shape or ()
    if not 0 <= at < len(shape):
        ranks_differ(call, items, at)
        raise Undecided
    sizes = list(shape)
    for item in items[1:]:
        other = item.shape or ()
        if len(other) != len(shape):
            ranks_differ(call, items, at)
            raise Undecided
        for axis, size in enumerate(other):
            sizes[axis] = S.add(sizes[axis], size) if axis == at else agree(sizes[axis], size)
    target = tuple(sizes)
    strides = layout.joined([(item.shape or (), item.strides) for item in items], target)
    marks = surviving(frozenset().union(*(item.marks for item in items)), target)
    return laid(call, "numpy", target, strides, chosen(dtype, common(items)), marks=marks)


def repeated(call: Call, given: Value) -> tuple[Shape, Tensor, Size | None]:
    if isinstance(given, Sequence) and given.items is None and isinstance(given.element, Tensor):
        element = given.element
        if element.shape is not None:
            return element.shape, element, given.length
    raise Undecided


@op("numpy.concatenate numpy.concat", "tensors axis=0 out=None / dtype=None casting=None")
def concatenate(call: Call, tensors: Value, axis: Value, dtype: Value, **rest: Value) -> Value:
    tensors = rows(tensors)
    if isinstance(tensors, Sequence) and tensors.items is None:
        shape, element, count = repeated(call, tensors)
        at = arguments.axis(axis, len(shape))
        varies = any(atom.variant for atom in S.symbols(shape[at]))
        total = S.multiply(shape[at], count) if count is not None and not varies else tensors.joined_size(at, shape[at])
        target = tuple(total if place == at else S.settle(size) for place, size in enumerate(shape))
        strides = layout.contiguous(target) if element.contiguous else None
        return laid(
            call, "numpy", target, strides, chosen(dtype, element.dtype), marks=surviving(element.marks, target)
        )
    items = arrays(call, tensors)
    if values.is_none(axis):
        total = S.symbol()
        if all(item.shape is not None for item in items):
            total = 0
            for item in items:
                total = S.add(total, S.product(item.shape or ()))
        return laid(call, "numpy", (total,), (1,), chosen(dtype, common(items)))
    rank = max(len(item.shape or ()) for item in items)
    if rank == 1 and values.integer(axis) == 1:
        call.report("rank_one_join", tensor=items[0], at=0, axis=1, operation=short(call.name))
    return joined(call, items, arguments.axis(axis, rank), dtype)


@op("numpy.stack", "tensors axis=0 out=None / dtype=None casting=None")
def stack(call: Call, tensors: Value, axis: Value, dtype: Value, **rest: Value) -> Value:
    tensors = rows(tensors)
    if isinstance(tensors, Sequence) and tensors.items is None:
        shape, element, count = repeated(call, tensors)
        at = arguments.axis(axis, len(shape) + 1)
        settled = tuple(map(S.settle, shape))
        # A list that is stacked is taken to hold several, as one that is made an array.
        number = S.of_symbol(S.Symbol(None, plural=True)) if count is None else count
        target = (*settled[:at], number, *settled[at:])
        strides = layout.contiguous(target) if element.contiguous else None
        return laid(
            call, "numpy", target, strides, chosen(dtype, element.dtype), marks=surviving(element.marks, target)
        )
    items = arrays(call, tensors)
    shape = items[0].shape or ()
    for item in items[1:]:
        other = item.shape or ()
        if len(other) != len(shape):
            raise Undecided
        shape = tuple(map(agree, shape, other))
    at = arguments.axis(axis, len(shape) + 1)
    target = (*shape[:at], len(items), *shape[at:])
    parts = [((*shape[:at], 1, *shape[at:]), _with_axis(item.strides, at)) for item in items]
    strides = layout.joined(parts, target)
    return laid(call, "numpy", target, strides, chosen(dtype, common(items)), marks=surviving(items[0].marks, target))


@op("numpy.hstack numpy.vstack numpy.dstack numpy.row_stack numpy.column_stack", "tensors / dtype=None casting=None")
def stacked(call: Call, tensors: Value, dtype: Value, casting: Value) -> Value:
    name = call.name.rpartition(".")[2]
    if isinstance(tensors, Tensor) and tensors.framework == "numpy" and name in ("vstack", "row_stack"):
        if tensors.shape is not None and len(tensors.shape) == 1 and tensors.shape != (0,):
            # Its items are put below one another: a column, of which the code says no more than `reshape` would.
            return laid(call, "numpy", (*tensors.shape, 1), (1, 1), chosen(dtype, tensors.dtype), marks=RESHAPED)
    if isinstance(tensors, Sequence) and tensors.items is None and name in ("hstack", "vstack", "row_stack"):
        rank = len(repeated(call, tensors)[0])
        if rank == 0:
            raise Undecided
        if rank == 1 and name != "hstack":
            return stack(call, tensors, Const(0), dtype)
        return concatenate(call, tensors, Const(1 if name == "hstack" and rank > 1 else 0), dtype)
    items = arrays(call, tensors)
    at = 0
    if name == "hstack":
        items = [at_least(call, item, 1) for item in items]
        at = 0 if len(items[0].shape or ()) == 1 else 1
    elif name in ("vstack", "row_stack"):
        items = [at_least(call, item, 2) for item in items]
    elif name == "dstack":
        items, at = [at_least(call, item, 3) for item in items], 2
    else:
        items, at = [column(call, item) for item in items], 1
    return joined(call, items, at, dtype)


def _with_axis(strides: Strides | None, at: int) -> Strides | None:
    return None if strides is None else (*strides[:at], 0, *strides[at:])


def column(call: Call, item: Tensor) -> Tensor:
    shape = item.shape or ()
    if len(shape) > 1:
        return item
    target = (S.product(shape), 1)
    return seen(call, item, target, (1, 1) if item.contiguous else None, marks=SPELLED)


@op("numpy.append", "arr values axis=None")
def append(call: Call, arr: Value, axis: Value, **rest: Value) -> Value:
    first, second = tensor(array_of(call, arr)), tensor(array_of(call, rest["values"]))
    dtype = common([first, second])
    if values.is_none(axis):
        size = S.add(S.product(first.shape or ()), S.product(second.shape or ()))
        return laid(call, "numpy", (size,), (1,), dtype)
    return joined(call, [first, second], arguments.axis(axis, len(first.shape or ())))


_MOST_PIECES = 256


@op(
    "numpy.split numpy.array_split numpy.hsplit numpy.vsplit numpy.dsplit",
    "ary indices_or_sections axis=0",
    tensor=False,
)
def split(call: Call, ary: Value, indices_or_sections: Value, axis: Value) -> Value:
    given = tensor(array_of(call, ary))
    shape = given.shape or ()
    name = call.name.rpartition(".")[2]
    if name == "hsplit":
        at = 1 if len(shape) > 1 else 0
    elif name in ("vsplit", "dsplit"):
        at = 0 if name == "vsplit" else 2
        if len(shape) <= at:
            raise Undecided
    else:
        at = arguments.axis(axis, len(shape))
    if at and not isinstance(ary, Tensor) and name in ("split", "array_split"):
        raise Undecided  # the pieces of a list are counted along its first axis, whatever the axis
    total = shape[at]
    number = values.integer(indices_or_sections)
    sizes: list[Size]
    if number is not None and 0 < number <= _MOST_PIECES:
        if isinstance(total, int):
            if name != "array_split" and total % number:
                raise Undecided
            sizes = [total // number + (place < total % number) for place in range(number)]
        else:
            exact = S.divide_exactly(total, number)
            if exact is None:
                if name == "array_split":
                    return Sequence("list", [cut(call, given, at, S.counter()) for _ in range(number)])
                quotient = S.floor_divide(total, number)
                if quotient is None:
                    raise Undecided
                exact = quotient
            sizes = [exact] * number
    elif isinstance(indices_or_sections, Sequence) and indices_or_sections.items is not None and isinstance(total, int):
        cuts = [arguments.whole(item) for item in indices_or_sections.items]
        sizes = [len(range(*slice(a, b).indices(total))) for a, b in zip([0, *cuts], [*cuts, total], strict=True)]
    else:
        raise Undecided
    return list_of(cut(call, given, at, size) for size in sizes)


def cut(call: Call, given: Tensor, at: int, size: Size) -> Tensor:
    shape = given.shape or ()
    return seen(call, given, (*shape[:at], size, *shape[at + 1 :]), given.strides, words="split")


@op("numpy.block", "arrays")
def block(call: Call, arrays: Value) -> Value:
    """Lists of lists of blocks: those of the innermost lists beside one another, along the last axis, and so on outwards."""
    depth = _depth(arrays)
    leaves = [tensor(each) for each in _leaves(call, arrays, depth)]
    rank = max([depth, *(len(each.shape or ()) for each in leaves)])
    shape = _block_shape(call, arrays, depth, rank)
    # They are copied, in Fortran's order where that is the order of all, and there is much of them.
    plain = all(each.strides is not None and layout.is_contiguous(each.shape or (), each.strides) for each in leaves)
    return laid(call, "numpy", shape, layout.contiguous(shape) if plain else None, common(leaves))


def _depth(value: Value) -> int:
    """How many lists stand in one another; numpy refuses those that are not equally deep everywhere."""
    if not isinstance(value, Sequence):
        return 0
    if value.kind != "list" or not value.items:
        raise Undecided
    depths = {_depth(item) for item in value.items}
    if len(depths) != 1:
        raise Undecided
    return 1 + depths.pop()


def _leaves(call: Call, value: Value, depth: int) -> Iterator[Tensor]:
    if depth and isinstance(value, Sequence):
        for item in value.items or ():
            yield from _leaves(call, item, depth - 1)
    else:
        yield array_of(call, value)


def _block_shape(call: Call, value: Value, depth: int, rank: int) -> Shape:
    if not depth or not isinstance(value, Sequence):
        shape = array_of(call, value).shape or ()
        return (*(1,) * (rank - len(shape)), *shape)
    first, *others = (_block_shape(call, item, depth - 1, rank) for item in value.items or ())
    sizes = list(first)
    for other in others:
        for axis, size in enumerate(other):
            sizes[axis] = S.add(sizes[axis], size) if axis == rank - depth else agree(sizes[axis], size)
    return tuple(sizes)
