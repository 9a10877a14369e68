"""What an expression may be: the interpreter's values.

A value never lies: what is not known is `None` or `UNKNOWN`. Values are shared between names, as objects are in
Python; the interpreter changes a value in place only where the program would.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape, Strides, is_contiguous
from tensorlint.inference.layout import contiguous as contiguous_strides
from tensorlint.inference.sizes import Poly, Size

Framework = Literal["torch", "numpy"]


class Value:
    __slots__ = ()


class Unknown(Value):
    """Nothing is known, not even whether it is the same object as another one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()

# The kind of an opaque object that is a number, a string or a container of these: no tensor and no array.
PLAIN = "plain"
# The kind of one that is a number or a tensor of torch without axes, which broadcasts as a number does.
SCALAR = "scalar"
# The kind of one that is a number of Python or of numpy.
NUMPY_SCALAR = "scalar of numpy"
SCALARS: dict[str | None, str] = {"torch": SCALAR, "numpy": NUMPY_SCALAR}
# The kind of one that is a layer whose result has its input's shape, whichever of several layers it is.
KEEPS_SHAPE = "layer that keeps the shape"
# The kind of an object that is one of a few layers, its `parts`, or None.
ONE_LAYER = "one of these layers"
# The kind of one that is one of more modules than are followed, its `parts`, or None.
ONE_MODULE = "one of these modules"
# The kind of an object that is one of the classes of modules that are its `parts`.
ONE_CLASS = "one of these classes"
# The field of an instance whose class derives from a layer: the layer that `super().__init__(...)` made of it.
BASE = "__base__"
# The field of an object that nobody knows for what `len` gave.
LENGTH = ("len",)
# Layers that hold others.
KEYED = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList", *KEYED})


class Rank:
    """How many axes an object has that was bound at `origin` in `frame`, where nobody knows. `met` says that it was an
    operand beside a tensor: that the result is a tensor tells nothing of it."""

    __slots__ = ("frame", "met", "origin")

    def __init__(self, origin: ast.AST, frame: Any) -> None:
        self.origin = origin
        self.frame = frame
        self.met = False


# As many axes as the object of that rank and so many more, but at least so many: what meets a tensor of three axes
# in an elementwise operation has at least three.
Kin = tuple[Rank, int, int]


def moved(kin: Kin, offset: int) -> Kin:
    """So many axes more. Where there may be none left (a reduction of a tensor without axes leaves none too), what is
    added then is the least there are."""
    rank, before, least = kin
    return rank, before + offset, max(least + offset, 0) if least or before < 0 else 0


# Which of two objects that nobody knows was first met.
opaque_serial = itertools.count(1).__next__


class Parts(tuple[Value, ...]):
    """Many objects that a value is one of, with their `ids`: who goes through many such values asks whether it has seen them."""

    @cached_property
    def ids(self) -> tuple[int, ...]:
        return tuple(map(id, self))


def has_some(sequence: Sequence) -> bool | None:
    """Whether it has an item; None where that is not known, False where there is none or a condition may have left none."""
    return bool(sequence.items) if sequence.items is not None else sequence.some


def are_seen(parts: tuple[Value, ...], seen: set[int]) -> bool:
    """Whether all of the parts were gone through before, by their ids."""
    return seen.issuperset(parts.ids if type(parts) is Parts else map(id, parts))


