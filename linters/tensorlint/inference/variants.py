"""Sizes that differ from item to item: what stands for all items of a sequence or all rounds of a loop, and one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tensorlint.inference import sizes as S
from tensorlint.inference.ops import arguments
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    CONTAINERS,
    KEEPS_SHAPE,
    NUMPY_SCALAR,
    PLAIN,
    SCALAR,
    UNKNOWN,
    Const,
    Dictionary,
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
    perhaps_same,
    showing,
)

# Objects are looked into that an object holds, and those that these hold.
_DEEPEST = 4
# So many tuples, lists and dictionaries are made anew within one item.
_MOST_MADE = 16
# Has no size that could vary.
_FIXED = frozenset({Const, Scalar, Unknown})


def freshen(
    value: Value, renamed: dict[S.Symbol, Size] | None = None, made: dict[int, tuple[Value, Value]] | None = None
) -> Value:
    """One item of a sequence whose `element` stands for all: sizes that vary from item to item become new ones.

    `renamed` keeps what one item's parts have in common: the fields of one batch share its size; `made` the tuples,
    lists and dictionaries that were made for it, for one may be in many places.
    """
    if type(value) in _FIXED:
        return value
    if isinstance(value, Opaque):
        kept = value.kind if value.kind == KEEPS_SHAPE else None
        if not (value.variant or value.parts):
            return value
        made_of_it = Opaque(None, value.parts, kept)
        made_of_it.counts, made_of_it.signed, made_of_it.array = value.counts, value.signed, value.array
        return made_of_it
    if renamed is None:
        renamed = {}
    if isinstance(value, (Sequence, Dictionary)) and value.items:
        if made is None:
            made = {}
        if id(value) not in made:
            made[id(value)] = value, UNKNOWN  # counts as one while it is made
            many = len(made) > _MOST_MADE  # pairs of pairs of pairs double with each line that makes them
            made[id(value)] = value, _another(value) if many else _freshen_items(value, renamed, made)
        return made[id(value)][1]
    if isinstance(value, Tensor) and value.shape is not None:
        found = False
        for size in (*value.shape, *(value.strides or ())):
            if not isinstance(size, int):
                for atom in S.symbols(size):
                    if atom.variant:
                        found = True
                        if atom not in renamed:
                            renamed[atom] = S.another(atom, plural=atom.plural)
        if not found:
            return value
        return _resized(value, value.shape, renamed)
    if isinstance(value, Tensor):
        return copy(value, axes=freshen_axes(value.axes) if value.axes else None, kin=value.kin)
    if isinstance(value, Number):
        atoms = S.symbols(value.size)
        if any(atom.variant for atom in atoms):
            if not any(atom.counts for atom in atoms):
                return Number(S.symbol())
            numbers, signed = any(atom.numbers for atom in atoms), arguments.may_be_negative(value)
            return Number(S.counter(numbers=numbers, signed=signed, below=S.end_of_rounds(value.size)))
    return value


def freshen_axes(axes: dict[int, Size]) -> dict[int, Size]:
    """The known axes of one of several tensors, of unknown rank, of which all have these."""
    return {axis: S.symbol() if any(atom.variant for atom in S.symbols(size)) else size for axis, size in axes.items()}


def _freshen_items(
    value: Sequence | Dictionary, renamed: dict[S.Symbol, Size], made: dict[int, tuple[Value, Value]]
) -> Value:
    if isinstance(value, Sequence) and value.items is not None and len(value.items) <= 16:
        items = [freshen(item, renamed, made) for item in value.items]
        if any(new is not old for new, old in zip(items, value.items, strict=True)):
            return showing(Sequence(value.kind, items, shared=value.shared, parts=_itself(value)))
    if isinstance(value, Dictionary) and value.items is not None and len(value.items) <= 16:
        fresh = {key: freshen(item, renamed, made) for key, item in value.items.items()}
        if value.alike is not None:
            return value.another(fresh)
        if any(fresh[key] is not item for key, item in value.items.items()):
            return Opaque(None, parts=(value,))
    return value


def _itself(value: Sequence) -> tuple[Value, ...]:
    """What a list is one of that stands for this one."""
    return (*value.parts, value) if value.kind in ("list", "deque") else value.parts


def any_of(element: Value) -> Value:
    """One of the items of a sequence of which `element` stands for all."""
    for each in element.items or () if isinstance(element, Sequence) else (element,):
        if isinstance(each, (Instance, LibraryObject)):
            stands_for_several(each)
    return freshen(element)


def stands_for_several(value: Instance | LibraryObject) -> None:
    """Each of several objects is this one, and so is what is in them if it is a container of layers."""
    if value.several:
        return
    value.several = True
    if isinstance(value, LibraryObject) and value.path in CONTAINERS:
        for held in (*value.positional, *value.arguments.values(), *value.fields.values()):
            members = held.items.values() if isinstance(held, Dictionary) and held.items else [held]
            if isinstance(held, Sequence):
                members = [held.element, *(held.items or ())]
            for each in members:
                if isinstance(each, (Instance, LibraryObject)):
                    stands_for_several(each)


def varying(value: Value, start: int, made: dict[int, Value] | None = None) -> Value:
    """The value with the sizes that were made since `start` marked as varying from item to item."""
    if type(value) in _FIXED:
        return value
    if isinstance(value, Opaque):
        if value.integer:
            return Scalar("int", is_numbering(value))
        if value.told == "real" and not value.optional:
            return Scalar("real")
        if value.kind == KEEPS_SHAPE:
            return value
        if value.kind in (SCALAR, NUMPY_SCALAR):
            return Opaque(None, value.parts, value.kind, variant=True)  # whichever number it is, or tensor without axes
        return Opaque(None, parts=value.parts) if value.parts else UNKNOWN
    if isinstance(value, Tensor) and value.shape is not None:
        values: dict[S.Symbol, Size] = {}
        for size in (*value.shape, *(value.strides or ())):
            for atom in S.symbols(size):
                if atom.since >= start and not atom.variant:
                    values[atom] = S.another(atom, plural=atom.plural, variant=True)
        if not values:
            return value
        return _resized(value, value.shape, values)
    if isinstance(value, Tensor) and value.axes:
        fixed = {axis: size for axis, size in value.axes.items() if all(atom.since < start for atom in S.symbols(size))}
        return value if len(fixed) == len(value.axes) else copy(value, axes=fixed or None, kin=value.kin)
    if isinstance(value, LibraryObject) and value.path.startswith("pandas."):
        fields = {name: varying(held, start) for name, held in value.fields.items()}
        if all(fields[name] is held for name, held in value.fields.items()):
            return value
        return perhaps_same(LibraryObject(value.path, {}, (), fields, value.made), value)
    if isinstance(value, Number):
        atoms = S.symbols(value.size)
        if not any(atom.since >= start for atom in atoms):
            return value
        return Scalar("int", any(atom.numbers for atom in atoms))
    if isinstance(value, Dictionary):
        if value.alike is not None and value.items is not None:
            return value.another({key: varying(item, start) for key, item in value.items.items()})
        return Opaque(None, parts=(value,))
    if isinstance(value, Sequence):
        if value.items is not None and len(value.items) <= 32:
            made = {} if made is None else made  # a tuple may be in many places of one
            if id(value) not in made:
                items = [varying(item, start, made) for item in value.items]
                made[id(value)] = showing(Sequence(value.kind, items, parts=_itself(value)))
            return made[id(value)]
        length = None if any(atom.since >= start for atom in S.symbols(value.length or 0)) else value.length
        element = varying(value.element, start)
        return showing(Sequence(value.kind, None, element, length, parts=_itself(value), some=value.some))
    if isinstance(value, (Instance, LibraryObject)):
        return _each_its_own(value, start)
    return value


def another_each_time(
    value: Value, start: int, values: dict[S.Symbol, Size], made: dict[int, tuple[Value, Value]]
) -> Value:
    """A tensor, or a tuple or list of some, with the sizes that were made since `start` marked as varying from item to item;
    `values` keeps what its parts have in common, `made` what was made of each: one tuple may be in many places of another."""
    if isinstance(value, Tensor) and value.shape is not None:
        atoms = [atom for size in value.shape if not isinstance(size, int) for atom in S.symbols(size)]
        more = [atom for atom in atoms if atom.since >= start and not atom.variant]
        if not more:
            return value
        values.update((atom, S.another(atom, plural=atom.plural, variant=True)) for atom in more if atom not in values)
        if id(value) not in made:
            made[id(value)] = value, _resized(value, value.shape, values)
        return made[id(value)][1]
    if isinstance(value, Sequence) and value.kind in ("tuple", "list") and value.items and len(value.items) <= 16:
        if id(value) not in made and len(made) < _MOST_MADE:
            made[id(value)] = value, value  # while it is made
            items = [another_each_time(item, start, values, made) for item in value.items]
            if any(new is not old for new, old in zip(items, value.items, strict=True)):
                again = showing(Sequence(value.kind, items, shared=value.shared, parts=_itself(value)))
                made[id(value)] = value, again
        return made.get(id(value), (value, value))[1]
    return value


def covers(entry: Value, again: Value, free: int) -> bool:
    """Whether a tensor of which every round may find other sizes is one of those that a round was followed for: sizes made
    since `free` stand for whatever there is."""
    if not isinstance(entry, Tensor) or not isinstance(again, Tensor) or entry.shape is None or again.shape is None:
        return False
    if entry.rank != again.rank or (entry.framework, entry.dtype) != (again.framework, again.dtype):
        return False
    if entry.strides != again.strides or entry.device != again.device:
        return False
    pairs = zip(entry.shape, again.shape, strict=True)
    atoms = [S.single(size) for size, other in pairs if size != other]
    whatever = [atom for atom in atoms if atom is not None and atom.serial >= free and atom.numerator is None]
    used = [atom for size in entry.shape for atom in S.symbols(size)]
    return len(whatever) == len(atoms) and all(used.count(atom) == 1 for atom in whatever)


def _each_its_own(value: Instance | LibraryObject, start: int, depth: int = 0) -> Value:
    """An object that stands for all items of a sequence: what was made for it is another size in each of them."""
    if start == 0:
        # An object that others may hold, too.
        return Opaque(None, parts=(value,)) if _differs(value, start) else value
    if isinstance(value, LibraryObject):
        if _differs(value, start):
            value.arguments = {name: _alike(held, start) for name, held in value.arguments.items()}
            value.positional = tuple(_alike(held, start) for held in value.positional)
            value.fields = {name: _alike(held, start) for name, held in value.fields.items()}
    elif value.waiting is not None:
        value.waiting.alike_since = min(start, value.waiting.alike_since or start)
    elif not value.generic:
        fields = value.fields
        for name, held in fields.items():
            kind = type(held)
            if kind is Const:
                continue
            if (kind is Instance or kind is LibraryObject) and depth < _DEEPEST:
                if held.born >= value.born or held.born < 0:  # type: ignore[attr-defined]
                    fields[name] = _each_its_own(held, start, depth + 1)  # type: ignore[arg-type]
                    continue
            if _differs(held, start):
                fields[name] = _another(held)
    return value


def _alike(value: Value, start: int) -> Value:
    return _another(value) if _differs(value, start) else value


def _another(value: Value) -> Value:
    """What is in the place of the value in another object, which may be the same list or object."""
    waiting, parts, seen = [value], list[Value](), {id(value)}
    for each in waiting:  # grows meanwhile
        held: Iterable[Value] = ()
        if isinstance(each, Opaque):
            held = each.parts
        elif isinstance(each, Sequence) and each.kind == "tuple":
            held = (*(each.items or ()), *each.parts)
        elif isinstance(each, (Sequence, Dictionary, Instance, LibraryObject)):
            parts.append(each)
        for inner in held:
            if id(inner) not in seen:
                seen.add(id(inner))
                waiting.append(inner)
    return Opaque(None, parts=tuple(parts)) if parts else UNKNOWN


def _differs(value: Value, start: int, depth: int = 0) -> bool:
    """Whether the object has something in it that was made since `start` and may be another size in another one."""
    if isinstance(value, Opaque):
        if value.kind not in (None, PLAIN):
            return False
        if (
            value.name is not None
            and not value.variant
            and not (value._symbol is not None and value.name.isidentifier())
        ):
            return False  # a setting, or what has not been a size so far
        if value._symbol is None:
            return not 0 < value.since < start
        return any(atom.since >= start for atom in S.symbols(value._symbol))
    if isinstance(value, Number):
        return any(atom.since >= start for atom in S.symbols(value.size))
    if isinstance(value, Tensor):
        sizes = value.shape if value.shape is not None else (value.axes or {}).values()
        return any(atom.since >= start for size in (*sizes, *(value.strides or ())) for atom in S.symbols(size))
    if depth > 4:
        return True
    held: Iterable[Value] = ()
    if isinstance(value, (Sequence, Dictionary)):
        items = value.items.values() if isinstance(value.items, dict) else value.items
        held = [value.element] if items is None else items
    elif isinstance(value, LibraryObject):
        held = [*value.arguments.values(), *value.positional, *value.fields.values()]
    elif isinstance(value, Instance) and not value.generic:
        held = value.fields.values()
    return any(_differs(each, start, depth + 1) for each in held)


def made_anew(value: Value, start: int, within: Collection[object] = ()) -> Value:
    """A dictionary that an expression makes anew for every item of a sequence, as it stands for all of them, and with it the
    dictionaries that it holds by these keys."""
    if not isinstance(value, Dictionary) or value.items is None or len(value.items) > 16:
        return varying(value, start)
    made = Dictionary(
        {
            key: made_anew(item, start) if key in within and isinstance(item, Dictionary) else _kept(item, start)
            for key, item in value.items.items()
        },
        alike=[],
    )
    assert made.alike is not None
    made.alike.append(made)
    return made


def _kept(value: Value, start: int) -> Value:
    """What a dictionary holds that others may hold too: tensors and numbers, which cannot get longer."""
    if isinstance(value, Sequence) and value.kind == "tuple" and value.items is not None:
        return Sequence("tuple", [_kept(item, start) for item in value.items])
    if isinstance(value, (Tensor, Const, Number, Scalar)):
        return varying(value, start)
    return Opaque(None, parts=(value,)) if isinstance(value, (Instance, Dictionary, LibraryObject)) else UNKNOWN


def _resized(tensor: Tensor, shape: tuple[Size, ...], values: dict[S.Symbol, Size]) -> Tensor:
    """The tensor with other sizes for some symbols, in its strides too."""
    strides = None if tensor.strides is None else tuple(S.substitute(size, values) for size in tensor.strides)
    return copy(tensor, shape=tuple(S.substitute(size, values) for size in shape), strides=strides)


def item_at(sequence: Sequence, index: int) -> Value:
    """The item at a place that is known."""
    if sequence.items is not None:
        return sequence.items[index] if -len(sequence.items) <= index < len(sequence.items) else UNKNOWN
    first = sequence.pieces.first() if sequence.pieces is not None and index == 0 else None
    return any_of(sequence.element) if first is None else first
