"""Tensors that may be one object under several values: what is done in place to one is done to the others.

A tensor of two branches is a value of its own, and so is any item of a list. Where a file gives tensors another shape in
place, such values are tied to those that they may be; in other files nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tensorlint.inference.joins import join
from tensorlint.inference.shape_changes import gives_other_shapes
from tensorlint.inference.values import (
    UNKNOWN,
    Attribute,
    Class,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Partial,
    Sequence,
    Tensor,
    Value,
)

_CHANGEABLE = frozenset({Sequence, Dictionary, Instance, Class, Function, Partial, Attribute})
_OBJECTS = frozenset({Instance, LibraryObject, Function, Partial, Attribute})
_TIED = frozenset({Tensor, Opaque})
_HELD = _OBJECTS | {Opaque, Sequence, Dictionary}
_MOST = 5_000
_DEEPEST = 4
_FEW = 8


@dataclass(slots=True, eq=False, repr=False)
class Ties:
    """`groups` are the values that may be one object, for the id of each (they hold them, so that ids stay their own);
    `lost` are tensors that a value nobody knows may be."""

    on: bool = False
    groups: dict[int, dict[int, Value]] = field(default_factory=dict)
    lost: dict[int, Tensor] = field(default_factory=dict)


TIES = Ties()


def begin(text: str, *, shaping: bool = False) -> None:
    """Another file is looked at; `shaping`, one of whose statements gives a tensor another shape for certain."""
    end()
    TIES.on = shaping or gives_other_shapes(text)


def end() -> None:
    TIES.on = False
    TIES.groups.clear()
    TIES.lost.clear()


def tie(either: Value, *parts: Value) -> None:
    """The first may be one of the others; of one nobody knows, or that is no tensor, it is not remembered which."""
    if not TIES.on or len(TIES.groups) > _MOST:
        return
    if type(either) not in _TIED:
        _tie_items(either, parts)
        return
    joined: dict[int, Value] = {id(either): either}
    for part in (either, *parts):
        if type(part) in _TIED:
            joined[id(part)] = part
            joined.update(TIES.groups.get(id(part), ()))
    if len(joined) > 1:
        TIES.groups.update(dict.fromkeys(joined, joined))


def tie_result(result: Value, args: list[Value]) -> None:
    """What a function of a library gives may be what it was given: `x.contiguous()`, `x.to(device)`, `F.relu(x, True)`."""
    if not TIES.on:
        return
    if isinstance(result, Tensor):
        for arg in args:
            if isinstance(arg, Tensor):
                if arg is not result and _may_agree(arg, result):
                    tie(result, arg)
            elif type(arg) is Opaque and (arg is args[0] or id(arg) in TIES.groups):
                tie(result, arg)
    elif isinstance(result, Sequence) and result.items is not None:
        for item in result.items[:_FEW]:
            if isinstance(item, Tensor):
                tie_result(item, args)
    elif result is UNKNOWN:
        for arg in args:
            lose(arg)


def _may_agree(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors may have one shape, so that a function that keeps what it can may give the object itself."""
    return a.shape is None or b.shape is None or (a.shape == b.shape)


def joined(a: Value, b: Value) -> Value:
    """What is true of both, tied to them."""
    either = join(a, b)
    if TIES.on and either is not a:
        tie(either, a, b)
    if either is UNKNOWN and a is not b:
        known = b if a is UNKNOWN else a
        if type(known) in _CHANGEABLE:
            return perhaps(known)
        if type(known) is LibraryObject and known.path.startswith(("pandas.", "torch.nn.")):
            return Opaque(None, (known,))
        if type(known) is Opaque and known.parts:
            return Opaque(None, known.parts)
    return either


def perhaps(found: Value | None) -> Opaque:
    """An object that nobody knows, which may be this one: what is changed of it may be changed of this."""
    parts: tuple[Value, ...] = ()
    if found is not None and _is_changeable(found):
        if isinstance(found, Sequence) and found.kind == "tuple":
            parts = tuple(filter(_is_changeable, found.items or ()))
        else:
            parts = (found,)
    elif type(found) is Opaque:
        parts = found.parts
    made = Opaque(None, parts)
    made.counts = True  # what it was bound to since may be 0
    if TIES.on and found is not None and type(found) in _TIED:
        tie(made, found)
    return made


def _is_changeable(value: Value) -> bool:
    return type(value) in _CHANGEABLE or (type(value) is LibraryObject and value.path.startswith("torch.nn."))


def either_of(*values: Value) -> Value:
    """What nobody knows of a name that a loop binds; through it the objects may be changed that it has been."""
    parts = [each for value in values for each in _alone(value) if _is_object(each)]
    return Opaque(None, tuple(parts)) if parts else UNKNOWN


