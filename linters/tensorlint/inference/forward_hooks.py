"""Forward hooks: what one gives takes the place of what its module gave, or was given
(`torch.nn.Module.register_forward_hook`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.values import Function, Value
from tensorlint.inference.walking import children, walk

FORWARD_HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook"})
OF_EVERY_MODULE = frozenset({"register_module_forward_hook", "register_module_forward_pre_hook"})
# The dictionaries of a module that hold its hooks.
HELD_AS = frozenset({"_forward_hooks", "_forward_pre_hooks"})
_GIVE_NONE = frozenset({"append", "extend", "update", "add", "insert", "clear", "print"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MARK = "tensorlint_leaves_result"


def registered(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Each scope, with every module that gets a hook there which may give something; None for any module. The other calls that
    register one are marked: what asks for a method of that name elsewhere changes what the module gives."""
    written: dict[str, list[ast.AST]] | None = None
    for scope in (tree, *(node for node in walk(tree) if isinstance(node, _FUNCTIONS))):
        inside = children(scope)
        for node in inside:
            if isinstance(node, _FUNCTIONS):
                continue
            inside.extend(children(node))
            if isinstance(node, ast.Attribute) and node.attr in HELD_AS:
                yield scope, node.value
            if not (isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name))):
                continue
            name = _name(node.func)
            if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                if node.args[1].value in FORWARD_HOOKS or node.args[1].value in HELD_AS:
                    yield scope, node.args[0]
            if name not in FORWARD_HOOKS and name not in OF_EVERY_MODULE:
                continue
            if written is None:
                written = _written(tree)
            # `nn.Module.register_forward_hook(layer, hook)`
            hooks = node.args[:1] if len(node.args) == 1 or name in OF_EVERY_MODULE else node.args[:2]
            hooks += [word.value for word in node.keywords if word.arg in ("hook", None)]
            if not hooks or any(_gives(hook, written) for hook in hooks):
                owner = node.func.value if isinstance(node.func, ast.Attribute) else None
                if owner is not None and len(node.args) > 1 and _name(owner)[:1].isupper():
                    owner = node.args[0]
                yield scope, None if name in OF_EVERY_MODULE else owner
            else:
                setattr(node.func, _MARK, True)


def replaces_result(method: ast.Attribute) -> bool:
    """Whether a mention of `x.register_forward_hook` may change what calling x gives."""
    return not hasattr(method, _MARK)


def may_return(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether the forward hook that is registered may give something, which then replaces what the module gave."""
    hook = hook_given(args, kwargs)
    if len(hook) != 1 or not isinstance(hook[0], Function):
        return True
    node = hook[0].node
    return _lambda_gives(node) if isinstance(node, ast.Lambda) else _returns(node)


def hook_given(args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
    return args[:1] or [value for name, value in kwargs.items() if name == "hook"]


def _lambda_gives(node: ast.Lambda) -> bool:
    func = node.body.func if isinstance(node.body, ast.Call) else None
    return not (isinstance(func, (ast.Attribute, ast.Name)) and _name(func) in _GIVE_NONE)


def _returns(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Return) and part.value is not None for part in walk(node))


def _written(tree: ast.AST) -> dict[str, list[ast.AST]]:
    """The classes and functions of a file by their names."""
    found: dict[str, list[ast.AST]] = {}
    for node in walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.setdefault(node.name, []).append(node)
    return found


def _gives(hook: ast.expr, written: dict[str, list[ast.AST]]) -> bool:
    """Whether a hook may give something; one that is written nowhere in the file may."""
    if isinstance(hook, ast.Lambda):
        return _lambda_gives(hook)
    within = isinstance(hook, ast.Call)
    if isinstance(hook, ast.Call) and _name(hook.func) == "partial" and hook.args:
        hook, within = hook.args[0], False
    name = _name(hook.func) if isinstance(hook, ast.Call) else _name(hook)
    found: list[ast.AST] = []
    for node in written.get(name, ()):
        if isinstance(node, ast.ClassDef):
            if within:
                found += [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__call__"]
        elif not within:
            found.append(node)
        elif any(isinstance(each, ast.Lambda) for each in walk(node)):
            return True
        else:
            found += [each for each in walk(node) if isinstance(each, ast.FunctionDef) and each is not node]
    return not found or any(map(_returns, found))


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
