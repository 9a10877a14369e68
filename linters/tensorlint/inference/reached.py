"""What code changes that is called and not followed: its statements are read, and those of the functions that it calls.

Functions are found by the names that they are called by, methods by their names in the same file and in the classes of
the objects that the code is given. Of another file's function all that it reaches there is read once, and kept with the
file's tree.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace

from tensorlint.inference.caught import held
from tensorlint.inference.changes import EITHER, NEITHER, SHAPED_IN_PLACE, Changes, changes_of
from tensorlint.inference.class_order import functions_of, method_order
from tensorlint.inference.effects import objects_within
from tensorlint.inference.frames import Frame, SourceFile
from tensorlint.inference.handling import last_name
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import INITIALISERS, ScopeFacts
from tensorlint.inference.state import State
from tensorlint.inference.values import Class, Function, Imported, Instance, Library, ModuleScope, Value

_MOST_FUNCTIONS = 60
_MOST_IMPORTS = 4  # of a name that is imported from where it is imported
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Called = tuple[ast.AST, Frame]
Import = tuple[str, str, int]  # module, name, and how many dots stand before the module


@dataclass(slots=True)
class Reached:
    """What a function and those that it calls change: the attributes, of any object, and what names of other scopes than
    their own hold (true), or may hold, as methods of it are called (false). `methods` are called, of whatever object;
    `reshapes` as in Changes."""

    attributes: set[str] = field(default_factory=set)
    names: dict[tuple[Frame, str], bool] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    reshapes: frozenset[str] = NEITHER
    of_classes: set[tuple[Frame, str, str]] = field(default_factory=set)  # as in Changes, and where
    lent: set[str] = field(default_factory=set)  # attributes, as in Changes
    lent_names: set[tuple[Frame, str]] = field(default_factory=set)

    def add(self, other: Reached) -> None:
        self.attributes |= other.attributes
        for place, changed in other.names.items():
            self.names[place] = self.names.get(place, False) or changed
        self.methods |= other.methods
        self.reshapes |= other.reshapes
        self.of_classes |= other.of_classes
        self.lent |= other.lent
        self.lent_names |= other.lent_names


@dataclass(slots=True)
class _Part:
    """One function, or one with all that it calls in its file: the same, with `calls` of functions elsewhere, and what it
    calls that is imported."""

    attributes: set[str] = field(default_factory=set)
    names: dict[str, bool] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    reshapes: frozenset[str] = NEITHER
    of_classes: set[tuple[str, str]] = field(default_factory=set)
    lent: set[str] = field(default_factory=set)
    lent_names: set[str] = field(default_factory=set)
    calls: list[Called] = field(default_factory=list)
    imported: set[Import] = field(default_factory=set)
    located: list[tuple[str, str]] | None = None  # the files of the project among these, and the names

    def seen_from(self, scope: Frame) -> Reached:
        return Reached(
            self.attributes, {(scope, name): changed for name, changed in self.names.items()}, self.methods, self.reshapes,
            {(scope, *each) for each in self.of_classes}, self.lent, {(scope, name) for name in self.lent_names},
        )  # fmt: skip

    def add(self, changes: Changes, facts: ScopeFacts | None, file: SourceFile, closed: bool) -> None:
        self.attributes |= changes.attributes
        self.methods |= changes.methods
        self.reshapes |= changes.reshapes
        self.of_classes |= changes.of_classes
        self.lent |= changes.lent_attributes
        changed = changes.names
        receivers = changes.receivers - file.facts.imported
        if closed:  # it sees the module's names and no others
            changed, receivers = changed & (_variables(file) | file.facts.imported), receivers & _variables(file)
        # What is imported is no object of the program's; if it is one all the same, it is not known under that name.
        for name in changed | receivers:
            if facts is None or name not in facts.assigned or name in facts.shared:
                self.names[name] = self.names.get(name, False) or name in changes.names
        if facts is not None:
            self.lent_names |= (changes.lent & _variables(file)) - facts.assigned.keys()


class Reaching(State):
    """Mixed into the interpreter."""

    def changes_something(self, code: ast.AST) -> bool:
        changes = self.changes_in(code)
        return bool(changes.names or changes.attributes)

    def changes_in(self, code: ast.AST) -> Changes:
        return changes_in(code)

    def assigned_by(self, code: ast.AST) -> set[str]:
        """The attributes that the function assigns, of whatever object."""
        return changes_in(code).attributes

    def reshapes(self, file: SourceFile) -> bool:
        """Whether the file changes the shape of a tensor in place."""
        return reshapes(file)

    def reached_from(self, function: Function) -> Reached:
        """What the function and those that it calls change."""
        start = function.node, function.scope
        at = start if self.module_frame.finished else (*start, len(self.module_frame.env))
        found: Reached | None = self.reached.get(at)
        if found is not None:
            return found
        found = self.reached[at] = Reached()
        waiting: list[Called] = [start]
        seen: set[ast.AST] = set()
        while waiting and len(seen) < _MOST_FUNCTIONS:
            node, scope = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            part = self.read(node, scope)
            found.add(part.seen_from(scope))
            waiting += part.calls
        if waiting and reshapes(function.scope.file):  # not all of it was read
            found.reshapes = EITHER
        return found

    def read(self, node: ast.AST, scope: Frame) -> _Part:
        key = "part", node, scope
        known: _Part | None = self.reached.get(key)
        if known is not None:
            return known
        file = scope.file
        top = None if file.own else _module_of(scope)
        part = self.read_here(node, scope) if top is None else self.read_elsewhere(node, top)
        if self.module_frame.finished or not file.own:
            self.reached[key] = part
        return part

    def read_here(self, node: ast.AST, scope: Frame) -> _Part:
        """A function whose names are looked up as they are."""
        changes, part, file = changes_in(node), _Part(), scope.file
        facts = file.facts.scopes.get(node)
        part.add(changes, facts, file, closed=False)
        computed = changes.computed
        for name in changes.functions | changes.handed:
            called = scope.lookup(name)
            if isinstance(called, Imported):
                part.calls += self.imported_function((called.module, called.name or "", called.level), called.importer)
            elif isinstance(called, (Function, Class, Instance)):
                part.calls += _functions_in(called, INITIALISERS)
            elif facts is not None and name in facts.assigned and name in changes.functions:
                computed = True  # `make = TABLE[key]; make(x)`
        for decorator in getattr(node, "decorator_list", ()):
            part.calls += self.run_by_decorator(decorator, scope)
        if computed and reshapes(file):
            part.reshapes |= _reshaped_by_any(file)
        part.calls += self.methods_called(changes.methods)
        return part

    def read_elsewhere(self, node: ast.AST, top: Frame) -> _Part:
        """A function of another file, with all that it calls there."""
        file = top.file
        within = kept_with(node, "within", lambda: _within(node, file))
        if within.located is None:
            located = [(self.project_file(each, file.path), each[1]) for each in within.imported]
            within.located = [(path, name) for path, name in located if path is not None]
        calls = [called for path, name in within.located for called in self.function_of(path, name)]
        calls += self.methods_called(within.methods)
        return replace(within, calls=calls)

    def named_in(self, scope: Frame, name: str) -> Value | None:
        """What a function of this file or another finds under the name: of modules that are in use, and nothing is followed."""
        found = scope.lookup(name)
        if found is None:
            while scope.parent is not None:
                scope = scope.parent
            if scope.waiting is not None and isinstance(scope.waiting.get(name), (ast.Import, ast.ImportFrom)):
                self.follow_in(scope, scope.waiting.pop(name))
            found = scope.env.get(name) or _waiting_in(scope, name)
        for _ in range(_MOST_IMPORTS):
            if not isinstance(found, Imported) or self.project is None:
                break
            path = self.project.locate(found.module, importer=found.importer, level=found.level)
            module = self.modules.get(path or "")
            if module is None:
                return None
            if found.name is None:
                return ModuleScope(module)
            found = module.env.get(found.name) or _waiting_in(module, found.name)
        return found

    def run_by_decorator(self, decorator: ast.expr, scope: Frame) -> list[Called]:
        """The functions that may run before or after the decorated one does, with the scopes that they see."""
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        if isinstance(decorator, ast.Name):
            return _functions_in(self.named_in(scope, decorator.id))
        if not isinstance(decorator, ast.Attribute):
            return []
        owner = self.named_in(scope, decorator.value.id) if isinstance(decorator.value, ast.Name) else None
        if isinstance(owner, ModuleScope):
            return _functions_in(self.module_attribute(owner, decorator.attr))
        if isinstance(owner, Library):
            return []
        return [(each, self.module_frame) for each in self.methods_named(decorator.attr)]

    def imported_function(self, what: Import, importer: str) -> list[Called]:
        """The function, or the class's initialisers."""
        path = self.project_file(what, importer)
        return [] if path is None else self.function_of(path, what[1])

    def project_file(self, what: Import, importer: str) -> str | None:
        return None if self.project is None else self.project.locate(what[0], importer=importer, level=what[2])

    def function_of(self, path: str, name: str, depth: int = 0) -> list[Called]:
        """The function of another file, or the initialisers of its class."""
        top: Frame | None = self.scope_of(path)
        if top is None:
            return []
        defined = _defined(top.file).get(name)
        if defined is not None:
            return [(node, top) for node in defined]
        further = _imports(top.file).get(name) if depth < _MOST_IMPORTS else None
        inner = None if further is None else self.project_file(further, path)
        return [] if inner is None or further is None else self.function_of(inner, further[1], depth + 1)

    def reached_with(self, function: Function, given: Iterable[Value]) -> Reached:
        """What `reached_from` tells, and what the methods of these objects change that the code calls."""
        found = self.reached_from(function)
        classes = dict.fromkeys(each.cls for each in objects_within(given)) if found.methods else ()
        if not classes:
            return found
        key = function.node, function.scope, *classes
        known: Reached | None = self.reached.get(key)
        if known is not None:
            return known
        whole = Reached()
        whole.add(found)
        if self.module_frame.finished:
            self.reached[key] = whole
        names, seen = found.methods, set(found.methods)
        while names:
            further: set[str] = set()
            for cls in classes:
                for name in names & self.names_of(cls):
                    method = self.find_in_class(cls, name)
                    if isinstance(method, Function):
                        more = self.reached_from(method)
                        whole.add(more)
                        further |= more.methods
            names = further - seen
            seen |= further
        return whole

    def names_of(self, cls: Class) -> frozenset[str]:
        """The methods of the class and of those that it derives from, by their names."""
        known: frozenset[str] | None = self.reached.get(cls)
        if known is None:
            bases = [base for base in method_order(cls) if isinstance(base, Class)]
            known = self.reached[cls] = frozenset(name for base in bases for name in base.methods)
        return known

    def methods_called(self, names: set[str]) -> list[Called]:
        """The functions of the file that are called as methods."""
        named = _by_name(self.own_file)
        return [(each, self.module_frame) for name in names & named.keys() for each in named[name]]

    def methods_named(self, name: str) -> list[ast.AST]:
        """The functions of the file of that name: which of them a method call meets is not known."""
        return _by_name(self.own_file).get(name, [])


