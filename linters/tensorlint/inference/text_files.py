"""numpy's text files: how many axes `np.loadtxt` gives depends on the file, and the program says what it relies on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import sizes as S
from tensorlint.inference.values import NONE, UNKNOWN, Tensor, Value, integer
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.state import State

TEXT_FILES = frozenset({"numpy.loadtxt", "numpy.genfromtxt"})


def _many() -> S.Size:
    return S.of_symbol(S.Symbol(None, plural=True))


def read(interp: State, kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """`np.loadtxt`: a table of one row or of one column loses its axis, unless ndmin=2. One that is indexed by row and
    column right afterwards (`data[:, 1]`) has both, or the program stops there."""
    if integer(kwargs.get("ndmin", NONE)) == 2 or _is_indexed_twice(interp.frame.node, node):
        return Tensor("numpy", (_many(), _many()), None, None, None, node)
    return UNKNOWN


def _is_indexed_twice(scope: ast.AST, made: ast.AST | None) -> bool:
    """Whether the name that `made` is assigned to is indexed by row and column in the same block of statements."""
    for body in _blocks(scope):
        for at, statement in enumerate(body):
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            target = statement.targets[0]
            if made is not statement.value or not isinstance(target, ast.Name):
                continue
            for later in body[at + 1 :]:
                if isinstance(later, (ast.Assign, ast.Expr)):
                    for part in walk(later.value):
                        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                            if part.value.id == target.id and _has_two_indices(part.slice):
                                return True
                if not isinstance(later, (ast.Assign, ast.Expr)) or any(
                    isinstance(part, ast.Name) and part.id == target.id
                    for each in (later.targets if isinstance(later, ast.Assign) else ())
                    for part in walk(each)
                ):
                    return False
    return False


def _blocks(scope: ast.AST) -> list[list[ast.stmt]]:
    return [body for node in walk(scope) if isinstance(body := getattr(node, "body", None), list)]


def _has_two_indices(index: ast.expr) -> bool:
    """A slice and one more of whatever, where neither makes an axis or stands for several."""
    if not isinstance(index, ast.Tuple) or len(index.elts) != 2:
        return False
    return isinstance(index.elts[0], ast.Slice) and not any(
        isinstance(part, ast.Constant) and part.value in (None, ...) for part in index.elts
    )
