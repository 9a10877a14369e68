"""Sizes that stand where they are used: `torch.zeros(len(rows))` says what `n = len(rows)` and `torch.zeros(n)` say.

A size with a name of its own is taken to be neither 0 nor 1. One that the code does not name, but makes a tensor of, is
taken so too, and is shown as the code writes it, where that means the same in the whole function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference import sizes as S
from tensorlint.inference.state import State
from tensorlint.inference.values import Number, Sequence, Value

# Functions and methods that are told the sizes of their result.
TOLD_SIZES = frozenset(
    ["zeros", "ones", "empty", "full", "rand", "randn", "randint", "normal", "uniform", "standard_normal", "random", "integers", "new_zeros", "new_ones", "new_empty", "new_full", "view", "reshape", "expand", "broadcast_to", "arange", "range"]
)  # fmt: skip


def read(interp: State, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> None:
    """Take the sizes among the arguments for those of several items."""
    for written, value in zip(node.args, args, strict=False):
        take(interp, written, value)
    for keyword in node.keywords:
        if keyword.arg in ("size", "shape") and keyword.arg in kwargs:
            take(interp, keyword.value, kwargs[keyword.arg])


def take(interp: State, written: ast.expr, value: Value) -> None:
    """Take what the expression counts for several items."""
    if isinstance(value, Sequence):
        if value.items is not None and isinstance(written, (ast.Tuple, ast.List)):
            for each, item in zip(written.elts, value.items, strict=False):
                take(interp, each, item)
        return
    if not isinstance(value, Number):
        return
    for factor in _factors(written):
        counted = _counted(factor)
        if counted is None:
            continue
        size = value if factor is written else interp.eval(factor)
        atom = S.single(size.size) if isinstance(size, Number) else None
        if atom is None or atom.name is not None or atom.variant or atom.numerator is not None:
            continue
        atom.plural = True
        if atom.written is None and _means_one(interp, counted):
            atom.written = ast.unparse(factor)
            atom.scope = interp.frame.node


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    """`len(a)` and `b.shape[0]` of `len(a) * b.shape[0]`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node


def _counted(node: ast.expr) -> ast.expr | None:
    """x of `len(x)`, `x.shape[0]`, `x.size(0)`, where x is a name, a field or an item of one."""
    found: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            found = node.value.value
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            found = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "size":
            found = node.func.value
    return found if found is not None and _is_place(found) else None


def _is_place(node: ast.expr) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.Name)):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def _means_one(interp: State, counted: ast.expr) -> bool:
    """Whether it is a name that holds one object in the whole function, or a field of self that only an initialiser sets."""
    if isinstance(counted, ast.Attribute):
        facts = interp.file.facts
        if counted.attr in facts.unstable_attributes or counted.attr in facts.foreign_attributes:
            return False
        return isinstance(counted.value, ast.Name) and counted.value.id == interp.frame.first_argument
    if not isinstance(counted, ast.Name):
        return False
    name, frame = counted.id, interp.frame
    bound = frame.facts.textual.get(name, 0)
    return name in frame.env and name not in frame.facts.shared and bound == (name not in interp.parameters)