class Opaque(Value):
    """An object nobody knows, but always the same one: a parameter, a field of a configuration object.

    `name` is what the user calls it. Its attributes and constant-key items are opaque in turn and remembered, so that
    `config.hidden` is one size wherever it is read.
    """

    __slots__ = (
        "_symbol", "array", "axes", "counts", "cut", "fields", "formula", "integer", "kin", "kind", "lengths", "name", "number", "numbers", "of", "optional", "parts", "scope", "serial", "signed", "since", "single",
        "stated", "told", "variant",
    )  # fmt: skip

    def __init__(
        self,
        name: str | None,
        parts: tuple[Value, ...] = (),
        kind: str | None = None,
        *,
        variant: bool = False,
        integer: bool = False,
    ) -> None:
        self.name = name
        self.variant = variant
        self.kind = kind
        # A Python int, which `int(x)` is.
        self.integer = integer
        # Whether it may well be 0 or 1, used as a size: a name or a key that is bound to anything. And whether below 0.
        self.counts = False
        self.signed = False
        # Whether it may be an array rather than a number.
        self.array = False
        # Whether it is a number, by what it was given to.
        self.number = False
        # Its attributes that are numbers, which the options of a command line may be.
        self.numbers: dict[str, Literal["int", "real"]] = {}
        # The operands of which an operator made it: of numbers it is a number.
        self.of: tuple[Value, Value] | None = None
        # Whether it is one number where a shape is made of it alone: what a tuple has no operator for.
        self.single = False
        # Whether it was cut out of another object, and may hold nothing.
        self.cut = False
        self._symbol: Poly | None = None
        # What it was computed from, as long as it has no name: `n * m`.
        self.formula: Poly | None = None
        self.fields: dict[object, Value] | None = None
        self.axes: dict[int, Size] | None = None
        self.kin: Kin | None = None
        self.scope: ast.AST | None = None
        # When the object was there, in serials of sizes; 0 where that is not known.
        self.since = 0
        # Whether the program says that it may be None.
        self.optional = False
        # Of what an annotation makes a number or a container: whether it is an int or a real number where it is not None, or
        # holds such.
        self.told: Literal["int", "ints", "real", "reals"] | None = None
        # Of such a container, how many items an annotation says that it has, and each of these in turn; None for any number.
        self.lengths: tuple[int | None, ...] = ()
        # The objects that it is one of: what is done to it may be done to any of them.
        self.parts = parts
        # Whose methods it has: annotations with the scope that they stand in, and objects, of which it is one.
        self.stated: tuple[Value | tuple[ast.expr, Any], ...] = ()
        self.serial = opaque_serial()

    @property
    def size(self) -> Poly:
        """The object used as a size."""
        if self._symbol is None:
            self._symbol = self.formula
        if self._symbol is None:
            atom = S.Symbol(self.name, variant=self.variant)
            atom.scope = self.scope
            atom.since = self.since or atom.since
            atom.counts = self.integer or self.counts  # what `int(x)`, `len(rows)` or `n % 3` gives may be 0
            atom.numbers, atom.signed = self.counts, self.signed
            self._symbol = S.of_symbol(atom)
        return self._symbol

    def __repr__(self) -> str:
        return f"Opaque({self.name})"


def tell_item(item: Opaque, container: Opaque) -> None:
    """What an annotation says of each item of a container of numbers."""
    item.lengths = container.lengths[1:]
    if item.lengths:
        item.told = container.told
    elif container.told == "ints":
        item.integer = True
    else:
        item.told = "real"


def opaque_anew(parts: tuple[Value, ...] = ()) -> Opaque:
    """What a name or a field holds that was bound to something nobody knows: a 0 it may be."""
    made = Opaque(None, parts)
    made.counts = made.signed = made.array = True
    return made


def any_key() -> Opaque:
    """A key of which nothing is known, another one in each round."""
    key = opaque_anew()
    key.variant = True
    return key


def an_integer() -> Opaque:
    """A Python int of which nothing else is known: used as a size, one that may get a name."""
    return Opaque(None, kind=PLAIN, integer=True)


