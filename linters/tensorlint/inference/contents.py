"""What values hold: the objects within them, those that they may be one of, and that these live on."""

from __future__ import annotations

from collections.abc import Iterable

from tensorlint.inference.aliases import lose
from tensorlint.inference.values import (
    UNKNOWN,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Sequence,
    Value,
)

_MOST_OBJECTS = 200
_MOST_GIVEN = 20
HOLDING = frozenset({Instance, Sequence, Dictionary, Function})
_ONE_OF = HOLDING | {Opaque}  # what may be one of several objects, too


def objects_within(values: Iterable[Value]) -> list[Instance]:
    """The objects among the values, and those that they hold, by themselves or in lists and dictionaries."""
    found = [value for value in values if value.__class__ in HOLDING]
    if not found:  # as for most calls
        return []
    return [each for each in _within(found) if isinstance(each, Instance) and not each.generic]


def one_within(values: Iterable[Value]) -> Value:
    """What is one of the values, or of what they hold: changing it may change any list, dictionary or object there."""
    values = list(values)
    for value in values:
        lose(value)
    parts = [
        each
        for each in _within(values, _ONE_OF)
        if each.__class__ is Dictionary
        or (isinstance(each, Sequence) and each.kind in ("list", "deque"))
        or (isinstance(each, Instance) and not each.generic)
    ]
    return Opaque(None, parts=tuple(parts[:_MOST_OBJECTS])) if parts else UNKNOWN


def any_item_of(value: Sequence | Dictionary) -> Value:
    """What any item is one of, of a list or a dictionary of which it is not known any more what it holds."""
    items = value.items.values() if isinstance(value.items, dict) else value.items
    one = one_within([value.element] if items is None else [*items][:_MOST_OBJECTS])
    return Opaque(None, variant=True, parts=one.parts) if isinstance(one, Opaque) else UNKNOWN


def _within(values: Iterable[Value], kinds: frozenset[type[Value]] = HOLDING) -> list[Value]:
    """The values that hold others, and those of them that these hold, however deep."""
    waiting: dict[int, Value] = {id(value): value for value in values if value.__class__ in kinds}
    order = list(waiting.values())
    for value in order:  # grows meanwhile
        held: Iterable[Value] = ()
        if isinstance(value, Instance):
            if not value.generic:
                held = value.given if value.waiting is not None else (*value.held.values(), *value.given)
        elif isinstance(value, Sequence):
            held = value.items if value.items is not None else (value.element,)
        elif isinstance(value, Dictionary):
            held = value.items.values() if value.items is not None else (value.element,)
        elif isinstance(value, Function) and value.receiver is not None:
            held = (value.receiver,)
        if kinds is _ONE_OF and (parts := parts_of(value)):
            held = (*held, *parts)
        if len(waiting) < _MOST_OBJECTS:
            further = {id(inner): inner for inner in held if inner.__class__ in kinds}
            order += [further[key] for key in further.keys() - waiting.keys()]
            waiting |= further
    return order


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
    several = [each for each in values if each.__class__ in HOLDING]
    if len(several) > 1:
        for each in several:
            if isinstance(each, Instance) and not each.generic:
                others = [other for other in several if other is not each and other not in each.given]
                each.given = (*each.given, *others)[:_MOST_GIVEN]


def parts_of(value: Value) -> tuple[Value, ...]:
    """The objects that the value is one of."""
    if isinstance(value, LibraryObject) and value.path.startswith(("pandas.", "sklearn.")):
        return ()  # what changes one of these changes all that it may be
    return value.parts if isinstance(value, (Opaque, Instance, LibraryObject, Sequence)) else ()


_HOLDERS = frozenset([Instance, Sequence, Dictionary, LibraryObject])


def lasts(value: Value, depth: int = 0) -> None:
    """The objects live on between the calls of functions: what is known of them are attributes that nobody reassigns."""
    if depth > 8 or value.__class__ not in _HOLDERS:
        return
    if isinstance(value, Instance):
        if not (value.lasting or value.generic):
            value.lasting = True
            for held in value.held.values():  # what an initialiser that waits gives it lasts, too, once it is followed
                lasts(held, depth + 1)
    elif isinstance(value, (Sequence, Dictionary)) and value.items is not None and len(value.items) <= 64:
        for item in value.items.values() if isinstance(value.items, dict) else value.items:
            lasts(item, depth + 1)
    elif isinstance(value, LibraryObject):
        for held in (*value.positional, *value.arguments.values(), *value.fields.values()):
            if held.__class__ in _HOLDERS:
                lasts(held, depth + 1)
