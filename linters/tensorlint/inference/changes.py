"""What statements change of objects that others hold, as they are read: nothing is followed."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.walking import walk

# Methods that change a list, a dictionary or a set.
CHANGES = frozenset(
    ["append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "add", "discard", "setdefault", "sort", "reverse",
     "appendleft", "popleft"]
)  # fmt: skip
SHAPED_IN_PLACE = re.compile(
    r"\.(?:(?:un)?squeeze_|swap_tensors|resize(?:_|_as_)?|t_|transpose_|swap(?:axes|dims)_|set_)\(|\.(?:data|shape|dtype|strides)\s*=[^=]"
)
# What gives a tensor another shape, by the library whose tensors it does that to: numpy's arrays let no `data` be assigned
# that changes a shape, torch's tensors no `shape`.
NEITHER: frozenset[str] = frozenset()
EITHER = frozenset({"torch", "numpy"})
_ASSIGNED = {"data": "torch", "shape": "numpy", "dtype": "numpy", "strides": "numpy"}
_CALLED = {**dict.fromkeys([*RESHAPING, "swap_tensors"], "torch"), "resize": "numpy"}
# Functions, and libraries of such, that leave lists and dictionaries as they are.
_READERS = frozenset(
    ["len", "range", "enumerate", "zip", "print", "isinstance", "tuple", "list", "dict", "set", "sum", "min", "max", "any", "all", "str",
     "int", "float", "bool", "repr", "sorted", "reversed", "hasattr", "getattr", "type", "id", "iter", "super", "issubclass", "abs"]
)  # fmt: skip
_LIBRARIES = frozenset(["torch", "np", "numpy", "F", "nn", "math", "os", "logging", "logger", "warnings", "json", "re"])
_SETTERS = frozenset({"setattr", "__setattr__"})


@dataclass(slots=True)
class Changes:
    """`names` are those whose objects the function changes, `attributes` the ones it assigns or changes of any object;
    `functions` and `methods` are called, `computed` says that something is which no name stands for. `reshapes` names
    the libraries to whose tensors it may give another shape in place."""

    names: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    # Names whose objects have methods called, and those methods: `b.change` may be a function of a module b.
    receivers: set[str] = field(default_factory=set)
    called_of: set[tuple[str, str]] = field(default_factory=set)
    handed: set[str] = field(default_factory=set)  # names that calls are given: functions that these may call
    # Names and attributes that go under other names, or into calls: what they hold may be changed there.
    lent: set[str] = field(default_factory=set)
    lent_attributes: set[str] = field(default_factory=set)
    # (name, attribute) of what may be a class, all but `self` itself; no name if it is computed: `type(self).n = 3`.
    of_classes: set[tuple[str, str]] = field(default_factory=set)
    computed: bool = False
    reshapes: frozenset[str] = NEITHER


def changes_of(node: ast.AST, spared: str | None = None) -> Changes:
    """What the code changes, but for items at the place that the name `spared` holds."""
    found = Changes()
    others: list[tuple[str, ast.expr]] = []  # `rows = box.rows`, `for row in rows`
    part: Any
    for part in walk(node):
        kind = part.__class__
        if kind is ast.Attribute or kind is ast.Subscript:
            if spared is not None and kind is ast.Subscript and isinstance(part.ctx, ast.Store):
                if isinstance(part.slice, ast.Name) and part.slice.id == spared:
                    continue
            if isinstance(part.ctx, (ast.Store, ast.Del)):
                _changed(part, found)
                if kind is ast.Subscript:
                    found.methods.add("__setitem__")
                elif part.attr in _ASSIGNED:
                    found.reshapes |= {_ASSIGNED[part.attr]}
            elif kind is ast.Attribute and part.attr in _CALLED:
                found.reshapes |= {_CALLED[part.attr]}
        elif kind is ast.Name and part.id == "swap_tensors":
            found.reshapes |= {"torch"}
        elif kind is ast.AugAssign and isinstance(part.target, ast.Name):
            found.names.add(part.target.id)
        elif kind is ast.Assign:
            others += [(each.id, part.value) for each in part.targets if isinstance(each, ast.Name)]
        elif kind is ast.For and isinstance(part.target, ast.Name):
            others.append((part.target.id, part.iter))
        elif kind is ast.Call:
            func = part.func
            if not _only_reads(func):
                for each in (*part.args, *(word.value for word in part.keywords)):
                    _lend(each, found)
            found.handed.update([each.id for each in part.args if isinstance(each, ast.Name)])
            for each in part.args:
                if each.__class__ is ast.Attribute:
                    _called_later(each, found)  # `map(box.add, xs)`
                elif isinstance(each, (ast.List, ast.Tuple, ast.Set)):
                    found.handed.update([inner.id for inner in each.elts if isinstance(inner, ast.Name)])
            if isinstance(func, ast.Name):
                found.functions.add(func.id)
                if func.id in ("setattr", "delattr") and len(part.args) > 1:
                    _set_by_name(part, found)
                elif func.id in ("getattr", "hasattr") and part.args and isinstance(part.args[0], ast.Name):
                    found.receivers.add(part.args[0].id)  # what is asked for may be a property
                    if len(part.args) > 1 and isinstance(part.args[1], ast.Constant):
                        found.methods.add(str(part.args[1].value))
            elif isinstance(func, ast.Attribute):
                found.methods.add(func.attr)
                if isinstance(func.value, ast.Name):
                    found.receivers.add(func.value.id)
                    found.called_of.add((func.value.id, func.attr))
                if func.attr in CHANGES or (func.attr.endswith("_") and not func.attr.startswith("_")):
                    _changed(func.value, found)
            else:
                found.computed = True
            if not found.functions.isdisjoint(_SETTERS) or not found.methods.isdisjoint(_SETTERS):
                found.reshapes |= {
                    _ASSIGNED[each.value]
                    for each in part.args
                    if isinstance(each, ast.Constant) and each.value in _ASSIGNED
                }
    for name, value in others:
        if name in found.functions and isinstance(value, ast.Attribute):
            _called_later(value, found)  # `add = box.add`
        if name in found.names or name in found.lent:
            _lend(value, found)
    return found


def _called_later(method: ast.Attribute, found: Changes) -> None:
    found.methods.add(method.attr)
    if isinstance(method.value, ast.Name):
        found.receivers.add(method.value.id)
    if method.attr in CHANGES:
        _changed(method.value, found)


def _lend(value: ast.expr, found: Changes) -> None:
    """What the expression holds, or an item of it, is in other hands."""
    while isinstance(value, ast.Subscript):
        value = value.value
    if isinstance(value, ast.Name):
        found.lent.add(value.id)
    elif isinstance(value, ast.Attribute):
        found.lent_attributes.add(value.attr)


def _only_reads(func: ast.expr) -> bool:
    if isinstance(func, ast.Name):
        return func.id in _READERS
    while isinstance(func, ast.Attribute):
        func = func.value
    return isinstance(func, ast.Name) and func.id in _LIBRARIES


def _set_by_name(call: ast.Call, found: Changes) -> None:
    """`setattr(type(self), "n", 3)`; a name that is computed may be any, which `rebinding.py` sees to."""
    owner, name = call.args[:2]
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        _changed(ast.Attribute(owner, name.value, ast.Store()), found)


def _changed(target: ast.expr, found: Changes) -> None:
    """`self.rows[0].x = ...` changes what self holds as `rows`, and an x."""
    if isinstance(target, ast.Attribute):
        owner = target.value.id if isinstance(target.value, ast.Name) else ""
        if owner != "self":
            found.of_classes.add((owner, target.attr))
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        if isinstance(target, ast.Attribute):
            found.attributes.add(target.attr)
        target = target.value
    if isinstance(target, ast.Name):
        found.names.add(target.id)
