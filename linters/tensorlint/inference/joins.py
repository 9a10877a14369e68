"""What is true of two values: the value of a name after two branches met, or of every item of a sequence."""

from __future__ import annotations

import re
from typing import Any

from tensorlint.inference import known_axes
from tensorlint.inference import sizes as S
from tensorlint.inference.numbers import Kind, kind_of, kind_of_operand, of_kinds
from tensorlint.inference.ops.arguments import least, may_be_negative, may_be_zero
from tensorlint.inference.ops.results import numeric
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    CONTAINERS,
    KEEPS_SHAPE,
    NONE,
    NUMPY_SCALAR,
    ONE_CLASS,
    ONE_LAYER,
    ONE_MODULE,
    PERHAPS_OTHERS,
    PLAIN,
    SCALAR,
    SCALARS,
    SETTINGS,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Tensor,
    Value,
    an_integer,
    copy,
    has_some,
    is_named_tuple,
    is_none,
    is_numbering,
    may_be_array,
    of_class,
    perhaps_same,
    showing,
    unknown_members,
)
from tensorlint.inference.variants import varying

# Layers of torch.nn that keep the shape of whatever they are given.
_KEEPING = re.compile(
    r"torch\.nn\.(Identity|(Alpha|FeatureAlpha)?Dropout[123]?d?|(Sync)?BatchNorm([123]d)?|InstanceNorm[123]d|LayerNorm|RMSNorm"
    r"|GroupNorm|LocalResponseNorm|ReLU6?|LeakyReLU|PReLU|RReLU|ELU|CELU|SELU|GELU|SiLU|Mish|Sigmoid|Tanh|Softplus|Softsign"
    r"|Softshrink|Hardshrink|Tanhshrink|Hardtanh|Hardsigmoid|Hardswish|LogSigmoid|Threshold|Softmax|LogSoftmax|Softmin)$"
)


# What two tuples or lists have given, by their identities: each may be in many places of what is joined.
_Joined = dict[tuple[int, int], tuple[Value, Value, Value]]
_MOST_JOINED = 1000
_MOST_SHOWN = 64


