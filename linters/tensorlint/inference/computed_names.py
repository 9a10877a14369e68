"""Names of attributes that a program computes: what is written of their text.

`setattr(self, f"block{n}", layer)` sets an attribute whose name begins with "block", `for n in ("conv1", "bn1"):
setattr(self, n, layer)` one of two, and what is named by `for n, part in net.named_children()` is a part of `net`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tensorlint.inference.kept import kept_with
from tensorlint.inference.source_bindings import COMPREHENSIONS, bindings
from tensorlint.inference.walking import root_name, walk

# What has names of its own within a function.
_INNER = frozenset([*COMPREHENSIONS, ast.Lambda, ast.ClassDef])
_BINDING = frozenset([ast.Global, ast.Nonlocal, ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.ExceptHandler])
_DEEP = 8  # names of names
_MOST = 64
_PLACES = re.compile(r"%(?:\(\w*\))?[-+ #0]*[\d*.]*[a-zA-Z%]")
_FIELDS = re.compile(r"\{[^{}]*\}")
_SAME_ITEMS = frozenset(["list", "tuple", "sorted", "reversed", "set", "iter"])
_READ_ITEMS = frozenset([*_SAME_ITEMS, "len", "zip", "enumerate", "print"])
_GROWS = frozenset(["append", "extend", "insert", "add", "update", "__setitem__", "__iadd__"])


class Pattern(NamedTuple):
    """What a name begins and ends with; all of it, where `end` is None."""

    start: str
    end: str | None

    def fits(self, name: str) -> bool:
        if self.end is None:
            return name == self.start
        return name.startswith(self.start) and name.endswith(self.end) and len(name) >= len(self.start) + len(self.end)

    def meets(self, other: Pattern) -> bool:
        """Whether one name may fit both."""
        if self.end is None or other.end is None:
            return other.fits(self.start) if self.end is None else self.fits(other.start)
        starts, ends = sorted((self.start, other.start), key=len), sorted((self.end, other.end), key=len)
        return starts[1].startswith(starts[0]) and ends[1].endswith(ends[0])


def patterns_of(name: ast.expr, scope: ast.AST | None) -> list[Pattern] | None:
    """One of which the name fits that is computed in the scope, the innermost function around it or the module; None if it
    may be any name."""
    return kept_with(name, "patterns", lambda: _patterns_of(name, scope))


def _patterns_of(name: ast.expr, scope: ast.AST | None) -> list[Pattern] | None:
    if isinstance(scope, ast.ClassDef):
        scope = None
    if scope is not None and not isinstance(name, ast.Constant):
        for node in walk(scope):  # the outer ones come first
            if type(node) in _INNER and any(part is name for part in walk(node)):
                scope = None if isinstance(node, ast.ClassDef) else node
    found = _texts(name, scope, 0)
    return None if found is None or Pattern("", "") in found else found


def fits_any(name: str, patterns: list[Pattern] | None) -> bool:
    return patterns is None or any(each.fits(name) for each in patterns)


def _texts(node: ast.expr, scope: ast.AST | None, depth: int) -> list[Pattern] | None:
    if depth > _DEEP:
        return None
    found: list[Pattern] | None = None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = [Pattern(node.value, None)]
    elif isinstance(node, ast.JoinedStr) and node.values:
        first, last = node.values[0], node.values[-1]
        found = _between(_formatted(first, scope, depth), _formatted(last, scope, depth), first is last)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        found = _between(_texts(node.left, scope, depth + 1), _texts(node.right, scope, depth + 1), False)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        found = _filled(node.left, _PLACES)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        found = _filled(node.func.value, _FIELDS)
    elif isinstance(node, ast.IfExp):
        found = _either([_texts(node.body, scope, depth + 1), _texts(node.orelse, scope, depth + 1)])
    elif isinstance(node, ast.Name) and scope is not None:
        found = _either(_of_name(node.id, scope, depth + 1))
    return found


def _formatted(part: ast.expr, scope: ast.AST | None, depth: int) -> list[Pattern] | None:
    if not isinstance(part, ast.FormattedValue):
        return _texts(part, scope, depth + 1)
    plain = part.format_spec is None and part.conversion == -1
    return _texts(part.value, scope, depth + 1) if plain else None


def _between(first: list[Pattern] | None, last: list[Pattern] | None, alone: bool) -> list[Pattern] | None:
    """The patterns of a text that is put together, of its first and its last part."""
    if alone:
        return first
    starts = {each.start for each in first} if first is not None else {""}
    ends = {each.start if each.end is None else each.end for each in last} if last is not None else {""}
    return [Pattern(start, end) for start in starts for end in ends] if len(starts) * len(ends) <= _MOST else None


def _filled(text: ast.expr, places: re.Pattern[str]) -> list[Pattern] | None:
    """`"layer%d" % n`, `"layer{}".format(n)`."""
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
        return None
    around = places.split(text.value)
    return [Pattern(around[0], around[-1])] if len(around) > 1 else None


def _either(several: Iterable[list[Pattern] | None]) -> list[Pattern] | None:
    found: list[Pattern] = []
    for each in several:
        if each is None:
            return None
        found += each
        if len(found) > _MOST:
            return None
    return found or None


def _bindings(scope: ast.AST, name: str) -> list[tuple[ast.AST | None, ast.expr | None, bool]]:
    """What binds the name; something unknown too, where another scope or a pattern does."""
    found = list(bindings(scope, name))
    stored, otherwise = kept_with(scope, "stored names", lambda: _stored(scope))
    seen = {part for target, _, _ in found if target is not None for part in walk(target)}
    if name in otherwise or any(node not in seen for node in stored.get(name, ())):
        found.append((None, None, False))
    return found


def _stored(scope: ast.AST) -> tuple[dict[str, list[ast.Name]], set[str]]:
    """Where names are bound or deleted in a scope and those within it, and the names that a pattern or another scope binds."""
    stored: dict[str, list[ast.Name]] = {}
    otherwise: set[str] = set()
    for node in walk(scope):
        if isinstance(node, ast.Name):
            if type(node.ctx) is not ast.Load:
                stored.setdefault(node.id, []).append(node)
        elif type(node) not in _BINDING:
            continue
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            otherwise.update(node.names)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name is not None:
            otherwise.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            otherwise.add(node.rest)
    return stored, otherwise


def _of_name(name: str, scope: ast.AST, depth: int) -> Iterator[list[Pattern] | None]:
    for target, value, elements in _bindings(scope, name):
        if value is None or target is None:
            yield None
        elif elements:
            place = _place(target, name)
            yield None if place is None else _items(value, scope, place, depth)
        else:
            yield _texts(value, scope, depth) if isinstance(target, ast.Name) else None


def _place(target: ast.AST, name: str) -> int | None:
    """At which place of each item the name stands; -1 for the item itself."""
    if isinstance(target, ast.Name):
        return -1
    if isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(each, ast.Starred) for each in target.elts):
        places = [at for at, each in enumerate(target.elts) if isinstance(each, ast.Name) and each.id == name]
        return places[0] if len(places) == 1 else None
    return None


def _items(node: ast.expr, scope: ast.AST, place: int, depth: int) -> list[Pattern] | None:
    """The patterns of what stands at a place of each item of an iterable."""
    if depth > _DEEP:
        return None
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return _either([_part(each, scope, place, depth) for each in node.elts])
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        return _part(node.elt, node, place, depth)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _items(node.value, scope, place, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        name, given = node.func.id, node.args
        if any(isinstance(each, ast.Starred) for each in given):
            return None
        if name == "zip" and 0 <= place < len(given):
            return _items(given[place], scope, -1, depth + 1)
        if name == "enumerate" and place == 1:
            return _items(given[0], scope, -1, depth + 1)
        return _items(given[0], scope, place, depth + 1) if name in _SAME_ITEMS else None
    if isinstance(node, ast.Name):
        found: list[list[Pattern] | None] = []
        for target, value, elements in _bindings(scope, node.id):
            fits = isinstance(target, ast.Name) and value is not None and not elements
            found.append(_items(value, scope, place, depth + 1) if fits and value is not None else None)
        return None if _may_grow(node.id, scope) else _either(found)
    return None


def _part(item: ast.expr, scope: ast.AST, place: int, depth: int) -> list[Pattern] | None:
    if place < 0:
        return _texts(item, scope, depth + 1)
    fits = isinstance(item, ast.Tuple) and place < len(item.elts)
    return _texts(item.elts[place], scope, depth + 1) if fits and isinstance(item, ast.Tuple) else None


def _may_grow(name: str, scope: ast.AST) -> bool:
    """Whether something may be put into what the name holds: it is not only gone through, read and looked into."""
    read: set[ast.AST] = set()
    for node in walk(scope):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            read.add(node.iter)
        elif isinstance(node, ast.Attribute) and node.attr not in _GROWS:
            read.add(node.value)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            read.add(node.value)
        elif isinstance(node, ast.Compare):
            read.update(node.comparators)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READ_ITEMS:
            read.update(node.args)
    return any(
        _is(node, name) and isinstance(node.ctx, ast.Load) and node not in read  # type: ignore[attr-defined]
        for node in walk(scope)
    )


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def names_part_of(name: ast.expr, holder: ast.expr, scope: ast.AST | None) -> bool:
    """Whether the name is that of a module which the holder has: `for name, part in holder.named_children()`."""
    root = root_name(holder)
    if not isinstance(name, ast.Name) or scope is None or root is None or len(list(bindings(scope, root))) != 1:
        return False
    wanted, found = ast.dump(holder), False
    for target, value, elements in _bindings(scope, name.id):
        parts = _named_parts(value) if elements and value is not None else None
        if parts is None or target is None or ast.dump(parts[0]) != wanted or _place(target, name.id) != parts[1]:
            return False
        found = True
    return found


def _named_parts(node: ast.expr) -> tuple[ast.expr, int] | None:
    """x of `x.named_children()`, `x._modules`, `x._modules.items()`, and at which place of each item the name stands."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SAME_ITEMS:
        if len(node.args) != 1:
            return None
        node = node.args[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        owner, method = node.func.value, node.func.attr
        if method == "named_children":
            return owner, 0
        if method in ("items", "keys") and isinstance(owner, ast.Attribute) and owner.attr == "_modules":
            return owner.value, 0 if method == "items" else -1
        return None
    return (node.value, -1) if isinstance(node, ast.Attribute) and node.attr == "_modules" else None
