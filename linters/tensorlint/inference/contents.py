"""What values hold: the objects within them, those that they may be one of, and that these live on."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard

from tensorlint.inference.aliases import TIES, lose
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
    Parts,
    Sequence,
    Tensor,
    Value,
    are_seen,
    unknown_members,
)

if TYPE_CHECKING:
    from tensorlint.inference.frames import Frame

_MOST_OBJECTS = 200
_MANY_OBJECTS = 40
_MOST_IN_CROWD = 1_000
_MOST_GIVEN = 20
_MOST_REACHED = 5_000
_REACHING = frozenset(
    {Tensor, Sequence, Dictionary, Instance, Class, Function, Partial, Attribute, LibraryObject, Opaque}
)
HOLDING = frozenset({Instance, Sequence, Dictionary, Function})
_CHANGING = frozenset({"list", "set", "deque"})
_OF_PARTS = frozenset({Opaque, Instance, LibraryObject, Sequence})
_MAY_BE_HELD = frozenset({Instance, Sequence, Dictionary, Opaque, LibraryObject})
_HOLDING_ONE_OF = HOLDING | {Opaque}
ONE_OF = HOLDING | {Opaque, Partial, Attribute}  # what may be one of several objects, too
_OR_LAYERS = ONE_OF | {LibraryObject}


def objects_within(values: Iterable[Value]) -> list[Instance]:
    """The objects among the values, and those that they hold, by themselves, as one of several, or in lists and dictionaries."""
    found = [
        value
        for value in values
        if (kind := type(value)) in HOLDING or (kind is Opaque and value.parts)  # type: ignore[attr-defined]
    ]
    if not found:  # as for most calls
        return []
    return [each for each in _within(found, _HOLDING_ONE_OF) if type(each) is Instance and not each.generic]


def classes_of(values: Iterable[Value]) -> set[Class]:
    """The classes of the objects within the values."""
    return {each.cls for each in objects_within(values)}


def objects_reached(value: Value) -> list[Instance]:
    """The objects of which methods may be called where one is called of the value, of an item of it or of what is in that, or
    where the value itself is called."""
    values: Iterable[Value] = (value,)
    if type(value) is Function:
        if value.receiver is None and not value.held and ONE_OF.isdisjoint(map(type, value.defaults.values())):
            return []
        values = (value, *value.defaults.values())
    elif type(value) is Class:
        values = value.held.values()
    return [each for each in _within(values, ONE_OF) if type(each) is Instance and not each.generic]


# Libraries whose objects hold arrays that they have computed.
OF_ESTIMATORS = ("sklearn.", "scipy.")
# Libraries' objects of which is known what their methods change.
_CHANGED_BY_METHODS = ("pandas.DataFrame", "pandas.Series", *OF_ESTIMATORS)


def is_changed_by_methods(value: Value) -> TypeGuard[LibraryObject]:
    """Whether it is a table, an estimator or the like."""
    return type(value) is LibraryObject and value.path.startswith(_CHANGED_BY_METHODS)


def one_within(values: Iterable[Value]) -> Value:
    """What is one of the values, or of what they hold: changing it may change any list, dictionary or object there."""
    values = list(values)
    for value in values if TIES.on else ():
        lose(value)
    held = [each for each in values if type(each) in _OR_LAYERS and (type(each) is not Opaque or each.parts)]
    if not held:  # as of most: nobody knows them, or they hold nothing
        return UNKNOWN
    parts = [
        each
        for each in _within(held, _OR_LAYERS)
        if type(each) is Dictionary
        or (type(each) is Sequence and each.kind in ("list", "deque"))
        or (type(each) is Instance and not each.generic)
        or (type(each) is LibraryObject and each.path.startswith(("torch.nn.", *_CHANGED_BY_METHODS)))
    ]
    return Opaque(None, Parts(parts[:_MOST_OBJECTS])) if parts else UNKNOWN


def one_of(value: Value) -> Opaque:
    """An object that nobody knows, which may be this one, or one that it holds."""
    one = one_within([value])
    return one if isinstance(one, Opaque) else Opaque(None)


def given_back(values: Iterable[Value]) -> Value:
    """What code gives that nobody knows: it may be one of the objects that it was given, or of what these hold. (What is done
    to modules is read off the file.)"""
    held = [each for each in values if type(each) in HOLDING and not (type(each) is Instance and each.cls.is_module)]
    return one_within(held) if held else UNKNOWN


def given_by_operators(values: Iterable[Value]) -> Value:
    """What an operator gives, or a function that Python calls a special method by: one of the objects that it is given, or what
    these hold, should one of them be an object of the program's own."""
    values = list(values)
    if not any(type(each) is Instance or (type(each) is Opaque and _may_be_instance(each)) for each in values):
        return UNKNOWN
    return one_within(values)