class Const(Value):
    """A Python constant: int, float, complex, str, bytes, bool, None or Ellipsis."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


NONE = Const(None)
# Stands among the keywords of a call for `**words` of which nobody knows which they are.
OPEN = "**"
TRUE = Const(True)
FALSE = Const(False)


class Number(Value):
    """An integer given by an expression over sizes."""

    __slots__ = ("size",)

    def __init__(self, size: Poly) -> None:
        self.size = size

    def __repr__(self) -> str:
        return f"Number({S.show(self.size)})"


class Scalar(Value):
    """A Python number whose value is not known. `kind` is its type's name, or "real" where it is one of two or three
    of these, but not complex."""

    __slots__ = ("kind", "numbers")

    def __init__(self, kind: Literal["int", "float", "bool", "complex", "real"], numbers: bool = False) -> None:
        self.kind = kind
        # The number of a round, or made of one: see `Symbol.numbers`.
        self.numbers = numbers

    def __repr__(self) -> str:
        return f"Scalar({self.kind})"


@dataclass(slots=True, eq=False, repr=False)
class Tensor(Value):
    """A tensor or array.

    `shape` is None where not even the rank is known (`axes` then remembers the sizes that were asked for);
    `strides` None where the layout is not known. `made` is the expression that made it, `how` the operation in words
    (`nn.Linear(8, 1)`). `marks` are what the rules ask about its past: see `MARKS`.
    """

    framework: Framework | None
    shape: Shape | None = None
    strides: Strides | None = None
    dtype: str | None = None
    device: str | None = None
    made: ast.AST | None = None
    how: str | None = None
    marks: frozenset[str] = frozenset()
    source: Tensor | None = None
    reduced: tuple[int, ...] | None = None
    axes: dict[int, Size] | None = None
    layout_trail: tuple[tuple[ast.AST, str], ...] = ()
    alternatives: tuple[Tensor, ...] = ()
    alternatives_at: object = None
    elements: tuple[Size, ...] | None = None
    kin: Kin | None = None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def contiguous(self) -> bool | None:
        return None if self.shape is None else is_contiguous(self.shape, self.strides)

    @property
    def in_order(self) -> bool:
        """Whether the strides are those of a new tensor. A contiguous one may have others along axes of one element, and
        torch then takes it for channels-last in places."""
        return self.shape is not None and self.strides == contiguous_strides(self.shape)


# Marks of a tensor's past that rules judge by:
#   spelled    a size-1 axis was asked for in so many words: unsqueeze, [:, None], newaxis, expand_dims, keepdim,
#              einops, outer
#   kept       of these, keepdim only
#   reshaped   a size-1 axis came from reshape/view
#   literal    a size-1 axis was written in the constructor: zeros((n, 1))
#   column     came out of nn.Linear(..., 1) or another layer with one output feature
#   squeezed   a squeeze without an axis
#   ramp       made of arange or linspace and numbers
#   coordinate the range itself, not yet computed with
#   transposed .T of a rank-1 array: `source` is the array
#   reduction  a sum, mean, ... of `source` over the axes `reduced`, without keepdim
#   dropped    a reduction over the last axes, without keepdim, or what was computed of one elementwise
#   magnitude  the squares, absolute values or exponentials of `source`, a matrix
#   retyped    the numbers of `source`, a matrix, in another type
#   parameter  a parameter of the analysed function
#   optional   which may be None: the `.grad` of a tensor, a parameter that is a tensor by its annotation and None by default.
#              Whatever is computed with it is a tensor
#   item       taken out of an array of unknown rank and element type: it may be what the array holds, a list or None
#   numeric    its items are numbers, of whatever type: what was just computed by numpy.linalg or scipy, which have no others
#   distribution  the batch shape of a torch.distributions object, which is no tensor itself
MARKS = frozenset(
    {"spelled", "kept", "reshaped", "literal", "column", "squeezed", "ramp", "transposed", "reduction", "dropped",
     "magnitude", "retyped", "numeric", "parameter", "distribution", "optional", "item"}
)  # fmt: skip


# What may be no tensor is not one by being one of two.
PERHAPS_OTHERS = frozenset({"optional", "item"})
# Who asks whether one of these is None does not take an annotation at its word.
MAY_BE_NONE = frozenset({"optional", "parameter"})


class Pieces(Protocol):
    """The parts that an axis of a size nobody knows was split into."""

    def listed(self, count: int) -> list[Value] | None:
        """The parts, should there be `count` of them; None where there cannot be so many."""

    def first(self) -> Value | None:
        """The first part, however many there are."""


@dataclass(slots=True, eq=False, repr=False)
class Sequence(Value):
    """A tuple, list or set: `items` where each is known, else `element` stands for all of them.

    `length` is the number of items where it is known without the items.
    """

    kind: Literal["tuple", "list", "deque", "set", "dict_items", "iterator"]
    items: list[Value] | None = None
    element: Value = UNKNOWN
    length: Size | None = None
    shared: bool = False
    # The shape of a tensor of unknown rank; unpacking it gives that tensor its rank.
    shape_of: Value | None = None
    # How many items there are, where that depends on how many axes an object has.
    kin: Kin | None = None
    # What is known of the items of a tensor's split although their number is not.
    pieces: Pieces | None = None
    # The last items of a tuple whose first ones nobody knows: `(*x.shape[:-1], n, m)`.
    tail: tuple[Value, ...] = ()
    # The lists that it is one of, as of an `Opaque`.
    parts: tuple[Value, ...] = ()
    # What may be this list, with what is known of it until it changes.
    shown: tuple[Sequence, ...] = ()
    # What the items' sizes along an axis add up to, where they differ from item to item.
    totals: dict[int, Size] | None = None
    # At which step of the analysis it was made, where that is known: an object that a round of a loop makes is its own.
    born: int = 0
    # Of an iterator that something holds: whether it has been gone through, and may be at its end.
    spent: bool = False
    # Whether it surely has an item, where nobody knows how many; False where a condition chooses among them, which may leave none.
    some: bool | None = None
    # The dictionary that a view shows, and what it held when the view was made.
    view_of: tuple[Dictionary, dict[Any, Value]] | None = None

    def joined_size(self, axis: int, size: Size) -> Size:
        """The size along an axis along which items are joined whose sizes differ, or nobody knows how many; `size` is that of one."""
        if self.totals is not None and axis in self.totals:
            return self.totals[axis]
        # A list that is joined is taken to hold several, as one that is stacked: of items of size 1 there are as many.
        made = S.Symbol(None, plural=size != 0 and (size == 1 or S.surely_not_one(size)))
        made.counts = any(atom.counts for atom in S.symbols(size))
        return S.of_symbol(made)


_MOST_SHOWN = 64


def showing(one: Sequence) -> Sequence:
    """A list that is one of several: what is known of it is so until one of these changes."""
    for part in one.parts:
        if isinstance(part, Sequence):
            if len(part.shown) >= _MOST_SHOWN:
                return Sequence(one.kind, parts=one.parts)
            part.shown = (*part.shown, one)
    return one


@dataclass(slots=True, eq=False, repr=False)
class Dictionary(Value):
    """A dict with constant keys, or one whose keys are not known (`items` None) and whose values are `element`."""

    items: dict[Any, Value] | None = None
    element: Value = UNKNOWN
    shared: bool = False
    born: int = 0
    # All that stand for items of one sequence: what is put into one of them may be in any.
    alike: list[Dictionary] | None = None

    def another(self, items: dict[Any, Value]) -> Dictionary:
        """Another of these items, or the same."""
        made = Dictionary(items, alike=self.alike)
        if self.alike is not None:
            self.alike.append(made)
        return made


@dataclass(slots=True, eq=False, repr=False)
class Slice(Value):
    """`start:stop:step` between brackets."""

    start: Value
    stop: Value
    step: Value


@dataclass(slots=True, eq=False, repr=False)
class Range(Value):
    """`range(start, stop, step)`."""

    start: Size | None
    stop: Size | None
    step: Size | None


def unknown_members(path: str) -> Sequence | Dictionary:
    """What a container holds of which nothing is known: without that it would be an empty one."""
    return Dictionary(None) if path in KEYED else Sequence("list")


class Library(Value):
    """A name of a library by its canonical dotted path: `torch.nn.functional`, `numpy.random.rand`."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Library({self.path})"


