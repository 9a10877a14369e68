"""Decorators of the program's own that give the function back that they are given, as registries do."""

from __future__ import annotations

import ast

from tensorlint.inference.kept import kept_with
from tensorlint.inference.values import Function, Value
from tensorlint.inference.walking import walk

# Attributes of a function that decide what it does.
_DECIDE = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__wrapped__"})


def gives_back(decorator: Value, called: bool) -> bool:
    """Whether `@decorator`, or `@decorator(...)` where it is `called`, leaves the name with the function itself."""
    if not isinstance(decorator, Function) or decorator.decorated or decorator.receiver is not None:
        return False
    code = decorator.node
    if not isinstance(code, ast.FunctionDef) or code.decorator_list:
        return False
    if not called:
        return kept_with(code, "gives_back", lambda: _gives_first(code))
    return kept_with(code, "makes_one_that_gives_back", lambda: _makes_one(code))


def _makes_one(code: ast.FunctionDef) -> bool:
    """`def register(name): def keep(function): ...; return keep`."""
    inner = [each for each in code.body if isinstance(each, ast.FunctionDef)]
    if len(inner) != 1 or inner[0].decorator_list:
        return False
    return _always_gives(code, inner[0].name, definitions=1) and _gives_first(inner[0])


def _gives_first(code: ast.FunctionDef) -> bool:
    """`def register(function): ...; return function`."""
    given = [*code.args.posonlyargs, *code.args.args]
    return bool(given) and _always_gives(code, given[0].arg)


def _always_gives(code: ast.FunctionDef, name: str, definitions: int = 0) -> bool:
    """Whether the function ends with what the name stood for at first, wherever it ends; with the function so called
    where there is one `definition` of it."""
    last = code.body[-1]
    if not isinstance(last, ast.Return):
        return False
    own = [part for statement in code.body for part in _own_parts(statement)]
    if any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in own):
        return False
    if not all(_is_name(part.value, name) for part in own if isinstance(part, ast.Return)):
        return False
    for part in walk(code):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and part is not code:
            definitions -= part.name == name
        if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load):
            return False
        if isinstance(part, (ast.Global, ast.Nonlocal)) and name in part.names:
            return False
        if isinstance(part, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and part.name == name:
            return False
        if isinstance(part, (ast.Import, ast.ImportFrom, ast.Try, ast.TryStar)):
            return False
        if isinstance(part, ast.Attribute) and part.attr in _DECIDE:
            return False
    return definitions == 0


def _own_parts(statement: ast.stmt) -> list[ast.AST]:
    """All of a statement but what functions and classes within it are made of."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [statement]
    while waiting:
        part = waiting.pop()
        found.append(part)
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(part)
    return found


def _is_name(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def only_wraps(code: ast.AST, calls: int) -> bool:
    """Whether so many calls of the function, and of what it gives, do nothing but define the functions that they give."""
    if not isinstance(code, ast.FunctionDef):
        return False
    for node in code.body:
        if isinstance(node, ast.FunctionDef):
            if calls > 1 and not only_wraps(node, calls - 1):
                return False
        elif not (isinstance(node, ast.Return) and isinstance(node.value, ast.Name)):
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                return False
    return True
