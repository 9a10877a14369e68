"""M8: a captured object that using it changes, and that may or may not have been used before the transform.

The mapped function itself changes what it captured (draws from a generator, fills a cache, sets a field). Then the
object's state at the moment of hashing depends on what ran before: a use under a condition, or an earlier transform
that executes on a cache miss and does not on a hit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.captures import Found
from tensorlint.inference.fingerprints.classes import self_name
from tensorlint.inference.fingerprints.evaluation import Evaluator
from tensorlint.inference.fingerprints.scopes import FunctionNode, Scope
from tensorlint.inference.fingerprints.transforms import Transform
from tensorlint.inference.fingerprints.values import Value

_DEEPEST = 4
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
        yield from _callable_changed_before(transform, evaluator)
        return
    seen: set[int] = set()
    for name, uses, path, helpers in _followed(function, evaluator, (getattr(function, "name", "lambda"),), ()):
        scope = evaluator.names.resolve(name, evaluator.names.scope_at[uses[0]])
        if scope is None or id(scope.bindings.get(name)) in seen:
            continue
        seen.add(id(scope.bindings.get(name)))
        value = evaluator.named(name, scope, transform.call)
        if value.traits or value.kind in ("module", "dataset", "function", "class", "constant"):
            continue
        by_itself = any(_changes(use, value, evaluator) for use in uses)
        used = _Use(name, scope, value, (function, *helpers), by_itself)
        other = _used_conditionally(used, transform, evaluator)
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


def _callable_changed_before(transform: Transform, evaluator: Evaluator) -> Iterator[Found]:
    """`ds.map(number)`: an instance whose `__call__` changes it."""
    node = transform.function
    value = evaluator.value(node)
    scope = evaluator.names.resolve(node.id, evaluator.names.scope_at[node]) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or scope is None or value.kind != "instance" or value.traits:
        return
    if _method_changes(value, "__call__", evaluator):
        other = _used_conditionally(_Use(node.id, scope, value, (), True), transform, evaluator)
        if other is not None:
            reason = f"calling {node.id} changes it, and whether it is called before depends on a setting"
            yield Found("M8", node.id, (node.id,), reason, other)


@dataclass(frozen=True, slots=True)
class _Use:
    """A captured object: its name, and the functions through which the mapped one comes to it, itself the first."""

    name: str
    scope: Scope
    value: Value
    functions: tuple[FunctionNode, ...]
    by_itself: bool


def _followed(
    function: FunctionNode, evaluator: Evaluator, path: tuple[str, ...], helpers: tuple[FunctionNode, ...]
) -> Iterator[tuple[str, list[ast.Name], tuple[str, ...], tuple[FunctionNode, ...]]]:
    """(name, its uses, the path to it, the helpers on the path) of all that a function captures, helpers included."""
    for name, uses in evaluator.names.captured(function).items():
        scope = evaluator.names.resolve(name, evaluator.names.scope_at[uses[0]])
        if scope is None:
            continue
        yield name, uses, (*path, name), helpers
        inner = evaluator.named(name, scope, None).node
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner not in helpers and len(path) < _DEEPEST:
            yield from _followed(inner, evaluator, (*path, name), (*helpers, inner))


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


def _used_conditionally(used: _Use, transform: Transform, evaluator: Evaluator) -> ast.AST | None:
    """A changing use before the transform, under a condition that settings decide: of the object, or of a helper that
    changes it.

    Where the function does not change the object itself, only a condition on the run or the rank counts: settings may
    mean to change it.
    """
    inside = {part for function in used.functions for part in ast.walk(function)}
    helpers = {function.name for function in used.functions if not isinstance(function, ast.Lambda)}
    end = (transform.call.lineno, transform.call.col_offset)
    for node in ast.walk(used.scope.node):
        if not isinstance(node, ast.Name) or node in inside or (node.lineno, node.col_offset) >= end:
            continue
        here = evaluator.names.scope_at.get(node)
        if here is None:
            continue
        if node.id == used.name:
            if evaluator.names.resolve(node.id, here) is not used.scope or not _changes(node, used.value, evaluator):
                continue
        elif not (used.by_itself and node.id in helpers and _is_called(node, evaluator)):
            continue
        if _is_decided(node, used, evaluator):
            return node
    return None


def _is_called(node: ast.Name, evaluator: Evaluator) -> bool:
    above = evaluator.names.parents.get(node)
    return isinstance(above, ast.Call) and above.func is node


def _is_decided(node: ast.Name, used: _Use, evaluator: Evaluator) -> bool:
    """Whether a condition that settings decide stands above the node."""
    current: ast.AST = node
    while current in evaluator.names.parents and current is not used.scope.node:
        current = evaluator.names.parents[current]
        if isinstance(current, (ast.If, ast.While, ast.IfExp)):
            decided = evaluator.value(current.test)
            if decided.traits or (used.by_itself and decided.varies):
                return True
    return False


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
