"""M9 and M11: the other direction. The fingerprint stays although the result would change, and old rows are served."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.captures import Found
from tensorlint.inference.fingerprints.evaluation import Evaluator
from tensorlint.inference.fingerprints.own_modules import Imported, OwnModules
from tensorlint.inference.fingerprints.scopes import FunctionNode
from tensorlint.inference.fingerprints.transforms import Transform
from tensorlint.inference.fingerprints.values import Value

# A number that is raised with the code is what the rule asks for.
_VERSION = re.compile(r"(?i)version|revision")
_DEEPEST = 6


def stale(transform: Transform, evaluator: Evaluator, modules: OwnModules) -> Iterator[Found]:
    """What the function depends on and the fingerprint does not."""
    if transform.function is None:
        return
    value = evaluator.value(transform.function)
    name = ast.unparse(transform.function) if isinstance(transform.function, (ast.Name, ast.Attribute)) else "lambda"
    if not _has_version(transform, value, evaluator):
        yield from _imported(transform, value, name, evaluator, modules)
    if isinstance(value.node, (ast.FunctionDef, ast.Lambda)) and value.kind == "function":
        for node in ast.walk(value.node):
            read = _reads_outside(node, evaluator)
            if read:
                done = "is read" if read == "os.environ" else "is called"
                reason = f"{read} {done} while mapping, and what it gives is not part of the hash"
                yield Found("M11", read, (name, read), reason, node)
                return


def _imported(
    transform: Transform, value: Value, name: str, evaluator: Evaluator, modules: OwnModules
) -> Iterator[Found]:
    """M9: code of the project's other modules, as the function itself or on the way that it takes."""
    assert transform.function is not None
    direct = modules.imported(transform.function)
    if direct is None and value.kind == "module" and isinstance(value.node, ast.ImportFrom) and value.node.level:
        direct = modules.unseen(value.node, name)
    found = [direct] if direct is not None else list(_used(_code(value, evaluator), evaluator, modules))
    if direct is None:
        found += _given(transform, modules)
    listed = {each.name: each for each in reversed(found)}
    named = [listed[each] for each in sorted(listed)]
    if not named:
        return
    places = ", ".join(dict.fromkeys(each.module for each in named))
    spelled = ", ".join(each.name for each in named[:3]) + (f" and {len(named) - 3} more" if named[3:] else "")
    if len(named) == 1:
        reason = (
            f"{spelled}, from the module {places}, is hashed by its name: edits of its code do not refresh the cache"
        )
    else:
        reason = f"{spelled}, from {places}, are hashed by their names: edits of their code do not refresh the cache"
    path = (name,) if direct is not None else (name, spelled)
    yield Found("M9", spelled, path, reason, named[0].node)


def _code(value: Value, evaluator: Evaluator) -> FunctionNode | None:
    if value.kind == "partial" and value.owner is not None:
        return _code(value.owner, evaluator)
    node = value.node
    if value.kind == "instance" and isinstance(node, ast.ClassDef):
        node = evaluator.classes.facts(node).methods.get("__call__")
    known = value.kind in ("function", "bound", "instance")
    return node if known and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else None


def _used(
    function: FunctionNode | None, evaluator: Evaluator, modules: OwnModules, above: tuple[FunctionNode, ...] = ()
) -> Iterator[Imported]:
    """What a function and the functions of this file that it calls take from other modules."""
    if function is None or function in above or len(above) > _DEEPEST:
        return
    for uses in evaluator.names.captured(function).values():
        for use in uses:
            found = modules.used(use)
            if found is not None:
                yield found
        inner = evaluator.value(uses[0])
        if inner.kind in ("function", "partial"):
            yield from _used(_code(inner, evaluator), evaluator, modules, (*above, function))


def _given(transform: Transform, modules: OwnModules) -> Iterator[Imported]:
    """Functions in fn_kwargs."""
    for argument, expression in transform.arguments:
        if argument == "fn_kwargs" and isinstance(expression, ast.Dict):
            for entry in expression.values:
                found = modules.imported(entry) if isinstance(entry, (ast.Name, ast.Attribute)) else None
                if found is not None and not found.made:
                    yield found


def _has_version(transform: Transform, value: Value, evaluator: Evaluator) -> bool:
    """Whether a version enters the hash: in fn_kwargs, in a partial, as a default or a name that the function reads."""
    names: list[str] = []
    for argument, expression in transform.arguments:
        if argument == "fn_kwargs" and isinstance(expression, ast.Dict):
            names += [
                key.value for key in expression.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            ]
        elif argument == "fn_kwargs" and isinstance(expression, ast.Call):
            names += [given.arg for given in expression.keywords if given.arg]
    if value.kind == "partial" and isinstance(value.node, ast.Call):
        names += [given.arg for given in value.node.keywords if given.arg]
    function = _code(value, evaluator)
    if function is not None:
        names += evaluator.names.captured(function)
        names += [b.name for bound in evaluator.names.scope_of[function].bindings.values() for b in bound if b.value]
    return any(_VERSION.search(name) for name in names)


def _reads_outside(node: ast.AST, evaluator: Evaluator) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        base = evaluator.value(node.value)
        return "os.environ" if base.kind == "module" and base.dotted == "os.environ" else ""
    if not isinstance(node, ast.Call):
        return ""
    called = evaluator.value(node.func)
    if called.kind != "module":
        return ""
    dotted = called.dotted
    if dotted in ("os.environ.get", "os.getenv", "open") or dotted in words.DIFFERS_EVERY_RUN:
        return dotted
    drawn = any(dotted.startswith(prefix) and dotted[len(prefix) :] in names for prefix, names in words.GLOBAL_DRAWS)
    return dotted if drawn else ""
