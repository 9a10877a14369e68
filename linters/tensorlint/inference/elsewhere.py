"""What functions of other files change, with all that they call there and in further files: as names, once for a project.

`reached.py` asks, for a function that is called and not followed. Nothing of what is kept here holds a tree.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorlint.inference.caught import held
from tensorlint.inference.changes import EITHER, NEITHER, SHAPED_IN_PLACE, Changes, changes_of
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.handling import last_name
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import INITIALISERS, ScopeFacts, collect

if TYPE_CHECKING:
    from tensorlint.project import Project

MOST_FUNCTIONS = 60
_MOST_IMPORTS = 4  # of a name that is imported from where it is imported
_MOST_KEPT = 5000
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# What may bind any name of a module anew.
_RUNS_TEXT = re.compile(r"(?<![.\w])exec\((?:[^,\n]*\)|.*\bglobals\(\))")
# Calls that make no object of one of the program's classes.
_PLAIN_MAKERS = frozenset(
    ["getLogger", "get_logger", "compile", "dict", "list", "set", "frozenset", "tuple", "defaultdict", "OrderedDict", "TypeVar", "namedtuple"]
)  # fmt: skip
_PLAIN = (
    ast.Constant,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Tuple,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.JoinedStr,
    ast.Lambda,
)
_LIBRARIES = sys.stdlib_module_names | {"torch", "numpy"}
Import = tuple[str, str, int]  # module, name, and how many dots stand before the module
Place = tuple[str, str]  # the path of a file, and a name of its module


@dataclass(slots=True, eq=False, repr=False)
class OfAnyObject:
    """What code does to whatever objects it has in hand: the attributes that it changes, or lends, and the methods that it
    calls; `reshapes` and `lent` as in Changes."""

    attributes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    reshapes: frozenset[str] = NEITHER
    lent: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)  # attributes, as in Changes
    shared: set[str] = field(default_factory=set)
    taken: bool = False
    anything: bool = False  # it calls what a name or an attribute holds, which may be any function that something keeps

    def take(self, other: OfAnyObject) -> None:
        self.attributes |= other.attributes
        self.methods |= other.methods
        self.reshapes |= other.reshapes
        self.lent |= other.lent
        self.given |= other.given
        self.shared |= other.shared
        self.taken = self.taken or other.taken
        self.anything = self.anything or other.anything


@dataclass(slots=True, eq=False, repr=False)
class Part(OfAnyObject):
    """One function, or one with all that it calls in its file: also what names of other scopes than its own hold (true), or
    may hold, as methods of it are called (false). `of_classes` is as in Changes, `imported` what it calls of other files."""

    names: dict[str, bool] = field(default_factory=dict)
    of_classes: set[tuple[str, str]] = field(default_factory=set)
    lent_names: set[str] = field(default_factory=set)
    given_names: set[str] = field(default_factory=set)
    imported: set[Import] = field(default_factory=set)

    def add(self, changes: Changes, facts: ScopeFacts | None, file: SourceFile, closed: bool) -> None:
        self.attributes |= changes.attributes
        self.methods |= changes.methods
        self.reshapes |= changes.reshapes
        self.of_classes |= changes.of_classes
        self.lent |= changes.lent_attributes
        self.given |= changes.given_attributes
        self.shared |= changes.shared
        self.taken = self.taken or changes.taken
        if changes.asked and not (closed or self.taken):
            self.taken = _any_changes(changes.asked, file)
        self.anything = (
            self.anything
            or changes.computed
            or (facts is not None and not changes.functions.isdisjoint(facts.assigned))
            or not changes.methods.isdisjoint(attributes_stored(file))
        )
        changed = changes.names
        receivers = changes.receivers - file.facts.imported
        if closed:  # it sees the module's names and no others
            changed, receivers = changed & (variables(file) | file.facts.imported), receivers & _objects(file)
        # What is imported is no object of the program's; if it is one all the same, it is not known under that name.
        for name in changed | receivers:
            if facts is None or name not in facts.assigned or name in facts.shared or name in file.facts.named:
                self.names[name] = self.names.get(name, False) or name in changes.names
        if facts is not None or not closed:
            own = set() if facts is None else facts.assigned.keys() - file.facts.named
            self.lent_names |= (changes.lent & variables(file) if closed else changes.lent) - own
            self.given_names |= (changes.given & variables(file) if closed else changes.given) - own


@dataclass(slots=True, repr=False)
class Elsewhere(OfAnyObject):
    """As in Part, of functions of several files: the names are those of modules, by the paths of their files, and
    `of_imported` is what they assign of what a module imports."""

    names: dict[str, dict[str, bool]] = field(default_factory=dict)
    of_classes: set[str] = field(default_factory=set)
    of_imported: set[tuple[str, str, str]] = field(default_factory=set)  # path, name, attribute
    lent_names: dict[str, set[str]] = field(default_factory=dict)
    given_names: dict[str, set[str]] = field(default_factory=dict)

    def add(self, other: Elsewhere) -> None:
        self.take(other)
        for path, names in other.names.items():
            self._add_names(path, names)
        self.of_classes |= other.of_classes
        self.of_imported |= other.of_imported
        for mine, others in ((self.lent_names, other.lent_names), (self.given_names, other.given_names)):
            for path, named in others.items():
                mine.setdefault(path, set()).update(named)

    def add_part(self, part: Part, file: SourceFile) -> None:
        path = file.path
        self.take(part)
        self._add_names(path, part.names)
        self.of_classes.update([name for _, name in part.of_classes])
        if part.lent_names:
            self.lent_names.setdefault(path, set()).update(part.lent_names)
        if part.given_names:
            self.given_names.setdefault(path, set()).update(part.given_names)

    def _add_names(self, path: str, names: dict[str, bool]) -> None:
        if names:
            mine = self.names.setdefault(path, {})
            for name, changed in names.items():
                if changed or name not in mine:
                    mine[name] = changed


NOTHING = Elsewhere()


class OtherFiles:
    """Finds and reads functions of a project's files, whichever of them is analysed."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.known: OrderedDict[tuple[object, ...], Elsewhere] = OrderedDict()

    def of_function(self, node: ast.AST, file: SourceFile) -> Elsewhere:
        key = file.path, getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        return self._kept(key) or self._keep(key, self._read([(node, file)]))

    def of_name(self, path: str, name: str) -> Elsewhere:
        """Of the function of that name in a file, or the initialisers of the class."""
        key = path, name
        return self._kept(key) or self._keep(key, self._read(list(self._defined(path, name))))

    def _kept(self, key: tuple[object, ...]) -> Elsewhere | None:
        found = self.known.get(key)
        if found is not None:
            self.known.move_to_end(key)
        return found

    def _keep(self, key: tuple[object, ...], found: Elsewhere) -> Elsewhere:
        self.known[key] = found
        if len(self.known) > _MOST_KEPT:
            self.known.popitem(last=False)
        return found

    def _read(self, waiting: list[tuple[ast.AST, SourceFile]]) -> Elsewhere:
        found = Elsewhere()
        seen: set[ast.AST] = set()
        asked: set[Place] = set()
        reshapes_any = False
        while waiting and len(seen) < MOST_FUNCTIONS:
            node, file = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            reshapes_any = reshapes_any or reshapes(file)
            part = within(node, file)
            found.add_part(part, file)
            for owner, name in part.of_classes:
                if owner in file.facts.imported and self._is_of_project(file, owner):
                    found.of_imported.add((file.path, owner, name))
            for module, name, level in part.imported:
                path = self.project.locate(module, importer=file.path, level=level)
                if path is not None and (path, name) not in asked:
                    asked.add((path, name))
                    waiting += self._defined(path, name)
        if waiting and reshapes_any:  # not all of it was read
            found.reshapes = EITHER
        return NOTHING if found == NOTHING else found

    def _defined(self, path: str, name: str, depth: int = 0) -> Iterator[tuple[ast.AST, SourceFile]]:
        file = self.file(path)
        if file is None:
            return
        nodes = defined(file).get(name)
        if nodes is not None:
            yield from ((node, file) for node in nodes)
        elif depth < _MOST_IMPORTS and (further := imports(file).get(name)) is not None:
            module, inner, level = further
            located = self.project.locate(module, importer=path, level=level)
            if located is not None:
                yield from self._defined(located, inner, depth + 1)

    def _is_of_project(self, file: SourceFile, name: str) -> bool:
        """Whether the file imports that name from a module of the project."""
        for node in file.facts.imports:
            for alias in node.names:
                if name == (alias.asname or alias.name).partition(".")[0]:
                    module, level = (alias.name, 0) if isinstance(node, ast.Import) else (node.module or "", node.level)
                    if self.project.locate(module, importer=file.path, level=level) is not None:
                        return True
        return False

    def file(self, path: str) -> SourceFile | None:
        module = self.project.read_module(path)
        if module is None or runs_text(module.tree, module.source):
            return None
        return SourceFile(path, module.source, module.tree, collect(module.tree, module.source), own=False)


