"""The nodes of a syntax tree, in the order of `ast.walk` and in a third of its time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Fields with no expression, statement or pattern in them.
_LEAVES = frozenset(
    ["ctx", "op", "ops", "id", "attr", "arg", "name", "kind", "type_comment", "conversion", "simple", "level", "module", "asname", "rest",
     "is_async", "tag", "kwd_attrs", "str"]
)  # fmt: skip
# What a class or a function is called.
_TOLD = frozenset(["__name__", "__class__", "__qualname__"])
_WITHOUT = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)
_branches: dict[type[ast.AST], tuple[str, ...]] = {}


def _of_kind(kind: type[ast.AST]) -> tuple[str, ...]:
    found = () if issubclass(kind, _WITHOUT) else tuple(name for name in kind._fields if name not in _LEAVES)
    _branches[kind] = found
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, as `ast.iter_child_nodes` gives them, but for the same."""
    kind = node.__class__
    found: list[ast.AST] = []
    for name in _branches[kind] if kind in _branches else _of_kind(kind):
        part = getattr(node, name, None)
        if part.__class__ is list:
            found += part if None not in part else [each for each in part if each is not None]
        elif isinstance(part, ast.AST):
            found.append(part)
    return found


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """The tree and everything below it, without the contexts of names (`ast.Load`) and the signs of operators (`ast.Add`)."""
    found: list[ast.AST | None] = [tree]
    for node in found:  # grows meanwhile
        if node is None:  # `**` of a dictionary, a keyword without a default
            continue
        kind = node.__class__
        names = _branches[kind] if kind in _branches else _of_kind(kind)
        if names:
            fields = node.__dict__
            for name in names:
                part = fields.get(name)
                if part.__class__ is list:
                    found += part
                elif part is not None:
                    found.append(part)
        yield node


def only_tells(node: ast.expr) -> bool:
    """Whether the expression is text, a name or what a class is called: working it out changes nothing and shows nothing."""
    kind = node.__class__
    if kind is ast.Constant or kind is ast.Name:
        return True
    if kind is ast.JoinedStr:
        return all(map(only_tells, node.values))  # type: ignore[attr-defined]
    if kind is ast.FormattedValue:
        return only_tells(node.value) and node.format_spec is None  # type: ignore[attr-defined]
    return kind is ast.Attribute and node.attr in _TOLD and only_tells(node.value)  # type: ignore[attr-defined]


def parameters_of(spec: ast.arguments) -> set[str]:
    """The names of all parameters, `*args` and `**kwargs` among them."""
    found = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    found.update(each.arg for each in (spec.vararg, spec.kwarg) if each is not None)
    return found


def root_name(node: ast.expr, *, through_calls: bool = False) -> str | None:
    """`self` of `self.blocks[0].norm`, and of `self.blocks().norm` where calls are passed through; None of other expressions."""
    kind = node.__class__
    while kind is ast.Attribute or kind is ast.Subscript or (through_calls and kind is ast.Call):
        node = node.func if kind is ast.Call else node.value  # type: ignore[attr-defined]
        kind = node.__class__
    return node.id if kind is ast.Name else None  # type: ignore[attr-defined]
