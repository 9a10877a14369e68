"""M8: a captured object that using it changes, and that may or may not have been used before the transform.

The mapped function itself changes what it captured (draws from a generator, fills a cache, sets a field). Then the
object's state at the moment of hashing depends on what ran before: a use under a condition, or an earlier transform
that executes on a cache miss and does not on a hit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.captures import Found
from tensorlint.inference.fingerprints.classes import self_name
from tensorlint.inference.fingerprints.evaluation import Evaluator
from tensorlint.inference.fingerprints.scopes import FunctionNode, Scope
from tensorlint.inference.fingerprints.transforms import Transform
from tensorlint.inference.fingerprints.values import Value

_FILLS = frozenset(
    [
        "append",
        "appendleft",
        "extend",
        "add",
        "update",
        "insert",
        "remove",
        "discard",
        "pop",
        "popleft",
        "clear",
        "setdefault",
        "subtract",
        "enable_truncation",
        "enable_padding",
        "no_truncation",
        "no_padding",
        "write",
    ]
)


def changed_before(transform: Transform, every: list[Transform], evaluator: Evaluator) -> Iterator[Found]:
    """Captured objects of `transform` whose state at this point depends on what ran before."""
    function = _function(transform, evaluator)
    if function is None:
        return
    for name, uses in evaluator.names.captured(function).items():
        scope = evaluator.names.resolve(name, evaluator.names.scope_at[uses[0]])
        if scope is None:
            continue
        value = evaluator.named(name, scope, transform.call)
        if value.traits or value.kind in ("module", "dataset", "function", "class", "constant"):
            continue
        by_itself = any(_changes(use, value, evaluator) for use in uses)
        path = (getattr(function, "name", "lambda"), name)
        other = _used_conditionally(name, scope, value, function, transform, evaluator, by_itself)
        if other is not None:
            reason = f"the function changes {name} by using it, and whether {name} is used before depends on a setting"
            if not by_itself:
                reason = f"whether {name} is changed before depends on what belongs to one run or rank"
            yield Found("M8", name, path, reason, other)
            continue
        if not by_itself:
            continue
        earlier = _mapped_before(name, scope, transform, every, evaluator)
        if earlier is not None:
            reason = f"the function changes {name} by using it, and an earlier transform uses it only on a cache miss"
            yield Found("M8", name, path, reason, earlier)


def _function(transform: Transform, evaluator: Evaluator) -> FunctionNode | None:
    if transform.function is None:
        return None
    node = evaluator.value(transform.function).node
    return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else None


def _changes(use: ast.Name, value: Value, evaluator: Evaluator) -> bool:
    """Whether this use of a name changes the object it is bound to."""
    above = evaluator.names.parents.get(use)
    if isinstance(above, ast.Call) and above.func is use:
        return value.kind == "instance" and _method_changes(value, "__call__", evaluator)
    if isinstance(above, ast.Subscript) and above.value is use:
        return isinstance(above.ctx, (ast.Store, ast.Del)) and value.kind in ("dict", "sequence", "unknown")
    if not isinstance(above, ast.Attribute):
        return False
    if isinstance(above.ctx, (ast.Store, ast.Del)):
        return value.kind in ("instance", "settings")
    call = evaluator.names.parents.get(above)
    if not (isinstance(call, ast.Call) and call.func is above):
        return False
    if value.kind == "instance":
        return _method_changes(value, above.attr, evaluator)
    if value.kind == "external" and value.dotted in words.GENERATORS:
        return above.attr in words.DRAWS
    library = value.kind in ("dict", "sequence", "set") or value.dotted.endswith(
        ("Counter", "Tokenizer", "defaultdict")
    )
    return library and above.attr in _FILLS


def _method_changes(value: Value, name: str, evaluator: Evaluator) -> bool:
    if not isinstance(value.node, ast.ClassDef):
        return False
    method = evaluator.classes.facts(value.node).methods.get(name)
    if method is None:
        return False
    own = self_name(method)
    for part in ast.walk(method):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == own:
            above = evaluator.names.parents.get(part)
            if isinstance(part.ctx, (ast.Store, ast.Del)):
                return True
            if isinstance(above, ast.Subscript) and above.value is part and isinstance(above.ctx, (ast.Store, ast.Del)):
                return True
            call = evaluator.names.parents.get(above) if isinstance(above, ast.Attribute) else None
            if isinstance(above, ast.Attribute) and above.attr in _FILLS and isinstance(call, ast.Call):
                return True
    return False


def _used_conditionally(
    name: str,
    scope: Scope,
    value: Value,
    function: FunctionNode,
    transform: Transform,
    evaluator: Evaluator,
    by_itself: bool,
) -> ast.AST | None:
    """A changing use before the transform, under a condition that settings decide.

    Where the function does not change the object itself, only a condition on the run or the rank counts: settings may
    mean to change it.
    """
    inside = set(ast.walk(function))
    end = (transform.call.lineno, transform.call.col_offset)
    for node in ast.walk(scope.node):
        if not isinstance(node, ast.Name) or node.id != name or node in inside:
            continue
        here = evaluator.names.scope_at.get(node)
        if here is None or evaluator.names.resolve(name, here) is not scope:
            continue
        if (node.lineno, node.col_offset) >= end or not _changes(node, value, evaluator):
            continue
        current: ast.AST = node
        while current in evaluator.names.parents and current is not scope.node:
            current = evaluator.names.parents[current]
            test: ast.expr | None = None
            if isinstance(current, (ast.If, ast.While, ast.IfExp)):
                test = current.test
            if test is not None:
                decided = evaluator.value(test)
                if decided.traits or (by_itself and decided.varies):
                    return node
    return None


def _mapped_before(
    name: str, scope: Scope, transform: Transform, every: list[Transform], evaluator: Evaluator
) -> ast.AST | None:
    """An earlier cached transform, in the same function, whose function changes the same object."""
    if transform.receiver.memory:
        return None
    for earlier in every:
        if earlier.call is transform.call:
            return None
        if earlier.receiver.memory or evaluator.names.enclosing_function(
            earlier.call
        ) is not evaluator.names.enclosing_function(transform.call):
            continue
        function = _function(earlier, evaluator)
        if function is None:
            continue
        value = evaluator.named(name, scope, transform.call)
        for use in evaluator.names.captured(function).get(name, ()):
            if evaluator.names.resolve(name, evaluator.names.scope_at[use]) is scope and _changes(
                use, value, evaluator
            ):
                return earlier.call
    return None