def changes_in(code: ast.AST) -> Changes:
    return kept_with(code, "changes", lambda: changes_of(code))


def reshapes(file: SourceFile) -> bool:
    return kept_with(file.tree, "reshapes", lambda: SHAPED_IN_PLACE.search(file.text) is not None)


def _within(start: ast.AST, file: SourceFile) -> _Part:
    part = _Part()
    defined, named, imports = _defined(file), _by_name(file), _imports(file)
    waiting, seen, computed = [start], {start}, False
    while waiting and len(seen) < _MOST_FUNCTIONS:
        node = waiting.pop()
        changes, facts = changes_in(node), file.facts.scopes.get(node)
        part.add(changes, facts, file, closed=True)
        computed = computed or changes.computed
        methods = set(changes.methods)
        names = changes.functions | changes.handed
        for decorator in getattr(node, "decorator_list", ()):
            name = last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            (names if isinstance(decorator, ast.Name) else methods).add(name or "")
        called = [each for name in names & defined.keys() for each in defined[name]]
        called += [each for name in methods & named.keys() for each in named[name]]
        for name in names - defined.keys():
            if name in imports:
                part.imported.add(imports[name])
            elif facts is not None and name in facts.assigned and name in changes.functions:
                computed = True
        waiting += [each for each in called if each not in seen]
        seen.update(called)
    if (waiting or computed) and reshapes(file):
        part.reshapes |= EITHER if waiting else _reshaped_by_any(file)
    return part