def runs_text(tree: ast.Module, source: str) -> bool:
    """Whether a text that the module makes may bind any of its names."""
    return kept_with(tree, "runs text", lambda: "exec(" in source and _RUNS_TEXT.search(source) is not None)


def changes_in(code: ast.AST) -> Changes:
    return kept_with(code, "changes", lambda: changes_of(code))


def reshapes(file: SourceFile) -> bool:
    """Whether the file changes the shape of a tensor in place."""
    return kept_with(file.tree, "reshapes", lambda: SHAPED_IN_PLACE.search(file.text) is not None)


def within(start: ast.AST, file: SourceFile) -> Part:
    """The function, with all that it calls in its file."""
    return kept_with(start, "within", lambda: _within(start, file))


def _within(start: ast.AST, file: SourceFile) -> Part:
    part = Part()
    functions, named, imported = defined(file), by_name(file), imports(file)
    waiting, seen, computed = [start], {start}, False
    while waiting and len(seen) < MOST_FUNCTIONS:
        node = waiting.pop()
        changes, facts = changes_in(node), file.facts.scopes.get(node)
        part.add(changes, facts, file, closed=True)
        computed = computed or changes.computed
        methods = set(changes.methods)
        names = changes.functions | changes.handed
        for decorator in getattr(node, "decorator_list", ()):
            name = last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            (names if isinstance(decorator, ast.Name) else methods).add(name or "")
        called: list[ast.AST] = [each for name in names & functions.keys() for each in functions[name]]
        called += [each for name in methods & named.keys() for each in named[name]]
        for name in names - functions.keys():
            if name in imported:
                part.imported.add(imported[name])
            elif facts is not None and name in facts.assigned and name in changes.functions:
                computed = True
        part.imported |= functions_of_modules(changes, file)
        waiting += [each for each in called if each not in seen]
        seen.update(called)
    if (waiting or computed) and reshapes(file):
        part.reshapes |= EITHER if waiting else reshaped_by_any(file)
    return part