def _may_be_instance(value: Opaque) -> bool:
    return Instance in map(type, value.parts)


def all_within(value: Value) -> list[Value]:
    """The objects that may be changed by way of the value: those that it is one of, and all that these hold."""
    return [each for each in _within([value], ONE_OF) if type(each) is not Opaque]


def everything_within(values: Iterable[Value]) -> list[Value]:
    """All that may be changed by way of the values, layers too."""
    return _within(values, _OR_LAYERS)


def any_item_of(value: Sequence | Dictionary) -> Value:
    """What any item is one of, of a list or a dictionary of which it is not known any more what it holds."""
    items = value.items
    if items is None and (value.element is UNKNOWN or (isinstance(value.element, Opaque) and value.element.variant)):
        return value.element  # it was forgotten before
    held = items_of(value)[:_MOST_OBJECTS]
    return variant_of(one_within(held if items is None else [value.element, *held]))


def variant_of(one: Value) -> Value:
    """What is one of several, another one each time that it is asked for."""
    return Opaque(None, variant=True, parts=one.parts) if isinstance(one, Opaque) else UNKNOWN


def forgotten_members(container: LibraryObject, *more: Value) -> Sequence | Dictionary:
    """What a container of layers holds of which it is not known any more what that is: what it held, it may be, and these."""
    members = unknown_members(container.path)
    held = container.fields.values() if container.fields else ()
    members.element = variant_of(one_within([*more, *held, *container.positional, *container.arguments.values()]))
    return members


def items_of(value: Sequence | Dictionary) -> list[Value]:
    """What it holds now, or what stands for any item where that is not known."""
    if value.items is None:
        return [value.element]
    return list(value.items.values() if isinstance(value.items, dict) else value.items)


def is_forgotten(value: Sequence | Dictionary) -> bool:
    """Whether nothing is known of the list or dictionary that could be forgotten, but for what it may hold."""
    return is_forgotten_itself(value) and not (isinstance(value, Sequence) and value.parts)


def is_forgotten_itself(value: Sequence | Dictionary) -> bool:
    """Likewise, whatever is known of those that it is one of."""
    element = value.element
    if value.items is not None or not (element is UNKNOWN or (type(element) is Opaque and element.variant)):
        return False
    if isinstance(value, Sequence):
        counted = value.length is not None or value.totals is not None or value.kin is not None or bool(value.some)
        return value.kind in _CHANGING and not (counted or value.shown)
    return not value.alike


def put_unseen(holder: Sequence | Dictionary, *values: Value) -> None:
    """The list or dictionary, of which it is not known what it holds, may hold these too."""
    put_one(holder, one_within(values))


def put_one(holder: Sequence | Dictionary, one: Value, crowd: Opaque | None = None) -> None:
    """Likewise, of what is one of several already. Where it may hold many, anything of the `crowd` is one of them."""
    if isinstance(one, Opaque) and not (isinstance(holder, Sequence) and holder.kind == "tuple"):
        element = holder.element
        before = parts_of(element if isinstance(element, Opaque) else one_within([element]))
        parts = dict.fromkeys((*before, *one.parts))
        if len(parts) == len(before) and type(element) is Opaque and element.variant:
            return
        if one.variant and len(parts) == len(one.parts):
            holder.element = one  # one object for many lists is gone through once
        elif crowd is not None and len(parts) > _MANY_OBJECTS:
            crowd.parts = Parts(islice(dict.fromkeys((*crowd.parts, *parts)), _MOST_IN_CROWD))
            holder.element = crowd
        else:
            holder.element = Opaque(None, variant=True, parts=Parts(islice(parts, _MOST_OBJECTS)))


