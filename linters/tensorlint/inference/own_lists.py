"""Local names that only ever hold lists which their function made itself and shows to nobody: `loc = []`, `loc.append(y)`.

What is done to such a list is done to no other one, though an attribute has the same name: `zip(xs, self.loc)`.
"""

from __future__ import annotations

import ast

from tensorlint.inference.handling import last_name
from tensorlint.inference.kept import kept_with
from tensorlint.inference.walking import walk

_MADE = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.Constant)
# Of these libraries' functions none gives back a list that it was given.
_LIBRARIES = frozenset({"torch", "nn", "F", "np", "numpy"})
_READING = frozenset({"len", "range", "print", "sum", "zip", "enumerate", "reversed", "sorted", "tuple", "any", "all"})


def holds_only_own(code: ast.AST, name: str) -> bool:
    """Whether the name is local to the function, every list in it was made by the function, and none gets into other hands."""
    if not isinstance(code, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    known: dict[str, bool] = kept_with(code, "own lists", dict)
    if name not in known:
        known[name] = _holds_only_own(code, name)
    return known[name]


def _holds_only_own(code: ast.AST, name: str) -> bool:
    bound = False
    kept: set[int] = set()  # occurrences that make no other name for the list
    seen: list[ast.Name] = []
    for node in walk(code):
        match node:
            case ast.Name(id=found):
                if found == name:
                    seen.append(node)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                for part, given in _pairs(target, value):
                    if isinstance(part, ast.Name) and part.id == name and _is_new(given):
                        bound = True
                        kept.add(id(part))
            case ast.AugAssign(target=ast.Name() as target):
                kept.add(id(target))
            case ast.Attribute(value=ast.Name() as read) | ast.Subscript(value=ast.Name() as read):
                kept.add(id(read))
            case (
                ast.Attribute(value=ast.Subscript(value=ast.Name(id=found)))
                | ast.Subscript(value=ast.Subscript(value=ast.Name(id=found)))
            ):
                if found == name:
                    return False  # an item may be another list
            case ast.Starred(value=ast.Name() as read) | ast.Return(value=ast.Name() as read):
                kept.add(id(read))
            case ast.For(iter=ast.Name() as read) | ast.comprehension(iter=ast.Name() as read):
                kept.add(id(read))
            case ast.Call(func=func, args=args):
                if _only_reads(func):
                    kept.update(id(each) for each in args if isinstance(each, ast.Name))
            case (
                ast.arg(arg=found) | ast.MatchAs(name=found) | ast.MatchStar(name=found) | ast.ExceptHandler(name=found)
            ):
                if found == name:
                    return False
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                if name in names:
                    return False
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda() if node is not code:
                if getattr(node, "name", None) == name or _mentions(node, name):
                    return False  # it may run after the list was given back
            case ast.alias():
                if name in (node.name, node.asname):
                    return False
    return bound and all(id(each) in kept for each in seen)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What is given what: `loc, conf = [], []` gives each its own."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        if len(target.elts) == len(value.elts) and not any(isinstance(each, ast.Starred) for each in value.elts):
            return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in walk(node))


def _is_new(value: ast.expr) -> bool:
    """Whether the expression makes a list, or what is none."""
    if isinstance(value, ast.Call):
        named = isinstance(value.func, ast.Name) and value.func.id in ("list", "dict", "set")
        return named or _root(value.func) in _LIBRARIES
    return isinstance(value, _MADE)


def _only_reads(func: ast.expr) -> bool:
    return (isinstance(func, ast.Name) and last_name(func) in _READING) or _root(func) in _LIBRARIES


def _root(func: ast.expr) -> str | None:
    while isinstance(func, ast.Attribute):
        func = func.value
        if isinstance(func, ast.Name):
            return func.id
    return None
