"""What one round of a loop leaves, compared with what it began with: whether another round would see anything new."""

from __future__ import annotations

from typing import Any

from tensorlint.inference import aliases
from tensorlint.inference import sizes as S
from tensorlint.inference.contents import all_within, parts_of
from tensorlint.inference.values import (
    NUMPY_SCALAR,
    SCALAR,
    UNKNOWN,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    is_integer,
    is_named_tuple,
)

CARRIED = (Tensor, Const, Number, Scalar)  # what a field may hold that is known to stay so from round to round
Mutations = list[tuple[Any, str | None]]  # the objects that were changed in place, and which attribute
Moment = tuple[int, int]  # steps of the analysis and unknown objects until then


def is_younger(owner: Any, steps: int) -> bool:
    """Whether the object was made since; of one that nobody knows it is not known."""
    return type(owner) is not Opaque and getattr(owner, "born", 0) > steps


def are_own(mutations: Mutations, begun: Moment) -> bool:
    """Whether only objects were changed in place that the round itself has made or met first: of those that nobody knows
    the next round knows as little."""
    steps, opaque = begun
    return all(
        owner.serial > opaque if type(owner) is Opaque else getattr(owner, "born", 0) > steps for owner, _ in mutations
    )


def changes_the_same(earlier: Mutations, mutations: Mutations, begun: Moment, carried: list[Value]) -> bool:
    """Whether a round has changed nothing in place but what it has made or met first, what it found under the names that
    it leaves changed, and what the rounds before have changed, too: the next one finds all else as this one did."""
    before = {(id(owner), name) for owner, name in earlier}
    return all(
        (id(owner), name) in before or are_own([(owner, name)], begun) or any(owner is each for each in carried)
        for owner, name in mutations
    )


def changes_another(earlier: Mutations, mutations: Mutations, begun: Moment) -> bool:
    """Whether a round has changed an object in place that is older than the loop, and that no round before has changed."""
    now = [(owner, name) for owner, name in mutations if 0 < getattr(owner, "born", 0) <= begun[0]]
    if not now:
        return False
    before = {_place(owner, name) for owner, name in earlier}
    return any(_place(owner, name) not in before for owner, name in now)


def reaches_the_same(entry: Value, again: Value, begun: Moment) -> bool:
    """Whether no object that is older than the round may be changed by way of what a name holds in the next one, but
    could not in this one: `last = this` and `this = box` lead there in two rounds."""
    before = {id(each) for each in all_within(entry)}
    return all(id(each) in before or each is again or are_own([(each, None)], begun) for each in all_within(again))


def _place(owner: Any, name: str | None) -> tuple[int, str | None]:
    """What is changed of an object: all of a list, which rounds may change in one way or another."""
    return id(owner), None if type(owner) is Sequence or type(owner) is Dictionary else name


def is_any(entry: Value, again: Value, since: int) -> bool:
    """Whether a round that began with an object of which nothing was known leaves another such in its place, or a list of
    such another list of them: the next one would see what this one has. (What is no newer than the loop may be what
    something else holds.)"""
    if type(entry) is Sequence and type(again) is Sequence:
        alike = entry.kind == again.kind and entry.items is again.items is None and entry.length == again.length
        alike = alike and entry.some is again.some
        if (
            not alike
            or entry.shape_of is not again.shape_of
            or entry.totals != again.totals
            or entry.tail
            or again.tail
        ):
            return False
        entry, again = entry.element, again.element
        if not (_is_bare(entry) and _is_bare(again)):
            return False
    return type(entry) is Opaque and type(again) is Opaque and entry is not again and entry.serial > since


def _is_bare(value: Value) -> bool:
    """Whether nothing is known of the object, not even what it is called."""
    if type(value) is not Opaque or value.name is not None or value.kind is not None or value.kin is not None:
        return False
    return not (value.axes or value.fields or value.stated or value.integer)


def is_data(value: Value) -> bool:
    """Whether it is a number, a tensor or a tuple of these: nothing that can be changed by way of a list."""
    if isinstance(value, Sequence) and value.kind == "tuple" and value.items and not aliases.TIES.on:
        return all(map(_is_plain, value.items))
    if is_named_tuple(value) and not aliases.TIES.on:
        assert isinstance(value, Instance)
        return all(map(_is_plain, value.fields.values()))
    return isinstance(value, CARRIED) or is_integer(value)


