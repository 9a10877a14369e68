"""Joining and splitting: cat, stack, split, chunk, unbind."""

from __future__ import annotations

from dataclasses import dataclass

from tensorlint.inference import layout, values
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides
from tensorlint.inference.ops import arguments, dtypes
from tensorlint.inference.ops.indexing import without_axis
from tensorlint.inference.ops.products import agree
from tensorlint.inference.ops.results import (
    SPELLED,
    common_device,
    fresh,
    laid,
    seen,
    surviving,
    tuple_of,
    unranked,
)
from tensorlint.inference.ops.table import Call, Undecided, tensor
from tensorlint.inference.ops.torch.expansion import at_least
from tensorlint.inference.ops.torch.registry import op
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import Const, Sequence, Tensor, Value
from tensorlint.inference.variants import item_at


def members(tensors: Value) -> list[Tensor]:
    """The tensors of a list whose items are known one by one."""
    if not isinstance(tensors, Sequence) or tensors.items is None or not tensors.items:
        raise Undecided
    result = []
    for item in tensors.items:
        if not isinstance(item, Tensor):
            raise Undecided
        result.append(item)
    return result


def promoted(call: Call, tensors: list[Tensor]) -> str | None:
    result: str | None = tensors[0].dtype
    same = all(item.dtype == result for item in tensors)
    if same:
        return result
    operands: list[Value] = list(tensors)
    return dtypes.torch_result(operands, call.default_dtype)


def uniform(tensors: Value) -> tuple[Shape, Tensor, Size | None]:
    """A list of tensors of one shape whose number may not be known: the shape, one of them, how many."""
    if isinstance(tensors, Sequence) and tensors.items is None and isinstance(tensors.element, Tensor):
        element = tensors.element
        if element.shape is not None:
            return element.shape, element, tensors.length
    raise Undecided


@op("torch.cat torch.concat torch.concatenate", "tensors dim=0 / out=None")
def cat(call: Call, tensors: Value, dim: Value, out: Value) -> Value:
    if isinstance(tensors, Tensor):
        raise Undecided
    if isinstance(tensors, Sequence) and tensors.items is None:
        shape, element, count = uniform(tensors)
        at = arguments.axis(dim, len(shape))
        varies = any(atom.variant for atom in S.symbols(shape[at]))
        total = S.multiply(shape[at], count) if count is not None and not varies else tensors.joined_size(at, shape[at])
        target = tuple(total if axis == at else S.settle(size) for axis, size in enumerate(shape))
        marks = surviving(element.marks, target)
        return laid(call, "torch", target, None, element.dtype, element.device, marks=marks)
    items = members(tensors)
    dtype = promoted(call, items)
    device = common_device(items)
    ranked = [item for item in items if item.shape is not None and item.shape != (0,)]
    if len(ranked) != len([item for item in items if item.shape != (0,)]):
        known = next((item for item in ranked if item.shape is not None), None)
        if known is None:
            return unranked("torch", dtype, device)
        at = arguments.axis(dim, len(known.shape or ()))
        target = tuple(S.symbol() if axis == at else size for axis, size in enumerate(known.shape or ()))
        return laid(call, "torch", target, None, dtype, device)
    if not ranked:
        return fresh(call, "torch", (0,), dtype, device)
    shape = ranked[0].shape or ()
    at = arguments.axis(dim, len(shape))
    sizes = list(shape)
    for item in ranked[1:]:
        other = item.shape or ()
        if len(other) != len(shape):
            ranks = [len(each.shape or ()) for each in items]
            if 1 in ranks and 2 in ranks:
                place = ranks.index(1)
                call.report(
                    "rank_one_join", tensor=items[place], at=place, axis=arguments.axis(dim, 2), operation="torch.cat"
                )
            raise Undecided
        for axis, size in enumerate(other):
            if axis == at:
                sizes[axis] = S.add(sizes[axis], size)
            else:
                sizes[axis] = agree(sizes[axis], size)
    target = tuple(sizes)
    marks = surviving(frozenset().union(*(item.marks for item in ranked)), target)
    return laid(call, "torch", target, cat_layout(items, target), dtype, device, marks=marks)


