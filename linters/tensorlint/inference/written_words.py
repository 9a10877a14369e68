"""Words that a call is given by a dictionary which the code writes out: `DataLoader(data, **options)`, where some of the
options are put in only under a condition."""

from __future__ import annotations

import ast

from tensorlint.inference.walking import children, parameters_of, walk

# What each word may be given, by all that may have put it in.
Words = dict[str, list[ast.expr]]
_DEEPEST = 6
# Methods that leave a dictionary as it is, and hand out nothing that could change it.
_READS = frozenset({"get", "items", "keys", "values", "copy"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def words_of(given: ast.expr, code: ast.AST, tree: ast.AST) -> Words | None:
    """The words that the dictionary may have in the function (or file) `code` of the `tree`; None if others may be among them."""
    found: Words = {}
    return found if _gather(given, code, tree, found, _DEEPEST) else None


def _gather(given: ast.expr, code: ast.AST, tree: ast.AST, found: Words, deep: int) -> bool:
    if not deep:
        return False
    if isinstance(given, ast.Dict):
        for key, value in zip(given.keys, given.values, strict=True):
            if key is None:
                if not _gather(value, code, tree, found, deep - 1):
                    return False
            elif not _put(key, value, found):
                return False
        return True
    if isinstance(given, ast.IfExp):
        return all(_gather(each, code, tree, found, deep - 1) for each in (given.body, given.orelse))
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id == "dict":
        return _gather_given(given, code, tree, found, deep)
    return isinstance(given, ast.Name) and _gather_named(given.id, code, tree, found, deep)


def _put(key: ast.expr, value: ast.expr, found: Words) -> bool:
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        return False
    found.setdefault(key.value, []).append(value)
    return True


def _gather_given(call: ast.Call, code: ast.AST, tree: ast.AST, found: Words, deep: int) -> bool:
    """`dict(shuffle=True)`, `options.update({"shuffle": True})`."""
    for word in call.keywords:
        if word.arg is not None:
            found.setdefault(word.arg, []).append(word.value)
        elif not _gather(word.value, code, tree, found, deep - 1):
            return False
    return all(_gather(each, code, tree, found, deep - 1) for each in call.args)


def _gather_named(name: str, code: ast.AST, tree: ast.AST, found: Words, deep: int) -> bool:
    """By all that binds the name or changes what it holds; it may have no other name, and no one else has it in hand."""
    uses = [each for each in walk(code) if isinstance(each, ast.Name) and each.id == name]
    if not any(isinstance(each.ctx, ast.Store) for each in uses):
        return code is not tree and _gather_named(name, tree, tree, found, deep)
    around: dict[ast.AST, ast.AST] = {}
    for each in walk(code):
        if isinstance(each, _FUNCTIONS) and name in parameters_of(each.args):
            return False
        if isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names:
            return False
        around.update(dict.fromkeys(children(each), each))
    return all(_is_followed(use, around, code, tree, found, deep) for use in uses)


def _is_followed(
    use: ast.Name, around: dict[ast.AST, ast.AST], code: ast.AST, tree: ast.AST, found: Words, deep: int
) -> bool:
    part = around.get(use)
    beyond = around.get(part) if part is not None else None
    match part:
        case ast.Assign(targets=[target], value=value) if target is use:
            return _gather(value, code, tree, found, deep - 1)
        case ast.AnnAssign(target=target, value=ast.expr() as value) if target is use:
            return _gather(value, code, tree, found, deep - 1)
        case ast.AugAssign(target=target, op=ast.BitOr()) if target is use:
            return _gather(part.value, code, tree, found, deep - 1)
        case ast.keyword(arg=None):
            return True
        case ast.Dict():  # `{**options, "shuffle": True}`
            return any(key is None and value is use for key, value in zip(part.keys, part.values, strict=True))
        case ast.Subscript(value=value) if value is use:
            if not isinstance(part.ctx, ast.Store):
                return True
            return isinstance(beyond, ast.Assign) and len(beyond.targets) == 1 and _put(part.slice, beyond.value, found)
        case ast.Attribute() if isinstance(beyond, ast.Call) and beyond.func is part:
            if part.attr == "update":
                return _gather_given(beyond, code, tree, found, deep)
            if part.attr == "setdefault":
                return len(beyond.args) == 2 and _put(beyond.args[0], beyond.args[1], found)
            return part.attr in _READS or (part.attr == "pop" and bool(beyond.args))
        case ast.Call(func=ast.Name(id="print" | "len")):
            return True
        case ast.Call() if part.args == [use]:  # what the options of another dictionary are updated by
            call = part.func
            return (isinstance(call, ast.Attribute) and call.attr == "update") or (
                isinstance(call, ast.Name) and call.id == "dict"
            )
        case ast.Compare():
            return True
    return False
