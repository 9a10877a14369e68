"""What a file takes from other modules of its project: the library hashes such code by its name, so edits stay unseen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorlint.inference.fingerprints.classes import last_name
from tensorlint.inference.fingerprints.scopes import Binding, Names
from tensorlint.project import Project

_DEEPEST = 5  # modules through which a name is handed on, names that stand for another
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NOT_WORK = re.compile(r"(Error|Exception|Warning)$")


@dataclass(frozen=True, slots=True)
class Imported:
    """Code of another module of the project, as this file spells it, and the import that brings it.

    `made`: an instance of a class there, or a method of one.
    """

    name: str
    module: str
    node: ast.AST
    made: bool = False


@dataclass(frozen=True, slots=True)
class _Origin:
    """`parts` of the dotted name behind an expression; `made`: how many of them name the class it is an instance of.

    `renamed`: the file has another name for it by an assignment.
    """

    parts: tuple[str, ...]
    level: int
    node: ast.AST
    made: int = 0
    renamed: bool = False


class OwnModules:
    """Resolves expressions of one file to code of its project's other modules. Without a project it knows none."""

    def __init__(self, names: Names, path: str, project: Project | None) -> None:
        self._names = names
        self._path = path
        self._project = project

    def imported(self, node: ast.expr) -> Imported | None:
        """The function, class, method or class attribute of another module of the project that `node` is."""
        origin = self._origin(node, 0)
        if origin is None or self._project is None:
            return None
        smallest = 0 if origin.level else 1
        for length in range(len(origin.parts) - 1, smallest - 1, -1):
            dotted = ".".join(origin.parts[:length])
            path = self._project.locate(dotted, importer=self._path, level=origin.level)
            if path is None:
                continue
            if origin.made and origin.made != length + 1:
                return None
            if not self._is_code(path, origin.parts[length:], bool(origin.made), 0):
                return None
            name = ".".join(origin.parts[length:]) if origin.made or origin.renamed else _spelled(node)
            return Imported(name, "." * origin.level + dotted, origin.node, bool(origin.made))
        return None

    def class_of(self, node: ast.expr) -> tuple[ast.Module, ast.ClassDef] | None:
        """The class of another module of the project that `node` is, with the tree of the module that defines it."""
        origin = self._origin(node, 0)
        if origin is None or origin.made or self._project is None:
            return None
        for length in range(len(origin.parts) - 1, -1 if origin.level else 0, -1):
            path = self._project.locate(".".join(origin.parts[:length]), importer=self._path, level=origin.level)
            if path is not None:
                return self._class_in(path, origin.parts[length:], 0)
        return None

    def _class_in(self, path: str, rest: tuple[str, ...], depth: int) -> tuple[ast.Module, ast.ClassDef] | None:
        module = self._project.parsed(path) if self._project is not None and depth < _DEEPEST else None
        statement = _bound(module.tree, rest[0]) if module is not None and len(rest) == 1 else None
        if isinstance(statement, ast.ImportFrom) and self._project is not None:
            alias = next(alias for alias in statement.names if (alias.asname or alias.name) == rest[0])
            above = self._project.locate(statement.module or "", importer=path, level=statement.level)
            return None if above is None else self._class_in(above, (alias.name,), depth + 1)
        if module is None or not isinstance(statement, ast.ClassDef):
            return None
        decorators = {last_name(each) for each in statement.decorator_list}
        return (module.tree, statement) if decorators <= {"dataclass"} else None

    def unseen(self, node: ast.ImportFrom, name: str) -> Imported | None:
        """A name from a relative import of which nobody can see the module: of the project all the same."""
        dotted = node.module or ""
        if self._project is not None and self._project.locate(dotted, importer=self._path, level=node.level):
            return None
        return Imported(name, "." * node.level + dotted, node)

    def used(self, name: ast.Name) -> Imported | None:
        """The same for a name that a function reads, with the attributes behind it: `prep.clean` of `prep.clean(row)`."""
        node: ast.expr = name
        above = self._names.parents.get(node)
        while isinstance(above, ast.Attribute):
            node, above = above, self._names.parents.get(above)
        found = self.imported(node)
        called = isinstance(above, ast.Call) and above.func is node
        if found is not None and node is name and not called and name.id[:1].isupper():
            return None  # isinstance(row, Row), except Missing
        return found

    def _origin(self, node: ast.expr, depth: int) -> _Origin | None:
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Attribute):
            base = self._origin(node.value, depth)
            return replace(base, parts=(*base.parts, node.attr)) if base is not None else None
        if isinstance(node, ast.Call):
            if last_name(node.func) == "partial" and node.args:
                return self._origin(node.args[0], depth + 1)
            base = self._origin(node.func, depth + 1)
            if base is None or base.made:
                return None
            return replace(base, made=len(base.parts))
        if not isinstance(node, ast.Name):
            return None
        scope = self._names.resolve(node.id, self._names.scope_at.get(node, self._names.module))
        bindings = scope.bindings.get(node.id, []) if scope is not None else []
        if len(bindings) != 1:
            return None
        return self._origin_of(bindings[0], depth)

    def _origin_of(self, binding: Binding, depth: int) -> _Origin | None:
        if binding.how == "import":
            level = binding.node.level if isinstance(binding.node, ast.ImportFrom) else 0
            return _Origin(tuple(filter(None, binding.imported.split("."))), level, binding.node)
        if binding.how == "assign" and binding.value is not None:
            found = self._origin(binding.value, depth + 1)
            return replace(found, renamed=True) if found is not None else None
        return None

    def _is_code(self, path: str, rest: tuple[str, ...], made: bool, depth: int) -> bool:
        """Whether the module in `path` defines what `rest` names, so that it is found there by its name."""
        module = self._project.parsed(path) if self._project is not None and depth < _DEEPEST else None
        if module is None:
            return False
        statement = _bound(module.tree, rest[0])
        if isinstance(statement, ast.ImportFrom):
            alias = next(alias for alias in statement.names if (alias.asname or alias.name) == rest[0])
            assert self._project is not None
            above = self._project.locate(statement.module or "", importer=path, level=statement.level)
            return above is not None and self._is_code(above, (alias.name, *rest[1:]), made, depth + 1)
        if isinstance(statement, ast.ClassDef):
            if _NOT_WORK.search(statement.name):
                return False
            if len(rest) == 1:
                return True
            inner = _bound(statement, rest[1])
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return len(rest) == 2 and _is_kept(inner)
            # The fields of an instance are hashed by their values, those of its class are not.
            return isinstance(inner, (ast.Assign, ast.AnnAssign)) and not made
        return isinstance(statement, _DEFINITIONS) and len(rest) == 1 and not made and _is_kept(statement)


def _spelled(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        inner = node.args[0] if last_name(node.func) == "partial" and node.args else node.func
        return _spelled(inner)
    if isinstance(node, ast.Attribute):
        return f"{_spelled(node.value)}.{node.attr}"
    return ast.unparse(node)


def _bound(body: ast.Module | ast.ClassDef, name: str) -> ast.stmt | None:
    """The one statement that binds a name in a module or class; None where there are several."""
    found = [statement for statement in _statements(body.body) if name in _names_bound(statement)]
    return found[0] if len(found) == 1 else None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for inner in ("body", "orelse", "finalbody"):
            if isinstance(statement, (ast.If, ast.Try, ast.With)):
                yield from _statements(getattr(statement, inner, []))


def _names_bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, _DEFINITIONS):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in statement.names]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_kept(function: ast.stmt) -> bool:
    """A decorator may put another function in its place, which is hashed by its code, with the one it wraps."""
    decorators = getattr(function, "decorator_list", [])
    return all(last_name(decorator) in ("staticmethod", "overload") for decorator in decorators)