def _is_plain(item: Value) -> bool:
    return item is UNKNOWN or isinstance(item, CARRIED) or is_integer(item)


def same(a: Value, b: Value) -> bool:
    """Whether going round once more would see nothing new."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return (
            a.shape == b.shape
            and a.strides == b.strides
            and a.dtype == b.dtype
            and a.framework == b.framework
            and a.kin == b.kin
            and a.axes == b.axes
        )
    if isinstance(a, Const) and isinstance(b, Const):
        return type(a.value) is type(b.value) and a.value == b.value
    if isinstance(a, Sequence) and isinstance(b, Sequence) and a.kind == b.kind and a.shape_of is b.shape_of:
        if a.items is None or b.items is None:
            alike = same(a.element, b.element) or _same_but_for_sizes(a.element, b.element)
            return a.items is b.items and a.length == b.length and a.some is b.some and alike
        return len(a.items) == len(b.items) and all(same(x, y) for x, y in zip(a.items, b.items, strict=True))
    if isinstance(a, Number) and isinstance(b, Number):
        return a.size == b.size
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.kind == b.kind and a.numbers == b.numbers
    if isinstance(a, Library) and isinstance(b, Library):
        return a.path == b.path
    if isinstance(a, Instance) and isinstance(b, Instance):
        if is_named_tuple(a) and is_named_tuple(b):
            return a.cls is b.cls and all(same(value, b.fields[name]) for name, value in a.fields.items())
        return a.cls is b.cls and a.generic and b.generic and bool(a.parts) is bool(b.parts)
    if isinstance(a, LibraryObject) and isinstance(b, LibraryObject):
        return a.made is b.made and a.path == b.path and _alike(a, b)
    if isinstance(a, Opaque) and isinstance(b, Opaque):
        return a.kind == b.kind and is_scalar(a) and is_scalar(b)
    return isinstance(a, Function) and isinstance(b, Function) and a.node is b.node


def is_scalar(value: Opaque) -> bool:
    """Whether it is known to be a number or a tensor without axes, and nothing else is known of it."""
    told = value.name or value.fields or value.axes or value.formula is not None or value._symbol is not None
    return value.kind in (SCALAR, NUMPY_SCALAR) and not told


def stands_for(value: Value, other: Value, begun: int) -> bool:
    """Whether what is done to the one, or to an item, is done to all objects older than the loop that the other stands for."""
    parts = _older(other, begun)
    return not parts or parts.keys() <= {id(value)} | _older(value, begun).keys()


def _older(value: Value, begun: int) -> dict[int, Value]:
    """The objects older than the loop that a value, or an item of a list, is one of."""
    found: dict[int, Value] = {}
    seen: set[int] = set()
    waiting = list(parts_of(value))
    if type(value) is Sequence:
        waiting += parts_of(value.element)
        if value.kind == "tuple":
            waiting += value.items or ()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        further = parts_of(one)
        waiting += further
        if type(one) is Sequence and one.kind == "tuple":
            waiting += one.items or ()
        if not further and 0 < getattr(one, "born", 0) <= begun:
            found[id(one)] = one
    return found


def _alike(a: LibraryObject, b: LibraryObject) -> bool:
    """Whether both are made with the same arguments: what two branches or rounds made was made where the first was."""
    if a.arguments.keys() != b.arguments.keys() or a.fields.keys() != b.fields.keys():
        return False
    if len(a.positional) != len(b.positional):
        return False
    return (
        all(same(value, b.arguments[name]) for name, value in a.arguments.items())
        and all(same(value, b.fields[name]) for name, value in a.fields.items())
        and all(same(x, y) for x, y in zip(a.positional, b.positional, strict=True))
    )


def _same_but_for_sizes(a: Value, b: Value) -> bool:
    """Whether what a list holds differs only in the one size that differs from item to item anyway."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or a.shape is None or b.shape is None:
        return False
    if len(a.shape) != len(b.shape) or (a.framework, a.dtype) != (b.framework, b.dtype):
        return False
    moved = [(x, y) for x, y in zip(a.shape, b.shape, strict=True) if x != y]
    fixed = a.strides == b.strides or a.strides is None
    return (
        fixed and len(moved) == 1 and all(not isinstance(size, int) and len(S.symbols(size)) == 1 for size in moved[0])
    )