def cat_layout(items: list[Tensor], shape: Shape) -> Strides | None:
    """torch's `compute_output_memory_format`: channels-last where all inputs suggest it, else contiguous."""
    if len(shape) not in (4, 5):
        return layout.contiguous(shape)
    verdicts = [suggests_channels_last(item) for item in items]
    if all(verdict is False for verdict in verdicts[:1]) or any(verdict is False for verdict in verdicts):
        return layout.contiguous(shape)
    if all(verdict is True for verdict in verdicts):
        return layout.channels_last(shape)
    return None


def suggests_channels_last(item: Tensor) -> bool | None:
    """`suggest_memory_format() == channels_last`; None where the sizes do not decide it."""
    shape, strides = item.shape, item.strides
    if shape is None or strides is None:
        return None
    if len(shape) not in (4, 5):
        return False
    if strides == layout.contiguous(shape) and all(S.surely_not_one(size) for size in shape[1:]):
        return False
    # is_channels_last_strides: strides grow over C, W, H, (D,) N; ties with N mean NCHW.
    least: Size = 0
    if strides[1] == 0:
        return False
    order = (1, *range(len(shape) - 1, 1, -1), 0)
    for axis in order:
        if shape[axis] == 0:
            return False
        grows = _at_least(strides[axis], least)
        if grows is None:
            return None
        if not grows:
            return False
        if axis == 0 and least == strides[1]:
            return False
        least = strides[axis]
        size = shape[axis]
        if isinstance(size, int):
            if size > 1:
                least = S.multiply(least, size)
        elif S.surely_not_one(size):
            least = S.multiply(least, size)
        else:
            return None
    return True


def _at_least(a: Size, b: Size) -> bool | None:
    if arguments.at_least(a, b):
        return True
    if arguments.at_least(b, a) and a != b:
        difference = S.subtract(b, a)
        if isinstance(difference, int) or S.surely_not_one(difference):
            return False
        if arguments.least(difference) not in (None, 0):
            return False
    return None


@op("torch.stack", "tensors dim=0 / out=None")
def stack(call: Call, tensors: Value, dim: Value, out: Value) -> Value:
    if isinstance(tensors, Tensor):
        if tensors.shape is None:
            raise Undecided
        tensors = Sequence("list", None, without_axis(call, tensors, 0), tensors.shape[0])
    if isinstance(tensors, Sequence) and tensors.items is None:
        shape, element, count = uniform(tensors)
        at = arguments.axis(dim, len(shape) + 1)
        settled = tuple(map(S.settle, shape))
        # A list that is stacked is taken to hold several, as one that is made an array.
        number = S.of_symbol(S.Symbol(None, plural=True)) if count is None else count
        target = (*settled[:at], number, *settled[at:])
        strides = stack_layout([element], at, target)
        marks = surviving(element.marks, target)
        return laid(call, "torch", target, strides, element.dtype, element.device, marks=marks)
    items = members(tensors)
    dtype = promoted(call, items)
    known = [item.shape for item in items if item.shape is not None]
    if not known:
        return unranked("torch", dtype, common_device(items))
    shape = known[0]
    for other in known[1:]:
        if len(other) != len(shape):
            raise Undecided
        shape = tuple(map(agree, shape, other))
    at = arguments.axis(dim, len(shape) + 1)
    target = (*shape[:at], len(items), *shape[at:])
    strides = stack_layout(items, at, target)
    return laid(call, "torch", target, strides, dtype, common_device(items), marks=surviving(items[0].marks, target))


def stack_layout(items: list[Tensor], at: int, shape: Shape) -> Strides | None:
    """Contiguous, unless an item is channels-last, or passes for it with the new axis behind its own."""
    ordered = len(shape) not in (4, 5, 6) or all(item.in_order for item in items)
    if not ordered and len(shape) > 4:
        ordered = all(suggests_channels_last(item) is False for item in items)
    elif not ordered:
        ordered = at < 3 or S.surely_not_one(shape[1])  # the step of the new axis is 1
    return layout.contiguous(shape) if ordered else None


