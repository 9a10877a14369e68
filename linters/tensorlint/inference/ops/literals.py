"""Nested lists and numbers as arrays: what `np.array([[1, 2], [3, 4]])` and `torch.tensor(...)` make of them."""

from __future__ import annotations

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import arguments, dtypes, ranges
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import (
    Class,
    Const,
    Dictionary,
    Framework,
    Function,
    Instance,
    Library,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Value,
    hold_elements,
    is_none,
    size_of,
)

# Beside the leaves of what may be empty: of no numbers at all an array of the library's default type is made.
PERHAPS_NONE = Library("no leaves, perhaps")

_KINDS = ("bool", "int64", "float64", "complex128")


def nested(
    value: Value, depth: int = 0, *, numbers: bool = False, texts: bool = False
) -> tuple[Shape, list[Value] | None]:
    """The shape of nested sequences and one leaf of each kind, None where a leaf's type is not known.

    Raises where even the rank is not known: an item may be a list in turn. `numbers` says that a tensor in a list is
    read as a number, as `torch.tensor` reads it: `torch.tensor([torch.ones(1)])` has one axis, np.array's has two; `texts`
    that texts may be items, too.
    """
    if isinstance(value, Opaque) and (value.integer or (numbers and value.told == "int")):
        return (), [Scalar("int")]
    if isinstance(value, Opaque) and value.told == "real" and (numbers or not value.optional):
        return (), [Scalar("real")]
    if isinstance(value, Opaque) and value.lengths and not value.optional:
        told: list[Value] = [Scalar("int" if value.told == "ints" else "real")]
        if None in value.lengths:
            told.append(PERHAPS_NONE)
        return tuple(S.of_symbol(S.Symbol(None, plural=True)) if n is None else n for n in value.lengths), told
    if isinstance(value, (Const, Number, Scalar)):
        if isinstance(value, Const) and not isinstance(value.value, (bool, int, float, complex)):
            if not texts or not depth or not isinstance(value.value, (str, bytes)):
                raise Undecided
        return (), [value]
    if isinstance(value, Tensor):
        if numbers and depth and value.framework == "torch":
            return (), [value]
        if value.shape is None:
            raise Undecided
        return value.shape, [value]
    if isinstance(value, Range):
        if value.start is None or value.stop is None or value.step != 1:
            raise Undecided
        span = S.subtract(value.stop, value.start)
        length = ranges.clipped(span)
        if not arguments.at_least(span, 1):
            return (length,), [] if length == 0 else [Scalar("int"), PERHAPS_NONE]
        return (length,), [Scalar("int")]
    if not isinstance(value, Sequence) or depth > 8 or value.kind not in ("list", "tuple"):
        raise Undecided
    if value.items is None:
        if value.shape_of is not None:
            raise Undecided
        inner, leaves = nested(value.element, depth + 1, numbers=numbers, texts=texts)
        # Rows of different lengths are refused, and a list that is made an array is taken to hold several.
        inner = tuple(S.symbol() if any(atom.variant for atom in S.symbols(size)) else size for size in inner)
        if value.length is not None:
            length = value.length
        else:  # where a condition chose what is in it, nothing may be
            length = S.counter() if value.some is False else S.of_symbol(S.Symbol(None, plural=True))
        if value.some is True:
            return (length, *inner), leaves
        # `[0] * i`: without an item there is neither a row to tell the other axes nor a number to tell the type.
        fewest = arguments.least(length, 2, 2)  # where sizes are neither 0 nor 1
        if fewest is None or fewest < 1 or value.some is False:
            if inner:
                raise Undecided
            leaves = _perhaps(leaves)
        elif not inner and _is_of_any_length(length):
            leaves = _perhaps(leaves)
        return (length, *inner), leaves
    if not value.items:
        return (0,), []
    rows: list[tuple[Shape, list[Value] | None]] = []
    unknown = False
    for item in value.items:
        try:
            rows.append(nested(item, depth + 1, numbers=numbers, texts=texts))
        except Undecided:
            # torch refuses items of different shapes: beside a number there are numbers.
            if not numbers:
                raise
            unknown = True
    if not rows:
        raise Undecided
    shape, first_leaves = rows[0]
    kinds: dict[object, Value] | None = (
        None if first_leaves is None or unknown else {_kind(leaf): leaf for leaf in first_leaves}
    )
    for inner, leaves in rows[1:]:
        if len(inner) != len(shape):
            raise Undecided
        if inner != shape:
            # Rows of different lengths are refused, so sizes that meet are equal.
            if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(shape, inner, strict=True)):
                raise Undecided
            shape = tuple(a if isinstance(a, int) or a == b else b for a, b in zip(shape, inner, strict=True))
        if kinds is None or leaves is None:
            kinds = None
            continue
        if not (PERHAPS_NONE in leaves and PERHAPS_NONE in kinds.values()):
            kinds.pop(PERHAPS_NONE, None)  # beside a row that has items each has
            leaves = [leaf for leaf in leaves if leaf is not PERHAPS_NONE]
        for leaf in leaves:
            kinds.setdefault(_kind(leaf), leaf)
    return (len(value.items), *shape), None if kinds is None else list(kinds.values())