@dataclass(slots=True, eq=False, repr=False)
class LibraryObject(Value):
    """An instance of a library's class: `nn.Linear(8, 1)`, `np.random.default_rng()`, a DataLoader.

    `arguments` are the constructor's, bound to its parameter names; `fields` what was assigned to it since.
    """

    path: str
    arguments: Mapping[str, Value] = field(default_factory=dict)
    positional: tuple[Value, ...] = ()
    fields: dict[str, Value] = field(default_factory=dict)
    made: ast.AST | None = None
    parts: tuple[Value, ...] = ()
    born: int = 0
    several: bool = False  # as an `Instance` may
    # What may be this layer, with what is known of it until it changes.
    shown: tuple[LibraryObject, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class Attribute(Value):
    """A method or attribute of a value that is not called on the spot: `f = x.view`."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordField:
    """A field of a dataclass or named tuple: whether `__init__` takes it, also by its place, and the instance keeps it.

    `default` is None where there is none, and what the annotation says where `factory` is called for it; `declared` is what
    the annotation says.
    """

    name: str
    default: Value | None
    declared: Value | None = None
    taken: bool = True
    positional: bool = True
    kept: bool = True
    factory: Value | None = None


@dataclass(slots=True, eq=False, repr=False)
class Class(Value):
    """A class of the analysed files. `scope` is the interpreter's scope it was defined in."""

    node: ast.ClassDef
    scope: Any
    bases: tuple[Value, ...]
    held: dict[str, Value] = field(default_factory=dict)
    # What attributes of which nothing is known any more may hold.
    given: tuple[Value, ...] = ()
    # Methods that are made when they are asked for (see `late_methods.py`).
    late: Any = None
    methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    is_module: bool = False
    generic: Instance | None = None
    unstable: frozenset[str] = frozenset()
    set_in_methods: frozenset[str] | None = None  # the same, once it is asked for of objects that live on
    # What a subclass in the same file has of its own: a method of this class may meet that instead.
    overridden: frozenset[str] = frozenset()
    record: tuple[RecordField, ...] | None = None
    generated: bool = False  # whether `__init__` is made from the record
    complete: bool = True
    order: tuple[Value, ...] | None = None  # see `inheritance.method_order`
    made_otherwise: bool = False
    changed_by_operators: frozenset[str] | None = None  # see `inheritance.changed_by_operators`
    changed_by_torch: frozenset[str] | None = None  # and `changed_by_torch`

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def fields(self) -> dict[str, Value]:
        """All that its body binds."""
        if self.late is not None:
            late, self.late = self.late, None
            for name in list(late.methods):
                self.held[name] = late.make(name)
        return self.held

    @fields.setter
    def fields(self, fields: dict[str, Value]) -> None:
        self.held, self.late = fields, None

    def own(self, name: str) -> Value | None:
        """What its body binds to the name."""
        found = self.held.get(name)
        if found is None and self.late is not None and name in self.late.methods:
            found = self.held[name] = self.late.make(name)
        return found

    def has(self, name: str) -> bool:
        return name in self.held or (self.late is not None and name in self.late.methods)

    def names(self) -> set[str]:
        return {*self.held, *self.late.methods} if self.late is not None else set(self.held)


@dataclass(slots=True, eq=False, repr=False)
class Instance(Value):
    """An instance of a class of the analysed files."""

    cls: Class
    held: dict[str, Value] = field(default_factory=dict)
    made: ast.AST | None = None
    generic: bool = False
    overridden_fields: dict[str, Value] = field(default_factory=dict)
    parts: tuple[Value, ...] = ()
    # It lives on between the calls of functions, any of which may have assigned its attributes meanwhile.
    lasting: bool = False
    # What cached properties gave in a line that may not have been reached.
    perhaps_kept: dict[str, Value] = field(default_factory=dict)
    born: int = 0
    # Its initialiser, where that is followed only when something is asked of the object.
    waiting: Any = None
    # It stands for any item of a sequence: what is done to one of them the others know nothing of.
    several: bool = False
    # What code that was not followed was given together with it: it may hold that since.
    given: tuple[Value, ...] = ()

    @property
    def fields(self) -> dict[str, Value]:
        if self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            waiting.complete(self)
        return self.held

    @fields.setter
    def fields(self, fields: dict[str, Value]) -> None:
        self.held, self.waiting = fields, None


def of_class(generic: Instance, *parts: Value) -> Instance:
    """An object of the class that is one of the `parts`; whichever, without them."""
    return Instance(generic.cls, generic.fields, None, True, generic.overridden_fields, parts or (generic,))


def is_named_tuple(value: Value) -> bool:
    """Whether it is a named tuple of which all items are known: nothing can be put in the place of one."""
    if not isinstance(value, Instance) or value.generic or value.cls.record is None or value.overridden_fields:
        return False
    plain = all(isinstance(base, Library) and base.path == "typing.NamedTuple" for base in value.cls.bases)
    return plain and bool(value.cls.bases) and value.fields.keys() == {each.name for each in value.cls.record}


@dataclass(slots=True, eq=False, repr=False)
class Function(Value):
    """A function of the analysed files, with the scope its free names live in."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Any
    owner: Class | None = None
    receiver: Value | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    kind: Literal["function", "static", "class", "property", "cached"] = "function"
    decorated: bool = False
    held: tuple[Value, ...] = ()  # what was assigned to its attributes
    registered: bool = False  # by a decorator of the program's own that gives it back


@dataclass(slots=True, eq=False, repr=False)
class Partial(Value):
    """`functools.partial(function, *positional, **keywords)`."""

    function: Value
    positional: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(slots=True, eq=False, repr=False)
class Imported(Value):
    """A name imported from another file of the project, not looked at yet. `name` None means the module itself."""

    module: str
    name: str | None
    level: int
    importer: str


@dataclass(slots=True, eq=False, repr=False)
class ModuleScope(Value):
    """Another module of the project; its names are made when they are first asked for."""

    frame: Any


def number(size: Size) -> Value:
    return Const(size) if isinstance(size, int) else Number(size)


def size_of(value: Value) -> Size | None:
    """The value as a size; an opaque object becomes a size of its own."""
    kind = type(value)
    if kind is Const:
        known = value.value  # type: ignore[attr-defined]
        return known if type(known) is int else int(known) if known is True or known is False else None
    if kind is Number or kind is Opaque:
        return value.size  # type: ignore[attr-defined]
    if isinstance(value, Tensor) and value.elements is not None and value.shape == ():
        return value.elements[0]
    return None


def may_be_array(value: Value) -> bool:
    """Whether a list that is repeated so often may be multiplied by the items of an array instead."""
    kind = type(value)
    if kind is Opaque:
        return value.array or bool(value.axes)  # type: ignore[attr-defined]
    return kind is Tensor and value.shape != ()  # type: ignore[attr-defined]


def is_shown(value: Value) -> bool:
    """Whether it is known to be a tensor of one of the libraries, or to have axes as one of either has them, which is shown
    where a name is bound to it."""
    return isinstance(value, Tensor) and bool(value.framework or value.shape) and "optional" not in value.marks


def is_numbering(value: Value) -> bool:
    """Whether it is the number of a round, or one made of such, which is 0, and 1, in one or another."""
    kind = type(value)
    if kind is Scalar:
        return value.numbers  # type: ignore[attr-defined]
    size = value.size if kind is Number else value._symbol if kind is Opaque else None  # type: ignore[attr-defined]
    return size is not None and any(atom.numbers for atom in S.symbols(size))


def is_integer(value: Value) -> bool:
    """Whether the value is a Python int, and no more than that is known of it as a rule."""
    return (isinstance(value, Scalar) and value.kind == "int") or (isinstance(value, Opaque) and value.integer)


def integer(value: Value) -> int | None:
    """The value as a known integer."""
    return value.value if isinstance(value, Const) and type(value.value) is int else None


def sizes_of(value: Value) -> tuple[Size | None, ...] | None:
    """A tuple, list or torch.Size as sizes (None for an entry that is not known), or None."""
    if isinstance(value, Sequence) and value.items is not None:
        return tuple(size_of(item) for item in value.items)
    return None


def is_none(value: Value) -> bool:
    return type(value) is Const and value.value is None


# Set of an estimator whose settings may be others than it was made with.
SETTINGS = " settings"


def perhaps_same(made: LibraryObject, *others: LibraryObject) -> LibraryObject:
    """What is done in place to one of a few tables or estimators may be done to each of them."""
    made.parts = others
    for other in others:
        other.parts = (*other.parts, made)
    return made


def all_of(value: LibraryObject) -> Iterator[LibraryObject]:
    """The object, and those that may be the same object."""
    waiting, seen = [value], {id(value)}
    while waiting:
        each = waiting.pop()
        yield each
        for part in each.parts:
            if isinstance(part, LibraryObject) and id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


# The arrays of which it is known what they hold: no longer than the statement that makes them goes on, for behind it anything
# may have changed that, by way of any name, view or object.
COUNTED: list[Tensor] = []


def hold_elements(tensor: Tensor, elements: tuple[Size, ...] | None) -> None:
    """It is known what the array holds, as long as it has no name; of a number of numpy's, which nobody can change, always."""
    if elements is not None:
        tensor.elements = elements
        if tensor.shape or tensor.framework != "numpy":
            COUNTED.append(tensor)


def forget_elements() -> None:
    """Another statement begins, or a function is given what may be such an array."""
    for tensor in COUNTED:
        tensor.elements = None
    COUNTED.clear()


def copy(tensor: Tensor, **changes: Any) -> Tensor:
    """A tensor like `tensor` with other fields; what was remembered of an unknown rank is dropped with the shape."""
    made = Tensor(
        tensor.framework, tensor.shape, tensor.strides, tensor.dtype, tensor.device, tensor.made, tensor.how,
        tensor.marks, tensor.source, tensor.reduced, None, tensor.layout_trail,
    )  # fmt: skip
    for name, value in changes.items():
        setattr(made, name, value)
    return made