@op("torch.hstack torch.vstack torch.dstack torch.row_stack torch.column_stack", "tensors / out=None")
def stacked(call: Call, tensors: Value, out: Value) -> Value:
    name = call.name.rpartition(".")[2]
    if isinstance(tensors, Sequence) and tensors.items is None and name in ("hstack", "vstack", "row_stack"):
        rank = len(uniform(tensors)[0])
        if rank == 0:
            raise Undecided
        if rank == 1 and name != "hstack":
            return stack(call, tensors, Const(0), out)
        return cat(call, tensors, Const(1 if name == "hstack" and rank > 1 else 0), out)
    items = members(tensors)
    ranked = [tensor(item) for item in items]
    if name == "hstack":
        ranked = [at_least(call, item, 1) for item in ranked]
        at = 0 if len(ranked[0].shape or ()) == 1 else 1
    elif name in ("vstack", "row_stack"):
        ranked, at = [at_least(call, item, 2) for item in ranked], 0
    elif name == "dstack":
        ranked, at = [at_least(call, item, 3) for item in ranked], 2
    else:
        ranked = [as_column(call, item) for item in ranked]
        at = 1
    return cat(call, Sequence("list", list(ranked)), Const(at), values.NONE)


def as_column(call: Call, item: Tensor) -> Tensor:
    shape = item.shape or ()
    if len(shape) > 1:
        return item
    target = (S.product(shape), 1)
    strides: Strides | None = (item.strides[0] if item.strides else 1, 1) if item.strides is not None else None
    return seen(call, item, target, strides, marks=SPELLED)


# Splitting.


def pieces(call: Call, ranked: Tensor, at: int, sizes: list[Size]) -> Sequence:
    shape = ranked.shape or ()
    results: list[Value] = []
    for size in sizes:
        target = (*shape[:at], size, *shape[at + 1 :])
        words = None if size == shape[at] else "split"
        results.append(seen(call, ranked, target, ranked.strides, words=words))
    return tuple_of(results)


@dataclass(frozen=True, eq=False, repr=False)
class EqualPieces:
    """An axis cut into parts of one size, the last one shorter where the size does not divide the axis.

    `most` is the greatest number of parts that there can be; `fits` says that the first has surely this size.
    """

    call: Call
    ranked: Tensor
    at: int
    size: Size
    most: int | None = None
    fits: bool = False

    def listed(self, count: int) -> list[Value] | None:
        if not 0 < count <= min(self.most or _MOST_PIECES, _MOST_PIECES):
            return None
        total = (self.ranked.shape or ())[self.at]
        last = S.subtract(total, S.multiply(count - 1, self.size))
        return pieces(self.call, self.ranked, self.at, [self.size] * (count - 1) + [last]).items

    def first(self) -> Value | None:
        return item_at(pieces(self.call, self.ranked, self.at, [self.size]), 0) if self.fits else None


def unknown_pieces(
    call: Call, ranked: Tensor, at: int, equal: EqualPieces | None = None, *, perhaps_empty: bool = False
) -> Sequence:
    shape = ranked.shape or ()
    perhaps_empty = perhaps_empty or not arguments.at_least(shape[at], 1)
    size = S.counter(variant=True) if perhaps_empty else S.of_symbol(S.Symbol(None, variant=True))
    piece = seen(call, ranked, (*shape[:at], size, *shape[at + 1 :]), ranked.strides, words="split")
    return Sequence("tuple", None, piece, pieces=equal)


_MOST_PIECES = 256