def may_be_back(holder: Sequence | Dictionary, before: Value | None) -> None:
    """What the list or dictionary has held until now it may hold again, once it is not known any more what it holds: there may
    have been no round of the loop that put something else there."""
    if before is not None and type(before) in _OR_LAYERS:
        put_unseen(holder, before)


def _within(values: Iterable[Value], kinds: frozenset[type[Value]] = HOLDING) -> list[Value]:
    """The values that hold others, and those of them that these hold, however deep."""
    order: list[Any] = []
    seen: set[int] = set()
    for value in values:
        if type(value) in kinds and (key := id(value)) not in seen:
            seen.add(key)
            order.append(value)
    with_parts = kinds is not HOLDING
    for value in order:  # grows meanwhile
        if len(order) >= _MOST_OBJECTS:
            break
        kind = type(value)
        held: Iterable[Value] = ()
        if kind is Opaque:
            held = parts = value.parts
            if are_seen(parts, seen):  # as nearly always, where many lists may be one of many
                continue
        elif kind is Sequence or kind is Dictionary:
            items = value.items
            held = (value.element,) if items is None else items.values() if type(items) is dict else items
            if items and kinds.isdisjoint(map(type, held)):
                held = ()  # a table of numbers or texts, which may be a long one
        elif kind is Instance:
            if not value.generic:
                held = value.given if value.waiting is not None else (*value.held.values(), *value.given)
        elif kind is Function:
            held = value.held if value.receiver is None else (value.receiver, *value.held)
        elif kind is LibraryObject:
            held = (*value.positional, *value.arguments.values(), *value.fields.values(), *value.parts)
        else:
            held = reached_by(value)  # of a partial function or a method
        if (kind is Instance or (with_parts and kind is Sequence)) and value.parts:
            held = (*held, *value.parts)
        each: Any
        for each in held:
            kind = type(each)
            # What nobody knows, as most attributes are, holds nothing.
            if kind in kinds and (kind is not Opaque or each.parts) and (key := id(each)) not in seen:
                seen.add(key)
                order.append(each)
    return order


def tensors_within(
    values: Iterable[Value], found: dict[int, Value] | None = None, scopes: dict[int, Frame] | None = None
) -> list[Tensor]:
    """The tensors among the values, and all that can be reached by way of these. Who asks several times hands on what was
    `found` before, and in which `scopes`: nothing is gone through again."""
    found = {} if found is None else found
    scopes = {} if scopes is None else scopes
    begun = len(found)
    waiting = list(values)
    while waiting and len(found) < begun + _MOST_REACHED:
        value = waiting.pop()
        kind = type(value)
        if kind not in _REACHING or id(value) in found:
            continue
        if kind is Function:
            assert isinstance(value, Function)
            scope = value.scope
            while scope.parent is not None and id(scope) not in scopes:
                scopes[id(scope)] = scope
                waiting += scope.env.values()
                scope = scope.parent
            if value.receiver is None and not value.held and _REACHING.isdisjoint(map(type, value.defaults.values())):
                continue  # as most of those that classes and modules have
        found[id(value)] = value
        if kind is Opaque:
            parts = value.parts  # type: ignore[attr-defined]
            if not all(map(found.__contains__, parts.ids if type(parts) is Parts else map(id, parts))):
                waiting += parts
            if value.fields:  # type: ignore[attr-defined]
                waiting += value.fields.values()  # type: ignore[attr-defined]
        else:
            waiting += reached_by(value)
    return [value for value in islice(found.values(), begun, None) if isinstance(value, Tensor)]


def is_part_of(value: Value, whole: Value, depth: int = 0) -> bool:
    """Whether the value is this object that nobody knows, or an attribute or item of it."""
    if value is whole:
        return True
    if not isinstance(whole, Opaque) or depth > 4:
        return False
    return any(is_part_of(value, each, depth + 1) for each in (whole.fields or {}).values())


