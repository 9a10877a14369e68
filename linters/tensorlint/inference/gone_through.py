"""What the expression that a loop or a comprehension goes through may share with others."""

from __future__ import annotations

import ast
from typing import Any

from tensorlint.inference.handling import last_name
from tensorlint.inference.values import Dictionary, Instance, Sequence, Value
from tensorlint.inference.walking import walk

# Functions that go through their arguments as their own items are asked for, and those that have done so before.
_LATE = frozenset(
    ["enumerate", "zip", "reversed", "iter", "map", "filter", "chain", "from_iterable", "islice", "cycle", "zip_longest", "pairwise", "starmap",
     "takewhile", "dropwhile", "accumulate", "compress", "batched", "groupby"]
)  # fmt: skip
_BEFORE = frozenset(["range", "list", "tuple", "sorted", "set", "frozenset", "dict", "copy", "deepcopy"])
# Expressions that give what nothing else holds: `rows + more`, as well as a display.
_OWN = (
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.Constant, ast.BinOp,
)  # fmt: skip


def parts(node: ast.expr) -> list[Any]:
    """The names and attributes in what a loop goes through, and before them an expression that may give a list which
    something else holds."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return [node]
    if isinstance(node, _OWN) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return []
    if isinstance(node, ast.GeneratorExp):
        return [each for generator in node.generators for each in parts(generator.iter)]
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in ("items", "values", "keys"):
            return parts(func.value)
        name = last_name(func)
        if name in _LATE:
            return [each for argument in node.args for each in parts(argument)]
        if name in _BEFORE:
            return []
    names = [part for part in walk(node) if isinstance(part, (ast.Name, ast.Attribute))]
    return [node, *names]


def root(node: ast.expr) -> str:
    """The name that an expression of attributes and items begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def held_by(value: Value | None) -> list[Value]:
    """The lists and dictionaries that a container or an object has in hand."""
    held: Any = ()
    if isinstance(value, Instance):
        held = value.held.values()
    elif isinstance(value, Dictionary) and value.items is not None:
        held = value.items.values()
    elif isinstance(value, Sequence) and value.items is not None:
        held = value.items
    return [
        each for each in held if isinstance(each, Dictionary) or (isinstance(each, Sequence) and each.kind != "tuple")
    ]
