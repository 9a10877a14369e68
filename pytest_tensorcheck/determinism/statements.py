"""The statements of the user's files: which names each reads and writes, and a backward slice by names.

From the text alone: nothing of the user's is run.
"""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any


@dataclass(slots=True)
class Statement:
    """A statement's (or a compound statement's header's) reads and writes; attributes are kept as `.name`."""

    stores: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    headers: tuple[int, ...] = ()  # lines of the if, while and for statements around it
    nodes: list[ast.AST] = field(default_factory=list)


@lru_cache(maxsize=64)
def statements(file: str) -> dict[int, Statement]:
    """The statements of a file by each of their lines; empty where the text cannot be had."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    found: dict[int, Statement] = {}
    _index(tree.body, (), found)
    return found


def _index(body: list[ast.stmt], headers: tuple[int, ...], found: dict[int, Statement]) -> None:
    for node in body:
        statement = Statement(headers=headers)
        parts: list[ast.AST]
        inner: list[list[ast.stmt]] = [
            getattr(node, name)
            for name in ("body", "orelse", "finalbody")
            if isinstance(getattr(node, name, None), list)
        ]
        inner += [handler.body for handler in getattr(node, "handlers", [])]
        inner += [case.body for case in getattr(node, "cases", [])]
        last = node.end_lineno or node.lineno
        if inner:
            parts = [
                child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, ast.excepthandler))
            ]
            last = min([block[0].lineno for block in inner if block] + [last + 1]) - 1
        else:
            parts = [node]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            parts = []
        for part in parts:
            for child in ast.walk(part):
                _read(child, statement)
        if isinstance(node, ast.AugAssign):
            statement.nodes.append(node)
            for child in ast.walk(node.target):
                if isinstance(child, ast.Name):
                    statement.loads.add(child.id)
                elif isinstance(child, ast.Attribute):
                    statement.loads.add(f".{child.attr}")
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            statement.nodes.append(node)
        for line in range(node.lineno, max(node.lineno, last) + 1):
            _merge(found, line, statement)
        scope = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        branching = isinstance(node, (ast.If, ast.While, ast.For, ast.AsyncFor, ast.Match))
        for block in inner:
            _index(block, () if scope else (*headers, node.lineno) if branching else headers, found)


def _merge(found: dict[int, Statement], line: int, statement: Statement) -> None:
    """Several statements on one line (`if late: x = x + 1`) count as one."""
    there = found.get(line)
    if there is None:
        found[line] = statement
        return
    found[line] = Statement(
        there.stores | statement.stores,
        there.loads | statement.loads,
        there.calls | statement.calls,
        tuple({*there.headers, *statement.headers} - {line}),
        there.nodes + statement.nodes,
    )


def _read(node: ast.AST, statement: Statement) -> None:
    if isinstance(node, ast.Name):
        (statement.stores if isinstance(node.ctx, ast.Store) else statement.loads).add(node.id)
    elif isinstance(node, ast.Attribute):
        (statement.stores if isinstance(node.ctx, ast.Store) else statement.loads).add(f".{node.attr}")
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        statement.stores.add(_root(node) or "")
    elif isinstance(node, ast.Call):
        statement.nodes.append(node)
        dotted = dotted_name(node.func)
        if dotted:
            statement.calls.add(dotted[-1])
            if len(dotted) > 1:  # a method may change what it is called on
                statement.stores.add(f".{dotted[-2]}" if len(dotted) > 2 else dotted[0])
    elif isinstance(node, ast.comprehension):
        statement.nodes.append(node)


def dotted_name(node: ast.AST) -> tuple[str, ...] | None:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(names))


def _root(node: ast.AST) -> str | None:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Attribute):
            return f".{node.attr}"
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


@lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def _function_around(file: str, line: int) -> ast.AST | None:
    """The innermost function that holds a line, else the module."""
    tree = _tree(file)
    best: ast.AST | None = tree
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0):
            best = node  # `walk` goes outside in
    return best


def slice_of_function(file: str, line: int) -> list[int]:
    """The lines of the function from which the values at `line` and the branches around it come, nearest first."""
    function = _function_around(file, line)
    known = statements(file)
    if function is None or line not in known:
        return []
    first = getattr(function, "lineno", 1)
    found, wanted = [line], set(known[line].loads)
    for header in reversed(known[line].headers):
        found.append(header)
        wanted |= known[header].loads if header in known else set()
    for number in range(line - 1, first - 1, -1):
        statement = known.get(number)
        if statement is not None and statement.stores & wanted and number not in found:
            found.append(number)
            wanted |= statement.loads
            found.extend(header for header in statement.headers if header not in found)
    return found


def local_sets(file: str, line: int) -> dict[str, Any]:
    """The names in the function around a line that are assigned a set, each standing for one."""
    function = _function_around(file, line)
    names: dict[str, Any] = {}
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = node.value
            made = isinstance(value, ast.Call) and dotted_name(value.func) in (("set",), ("frozenset",))
            if made or isinstance(value, (ast.Set, ast.SetComp)):
                names[node.targets[0].id] = set()
    return names


def module_names(file: str) -> dict[str, Any]:
    """What a file's import statements bind, of the modules that are loaded here anyway."""
    tree = _tree(file)
    names: dict[str, Any] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = sys.modules.get(alias.name if alias.asname else alias.name.split(".")[0])
                if module is not None:
                    names[alias.asname or alias.name.split(".")[0]] = module
        elif isinstance(node, ast.ImportFrom) and node.module in sys.modules:
            for alias in node.names:
                value = getattr(sys.modules[node.module or ""], alias.name, None)
                if value is not None:
                    names[alias.asname or alias.name] = value
    return names
