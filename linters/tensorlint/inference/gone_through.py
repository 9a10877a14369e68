"""What the expression that a loop or a comprehension goes through may share with others."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tensorlint.inference.contents import items_of, one_within
from tensorlint.inference.handling import last_name
from tensorlint.inference.values import UNKNOWN, Dictionary, Instance, Sequence, Value
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


def parts(node: ast.expr) -> list[ast.expr]:
    """The names and attributes that a loop goes through, and expressions that may give a list which something else holds."""
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
    return [node]


def found(node: ast.expr, counted: Value, lookup: Callable[[str], Value | None]) -> list[tuple[str, Value]]:
    """The lists and dictionaries, by their names, that are gone through while the loop runs, not copied before; with no
    name what an expression gave, `f(rows)`, `rows or others`, and what others hold, `enumerate(rows["a"])`."""
    known: list[tuple[str, Value]] = []
    for each in parts(node):
        if isinstance(each, ast.Name):
            known.append((each.id, lookup(each.id) or UNKNOWN))
        elif isinstance(each, ast.Attribute):
            known.append((each.attr, counted if each is node else Sequence("list")))
            owner = lookup(each.value.id) if isinstance(each.value, ast.Name) and each is not node else None
            if isinstance(owner, Instance):
                known.append(("", owner.held.get(each.attr, UNKNOWN)))
        elif each is node and isinstance(counted, Sequence) and counted.kind in ("tuple", "set"):
            continue
        else:
            if each is node:
                known.append(("", counted))
            for part in walk(each):
                if isinstance(part, ast.Attribute):
                    known.append((part.attr, Sequence("list")))
                elif isinstance(part, ast.Name) and (value := lookup(part.id)) is not None:
                    known.append((part.id, value))
                    if each is not node:
                        known += [("", inner) for inner in _held_by(value)]
    return [(name, value) for name, value in known if isinstance(value, (Sequence, Dictionary))]


def one_item(gone: list[tuple[str, Value]]) -> Sequence:
    """Items that may be any which these hold."""
    return Sequence("list", None, one_within([item for _, value in gone for item in _held_by(value)]))


def _held_by(value: Value) -> list[Value]:
    """What a container holds, and the lists and dictionaries that an object does."""
    if isinstance(value, Instance):
        return [each for each in value.held.values() if isinstance(each, (Sequence, Dictionary))]
    return items_of(value) if isinstance(value, (Sequence, Dictionary)) else []
