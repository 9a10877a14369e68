"""Built-in functions that are asked whether something is so, which decides what code runs: `isinstance`, `hasattr`, `any`, `all`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tensorlint.inference.values import (
    UNKNOWN,
    Const,
    Instance,
    Library,
    Scalar,
    Sequence,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State


def has_attribute(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """`hasattr(value, name)`: known to be false of tensors that lack what outputs of models and tables have."""
    if len(args) == 2 and isinstance(args[0], Instance) and isinstance(args[1], Const):
        interp.attribute_of(args[0], str(args[1].value), node)  # it may be a property, which is asked for
    return Const(False) if len(args) == 2 and lacks(args[0], args[1]) else UNKNOWN


# What outputs of models and tables have, and tensors and arrays have not.
_OF_OTHERS = frozenset(
    ["logits", "loss", "last_hidden_state", "hidden_states", "pooler_output", "sample", "iloc", "columns", "to_numpy", "toarray",
     "todense", "keys", "items"]
)  # fmt: skip
_NO_TENSORS = frozenset(["list", "tuple", "dict", "str", "set", "bytes", "int", "float", "complex", "bool"])
# Libraries none of whose classes a tensor or an array is an instance of.
_OF_TABLES = frozenset({"pandas", "polars", "scipy", "PIL"})


def is_made(value: Value) -> bool:
    """Whether it is a tensor or an array for certain: one that an operation made, not an annotation. What is picked out of
    an array may be a text or an object."""
    if not isinstance(value, Tensor) or value.made is None or value.marks & {"parameter", "optional"}:
        return False
    return value.framework == "torch" or bool(value.shape)


def lacks(value: Value, name: Value) -> bool:
    return is_made(value) and isinstance(name, Const) and name.value in _OF_OTHERS


def is_instance(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """`isinstance(value, kinds)`, of tensors, constants and tuples."""
    if len(args) != 2:
        return UNKNOWN
    value = args[0]
    kinds = args[1].items or [UNKNOWN] if isinstance(args[1], Sequence) else [args[1]]
    paths = [each.path if isinstance(each, Library) else "" for each in kinds]
    if isinstance(value, Const) or (isinstance(value, Sequence) and value.kind == "tuple"):
        names = _kinds_of(value)
        if any(path in names for path in paths):
            return Const(True)
        return Const(False) if all(path in _UNRELATED for path in paths) else UNKNOWN
    if not isinstance(value, Tensor) or not is_made(value):
        return UNKNOWN
    own, other = ("numpy.ndarray", "torch.Tensor") if value.framework == "numpy" else ("torch.Tensor", "numpy.ndarray")
    if own in paths:
        return Const(True)
    return Const(False) if all(path == other or _holds_no_tensor(path) for path in paths) else UNKNOWN


# Classes of which none is a base of another, but for `bool`.
_UNRELATED = frozenset(f"builtins.{name}" for name in (*_NO_TENSORS, "frozenset", "bytearray", "slice", "range")) | {
    "torch.Tensor",
    "torch.nn.Module",
    "torch.nn.Parameter",
    "numpy.ndarray",
    "pathlib.Path",
}


def _kinds_of(value: Value) -> set[str]:
    """The classes of `_UNRELATED` that a constant or a tuple, which may be a named one, is an instance of."""
    kind = type(value.value) if isinstance(value, Const) else tuple
    return {f"builtins.{base.__name__}" for base in kind.__mro__[:-1]}


def truth_of(function: Any) -> Any:
    """The function's result, which is True or False whatever it is given."""

    def truth(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        found: Value = function(interp, args, kwargs, node)
        return Scalar("bool") if found is UNKNOWN else found

    return truth


def of_all(one_decides: bool) -> Any:
    """`any`, which a true item decides, and `all`, which a false one does."""

    def decide(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        truths: list[bool | None] = [None]
        many = args[0] if len(args) == 1 else UNKNOWN
        if isinstance(many, Sequence) and not many.spent and many.shape_of is None and many.items is not None:
            truths = [interp.truth(item) for item in many.items]
        interp.escape(args, kwargs, reads_tables=True)
        if one_decides in truths:
            return Const(one_decides)
        return Scalar("bool") if None in truths else Const(not one_decides)

    return decide


def _holds_no_tensor(path: str) -> bool:
    """Whether no tensor or array is an instance of the class: `list`, `pandas.DataFrame`."""
    library, _, name = path.partition(".")
    return name in _NO_TENSORS if library == "builtins" else library in _OF_TABLES