def reshaped_by_any(file: SourceFile) -> frozenset[str]:
    """Whose tensors the functions reshape that are more than called: what is called without a name may be any of them."""

    def find() -> frozenset[str]:
        names = held(file)
        found = NEITHER
        for name, nodes in by_name(file).items():
            if names is None or name in names:
                found = found.union(*(changes_in(node).reshapes for node in nodes))
        return found

    return kept_with(file.tree, "reshaped by any", find)


def by_name(file: SourceFile) -> dict[str, list[FunctionNode]]:
    """All functions and methods of the file."""

    def make() -> dict[str, list[FunctionNode]]:
        found: dict[str, list[FunctionNode]] = {}
        for node in file.facts.scopes:
            if isinstance(node, FUNCTIONS):
                found.setdefault(node.name, []).append(node)
        return found

    return kept_with(file.tree, "functions", make)


def _any_changes(methods: set[str], file: SourceFile) -> bool:
    """Whether a function of the file that has one of these names changes something."""
    named = by_name(file)
    return any(changes_in(node).attributes for name in methods & named.keys() for node in named[name])


def variables(file: SourceFile) -> set[str]:
    """The names that statements of the module bind, in this file also those of its functions, which inner ones see."""

    def make() -> set[str]:
        scopes = file.facts.scopes
        bound = (
            {name for scope in scopes.values() for name in scope.textual} if file.own else {*scopes[file.tree].textual}
        )
        return bound - by_name(file).keys() - defined(file).keys()

    return kept_with(file.tree, "own variables" if file.own else "variables", make)


