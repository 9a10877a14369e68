"""The nodes of a syntax tree, in the order of `ast.walk` and in a third of its time."""

from __future__ import annotations

import ast
from typing import Any

# Fields with no expression, statement or pattern in them.
_LEAVES = frozenset(
    ["ctx", "op", "ops", "id", "attr", "arg", "name", "kind", "type_comment", "conversion", "simple", "level", "module", "asname", "rest",
     "is_async", "tag", "kwd_attrs", "str"]
)  # fmt: skip
# What a class or a function is called.
_TOLD = frozenset(["__name__", "__class__", "__qualname__"])
_WITHOUT = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)
# What stands below a node, by its kind. Only in two of these fields a list may hold None: `**` of a dictionary, a keyword
# without a default.
_BRANCHES: dict[type, tuple[str, ...]] = {
    kind: () if issubclass(kind, _WITHOUT) else tuple(name for name in kind._fields if name not in _LEAVES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_BRANCHES[type(None)] = ()
# Of kinds that have one node right below them, always: every fifth node.
_VALUE = ("value",)
_BRANCHES.update(dict.fromkeys((ast.Attribute, ast.Expr, ast.keyword, ast.Starred), _VALUE))
# Every tenth node is a call, which has all three.
_CALL = _BRANCHES[ast.Call] = ("func", "args", "keywords")
_WITH_GAPS = frozenset(["keys", "kw_defaults"])


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, as `ast.iter_child_nodes` gives them, but for the same."""
    found: list[ast.AST] = []
    for name in _BRANCHES[type(node)]:
        part = getattr(node, name, None)
        if not part:  # as many are
            continue
        if type(part) is list:
            found += part if name not in _WITH_GAPS else [each for each in part if each is not None]
        else:
            found.append(part)
    return found


def walk(tree: ast.AST) -> list[ast.AST]:
    """The tree and everything below it, without the contexts of names (`ast.Load`) and the signs of operators (`ast.Add`)."""
    found: list[Any] = [tree]
    branches, gaps = _BRANCHES, False
    for node in found:  # grows meanwhile
        names = branches[type(node)]
        if names:
            fields = node.__dict__
            if names is _VALUE:
                found.append(fields["value"])
            elif names is _CALL:
                found.append(fields["func"])
                found += fields["args"]
                found += fields["keywords"]
            else:
                for name in names:
                    part = fields.get(name)
                    if part:  # many of them are empty
                        if type(part) is list:
                            found += part
                        else:
                            found.append(part)
        elif node is None:
            gaps = True
    return [node for node in found if node is not None] if gaps else found


# Where statements stand in a statement, in an `except` and in a `case`.
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(tree: ast.AST) -> list[ast.AST]:
    """The statements below a module, class or function, at any depth, with their `except` and `case`; not the expressions."""
    found = list(tree.body)  # type: ignore[attr-defined]
    for node in found:  # grows meanwhile
        fields = node.__dict__
        if "body" in fields:
            found += fields["body"]
            for name in BLOCKS[1:]:
                found += fields.get(name, ())
        elif "cases" in fields:
            found += fields["cases"]
    return found


def only_tells(node: ast.expr) -> bool:
    """Whether the expression is text, a name or what a class is called: working it out changes nothing and shows nothing."""
    kind = type(node)
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
    if spec.vararg is not None:
        found.add(spec.vararg.arg)
    if spec.kwarg is not None:
        found.add(spec.kwarg.arg)
    return found


def root_name(node: ast.expr, *, through_calls: bool = False) -> str | None:
    """`self` of `self.blocks[0].norm`, and of `self.blocks().norm` where calls are passed through; None of other expressions."""
    kind = type(node)
    while kind is ast.Attribute or kind is ast.Subscript or (through_calls and kind is ast.Call):
        node = node.func if kind is ast.Call else node.value  # type: ignore[attr-defined]
        kind = type(node)
    return node.id if kind is ast.Name else None  # type: ignore[attr-defined]
