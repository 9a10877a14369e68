"""An object of a class of which nobody knows which one it is: an argument with the class for its annotation, one of two.

What such an object holds is read off the class's generic instance, whose sizes are those of `self` in the class's own
methods. Another object has other sizes: what comes out of one has sizes of its own, but for those it was given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tensorlint.inference import sizes as S
from tensorlint.inference.class_order import functions_of
from tensorlint.inference.contents import one_within, parts_of
from tensorlint.inference.ops import modules
from tensorlint.inference.sizes import Size, Symbol
from tensorlint.inference.values import (
    UNKNOWN,
    Attribute,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    copy,
    is_numbering,
    of_class,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

_DEEPEST = 4
_OBJECTS = frozenset({Instance, LibraryObject})
_NONE: frozenset[Symbol] = frozenset()


def is_self(interp: State, value: Instance) -> bool:
    """Whether it is the object that the method which is followed is called with: of that the sizes are the same all over."""
    frame, name = interp.frame, interp.frame.first_argument or ""
    return frame.owner is not None and frame.env.get(name) is value and not frame.facts.assigned.get(name)


def attribute(interp: State, value: Instance, name: str, found: Value) -> Value:
    """What an attribute of the object is, given that of the class's generic instance."""
    if is_self(interp, value):
        return found
    if isinstance(found, Function):
        return Attribute(value, name) if found.receiver is value else found
    several = _of_which(value)
    held: list[Value] = []
    for each in several:
        one = each.fields.get(name)
        if one is UNKNOWN:
            held += each.given  # what it has held, it may be, before it was forgotten
        elif one is not None:
            held.append(one)
    if any(isinstance(each, (Sequence, Dictionary)) for each in held):
        return one_within([found, *held])  # what is changed of it is changed of one of these
    if isinstance(found, Instance) and found.cls.generic is not None:
        others = [each for each in held if isinstance(each, Instance) and each is not found]
        if others:
            return of_class(found.cls.generic, found, *others)
    made = _apart(found, _NONE, ())
    if isinstance(made, (Opaque, Unknown)) and (objects := [each for each in held if _is_object(each)]):
        # Nobody knows it, but what is done to it is done to one of these.
        if isinstance(made, Unknown):
            return Opaque(None, parts=tuple(objects))
        made.parts = (*made.parts, *objects)
    return made


def _is_object(value: Value) -> bool:
    return type(value) in _OBJECTS or (isinstance(value, Opaque) and bool(value.parts))


def _of_which(value: Instance) -> list[Instance]:
    """The objects that it is one of, also where it is one of two of which one is one of others."""
    found: list[Instance] = []
    seen: set[int] = set()
    waiting = list(value.parts)
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Instance) and not one.generic:
            found.append(one)
        else:
            waiting += parts_of(one)
    return found


def result(interp: State, value: Instance, args: Iterable[Value], kwargs: dict[str, Value], given: Value) -> Value:
    """What a method of the object gives, given what one of the class's generic instance does."""
    if is_self(interp, value):
        return given
    own = functions_of(value.cls)
    passed = (*args, *kwargs.values())
    if any(code in own for code in interp.active):
        return _apart(given, _NONE, ())  # what it was given may have sizes of `self`
    return _apart(given, frozenset(symbols_of(passed)), passed)


