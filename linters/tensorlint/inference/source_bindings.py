"""What binds a name in a scope, and what a class's methods assign to `self.name`: read off the source, in no order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.kept import kept_with
from tensorlint.inference.walking import children, statements, walk

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_INNER = frozenset([*FUNCTIONS, *COMPREHENSIONS, ast.Lambda, ast.ClassDef])
_BINDING = frozenset(
    [*FUNCTIONS, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.Import,
     ast.ImportFrom, ast.withitem]
)  # fmt: skip


def binds(target: ast.AST | None, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, not those of the functions, classes and comprehensions within it."""
    pending = children(scope)
    while pending:
        node = pending.pop()
        yield node
        if type(node) not in _INNER:
            pending += children(node)


def _binding_nodes(scope: ast.AST) -> list[ast.AST]:
    """Of the scope's own nodes those that may bind a name; they are asked for by every name."""
    return kept_with(scope, "binding nodes", lambda: [node for node in own_nodes(scope) if type(node) in _BINDING])


def _declaring(tree: ast.Module) -> list[tuple[ast.AST, frozenset[str]]]:
    """The functions that declare names global, with these."""
    found: list[tuple[ast.AST, frozenset[str]]] = []
    for node in statements(tree):
        if isinstance(node, FUNCTIONS):
            names = [name for part in node.body if isinstance(part, ast.Global) for name in part.names]
            if names:
                found.append((node, frozenset(names)))
    return found


def _of_module(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """What may bind a name in the module's own scope, and in the functions that declare `name` global."""
    yield from _binding_nodes(tree)
    for function, names in kept_with(tree, "declaring globals", lambda: _declaring(tree)):
        if name in names:
            yield from _binding_nodes(function)


def imports_all(tree: ast.Module) -> bool:
    """Whether the module's own scope has a `from layers import *`, which may bind any name."""
    return any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in _binding_nodes(tree))


def bindings(scope: ast.AST, name: str) -> Iterator[tuple[ast.AST | None, ast.expr | None, bool]]:
    """(target, value, whether the target takes the value's elements) of everything that binds `name` in the scope."""
    if isinstance(scope, COMPREHENSIONS):
        for generator in scope.generators:
            if any(binds(part, name) for part in walk(generator.target)):
                yield generator.target, generator.iter, True
        return
    if not isinstance(scope, (*FUNCTIONS, ast.Lambda, ast.Module)):
        return
    if not isinstance(scope, ast.Module):
        arguments = scope.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if each is not None and each.arg == name:
                yield each, None, False
    for node in _of_module(scope, name) if isinstance(scope, ast.Module) else _binding_nodes(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if any(binds(part, name) for part in walk(target)):
                    yield target, node.value, False
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and binds(node.target, name):
            yield (node.target if not isinstance(node, ast.AugAssign) else node), node.value, False
        elif isinstance(node, (ast.For, ast.AsyncFor)) and any(binds(part, name) for part in walk(node.target)):
            yield node.target, node.iter, True
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name == name:
            yield node, None, False
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if any((each.asname or each.name.partition(".")[0]) == name for each in node.names):
                yield node, None, False
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            if any(binds(part, name) for part in walk(node.optional_vars)):
                yield node, None, False


def assigned(owner: ast.ClassDef, own: str, attribute: str) -> Iterator[ast.expr]:
    """What the methods of a class assign to `self.attribute`; an unpacking counts as something unknown."""
    for node in walk(owner):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for part in walk(target):
                    if isinstance(part, ast.Attribute) and part.attr == attribute and binds(part.value, own):
                        yield node.value if part is target else ast.Constant(...)


def values_behind(scope: ast.AST, names: set[str], most: int) -> tuple[list[ast.expr], set[str]]:
    """What binds the names in the scope, and the names in that, and so on; with all these names. Once they are more than `most`
    nothing further is looked up."""
    values: list[ast.expr] = []
    seen, waiting = set(names), sorted(names)
    while waiting and len(seen) <= most:
        for _, value, _ in bindings(scope, waiting.pop()):
            if value is not None:
                values.append(value)
                found = names_in(value) - seen
                seen |= found
                waiting += sorted(found)
    return values, seen


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}
