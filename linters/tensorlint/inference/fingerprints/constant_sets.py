"""Set displays that the compiler turns into a frozenset constant, whose order in the bytecode follows PYTHONHASHSEED."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.fingerprints.scopes import Names
from tensorlint.inference.fingerprints.values import Elements, element_kind, elements_of


def _folded(node: ast.expr) -> Elements | None:
    """The element's kind if the compiler makes it a constant, else None."""
    if isinstance(node, ast.Constant):
        return element_kind(node.value)
    if isinstance(node, ast.Tuple):
        parts = [_folded(part) for part in node.elts]
        if None in parts:
            return None
        return "strings" if "strings" in parts else "plain"
    if isinstance(node, ast.UnaryOp):
        return _folded(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _folded(node.left), _folded(node.right)
        if left is None or right is None:
            return None
        return "strings" if "strings" in (left, right) else "plain"
    return None


def _is_frozen(node: ast.Set, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.Compare):
        if parent.comparators[-1] is node and isinstance(parent.ops[-1], (ast.In, ast.NotIn)):
            return True
    elif isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and parent.iter is node:
        return True
    return len(node.elts) >= 3


def constant_sets(root: ast.AST, names: Names) -> Iterator[ast.Set]:
    """The sets of constants in the code of a function or class whose order moves; two texts at least are in each."""
    pending: list[ast.AST] = _code(root)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Set):
            kinds = [_folded(element) for element in node.elts]
            known: list[Elements] = [kind for kind in kinds if kind is not None]
            if len({ast.dump(element) for element in node.elts}) < 2:
                known = []
            if (
                len(known) == len(kinds)
                and elements_of(known) == "strings"
                and _is_frozen(node, names.parents.get(node))
            ):
                yield node
        inner = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        pending += [*_code(node), *_defaults(node)] if inner else list(ast.iter_child_nodes(node))


def _code(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Lambda):
        return [node.body]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return list(node.body)
    if isinstance(node, ast.ClassDef):  # the body ran once; what stays are its functions
        return [part for part in node.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    return [node]


def _defaults(node: ast.AST) -> list[ast.AST]:
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    return [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]


def is_membership(node: ast.Set, names: Names) -> bool:
    """`x in {...}`: a tuple does the same there."""
    parent = names.parents.get(node)
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        return False
    return isinstance(parent, ast.Compare) and parent.comparators[-1] is node