@op(
    "split split_with_sizes torch.split torch.split_with_sizes unsafe_split unsafe_split_with_sizes",
    "tensor split_size_or_sections dim=0",
    tensor=False,
)
def split(call: Call, split_size_or_sections: Value, dim: Value, **rest: Value) -> Value:
    ranked = tensor(rest["tensor"])
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    if isinstance(split_size_or_sections, Sequence):
        sections = split_size_or_sections.items
        if sections is None:
            return unknown_pieces(call, ranked, at, perhaps_empty=True)
        return pieces(call, ranked, at, [arguments.count(item) for item in sections])
    size = values.size_of(split_size_or_sections)
    if size is None:
        return unknown_pieces(call, ranked, at)
    total = shape[at]
    if isinstance(size, int) and isinstance(total, int) and size > 0:
        if total // size > _MOST_PIECES:
            return unknown_pieces(call, ranked, at)
        whole = [size] * (total // size)
        rest_size = [total % size] if total % size or not whole else []
        return pieces(call, ranked, at, [*whole, *rest_size])
    quotient = S.divide_exactly(total, size)
    if isinstance(quotient, int) and 0 < quotient <= _MOST_PIECES:
        return pieces(call, ranked, at, [size] * quotient)
    # Of an axis without items there is one part, without any.
    if isinstance(quotient, int) or quotient is None or not _fills(size, total):
        return unknown_pieces(call, ranked, at, EqualPieces(call, ranked, at, size))
    target = (*shape[:at], size, *shape[at + 1 :])
    return Sequence("tuple", None, seen(call, ranked, target, ranked.strides, words="split"), quotient)


def _fills(size: Size, total: Size) -> bool:
    return not isinstance(size, int) or arguments.at_least(total, size)


@op("chunk unsafe_chunk", "input chunks dim=0", tensor=False)
def chunk(call: Call, input: Value, chunks: Value, dim: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    number = values.integer(chunks)
    if number is None or not 0 < number <= _MOST_PIECES:
        return unknown_pieces(call, ranked, at)
    total = shape[at]
    if isinstance(total, int):
        size = -(-total // number)
        if size == 0:
            return pieces(call, ranked, at, [0] * number)
        return pieces(call, ranked, at, [min(size, total - begin) for begin in range(0, total, size)])
    exact = S.divide_exactly(total, number)
    if exact is not None:
        return pieces(call, ranked, at, [exact] * number)
    # ceil(total / number) each; the last is shorter, and there may be fewer. Code that unpacks them needs them all.
    rounded = S.floor_divide(S.add(total, number - 1), number)
    if rounded is None:
        return unknown_pieces(call, ranked, at)
    return unknown_pieces(call, ranked, at, EqualPieces(call, ranked, at, rounded, number, fits=True))


@op("tensor_split", "input indices_or_sections=None dim=0 / indices=None sections=None", tensor=False)
def tensor_split(
    call: Call, input: Value, indices_or_sections: Value, dim: Value, indices: Value, sections: Value
) -> Value:
    ranked = tensor(input)
    if values.is_none(indices_or_sections):
        indices_or_sections = sections if values.is_none(indices) else indices
    shape = ranked.shape or ()
    at = arguments.axis(dim, len(shape))
    total = shape[at]
    number = values.integer(indices_or_sections)
    if number is not None and isinstance(total, int) and 0 < number <= _MOST_PIECES:
        return pieces(call, ranked, at, [total // number + (place < total % number) for place in range(number)])
    if isinstance(indices_or_sections, Sequence) and indices_or_sections.items is not None and isinstance(total, int):
        cuts = [arguments.whole(item) for item in indices_or_sections.items]
        starts, ends = [0, *cuts], [*cuts, total]
        sizes: list[Size] = [len(range(*slice(a, b).indices(total))) for a, b in zip(starts, ends, strict=True)]
        return pieces(call, ranked, at, sizes)
    return unknown_pieces(call, ranked, at, perhaps_empty=True)


@op("unbind", "input dim=0", tensor=False)
def unbind(call: Call, input: Value, dim: Value) -> Value:
    ranked = tensor(input)
    shape = ranked.shape or ()
    if not shape:
        raise Undecided
    at = arguments.axis(dim, len(shape))
    one = without_axis(call, ranked, at)
    size = shape[at]
    if isinstance(size, int) and size <= _MOST_PIECES:
        return tuple_of(without_axis(call, ranked, at) for _ in range(size))
    return Sequence("tuple", None, one, size)