def join(a: Value, b: Value, joined: _Joined | None = None) -> Value:
    """What is true of both: the value after two branches met. `joined` is of what they are part of."""
    if a is b:
        return a
    if a is UNKNOWN or b is UNKNOWN:
        parts = () if joined is None else _either(a, b)  # by way of what holds it the one that is known may be changed
        return Opaque(None, parts) if parts else UNKNOWN
    kind = type(a)
    if kind is not type(b) or kind is Opaque:
        return _join_kinds(a, b)
    if kind is Scalar:
        return _join_scalars(a, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return join_tensors(a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        return a if type(a.value) is type(b.value) and a.value == b.value else _join_scalars(a, b)
    if isinstance(a, Number) and isinstance(b, Number) and a.size == b.size:
        return a
    if isinstance(a, Sequence) and isinstance(b, Sequence) and a.kind == b.kind and a.shape_of is None:
        joined = {} if joined is None else joined
        key = id(a), id(b)
        if key not in joined:
            if len(joined) > _MOST_JOINED:
                return _join_kinds(a, b)
            joined[key] = a, b, _join_sequences(a, b, joined)
        return joined[key][2]
    if isinstance(a, Instance) and isinstance(b, Instance) and a.cls is b.cls:
        if is_named_tuple(a) and is_named_tuple(b):
            for value in (*a.fields.values(), *b.fields.values()):
                _is_held(value)
            joined = {} if joined is None else joined
            held = {name: join(value, b.fields[name], joined) for name, value in a.fields.items()}
            return Instance(a.cls, held, parts=(a, b), born=max(a.born, b.born))
        generic = a.cls.generic
        if generic is None:
            return Opaque(None, (a, b))
        return of_class(generic, a, b)
    if isinstance(a, LibraryObject) and isinstance(b, LibraryObject) and a.path == b.path:
        joined = {} if joined is None else joined
        key = id(a), id(b)
        if key not in joined:
            if len(joined) > _MOST_JOINED:
                return _join_kinds(a, b)
            either = _join_objects(a, b, joined)
            if isinstance(either, LibraryObject) and a.path.startswith("torch.nn."):
                either = _showing_layers(either, a, b)
            joined[key] = a, b, either
        return joined[key][2]
    if isinstance(a, Dictionary) and isinstance(b, Dictionary) and a.alike is not None and b.alike is not None:
        return _join_alike(a, b)
    if isinstance(a, Library) and isinstance(b, Library) and a.path == b.path:
        return a
    if isinstance(a, Function) and isinstance(b, Function) and a.node is b.node and a.receiver is b.receiver:
        return a
    if isinstance(a, Class) and isinstance(b, Class) and a.node is b.node:
        return a
    return _join_kinds(a, b)


def _is_held(value: Value) -> None:
    """Whoever has the object that holds the list, or the tuple that does, may change it."""
    if type(value) is Sequence or type(value) is Dictionary:
        value.shared = True
        if type(value) is Sequence and value.kind == "tuple":
            for item in value.items or ():
                _is_held(item)


def _join_sequences(a: Sequence, b: Sequence, joined: _Joined) -> Sequence:
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = [join(x, y, joined) for x, y in zip(a.items, b.items, strict=True)]
        return showing(Sequence(a.kind, items, parts=_either(a, b)))
    length = a.length if a.length is not None and a.length == b.length else None
    some = False if a.some is False or b.some is False else (has_some(a) and has_some(b)) or None
    return showing(Sequence(a.kind, None, join_elements(a, b, joined), length, parts=_either(a, b), some=some))


_NUMBERS = frozenset({Const, Number, Scalar})
_AS_SIZES = frozenset({Const, Number, Scalar, Opaque})
_WITH_KIN = frozenset({Opaque, Tensor})
_CHANGEABLE = frozenset({Instance, LibraryObject, Dictionary, Class, Function})  # and lists


def _join_kinds(a: Value, b: Value) -> Value:
    """What is true of two values that need not be of one kind."""
    first, second = type(a), type(b)
    if (first is Const or second is Const) and (is_none(a) or is_none(b)):
        either_or_none = _or_none(b if is_none(a) else a)
        if either_or_none is not None:
            return either_or_none
    if first in _MAY_BE_LAYERS and second in _MAY_BE_LAYERS:
        if keeps_shape(a) and keeps_shape(b):
            return Opaque(None, _either(a, b), KEEPS_SHAPE)
        if (ours := _layers(a)) and (theirs := _layers(b)):
            return _one_layer((*ours, *theirs), a, b)
    if first in _MAY_BE_CLASSES and second in _MAY_BE_CLASSES:
        if (ours := _classes(a)) and (theirs := _classes(b)):
            return Opaque(None, (*ours, *theirs), ONE_CLASS)
    if first in _NUMBERS and second in _NUMBERS:
        return _join_scalars(a, b)
    if first is Tensor or second is Tensor:
        for tensor, other in ((a, b), (b, a)):
            if isinstance(tensor, Tensor) and tensor.shape == () and kind_of(other) is not None:
                # `total = 0.0`, and later `total += loss`: whichever it is, it has no axis, but it need not be a tensor.
                return Opaque(None, _either(a, b), SCALARS.get(tensor.framework, SCALAR))
    one, other_one = kind_of(a), kind_of(b)
    if one is not None and other_one is not None:
        if not one == other_one == "int":
            return of_kinds({one, other_one})
        number = an_integer()
        if is_numbering(a) or is_numbering(b):
            number._symbol = S.counter(numbers=True, signed=True)
        return number
    # One of the two, whichever: an object nobody knows, but one object from here on.
    either = Opaque(None, _either(a, b), PLAIN if _is_plain(a) and _is_plain(b) else None)
    if first in _AS_SIZES and second in _AS_SIZES and (may_be_zero(a) or may_be_zero(b)):
        either._symbol = S.counter(signed=may_be_negative(a) or may_be_negative(b))
    either.array = may_be_array(a) or may_be_array(b)
    for value, other in ((a, b), (b, a)):
        if _may_be_scalar(value, other):
            either.kind = value.kind  # type: ignore[attr-defined]
    whose: tuple[Any, ...] = a.stated if type(a) is Opaque else (a,) if type(a) is Instance else ()
    more: tuple[Any, ...] = b.stated if type(b) is Opaque else (b,) if type(b) is Instance else ()
    if whose and more:
        either.stated = (*whose, *more)
    either.optional = _may_be_none(a) or _may_be_none(b)
    if either.kind == PLAIN:
        whole = [kind_of_operand(each) for each in (a, b) if not is_none(each)]
        if whole and all(kind == "int" for kind in whole):
            either.told = "int"  # `width = given`, of an `int | None`
        elif whole and None not in whole and "complex" not in whole:
            either.told = "real"
    if first in _WITH_KIN and second in _WITH_KIN and a.kin == b.kin:  # type: ignore[attr-defined]
        either.kin = a.kin  # type: ignore[attr-defined]
    return either


def fit(either: Value, special: Value, general: Value, equal: dict[S.Symbol, S.Size]) -> None:
    """`either` is one of the two, the special one only where these sizes are equal: `if n == 1: return x`. Where it is
    what the general one is then, it has the sizes of that in any case."""
    if isinstance(either, Sequence) and isinstance(special, Sequence) and isinstance(general, Sequence):
        for parts in zip(either.items or (), special.items or (), general.items or (), strict=False):
            if either.kind == "tuple" and parts[0] is not parts[1]:
                fit(*parts, equal)
    if not (isinstance(either, Tensor) and isinstance(special, Tensor) and isinstance(general, Tensor)):
        return
    if (
        either is special
        or either is general
        or not special.shape
        or not general.shape
        or special.shape == general.shape
    ):
        return
    if tuple(S.substitute(size, equal) for size in general.shape) == special.shape:
        either.shape = general.shape
        strides = general.strides and tuple(S.substitute(stride, equal) for stride in general.strides)
        either.strides = general.strides if strides == special.strides else None


def _or_none(value: Value) -> Value | None:
    """A tensor or a layer, or None: what it is used for says that it is there."""
    if isinstance(value, Tensor):
        return copy(value, marks=value.marks | {"optional"}, axes=value.axes, kin=value.kin)
    if isinstance(value, Opaque) and value.kind == KEEPS_SHAPE:
        either = Opaque(None, value.parts, KEEPS_SHAPE)
        either.optional = True
        return either
    layers = _layers(value)
    return _one_layer(layers, value, NONE) if layers else None


_MOST_LAYERS = 6
_MOST_OWN_LAYERS = 2
_OBJECTS = _CHANGEABLE | {Sequence, Opaque}
_MAY_BE_LAYERS = frozenset({LibraryObject, Instance, Opaque})
_MAY_BE_CLASSES = frozenset({Library, Class, Opaque})
_LAYER = re.compile(r"torch\.nn\.[A-Z]\w*$")


def _layers(value: Value) -> tuple[Value, ...]:
    """The layers that the value is one of."""
    if isinstance(value, Opaque):
        return value.parts if value.kind in (ONE_LAYER, ONE_MODULE) else ()
    if isinstance(value, LibraryObject):
        return (value,) if _LAYER.match(value.path) and value.path not in CONTAINERS else ()
    return (value,) if isinstance(value, Instance) and value.cls.is_module else ()


def _classes(value: Value) -> tuple[Value, ...]:
    """The classes of modules that the value is one of."""
    if isinstance(value, Opaque):
        return value.parts if value.kind == ONE_CLASS else ()
    if isinstance(value, Library):
        return (value,) if _LAYER.match(value.path) and value.path not in CONTAINERS else ()
    return (value,) if isinstance(value, Class) and value.is_module else ()


def are_few(layers: tuple[Value, ...], most: int = 16) -> bool:
    """Whether each of the layers, or of their classes, is followed: several of the program's own take too long."""
    return len(layers) <= most and sum(isinstance(each, (Instance, Class)) for each in layers) <= _MOST_OWN_LAYERS


def _one_layer(layers: tuple[Value, ...], a: Value, b: Value) -> Opaque:
    either = Opaque(None, kind=ONE_LAYER if are_few(layers, _MOST_LAYERS) else ONE_MODULE, parts=layers)
    either.optional = _may_be_none(a) or _may_be_none(b)
    return either


def _either(a: Value, b: Value) -> tuple[Value, ...]:
    """The objects that may be changed through a value that is one of two."""
    found: list[Value] = []
    values, seen = [a, b], set[int]()
    for value in values:  # grows meanwhile, by what tuples hold
        if type(value) is Opaque:
            if value.parts:
                found.append(value)
        elif type(value) in _CHANGEABLE:
            found.append(value)
        elif type(value) is Partial and type(value.function) in _CHANGEABLE:
            found.append(value.function)
            if value.positional or value.keywords:
                found.append(value)
        elif type(value) in (Attribute, Library, Partial) and _may_change(value):
            found.append(value)  # `(x.t_ if wide else x.numpy)()` changes x
        elif type(value) is Sequence:
            if value.kind in ("list", "deque"):
                if value.shared or value.parts:
                    found.append(value)
            elif value.kind == "tuple" and value.items and not _OBJECTS.isdisjoint(map(type, value.items)):
                if id(value) not in seen and len(values) < _MOST_JOINED:
                    seen.add(id(value))
                    values += [item for item in value.items if type(item) in _OBJECTS]
    return tuple(found)


def _may_change(function: Value) -> bool:
    """Whether a call of the method, or of the library's function, may change something in place."""
    while type(function) is Partial:
        function = function.function
    return type(function) is Attribute or (type(function) is Library and function.path.endswith("_"))


def _may_be_none(value: Value) -> bool:
    return value.optional if type(value) is Opaque else is_none(value)


def keeps_shape(value: Value) -> bool:
    """Whether the value is a layer whose result has its input's shape."""
    if type(value) is LibraryObject:
        return _KEEPING.match(value.path) is not None
    return type(value) is Opaque and value.kind == KEEPS_SHAPE


def _may_be_scalar(value: Value, other: Value) -> bool:
    """Whether the one is a number, or a tensor without axes for one, and the other, too."""
    if type(value) is not Opaque or value.kind not in (SCALAR, NUMPY_SCALAR):
        return False
    if isinstance(other, Tensor):
        return other.shape == () and value.kind == SCALARS.get(other.framework, SCALAR)
    return kind_of(other) is not None or (isinstance(other, Opaque) and other.kind == value.kind)


def _is_plain(value: Value) -> bool:
    return value.kind == PLAIN if type(value) is Opaque else type(value) in _NUMBERS


def _join_scalars(a: Value, b: Value) -> Value:
    kind, other = kind_of(a), kind_of(b)
    if kind is None or other is None:
        return _number_or_none(kind or other) if is_none(a) or is_none(b) else UNKNOWN
    if kind != other:
        return of_kinds({kind, other})
    return Scalar(kind, kind == "int" and (is_numbering(a) or is_numbering(b)))


def _number_or_none(kind: Kind | None) -> Value:
    """What an operator is given is a number, for it takes no None."""
    if kind is None:
        return UNKNOWN
    either = Opaque(None, kind=PLAIN)
    either.optional = True
    either.told = "int" if kind == "int" else None
    return either


def _join_alike(a: Dictionary, b: Dictionary) -> Value:
    """One of two dictionaries that stand for items of sequences."""
    assert a.alike is not None
    if a.items is None or b.items is None or a.items.keys() != b.items.keys():
        return Opaque(None, (a, b))
    if a.alike is not b.alike:
        a.alike += b.alike or ()
        for each in a.alike:
            each.alike = a.alike
    return a.another({key: join(value, b.items[key]) for key, value in a.items.items()})


def _join_objects(a: LibraryObject, b: LibraryObject, joined: _Joined) -> Value:
    alike = a.arguments.keys() == b.arguments.keys() and len(a.positional) == len(b.positional)
    if a.path.startswith(("pandas.", "sklearn.")):
        both = {name: join(value, b.fields[name], joined) for name, value in a.fields.items() if name in b.fields}
        either = LibraryObject(a.path, {}, (), both)
        if a.path.startswith("sklearn."):
            set_of_one = [name for name in a.fields.keys() ^ b.fields.keys() if name.isidentifier() or name == SETTINGS]
            both.update(dict.fromkeys(set_of_one, UNKNOWN))
            if alike:
                either.arguments = {name: join(value, b.arguments[name], joined) for name, value in a.arguments.items()}
                either.positional = tuple(join(x, y, joined) for x, y in zip(a.positional, b.positional, strict=True))
            else:
                both[SETTINGS] = UNKNOWN
        return perhaps_same(either, a, b)
    # What one of them has been given does not hold of the other.
    fields: dict[str, Value] = dict.fromkeys((*a.fields, *b.fields), UNKNOWN)
    if a.path in CONTAINERS and not (alike and ("members" in a.fields) == ("members" in b.fields)):
        fields["members"] = unknown_members(a.path)
        return LibraryObject(a.path, {}, (), fields, None)
    if not alike:
        return LibraryObject(a.path, {}, (), fields, None) if a.path.startswith("torch.nn.") else UNKNOWN
    arguments = {name: join(value, b.arguments[name], joined) for name, value in a.arguments.items()}
    positional = tuple(join(x, y, joined) for x, y in zip(a.positional, b.positional, strict=True))
    fields.update((name, join(value, b.fields[name], joined)) for name, value in a.fields.items() if name in b.fields)
    return LibraryObject(a.path, arguments, positional, fields, a.made)


def _showing_layers(one: LibraryObject, *layers: LibraryObject) -> Value:
    """A layer that is one of these: what is known of it is so until one of them changes."""
    if any(len(layer.shown) >= _MOST_SHOWN for layer in layers):
        return Opaque(None, layers)
    one.parts = layers
    for layer in layers:
        layer.shown = (*layer.shown, one)
    return one


def join_elements(a: Sequence, b: Sequence, joined: _Joined | None = None) -> Value:
    values = [*(a.items if a.items is not None else [a.element]), *(b.items if b.items is not None else [b.element])]
    if not values:
        return UNKNOWN
    return join_all(values, joined)


def join_all(values: list[Value], joined: _Joined | None = None) -> Value:
    """What is true of each item of a sequence: a size that is not the same in all of them is another one in each."""
    start = S.symbol_serial()
    result = values[0]
    for value in values[1:]:
        result = join(result, value, joined)
        if result is UNKNOWN:
            parts = [part for each in values if type(each) in _OBJECTS for part in _either(each, UNKNOWN)]
            return Opaque(None, tuple(parts)) if parts else UNKNOWN
    return result if any(result is value for value in values) else varying(result, start)


def _one_of(a: Size, b: Size) -> Size:
    """A size that is one of these: it may be 0 where one of them may."""
    for size in (a, b):
        smallest = least(size)
        if smallest is None or smallest < 1:
            return S.cut_by(S.cut_of(a) or ()) if S.cut_alike(a, b) else S.counter()
    made = S.Symbol()
    first, second = _batches(a), _batches(b)
    if first and second:
        made.cut = tuple(sorted({*first, *second}))
    return S.of_symbol(made)


def _batches(size: Size) -> tuple[int, ...]:
    """The lengths that a batch is known to have one of: the last one may be shorter, in all that is cut in the same way."""
    if isinstance(size, int):
        return (size,) if size > 1 else ()
    cut = S.cut_of(size) or ()
    return tuple(each for each in cut if isinstance(each, int)) if all(isinstance(each, int) for each in cut) else ()


def join_tensors(a: Tensor, b: Tensor) -> Tensor:
    framework = a.framework if a.framework == b.framework else None
    dtype = a.dtype if a.dtype == b.dtype else None
    device = a.device if a.device == b.device else None
    marks = (a.marks & b.marks) | ((a.marks | b.marks) & PERHAPS_OTHERS)
    if dtype is None:
        marks |= numeric(framework, None, (a, b))  # of one type of numbers or the other
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        kin = a.kin if a.shape is None and b.shape is None and a.kin == b.kin else None
        axes = known_axes.in_both(a, b)
        return Tensor(framework, None, None, dtype, device, None, None, marks, axes=axes, kin=kin)
    shape = tuple(x if x == y else _one_of(x, y) for x, y in zip(a.shape, b.shape, strict=True))
    strides = a.strides if a.strides == b.strides else None
    same_source = a.made is b.made
    return Tensor(
        framework,
        shape,
        strides,
        dtype,
        device,
        a.made if same_source else None,
        a.how if same_source else None,
        marks,
        layout_trail=a.layout_trail if a.layout_trail == b.layout_trail else (),
    )
