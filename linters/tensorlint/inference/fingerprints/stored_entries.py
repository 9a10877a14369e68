"""What a dict holds after the statements that put something into it: `config["run"] = uuid.uuid4()`, `config.pop("run")`,
and a namespace after `args.run = uuid.uuid4()`.

Only statements that surely ran before count, and a literal key is what says which entry they put another in the place of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tensorlint.inference.fingerprints.classes import last_name
from tensorlint.inference.fingerprints.scopes import Scope
from tensorlint.inference.fingerprints.values import CONSTANT, Value, traits_of

if TYPE_CHECKING:
    from tensorlint.inference.fingerprints.bindings import Bindings

Place = tuple[int, int]
REMOVES = frozenset(["pop", "popitem", "clear"])


def after_stores(bindings: Bindings, name: str, scope: Scope, value: Value, start: Place, at: ast.AST | None) -> Value:
    """The dict with what was stored into it since it was made, and without what was removed or replaced."""
    updates = [
        call
        for call in bindings.mutations.get(name, ())
        if last_name(call.func) == "update"
        and (value.kind == "dict" or call.keywords or any(isinstance(each, ast.Dict) for each in call.args))
    ]
    widened = [
        binding.node
        for binding in scope.bindings.get(name, ())
        if isinstance(binding.node, ast.AugAssign) and isinstance(binding.node.op, ast.BitOr)
    ]
    changes = [*bindings.stored_items.get(name, ()), *bindings.removed_items.get(name, ()), *updates, *widened]
    if not changes:
        return value
    end = _reached(bindings, scope, at)
    entries = dict(value.fields or ())
    old = set(traits_of(entries.values()))
    new: dict[object, Value] = {}
    for node in sorted(changes, key=lambda each: (each.lineno, each.col_offset)):
        here = bindings.names.scope_at[node]
        if not start <= (node.lineno, node.col_offset) < end or bindings.names.resolve(name, here) is not scope:
            continue
        for key, given in _entries(name, node):
            if key is ... and (given is None or given is node):
                still = None if value.fields is None else tuple((key, CONSTANT) for key, _ in value.fields)
                return replace(value, traits=(), fields=still)  # any entry may be gone
            if here is scope and not bindings.names.is_conditional(node) and key is not ...:
                entries.pop(str(key), None)
                new[key] = bindings.value(given) if isinstance(given, ast.expr) else CONSTANT
    if new and value.fields is None:
        old = set(value.traits)  # which entry they are of is not known, and another may stand there
    kept = traits_of(entries.values())
    traits = [trait for trait in value.traits if trait not in old or trait in kept]
    fields = None
    if value.fields is not None:
        added = [(str(key), given) for key, given in new.items() if given.traits and key not in dict(value.fields)]
        fields = (*((key, new.get(key, held)) for key, held in value.fields), *added)
    return replace(value, traits=tuple(traits), fields=fields).with_traits(traits_of(new.values()))


def after_fields(bindings: Bindings, name: str, scope: Scope, value: Value, start: Place, at: ast.AST | None) -> Value:
    """The namespace with what was assigned to its fields since it was made."""
    end = _reached(bindings, scope, at)
    new: dict[str, Value] = {}
    gone: set[str] = set()
    for node in sorted(bindings.stored_fields[name], key=lambda each: (each.lineno, each.col_offset)):
        here = bindings.names.scope_at[node]
        if (
            here is not scope
            or bindings.names.is_conditional(node)
            or not start <= (node.lineno, node.col_offset) < end
        ):
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == name:
                new[target.attr] = bindings.value(node.value) if isinstance(node, ast.Assign) else CONSTANT
                (gone.discard if isinstance(node, ast.Assign) else gone.add)(target.attr)
    if value.fields is None:
        return value.with_traits(traits_of(new.values()))
    known = dict(value.fields)
    added = [(field, given) for field, given in new.items() if given.traits and field not in known]
    old, kept = traits_of(known.values()), traits_of(new.get(field, held) for field, held in value.fields)
    traits = tuple(trait for trait in value.traits if trait not in old or trait in kept)
    fields = (*((field, new.get(field, held)) for field, held in value.fields if field not in gone), *added)
    return replace(value, traits=traits, fields=fields)


def _entries(name: str, node: ast.stmt | ast.expr) -> Iterator[tuple[object, ast.AST | None]]:
    """The keys of the dict that a statement or call changes, and what it stores there: None for what it removes; ... is a
    key that nobody knows. Of entries that are not known, as of `config.update(others)`, the statement is given itself."""
    if isinstance(node, ast.Assign):
        assert isinstance(node.targets[0], ast.Subscript)
        yield _literal(node.targets[0].slice), node.value
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
                yield _literal(target.slice), None
    elif isinstance(node, ast.AugAssign):
        yield from _entries_of(node.value, node)
    elif isinstance(node, ast.Call) and last_name(node.func) == "update":
        for argument in node.args:
            yield from _entries_of(argument, node)
        for word in node.keywords:
            yield (word.arg, word.value) if word.arg is not None else (..., node)
    elif isinstance(node, ast.Call):
        yield (_literal(node.args[0]) if node.args else ...), None


def _entries_of(given: ast.expr, node: ast.AST) -> Iterator[tuple[object, ast.AST]]:
    """What the entries of a dict put in."""
    if not isinstance(given, ast.Dict):
        yield ..., node
        return
    for key, value in zip(given.keys, given.values, strict=True):
        yield (_literal(key), value) if isinstance(key, ast.Constant) else (..., node)


def _literal(key: ast.expr) -> object:
    return key.value if isinstance(key, ast.Constant) else ...


def _reached(bindings: Bindings, scope: Scope, at: ast.AST | None) -> Place:
    """Where in the scope the reader stands, or the function that it stands in: what is behind that need not have run."""
    node = at
    while node is not None and bindings.names.parents.get(node) is not scope.node:
        node = bindings.names.parents.get(node)
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
