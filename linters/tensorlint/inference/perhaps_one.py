"""Whether the code says of a size that it may be 1: a test of it, a default, an option, a call in the file.

Read off the source where a finding hangs on it, and on the careful side: a test that has nothing to do with it counts too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tensorlint.inference.handling import last_name
from tensorlint.inference.kept import kept_with
from tensorlint.inference.sizes import Size, symbols
from tensorlint.inference.source_bindings import values_behind
from tensorlint.inference.walking import walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_SIZES = frozenset({"self", "cls", "size", "shape", "len"})
_SMALL = frozenset({0, 1, 2})
# What gives its last argument, or one of them, where nothing else is known.
_OR_ELSE = frozenset({"get", "getattr", "getenv", "int", "pop", "setdefault", "max", "field", "default"})
_MOST_NAMES = 24


def may_be_one(sizes: Iterable[Size], code: ast.AST, tree: ast.AST) -> bool:
    """Whether one of the sizes may be 1 in the function (or file) `code` of the `tree`, by what is written there."""
    words = {
        word
        for size in sizes
        for atom in symbols(size)
        for word in _WORD.findall(atom.name or "")
        if word not in _NOT_SIZES
    }
    if not words:
        return False
    known: dict[frozenset[str], bool] = kept_with(code, "perhaps one", dict)
    key = frozenset(words)
    if key not in known:
        known[key] = _may_be_one(words, code, tree)
    return known[key]


def _may_be_one(words: set[str], code: ast.AST, tree: ast.AST) -> bool:
    values, names = values_behind(code, words, _MOST_NAMES)
    return (
        any(map(_is_perhaps_one, values))
        or _is_tested(names - _NOT_SIZES, code)
        or any(_is_one_by_default(each, words) or _gives_one(each, words, code) for each in walk(tree))
    )


def _is_one(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and (node.value == "1" or (type(node.value) is int and node.value == 1))


def _is_perhaps_one(value: ast.expr) -> bool:
    """`1`, `len(x) if batched else 1`, `n or 1`, `options.get("n", 1)`."""
    if isinstance(value, ast.IfExp):
        return _is_perhaps_one(value.body) or _is_perhaps_one(value.orelse)
    if isinstance(value, ast.BoolOp):
        return any(map(_is_perhaps_one, value.values))
    if isinstance(value, ast.Call) and last_name(value.func) in _OR_ELSE:
        given = [*value.args, *(word.value for word in value.keywords)]
        return any(map(_is_perhaps_one, given))
    return _is_one(value)


def _is_tested(names: set[str], code: ast.AST) -> bool:
    """`n <= 1`, `x.shape[0] == 1`, `n in (1, 2)`, `match n:`."""
    for node in walk(code):
        if isinstance(node, ast.Match):
            compared: list[ast.expr] = [node.subject]
        elif isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
            if not any(
                isinstance(part, ast.Constant) and type(part.value) is int and part.value in _SMALL
                for each in compared
                for part in ([each, *each.elts] if isinstance(each, (ast.Tuple, ast.List, ast.Set)) else [each])
            ):
                continue
        else:
            continue
        for each in compared:
            for part in walk(each):
                word = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
                if word in names:
                    return True
    return False


def _is_one_by_default(node: ast.AST, words: set[str]) -> bool:
    """A field of a class, a parameter of a function or an option of a command line."""
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
            value = getattr(part, "value", None)
            if any(isinstance(each, ast.Name) and each.id in words for each in targets) and value is not None:
                if _is_perhaps_one(value):
                    return True
    elif isinstance(node, _FUNCTIONS):
        spec = node.args
        by_place = [*spec.posonlyargs, *spec.args]
        given = [*zip(reversed(by_place), reversed(spec.defaults), strict=False)]
        given += [pair for pair in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if pair[1] is not None]  # type: ignore[misc]
        return any(each.arg in words and _is_one(default) for each, default in given)
    elif isinstance(node, ast.Call) and last_name(node.func) in ("add_argument", "option", "add_option"):
        named = any(
            isinstance(each, ast.Constant) and str(each.value).lstrip("-").replace("-", "_") in words
            for each in node.args
        )
        return named and any(word.arg == "default" and _is_one(word.value) for word in node.keywords)
    return False


def _gives_one(node: ast.AST, words: set[str], code: ast.AST) -> bool:
    """A call in the file that gives 1 to the function's parameter, or to any that is called so."""
    if not isinstance(node, ast.Call):
        return False
    if any(word.arg in words and _is_one(word.value) for word in node.keywords):
        return True
    if not isinstance(code, _FUNCTIONS) or last_name(node.func) != code.name:
        return False
    parameters = [each.arg for each in (*code.args.posonlyargs, *code.args.args)]
    if parameters[:1] in (["self"], ["cls"]):
        del parameters[0]
    return any(name in words and _is_one(given) for name, given in zip(parameters, node.args, strict=False))