def reached_by(value: Value) -> Iterable[Value]:
    """What may be reached by way of the value in one step."""
    if isinstance(value, Sequence):
        return (*(value.items or ()), value.element, *value.parts)
    if isinstance(value, Dictionary):
        return (*(value.items or {}).values(), value.element)
    if isinstance(value, Instance):
        return (value.cls, *value.held.values(), *value.given, *value.parts)
    if isinstance(value, Class):
        return value.held.values()
    if isinstance(value, Function):
        return (*value.defaults.values(), *value.held, value.receiver or UNKNOWN)
    if isinstance(value, Partial):
        return (value.function, *value.positional, *value.keywords.values())
    if isinstance(value, Attribute):
        return (value.receiver,)
    if isinstance(value, LibraryObject):
        return (*value.positional, *value.arguments.values(), *value.fields.values(), *value.parts)
    return (*value.parts, *(value.fields or {}).values()) if isinstance(value, Opaque) else ()


def data_of(values: Iterable[Value]) -> list[Value]:
    """The data sets that data loaders among the values go through."""
    return [
        held
        for value in values
        if isinstance(value, LibraryObject) and value.path.startswith("torch.utils.data.")
        for held in (*value.positional, *value.arguments.values(), *value.fields.values())
    ]


def link(values: Iterable[Value]) -> None:
    """Code that is not followed was given these: each object may hold the others from here on."""
    several = [each for each in values if type(each) in HOLDING]
    if len(several) > 1:
        for each in several:
            if isinstance(each, Instance) and not each.generic:
                others = [other for other in several if other is not each and other not in each.given]
                each.given = (*each.given, *others)[:_MOST_GIVEN]


def forget_field(owner: Instance | Class, name: str) -> None:
    """It is not known any more what the object, or the class, holds under that name."""
    before = owner.fields.get(name)
    if before is not None and before is not UNKNOWN:
        hold_still(owner, (before,))
    owner.fields[name] = UNKNOWN


def hold_still(holder: Instance | Class, held: Iterable[Value]) -> None:
    """It is not known any more what the object holds: it may be these still."""
    if _MAY_BE_HELD.isdisjoint(map(type, held)):
        return
    more: list[Value] = []
    for each in held:
        parts = each.parts if isinstance(each, Opaque) else (each,)
        # What is done to modules is read off the file.
        more += [part for part in parts if type(part) in _MAY_BE_HELD and part not in holder.given]
    if more:
        holder.given = (*holder.given, *more)[:_MOST_GIVEN]


def each_part_of(value: Value) -> list[Value]:
    """The objects that the value is one of, each by itself where one of them is one of several."""
    found = {id(part): part for part in parts_of(value)}
    waiting = [part for part in found.values() if type(part) is Opaque]
    for part in waiting:  # grows meanwhile
        for each in part.parts if len(found) < _MOST_OBJECTS else ():
            if id(each) not in found:
                found[id(each)] = each
                if type(each) is Opaque:
                    waiting.append(each)
    return list(found.values())


def parts_of(value: Value) -> tuple[Value, ...]:
    """The objects that the value is one of."""
    kind = type(value)
    if kind not in _OF_PARTS:
        return ()
    if kind is LibraryObject and value.path.startswith(("pandas.", "sklearn.")):  # type: ignore[attr-defined]
        return ()  # what changes one of these changes all that it may be
    return value.parts  # type: ignore[attr-defined]


# What may change while it lives on, or holds what may.
LASTING = frozenset([Instance, Sequence, Dictionary, LibraryObject])


def lasts(value: Value) -> None:
    """The objects live on between the calls of functions: what is known of them are attributes that nobody reassigns."""
    if type(value) not in LASTING:
        return
    waiting, seen = [value], {id(value)}
    for value in waiting:  # grows meanwhile
        held: Iterable[Value] = ()
        if isinstance(value, Instance):
            if not (value.lasting or value.generic):
                value.lasting = True
                held = value.held.values()  # what an initialiser that waits gives it lasts, too, once it is followed
        elif isinstance(value, (Sequence, Dictionary)):
            if value.items is not None and len(value.items) <= 64:
                held = value.items.values() if isinstance(value.items, dict) else value.items
        elif isinstance(value, LibraryObject):
            held = (*value.positional, *value.arguments.values(), *value.fields.values())
        for each in held:
            if type(each) in LASTING and id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)
