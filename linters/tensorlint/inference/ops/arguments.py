"""Reading arguments: shapes, axes, flags, devices, tensors; whatever cannot be read raises `Undecided`."""

from __future__ import annotations

from collections.abc import Sequence as Sequence_

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops.table import Undecided
from tensorlint.inference.sizes import Poly, Size
from tensorlint.inference.values import (
    Const,
    LibraryObject,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Tensor,
    Value,
    size_of,
)

MOST_AXES = 64  # that torch's operators and numpy's arrays take


def truth(value: Value) -> bool | None:
    """A flag as a bool, None where it is not known."""
    if isinstance(value, Const):
        return bool(value.value)
    return None


def flag(value: Value) -> bool:
    result = truth(value)
    if result is None:
        raise Undecided
    return result


def whole(value: Value) -> int:
    """A known integer, or the transfer gives up."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return int(value.value)
    if isinstance(value, Tensor) and value.shape == () and value.elements and isinstance(value.elements[0], int):
        return value.elements[0]
    raise Undecided


def count(value: Value) -> Size:
    """A size: known, symbolic, or a new one for an integer that is not known."""
    size = size_of(value)
    return S.counter() if size is None else size


def may_be_zero(value: Value) -> bool:
    """Whether the number, should it be used as a size, may well be 0, or less."""
    kind = type(value)
    if kind is Const:
        known = value.value  # type: ignore[attr-defined]
        return isinstance(known, int) and known <= 0
    if kind is Opaque:
        size = value._symbol  # type: ignore[attr-defined]
        return value.integer or value.counts if size is None else not at_least(size, 1)  # type: ignore[attr-defined]
    return kind is Scalar or (kind is Number and not at_least(value.size, 1))  # type: ignore[attr-defined]


def may_be_negative(value: Value) -> bool:
    """Whether the number may well be below 0: a difference is, a size is not."""
    kind = type(value)
    if kind is Const:
        known = value.value  # type: ignore[attr-defined]
        return isinstance(known, int) and known < 0
    if kind is Opaque and value._symbol is None and value.formula is None:  # type: ignore[attr-defined]
        return bool(value.signed)  # type: ignore[attr-defined]
    size = size_of(value)
    if size is None:
        return kind is Scalar
    smallest = least(size, 0, 0)
    return smallest is None or smallest < 0


def axis(value: Value, rank: int) -> int:
    """A normalized axis; raises where it is not known or out of range (the program would stop there)."""
    at = whole(value)
    if rank == 0 and at in (-1, 0):
        return 0
    if not -rank <= at < rank:
        raise Undecided
    return at % rank


def axes(value: Value, rank: int) -> tuple[int, ...]:
    """One axis or a tuple of them, normalized."""
    if isinstance(value, Sequence):
        if value.items is None:
            raise Undecided
        return tuple(axis(item, rank) for item in value.items)
    if isinstance(value, Range):
        if isinstance(value.start, int) and isinstance(value.stop, int) and isinstance(value.step or 1, int):
            step = value.step if isinstance(value.step, int) else 1
            if len(range(value.start, value.stop, step)) > 64:
                raise Undecided
            return tuple(axis(Const(at), rank) for at in range(value.start, value.stop, step))
        raise Undecided
    return (axis(value, rank),)


def shape(values: Sequence_[Value]) -> Shape:
    """A shape given as one tuple or as separate integers; a size nobody knows becomes a new one."""
    if len(values) == 1:
        only = values[0]
        if isinstance(only, Sequence):
            if only.items is None:
                if isinstance(only.length, int) and only.shape_of is None and only.length <= MOST_AXES:
                    return tuple(S.symbol() for _ in range(only.length))
                raise Undecided
            return tuple(count(item) for item in only.items)
        if isinstance(only, (Const, Number, Scalar)):
            if isinstance(only, Const) and not isinstance(only.value, int):
                raise Undecided
            return (count(only),)
        if isinstance(only, Tensor) and only.elements is not None and only.shape == ():
            return only.elements
        raise Undecided
    return tuple(count(value) for value in values)


def pair(value: Value, rank: int) -> tuple[Size | None, ...]:
    """`kernel_size=3` or `kernel_size=(3, 5)` for `rank` axes; None for an entry that is not known."""
    if isinstance(value, Sequence):
        if value.items is None or len(value.items) not in (rank, 1):
            return (None,) * rank
        sizes = tuple(size_of(item) for item in value.items)
        return sizes if len(sizes) == rank else sizes * rank
    return (size_of(value),) * rank if not isinstance(value, Opaque) else (None,) * rank


def device(value: Value) -> str | None:
    """The device that an argument names, without its index where that is not stated."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value
    if isinstance(value, Const) and type(value.value) is int:
        return f"cuda:{value.value}"
    if isinstance(value, LibraryObject) and value.path == "torch.device":
        kind = value.positional[0] if value.positional else value.arguments.get("device", value.arguments.get("type"))
        if isinstance(kind, Const) and isinstance(kind.value, str):
            index = value.positional[1] if len(value.positional) > 1 else value.arguments.get("index")
            return kind.value if index is None else f"{kind.value}:{index.value}" if isinstance(index, Const) else None
    return None


def least(size: Size, unnamed: int = 1, named: int = 1) -> int | None:
    """The smallest value of a size whose symbols are at least 1, or these (quotients may be less); None where there is none."""
    if not isinstance(size, Poly):
        return size
    total = 0
    for monomial, coefficient in size.terms:
        if monomial and coefficient < 0:
            return None
        for atom in monomial:
            of_atom = _least_of(atom, unnamed, named)
            if of_atom is None:
                return None
            coefficient *= of_atom
        total += coefficient
    return total


def _least_of(atom: S.Symbol, unnamed: int, named: int) -> int | None:
    if atom.counts:
        return None if atom.signed else 0
    if S.is_plural(atom):
        return named
    if atom.numerator is None:
        return unnamed
    numerator = least(atom.numerator, unnamed, named)
    if numerator is None or numerator < 0:
        return None
    return numerator // atom.denominator if isinstance(atom.denominator, int) and atom.denominator > 0 else 0


def at_least(size: Size, bound: Size) -> bool:
    """size >= bound where names are those of sizes, which are at least 1, as is a size that is one or a product (`2*B*C`):
    that of an axis that has elements. In `len(rows) + 1`, or `j + 1` with the number of a round, there may be no more than 1."""
    if isinstance(bound, int) and isinstance(size, Poly) and len(size.terms) == 1:
        smallest = least(size)
        return smallest is not None and smallest >= bound
    difference = least(S.subtract(size, bound), 0)
    return difference is not None and difference >= 0


def some_of(shape: Shape | None) -> Size:
    """How many there are of what is picked out of all of that shape, one at least where it has any."""
    return S.symbol() if shape is None or all(at_least(size, 1) for size in shape) else S.counter()


def always_at_least(size: Size, bound: Size) -> bool:
    """size >= bound for all symbols that are not negative, whatever they are of."""
    difference = least(S.subtract(size, bound), 0, 0)
    return difference is not None and difference >= 0
