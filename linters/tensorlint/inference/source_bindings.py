"""What binds a name in a scope, and what a class's methods assign to `self.name`: read off the source, in no order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.walking import children, walk

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


def _of_module(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """The nodes of the module's own scope, and those of the functions that declare `name` global."""
    yield from own_nodes(tree)
    for node in walk(tree):
        if isinstance(node, FUNCTIONS) and any(
            isinstance(part, ast.Global) and name in part.names for part in node.body
        ):
            yield from own_nodes(node)


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
    for node in _of_module(scope, name) if isinstance(scope, ast.Module) else own_nodes(scope):
        if type(node) not in _BINDING:
            continue
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