def _reshaped_by_any(file: SourceFile) -> frozenset[str]:
    """Whose tensors the functions reshape that are more than called: what is called without a name may be any of them."""
    names = kept_with(file.tree, "held", lambda: held(file))
    found = NEITHER
    for name, nodes in _by_name(file).items():
        if names is None or name in names:
            found = found.union(*(changes_in(node).reshapes for node in nodes))
    return found


def _by_name(file: SourceFile) -> dict[str, list[ast.AST]]:
    """All functions and methods of the file."""

    def make() -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for node in file.facts.scopes:
            if isinstance(node, _FUNCTIONS):
                found.setdefault(node.name, []).append(node)
        return found

    return kept_with(file.tree, "functions", make)


def _variables(file: SourceFile) -> set[str]:
    """The names that statements of the module bind, in this file also those of its functions, which inner ones see."""

    def make() -> set[str]:
        scopes = file.facts.scopes
        bound = (
            {name for scope in scopes.values() for name in scope.textual} if file.own else {*scopes[file.tree].textual}
        )
        return bound - _by_name(file).keys() - _defined(file).keys()

    return kept_with(file.tree, "own variables" if file.own else "variables", make)


def _defined(file: SourceFile) -> dict[str, list[ast.AST]]:
    """The functions of the file that neither a class nor a function holds, and the initialisers of such classes."""

    def make() -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for node in file.tree.body:
            if isinstance(node, _FUNCTIONS):
                found[node.name] = [node]
            elif isinstance(node, ast.ClassDef):
                found[node.name] = [
                    each for each in node.body if isinstance(each, _FUNCTIONS) and each.name in INITIALISERS
                ]
        return found

    return kept_with(file.tree, "defined", make)


def _waiting_in(module: Frame, name: str) -> Value | None:
    """A function of another module that nobody has asked for yet."""
    statement = None if module.waiting is None else module.waiting.get(name)
    return Function(statement, module) if isinstance(statement, _FUNCTIONS) else None


def _functions_in(value: Value | None, names: Container[str] | None = None) -> list[Called]:
    """The function, or the methods (of these names) of the class or object, with the scopes that they see."""
    if isinstance(value, Function):
        return [(value.node, value.scope)]
    cls = value.cls if isinstance(value, Instance) else value
    if not isinstance(cls, Class):
        return []
    return [(each, cls.scope) for each in functions_of(cls) if names is None or each.name in names]


def _imports(file: SourceFile) -> dict[str, Import]:
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


def _module_of(scope: Frame) -> Frame | None:
    """The module that the scope, or the class that is its scope, stands in; None in a function."""
    while scope.is_class and scope.parent is not None:
        scope = scope.parent
    return scope if scope.parent is None else None
