"""Functions of libraries that call a function they are given: `functools.reduce`, `torch.vmap`, `np.vectorize`, ...

The function is followed once with what the library gives it. Where what it gives is not known, nothing is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from tensorlint.inference import aliases
from tensorlint.inference.contents import one_within
from tensorlint.inference.ops.broadcasting import broadcast
from tensorlint.inference.ops.literals import array_of
from tensorlint.inference.ops.reducing import marked_reduction
from tensorlint.inference.ops.table import STOPS
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    UNKNOWN,
    Class,
    Const,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Tensor,
    Value,
    copy,
    integer,
    is_none,
    sizes_of,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State

    Handler = Callable[[State, list[Value], dict[str, Value], ast.AST | None], Value | None]

AUTOGRAD = "torch.autograd.Function"
# Paths that no import has: what `torch.vmap(f)`, `np.vectorize(f)` and `Function.apply` are, which are then called.
_MAPPED, _VECTORIZED, _APPLIED = "torch.<mapped>", "numpy.<vectorized>", "torch.autograd.<applied>"
_LISTS_OF_LAYERS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential"})
_MOST = 16  # items that are gone through one by one
_NUMBERS = {"float64": "float", "float32": "float", "int64": "int", "int32": "int", "bool": "bool"}


def apply_of(cls: Class) -> Value:
    """`Cube.apply` of a class that derives from torch.autograd.Function."""
    return Partial(Library(_APPLIED), (cls,), {})


def _reduce(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    if len(args) not in (2, 3) or kwargs:
        return None
    gone_through = args[1]
    if isinstance(gone_through, LibraryObject) and gone_through.path not in _LISTS_OF_LAYERS:
        return None
    if not isinstance(gone_through, (Sequence, LibraryObject)):
        return None
    known: Sequence = interp.iterate(gone_through)
    if known.items is None or known.kind == "set" or not 0 < len(known.items) + len(args) - 2 <= _MOST:
        # What it has got so far may be anything, and nothing is known of the end.
        log = len(interp.mutations)
        interp.call(args[0], [Opaque(None), interp.any_item(known)], {}, node)
        interp.forget_since(log)
        return None
    first, *rest = [*args[2:], *known.items]
    for item in rest:
        first = interp.call(args[0], [first, item], {}, node)
    return first


def _vmap(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`torch.vmap(f, in_dims=0, out_dims=0)`."""
    words = dict(zip(("func", "in_dims", "out_dims"), args, strict=False)) | kwargs
    if (
        "func" not in words
        or len(args) > 3
        or words.keys() - {"func", "in_dims", "out_dims", "randomness", "chunk_size"}
    ):
        return None
    dims = Sequence("tuple", [words.get("in_dims", Const(0)), words.get("out_dims", Const(0))])
    return Partial(Library(_MAPPED), (words["func"], dims), {})