def _alone(value: Value) -> list[Value]:
    """The value, or what a tuple holds, and tuples within it, which themselves nothing changes."""
    found = [value]
    seen = {id(value)}
    for each in found:  # grows meanwhile
        if type(each) is Sequence and each.kind == "tuple" and len(found) < _MOST:
            held = (each.element,) if each.items is None else each.items
            more = {id(part): part for part in (*held, *each.parts) if id(part) not in seen}
            seen.update(more)
            found += more.values()
    return found


def _is_object(value: Value, depth: int = 0) -> bool:
    """Whether it is an object, or one of several, that may be found by another way than the name, or a list of such."""
    kind = type(value)
    if kind is Opaque or (kind is Sequence and value.parts and value.kind != "tuple"):  # type: ignore[attr-defined]
        return bool(value.parts)  # type: ignore[attr-defined]
    if isinstance(value, Dictionary) or (isinstance(value, Sequence) and value.kind in ("list", "deque")):
        return value.shared or (depth < _DEEPEST and _holds_objects(value, depth))
    return kind in _OBJECTS


def _holds_objects(value: Sequence | Dictionary, depth: int) -> bool:
    items = value.items
    held = (value.element,) if items is None else items.values() if isinstance(items, dict) else items
    return any(
        _is_object(each, depth + 1)
        or (type(each) is Sequence and each.kind == "tuple" and _holds_objects(each, depth + 1))
        for each in held
        if type(each) in _HELD
    )


def _tie_items(either: Value, parts: tuple[Value, ...], seen: set[tuple[int, int]] | None = None) -> None:
    """What the two hold, in pairs: one that is met again, in pairs of pairs, is gone through once."""
    seen = set() if seen is None else seen
    for part in parts:
        key = id(either), id(part)
        if key in seen:
            continue
        seen.add(key)
        pairs: Iterable[tuple[Value, Value]] | None = None
        if isinstance(either, Sequence) and isinstance(part, Sequence) and either.items and part.items:
            if len(either.items) == len(part.items):
                pairs = zip(either.items, part.items, strict=True)
        elif isinstance(either, Dictionary) and isinstance(part, Dictionary) and either.items and part.items:
            if either.items.keys() == part.items.keys():
                others = part.items
                pairs = [(item, others[key]) for key, item in either.items.items()]
        if pairs is None:
            lose(part)
            continue
        for item, other in pairs:
            if item is not other:
                if type(item) in _TIED:
                    tie(item, other)
                elif len(TIES.groups) <= _MOST:
                    _tie_items(item, (other,), seen)


_HOLDERS = frozenset({Sequence, Dictionary, Instance})


def lose(value: Value, depth: int = 0) -> None:
    """Nobody knows any more which values are this tensor, or those of the list."""
    if not TIES.on:
        return
    kind = type(value)
    if kind is Tensor:
        if len(TIES.lost) < _MOST:
            TIES.lost[id(value)] = value  # type: ignore[assignment]
    elif kind in _HOLDERS and depth < 3:
        held = value.fields if kind is Instance else value.items  # type: ignore[attr-defined]
        if held is None:
            lose(value.element, depth + 1)  # type: ignore[attr-defined]
            return
        for item in held.values() if type(held) is dict else held:
            lose(item, depth + 1)


def exchange_lost(lost: dict[int, Tensor]) -> dict[int, Tensor]:
    """Begin with other lost tensors; those before are given."""
    before, TIES.lost = TIES.lost, lost
    return before


def is_tied(value: Tensor) -> bool:
    """Whether other values may be the same object."""
    return id(value) in TIES.groups or id(value) in TIES.lost


def untie(value: Value) -> dict[int, Value]:
    """The values that may be one object with one that is changed in place; they are tied no more, while that is done."""
    found = TIES.groups.pop(id(value), {})
    for key in found:
        TIES.groups.pop(key, None)
    return found


def tie_again(group: dict[int, Value]) -> None:
    if group:
        TIES.groups.update(dict.fromkeys(group, group))


def others(value: Value, group: dict[int, Value]) -> list[Tensor | Opaque]:
    """What may be the same object as the value, which is changed in place."""
    if not TIES.on:
        return []
    found = [each for each in group.values() if isinstance(each, (Tensor, Opaque)) and each is not value]
    if not isinstance(value, Tensor):
        found += found_again()
    return found


def found_again() -> list[Tensor]:
    """The lost tensors, where any of them may have got another shape."""
    return [*TIES.lost.values()]
