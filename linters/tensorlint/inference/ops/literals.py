"""Nested lists and numbers as arrays: what `np.array([[1, 2], [3, 4]])` and `torch.tensor(...)` make of them."""

from __future__ import annotations

from tensorlint.inference import layout
from tensorlint.inference import sizes as S
from tensorlint.inference.layout import Shape
from tensorlint.inference.ops import dtypes
from tensorlint.inference.ops.table import Call, Undecided
from tensorlint.inference.values import (
    Const,
    Framework,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Tensor,
    Value,
    size_of,
)

_KINDS = ("bool", "int64", "float64", "complex128")


def nested(value: Value, depth: int = 0) -> tuple[Shape, list[Value] | None]:
    """The shape of nested sequences and their leaves, None where a leaf's type is not known.

    Raises where even the rank is not known: an item may be a list in turn.
    """
    if isinstance(value, (Const, Number, Scalar)):
        if isinstance(value, Const) and not isinstance(value.value, (bool, int, float, complex)):
            raise Undecided
        return (), [value]
    if isinstance(value, Tensor):
        if value.shape is None:
            raise Undecided
        return value.shape, [value]
    if isinstance(value, Range):
        if value.start is None or value.stop is None or value.step != 1:
            raise Undecided
        length = S.subtract(value.stop, value.start)
        return (length,), [Scalar("int")]
    if not isinstance(value, Sequence) or depth > 8 or value.kind not in ("list", "tuple"):
        raise Undecided
    if value.items is None:
        if value.shape_of is not None:
            raise Undecided
        inner, leaves = nested(value.element, depth + 1)
        if any(atom.variant for size in inner for atom in S.symbols(size)):
            raise Undecided
        return (value.length if value.length is not None else S.symbol(), *inner), leaves
    if not value.items:
        return (0,), []
    shape, first_leaves = nested(value.items[0], depth + 1)
    all_leaves: list[Value] | None = list(first_leaves) if first_leaves is not None else None
    for item in value.items[1:]:
        inner, leaves = nested(item, depth + 1)
        if len(inner) != len(shape):
            raise Undecided
        if inner != shape:
            # Rows of different lengths are refused, so sizes that meet are equal.
            shape = tuple(a if isinstance(a, int) or a == b else b for a, b in zip(shape, inner, strict=True))
            if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(shape, inner, strict=True)):
                raise Undecided
        if all_leaves is not None and leaves is not None:
            all_leaves = [*all_leaves, *leaves] if len(all_leaves) < 256 else [*all_leaves, _widest(leaves)]
        else:
            all_leaves = None
    return (len(value.items), *shape), all_leaves


def _widest(leaves: list[Value]) -> Value:
    best = leaves[0] if leaves else Scalar("bool")
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            return leaf
        if (dtypes.of_scalar(leaf) or 0) > (dtypes.of_scalar(best) or 0):
            best = leaf
    return best


def leaf_dtype(leaves: list[Value] | None, framework: Framework, default: str | None) -> str | None:
    """The dtype that numpy (int64, float64) or torch (int64, the default type) gives to literals."""
    if leaves is None:
        return None
    if not leaves:
        return "float64" if framework == "numpy" else default
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


def array_of(call: Call, value: Value, framework: Framework = "numpy") -> Tensor:
    """A value as numpy takes it where an array is expected."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Opaque):
        return Tensor(framework)
    try:
        shape, leaves = nested(value)
    except Undecided:
        return Tensor(framework)
    result = Tensor(
        framework,
        shape,
        layout.contiguous(shape),
        leaf_dtype(leaves, framework, call.default_dtype),
        None,
        call.node,
    )
    result.elements = elements_of(value)
    return result