def _call_mapped(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """Each argument loses the axis along which it is gone through, and each result gets one."""
    function, dims, *given = args
    assert isinstance(dims, Sequence)
    into, out = dims.items or (UNKNOWN, UNKNOWN)
    axes = into.items if isinstance(into, Sequence) and into.kind == "tuple" else [into] * len(given)
    at = integer(out)
    if aliases.TIES.on or at is None or axes is None or len(axes) != len(given):
        return None
    sizes: list[Size] = []
    inner: list[Value] = []
    for value, axis in zip(given, axes, strict=True):
        if is_none(axis):
            inner.append(value)
            continue
        place = integer(axis)
        if not isinstance(value, Tensor) or value.framework != "torch" or value.shape is None or place is None:
            return None
        rank = len(value.shape)
        if not -rank <= place < rank:
            return None
        sizes.append(value.shape[place])
        shape = tuple(size for each, size in enumerate(value.shape) if each != place % rank)
        inner.append(Tensor("torch", shape, None, value.dtype, value.device))
    if not sizes:
        return None
    result = interp.call(function, inner, kwargs, node)  # keywords are handed on whole
    if len({value.dtype for value in inner if isinstance(value, Tensor)}) > 1:
        # Which type they get together is not always what it is without vmap, where some have no axes.
        result = _without_type(result)
    if isinstance(result, Sequence) and result.kind == "tuple" and result.items is not None:
        return Sequence("tuple", [_with_axis(item, at, sizes[0], node) for item in result.items])
    return _with_axis(result, at, sizes[0], node)


def _without_type(value: Value) -> Value:
    if isinstance(value, Sequence) and value.items is not None:
        return Sequence(value.kind, [_without_type(item) for item in value.items])
    return copy(value, dtype=None) if isinstance(value, Tensor) else value


def _with_axis(value: Value, at: int, size: Size, node: ast.AST | None) -> Value:
    if not isinstance(value, Tensor) or value.framework != "torch" or value.shape is None:
        return UNKNOWN
    rank = len(value.shape) + 1
    if not -rank <= at < rank:
        return UNKNOWN
    shape = list(value.shape)
    shape.insert(at % rank, size)
    return Tensor("torch", tuple(shape), None, value.dtype, value.device, node)


def _vectorize(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    if len(args) != 1 or kwargs.keys() - {"otypes", "doc", "cache"}:
        return None
    return Partial(Library(_VECTORIZED), (args[0],), {})


def _call_vectorized(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """A function of numbers that gives one number gives an array of numbers as large as its arguments."""
    function, *given = args
    arrays = [value for value in given if isinstance(value, Tensor)]
    shapes = [value.shape for value in arrays if value.shape is not None and value.framework == "numpy"]
    if kwargs or len(shapes) < len(arrays) or not any(shapes):
        return None
    numbers: list[Value] = []
    for value in given:
        kind = _NUMBERS.get(value.dtype or "") if isinstance(value, Tensor) else None
        if not isinstance(value, (Scalar, Number, Const)) and kind is None:
            return None
        numbers.append(value if kind is None else Scalar(kind))  # type: ignore[arg-type]
    log = len(interp.mutations)
    result = interp.call(function, numbers, {}, node)
    interp.forget_since(log)  # it is called for each of the numbers
    if not _is_number(result):
        return one_within([result])
    try:
        return Tensor("numpy", broadcast(*shapes), None, None, None, node)
    except STOPS:
        return UNKNOWN


def _along_axis(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`np.apply_along_axis(f, axis, array)`: what f gives of a row stands where the row was."""
    if len(args) < 3 or not isinstance(array := args[2], Tensor) or array.shape is None or array.framework != "numpy":
        return None
    axis, rank = integer(args[1]), len(array.shape)
    if axis is None or not -rank <= axis < rank:
        return None
    axis %= rank
    log = len(interp.mutations)
    row = Tensor("numpy", (array.shape[axis],), None, array.dtype)
    result = interp.call(args[0], [row, *args[3:]], kwargs, node)
    interp.forget_since(log)
    if _is_number(result):
        margin = Tensor("numpy", array.shape[:axis] + array.shape[axis + 1 :], None, None, None, node)
        return marked_reduction(margin, array, (axis,))
    if isinstance(result, Sequence):
        result = array_of(interp.call_context("numpy.array", node), result)
    if not isinstance(result, Tensor) or result.framework != "numpy" or result.shape is None:
        return UNKNOWN
    margin = Tensor("numpy", (*array.shape[:axis], *result.shape, *array.shape[axis + 1 :]), None, None, None, node)
    return marked_reduction(margin, array, (axis,)) if result.shape == () else margin


def _from_function(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`np.fromfunction(f, shape)`: whatever f gives of the arrays of all indices, one for each axis."""
    sizes = sizes_of(args[1]) if len(args) == 2 else None
    if not sizes or None in sizes or not kwargs.keys() <= {"dtype"}:
        return None
    log = len(interp.mutations)
    result = interp.call(args[0], [Tensor("numpy", sizes, None) for _ in sizes], {}, node)  # type: ignore[arg-type]
    interp.forget_since(log)
    return result


def _is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (int, float, complex))
    return isinstance(value, (Scalar, Number))


def _call_applied(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`Cube.apply(x)`: what the class's `forward` gives; of an input that it gives back, a view."""
    cls, *given = args
    assert isinstance(cls, Class)
    forward = interp.class_attribute(cls, "forward")
    if kwargs:
        return None
    keeps = interp.find_in_class(cls, "setup_context") is not None
    result = interp.call(forward, given if keeps else [Opaque(None), *given], {}, node)
    if keeps:
        interp.not_followed(interp.class_attribute(cls, "setup_context"), [*given, result], {})
        aliases.lose(result)
    if isinstance(result, Sequence) and result.kind == "tuple" and result.items is not None:
        return Sequence("tuple", [_given_back(item) for item in result.items])
    return _given_back(result)


def _given_back(value: Value) -> Value:
    if not isinstance(value, Tensor) or value.framework != "torch":
        return value if is_none(value) else UNKNOWN
    made = copy(value, axes=value.axes, kin=value.kin)
    aliases.tie(made, value)
    return made


HANDLERS: dict[str, Handler] = {
    "functools.reduce": _reduce,
    "torch.vmap": _vmap,
    "torch.func.vmap": _vmap,
    "functorch.vmap": _vmap,
    "numpy.vectorize": _vectorize,
    "numpy.apply_along_axis": _along_axis,
    "numpy.fromfunction": _from_function,
    _MAPPED: _call_mapped,
    _VECTORIZED: _call_vectorized,
    _APPLIED: _call_applied,
}


def call(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """The result, or UNKNOWN; a function that was not followed may have changed what it can reach."""
    result = HANDLERS[path](interp, args, kwargs, node)
    if result is None:
        for value in (*args, *kwargs.values()):
            interp.not_followed(value, [*args, *kwargs.values()], {})
        interp.escape(args, kwargs)
        return UNKNOWN
    return result