def change(interp: State, value: Instance, name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
    """The method is followed for the class's generic instance: what it changes of what the object holds, it changes of what one
    of these objects holds."""
    if not is_self(interp, value):
        change_any(interp, _of_which(value), name, args, kwargs)


def change_any(interp: State, values: Iterable[Value], name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
    """The method is called of one of the values: it may change what any of these objects holds."""
    called: list[Value] = []
    for each in values:
        if not isinstance(each, Instance) or each.generic:
            continue
        method = interp.find_in_class(each.cls, name)
        if isinstance(method, Function):
            called.append(Function(method.node, method.scope, method.owner, each, method.defaults, "function"))
    if called:
        interp.not_followed_together(called, args, kwargs)


def symbols_of(values: Iterable[Value], depth: int = 0) -> set[Symbol]:
    """The sizes that the values have, of any tensor or number in them."""
    found: set[Symbol] = set()
    for value in values:
        if isinstance(value, Tensor):
            known = value.shape if value.shape is not None else (value.axes or {}).values()
            for size in (*known, *(value.strides or ())):
                found |= S.symbols(size)
        elif isinstance(value, Number) or (isinstance(value, Opaque) and value._symbol is not None):
            found |= S.symbols(value.size)
        elif isinstance(value, (Sequence, Dictionary)) and depth < _DEEPEST:
            items = value.items.values() if isinstance(value.items, dict) else value.items
            found |= symbols_of([value.element] if items is None else items, depth + 1)
    return found


def _is_kept(atom: Symbol, kept: frozenset[Symbol]) -> bool:
    if atom in kept:
        return True
    if atom.numerator is None or atom.denominator is None:
        return False
    return all(_is_kept(part, kept) for part in S.symbols(atom.numerator) | S.symbols(atom.denominator))


def _apart(value: Value, kept: frozenset[Symbol], same: tuple[Value, ...], depth: int = 0) -> Value:
    """The value with new sizes for all but those that are kept; `same` are objects that stay what they are."""
    if any(value is each for each in same):
        return value
    if isinstance(value, Tensor):
        return _tensor_apart(value, kept)
    if isinstance(value, Number):
        return (
            value if all(_is_kept(atom, kept) for atom in S.symbols(value.size)) else Scalar("int", is_numbering(value))
        )
    if isinstance(value, Opaque):
        made = Opaque(None, kind=value.kind, integer=value.integer, parts=value.parts)
        made.optional = value.optional
        return made
    if not isinstance(value, (Instance, LibraryObject, Sequence, Dictionary)):
        return value
    if not _has_sizes(value, kept):
        return value
    if isinstance(value, Instance):
        if value.cls.generic is None or depth >= _DEEPEST:
            return Opaque(None, parts=(value,))
        return of_class(value.cls.generic, value)
    if isinstance(value, LibraryObject):
        if not modules.known(value.path):
            return Opaque(None, parts=(value,))
        made_of = {name: _forgotten(each, kept) for name, each in value.arguments.items()}
        positional = tuple(_forgotten(each, kept) for each in value.positional)
        fields = {name: _forgotten(each, kept) for name, each in value.fields.items()}
        return LibraryObject(value.path, made_of, positional, fields, value.made, (value,), several=True)
    if isinstance(value, Dictionary):
        return Opaque(None, parts=(value,))
    if value.kind == "tuple" and value.items is not None and depth < _DEEPEST:
        return Sequence("tuple", [_apart(item, kept, same, depth + 1) for item in value.items], parts=value.parts)
    if value.shape_of is not None or value.kind not in ("list", "tuple", "iterator"):
        return UNKNOWN
    # What is done to an item is done to what that is one of.
    element = _apart(value.element, kept, same, depth + 1) if _is_of_objects(value.element) else UNKNOWN
    return Sequence(value.kind, None, element, parts=(*value.parts, value) if value.kind == "list" else value.parts)


def _is_of_objects(value: Value) -> bool:
    """Whether it is an object that may be one of several, or a tuple in which such stand: `("name", module)`."""
    if isinstance(value, Sequence):
        return value.kind == "tuple" and any(type(item) is Opaque and item.parts for item in value.items or ())
    return type(value) is Opaque and bool(value.parts)


def _tensor_apart(value: Tensor, kept: frozenset[Symbol]) -> Tensor:
    renewed: dict[Symbol, Size] = {}
    known = value.shape if value.shape is not None else (value.axes or {}).values()
    for size in (*known, *(value.strides or ())):
        for atom in S.symbols(size):
            if not _is_kept(atom, kept):
                renewed.setdefault(atom, S.of_symbol(Symbol(None, plural=atom.plural)))
    if not renewed:
        return value
    if value.shape is None:
        axes = {axis: size for axis, size in (value.axes or {}).items() if not renewed.keys() & S.symbols(size)}
        return copy(value, axes=axes or None, kin=value.kin)
    strides = None if value.strides is None else tuple(S.substitute(size, renewed) for size in value.strides)
    return copy(value, shape=tuple(S.substitute(size, renewed) for size in value.shape), strides=strides)


def _forgotten(value: Value, kept: frozenset[Symbol]) -> Value:
    """What a layer was made with: one that it was made with in turn may hold no other sizes."""
    return UNKNOWN if _has_sizes(value, kept) else value


def _has_sizes(value: Value, kept: frozenset[Symbol], depth: int = 0) -> bool:
    """Whether the value has sizes in it, beside those that are kept."""
    if isinstance(value, Opaque):
        return True
    if isinstance(value, (Number, Tensor)):
        return any(not _is_kept(atom, kept) for atom in symbols_of((value,)))
    if depth > _DEEPEST:
        return True
    held: Iterable[Value] = ()
    if isinstance(value, (Sequence, Dictionary)):
        items = value.items.values() if isinstance(value.items, dict) else value.items
        if isinstance(value, Sequence) and value.shape_of is not None:
            return True
        held = [value.element] if items is None else items
    elif isinstance(value, LibraryObject):
        held = [*value.arguments.values(), *value.positional, *value.fields.values()]
    elif isinstance(value, Instance):
        held = value.fields.values()
    return any(_has_sizes(each, kept, depth + 1) for each in held)
