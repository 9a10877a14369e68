"""Iterators: gone through once, and late.

How far one has been gone through is followed no further than the expression that makes it: `list(zip(a, b))`. Of one that
something holds only is known what all its items have in common, and that only where nothing changes by then what they
are made of.
"""

from __future__ import annotations

import ast

from tensorlint.inference.aliases import TIES
from tensorlint.inference.containers import share
from tensorlint.inference.contents import one_within
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    ModuleScope,
    Range,
    Sequence,
    Tensor,
    Value,
)
from tensorlint.inference.walking import walk

_LOADER = "torch.utils.data.DataLoader"
LAZY = frozenset({"iterator", "dict_items"})
_GONE_THROUGH = (Sequence, Range, Dictionary, Tensor, LibraryObject, Const)


def of(interp: State, value: Value) -> Value:
    """`iter(value)`; an object that nobody knows stands for its own iterator."""
    if not isinstance(value, _GONE_THROUGH) or (isinstance(value, Sequence) and value.kind == "iterator"):
        return value
    known = interp.iterate(value)
    items = None if known.items is None else list(known.items)
    return Sequence("iterator", items, known.element, known.length, parts=known.parts)


def hold(interp: State, value: Value, source: ast.expr | None) -> Value:
    """What is known of an iterator from where a name, an attribute or an item holds it; anything else is as it was."""
    if not isinstance(value, Sequence):
        return value
    if value.kind not in LAZY:
        if value.kind == "tuple" and value.items and isinstance(source, ast.Call):
            return _held_items(interp, value, source)
        return value
    if source is not None and not isinstance(source, ast.Name) and changes_meanwhile(interp, source):
        return Sequence(value.kind, None, one_within([value]), shared=True)
    return share(value)


def _held_items(interp: State, value: Sequence, source: ast.Call) -> Sequence:
    """A tuple that a call gives: of the views and iterators in it the same is known as of one that it gives alone."""
    lazy = any(isinstance(item, Sequence) and item.kind in LAZY for item in value.items or ())
    if not lazy:
        return value
    return Sequence("tuple", [hold(interp, item, source) for item in value.items or ()])


def look(interp: State, view: Sequence) -> None:
    """Somebody asks for what a dictionary's view shows: it is not what it was if the dictionary has changed since."""
    if view.view_of is None:
        return
    dictionary, before = view.view_of
    now = dictionary.items
    if now is None or len(now) != len(before) or any(now.get(key) is not value for key, value in before.items()):
        view.items = view.view_of = None
        view.element = one_within([dictionary, view])
        interp.mutations.append((view, None))


def spend(interp: State, value: Value) -> None:
    """Something goes through the iterator, as far as nobody knows: what asks for its items later may find none."""
    if isinstance(value, Sequence) and value.kind == "iterator" and value.shared and not value.spent:
        value.spent = True
        interp.mutations.append((value, None))


def held_arguments(interp: State, args: list[Value], node: ast.Call) -> list[Value]:
    """What a method of a list is given that keeps it."""
    if len(args) != len(node.args) or not any(isinstance(arg, Sequence) and arg.kind == "iterator" for arg in args):
        return args
    if isinstance(node.func, ast.Attribute) and node.func.attr == "extend":
        return args
    return [hold(interp, arg, source) for arg, source in zip(args, node.args, strict=True)]


def changes_meanwhile(interp: State, source: ast.expr) -> bool:
    """Whether the items may be made of something else by the time somebody asks for them: a name is bound anew, what it
    holds is changed."""
    if TIES.on:
        return True  # any tensor may have another shape by then
    frame = interp.frame
    facts = frame.facts
    given = _parameters(frame.node)
    changes = interp.changes_in(frame.node)
    for part in walk(source):
        if isinstance(part, ast.Attribute) and part.attr in changes.attributes:
            return True
        if isinstance(part, ast.NamedExpr):
            part = part.target
        elif not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load):
            continue
        name = part.id
        value = frame.lookup(name)
        if isinstance(value, (Library, ModuleScope)):
            continue
        bound = facts.assigned.get(name, 0) + (name in given)
        if bound > 1 or name in facts.shared or name in changes.names:
            return True
        if isinstance(value, (Sequence, Dictionary)) and (name in changes.lent or (value.shared and name not in given)):
            return True
        if isinstance(value, Function) and interp.reads_what_changes(value, set()):
            return True
        if isinstance(value, (Instance, LibraryObject)):
            if type(value) is LibraryObject and value.path == _LOADER:
                # What is done to a batch, `x.to(device)`, is not done to the loader.
                called = any(owner == name for owner, _ in changes.called_of)
            else:
                called = name in changes.receivers
            if called or any(owner == name for owner, _ in facts.stored):
                return True
    return False


def _parameters(code: ast.AST) -> set[str]:
    if not isinstance(code, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return set()
    spec = code.args
    named = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
    return {parameter.arg for parameter in named if parameter is not None}
