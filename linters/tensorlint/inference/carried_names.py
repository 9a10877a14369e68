"""What a round of a loop sees of the round before it.

    for x, y in loader:
        out = model(x)
        losses.append(loss(out, y))

No round sees another one's `x`, `y`, `out` or `losses`: following the loop once tells what is true of every round.
"""

from __future__ import annotations

import ast

from tensorlint.inference.handling import last_name
from tensorlint.inference.walking import walk

# Managers behind whose block the round goes on only if the block came to its end.
_PASSING = frozenset(["no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast"])
Loop = ast.For | ast.AsyncFor | ast.While


def read_from_before(loop: Loop) -> tuple[set[str], set[str], set[str]]:
    """The names that a round may read as the round before it left them, those that it only adds a number to, and those that
    each round binds, wherever it is left: what these hold behind the loop is of the last one."""
    reader = _Reader()
    bound: set[str] = set()
    if isinstance(loop, ast.While):
        reader.reads(loop.test, bound)
    else:
        for part in walk(loop.iter):
            if isinstance(part, (ast.GeneratorExp, ast.Lambda)):  # worked out in the rounds
                reader.reads(part, bound)
        reader.binds(loop.target, bound)
    reader.block(loop.body, bound)
    return reader.read, reader.added - reader.read, bound.intersection(*reader.left)


class _Reader:
    """Reads statements in their order; `bound` holds the names that the round has bound for certain."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.added: set[str] = set()
        self.left: list[set[str]] = []  # what is bound where the round is left early
        self.inner = 0  # loops within the round

    def reads(self, node: ast.AST, bound: set[str]) -> None:
        for part in walk(node):
            if isinstance(part, ast.Name) and part.id not in bound and not isinstance(part.ctx, ast.Store):
                self.read.add(part.id)

    def binds(self, target: ast.expr, bound: set[str]) -> None:
        if isinstance(target, ast.Name):
            bound.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.binds(part, bound)
        elif isinstance(target, ast.Starred):
            self.binds(target.value, bound)
        else:
            self.reads(target, bound)

    def block(self, body: list[ast.stmt], bound: set[str]) -> None:
        for statement in body:
            self.statement(statement, bound)

    def statement(self, node: ast.stmt, bound: set[str]) -> None:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value is not None:
                self.reads(node.value, bound)
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self.binds(target, bound)
        elif isinstance(node, ast.AugAssign):
            self.reads(node.value, bound)
            if isinstance(node.target, ast.Name):
                if node.target.id not in bound:
                    self.added.add(node.target.id)
            else:
                self.reads(node.target, bound)
        elif isinstance(node, ast.Expr) and (call := added_to_name(node.value)) is not None:
            self.reads(call.args[0], bound)
        elif isinstance(node, ast.If):
            self.reads(node.test, bound)
            first, second = set(bound), set(bound)
            self.block(node.body, first)
            self.block(node.orelse, second)
            bound |= first & second
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self.loop(node, bound)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self.with_block(node, bound)
        elif isinstance(node, (ast.Try, ast.TryStar)):
            self.block(node.body, set(bound))
            for handler in node.handlers:
                self.block(handler.body, set(bound))
            self.block(node.orelse, set(bound))
            self.block(node.finalbody, set(bound))
        elif isinstance(node, (ast.Break, ast.Continue)):
            if not self.inner:
                self.left.append(set(bound))
        else:
            self.reads(node, bound)

    def loop(self, node: Loop, bound: set[str]) -> None:
        self.reads(node.test if isinstance(node, ast.While) else node.iter, bound)
        inner = set(bound)
        if not isinstance(node, ast.While):
            self.binds(node.target, inner)
        self.inner += 1
        self.block(node.body, inner)
        self.inner -= 1
        self.block(node.orelse, set(bound))

    def with_block(self, node: ast.With | ast.AsyncWith, bound: set[str]) -> None:
        for item in node.items:
            self.reads(item.context_expr, bound)
            if item.optional_vars is not None:
                self.binds(item.optional_vars, bound)
        passing = all(passes(item.context_expr) for item in node.items)
        self.block(node.body, bound if passing else set(bound))


def passes(manager: ast.expr) -> bool:
    """Whether the block of a `with` comes to its end, if the program goes on behind it."""
    return isinstance(manager, ast.Call) and last_name(manager.func) in _PASSING


def added_to_name(node: ast.expr) -> ast.Call | None:
    """`names.append(item)`, `names.extend(items)`"""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend"):
        if isinstance(node.func.value, ast.Name) and len(node.args) == 1 and not node.keywords:
            return node
    return None