def attributes_stored(file: SourceFile) -> set[str]:
    """The attributes that functions of the file assign, of whatever object."""
    return kept_with(
        file.tree,
        "attributes stored",
        lambda: {attribute for scope in file.facts.scopes.values() for _, attribute in scope.stored},
    )


def _objects(file: SourceFile) -> set[str]:
    """Those of the module's names that may stand for an object of one of the program's classes: loggers do not."""

    def make() -> set[str]:
        plain = set()
        for node in file.tree.body:
            if isinstance(node, ast.Assign) and _is_plain(node.value):
                plain.update([each.id for each in node.targets if isinstance(each, ast.Name)])
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                if _is_plain(node.value):
                    plain.add(node.target.id)
        stable = file.facts.scopes[file.tree].is_stable
        return variables(file) - {name for name in plain if stable(name)}

    return kept_with(file.tree, "objects", make)


def _is_plain(value: ast.expr) -> bool:
    return isinstance(value, _PLAIN) or (isinstance(value, ast.Call) and last_name(value.func) in _PLAIN_MAKERS)


def defined(file: SourceFile) -> dict[str, list[ast.AST]]:
    """The functions of the file that neither a class nor a function holds, and the initialisers of such classes."""

    def make() -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for node in file.tree.body:
            if isinstance(node, FUNCTIONS):
                found[node.name] = [node]
            elif isinstance(node, ast.ClassDef):
                found[node.name] = [
                    each for each in node.body if isinstance(each, FUNCTIONS) and each.name in INITIALISERS
                ]
        return found

    return kept_with(file.tree, "defined", make)


def imports(file: SourceFile) -> dict[str, Import]:
    """What the file imports from modules, by the names that it gets."""
    return kept_with(
        file.tree,
        "imports",
        lambda: {
            alias.asname or alias.name: (node.module or "", alias.name, node.level)
            for node in file.facts.imports
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        },
    )


def functions_of_modules(changes: Changes, file: SourceFile) -> set[Import]:
    """What is called by the name of a module that the file imports: `b.change(x)`."""
    modules = kept_with(file.tree, "modules", lambda: _modules(file))
    return {(modules[owner][0], name, modules[owner][1]) for owner, name in changes.called_of if owner in modules}


def _modules(file: SourceFile) -> dict[str, tuple[str, int]]:
    """The modules, and the dots before them, that names of the file may stand for, but for those of libraries."""
    found: dict[str, tuple[str, int]] = {}
    for node in file.facts.imports:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] not in _LIBRARIES and (alias.asname or "." not in alias.name):
                    found[alias.asname or alias.name] = alias.name, 0
        elif node.level or (node.module or "").partition(".")[0] not in _LIBRARIES:
            for alias in node.names:
                name = f"{node.module}.{alias.name}" if node.module else alias.name
                found[alias.asname or alias.name] = name, node.level
    return found