def _perhaps(leaves: list[Value] | None) -> list[Value] | None:
    return None if leaves is None else [*(leaf for leaf in leaves if leaf is not PERHAPS_NONE), PERHAPS_NONE]


def _is_of_any_length(length: S.Size) -> bool:
    """Whether nobody speaks of the length: what is gone through may have been empty."""
    atom = S.single(length)
    return atom is not None and atom.name is None and atom.written is None and atom.plural


def _kind(leaf: Value) -> object:
    """Leaves of one kind weigh the same in the array's type."""
    if leaf is PERHAPS_NONE:
        return leaf
    if isinstance(leaf, Tensor):
        return leaf.dtype or leaf
    if isinstance(leaf, Const) and type(leaf.value) is int and not -(2**63) <= leaf.value < 2**63:
        return "big"
    return dtypes.of_scalar(leaf)


def leaf_dtype(leaves: list[Value] | None, framework: Framework, default: str | None) -> str | None:
    """The dtype that numpy (int64, float64) or torch (int64, the default type) gives to literals."""
    if leaves is None:
        return None
    if not leaves:
        return "float64" if framework == "numpy" else default
    if PERHAPS_NONE in leaves:
        of_some = leaf_dtype([leaf for leaf in leaves if leaf is not PERHAPS_NONE], framework, default)
        return of_some if of_some == leaf_dtype([], framework, default) else None
    kind = -1
    arrays: str | None = None
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            if leaf.dtype is None:
                return None
            arrays = leaf.dtype if arrays is None else dtypes.numpy_promote(arrays, leaf.dtype)
            if arrays is None:
                return None
            continue
        if isinstance(leaf, Const) and type(leaf.value) is int and not -(2**63) <= leaf.value < 2**63:
            return None
        scalar = dtypes.of_scalar(leaf)
        if scalar is None:
            return None
        kind = max(kind, scalar)
    if framework == "torch":
        if arrays is not None:
            # 0-dim tensors among the numbers: torch reads them as numbers.
            return None
        return ("bool", "int64", default, dtypes.complex_of(default))[kind]
    if arrays is None:
        return _KINDS[kind]
    if kind < 0:
        return arrays
    return dtypes.numpy_promote(arrays, _KINDS[kind])


def elements_of(value: Value) -> tuple[S.Size, ...] | None:
    """The integers of a short flat list, which an array of sizes keeps: `np.prod([h, w])`, `torch.tensor(n)`."""
    if isinstance(value, Sequence):
        if value.items is None or len(value.items) > 8:
            return None
        found = []
        for item in value.items:
            if isinstance(item, Opaque):
                return None
            size = size_of(item)
            if size is None:
                return None
            found.append(size)
        return tuple(found)
    if isinstance(value, (Const, Number)):
        size = size_of(value)
        return None if size is None or (isinstance(value, Const) and type(value.value) is not int) else (size,)
    return None


_CONVERTIBLE = frozenset([
    "__array__", "__array_interface__", "__array_struct__", "__buffer__", "__len__", "__getitem__", "__float__", "__int__",
    "__complex__", "__index__", "__getattr__", "__getattribute__",
])  # fmt: skip


def of_objects(value: Value, depth: int = 0) -> bool:
    """Whether a value is what only an array of objects can hold, or a list that has such a one."""
    if isinstance(value, Sequence) and value.kind in ("list", "tuple"):
        return depth < 4 and any(of_objects(item, depth + 1) for item in value.items or (value.element,))
    if isinstance(value, Sequence):
        return value.kind == "set"
    if isinstance(value, Instance):
        plain = all(isinstance(base, Library) and base.path == "builtins.object" for base in value.cls.bases)
        return plain and not _CONVERTIBLE & value.cls.methods.keys()
    if isinstance(value, Library):  # what is imported from elsewhere may be data
        return value.path.startswith("builtins.")
    return is_none(value) or isinstance(value, (Dictionary, Function, Class, Slice))


def array_of(call: Call, value: Value, framework: Framework = "numpy", *, texts: bool = False) -> Tensor:
    """A value as numpy takes it where an array is expected."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Opaque):
        return Tensor(framework)
    try:
        shape, leaves = nested(value, texts=texts)
    except Undecided:
        return Tensor(framework, dtype=dtypes.OBJECT if of_objects(value) else None)
    result = Tensor(
        framework,
        shape,
        layout.contiguous(shape),
        leaf_dtype(leaves, framework, call.default_dtype),
        None,
        call.node,
    )
    hold_elements(result, elements_of(value))
    return result
