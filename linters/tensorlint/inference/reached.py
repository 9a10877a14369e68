"""What code changes that is called and not followed: its statements are read, and those of the functions that it calls.

Functions are found by the names that they are called by, methods by their names in the same file and in the classes of
the objects that the code is given. What is in other files is read by `elsewhere.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from tensorlint.inference.changes import CHANGES, EITHER, Changes
from tensorlint.inference.class_order import functions_of, method_order
from tensorlint.inference.elsewhere import (
    FUNCTIONS,
    MOST_FUNCTIONS,
    NOTHING,
    Elsewhere,
    FunctionNode,
    OfAnyObject,
    Part,
    Place,
    by_name,
    changes_in,
    functions_of_modules,
    reshaped_by_any,
    reshapes,
    variables,
)
from tensorlint.inference.frames import Frame, SourceFile
from tensorlint.inference.names import INITIALISERS
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    UNKNOWN,
    Attribute,
    Class,
    Function,
    Imported,
    Instance,
    Library,
    ModuleScope,
    Partial,
    Value,
)

_MOST_IMPORTS = 4  # of a name that is imported from where it is imported
_CALLED = frozenset({"__call__", "forward"})  # the methods of an object that is called as a function
Called = tuple[ast.AST, Frame]


def _is_variable(scope: Frame, name: str) -> bool:
    """Whether a function around binds the name, or the module does and to no function, class or module."""
    frame = scope
    while frame.parent is not None:
        if not frame.is_class and (name in frame.env or name in frame.facts.assigned):
            return True
        frame = frame.parent
    return name in variables(frame.file)


@dataclass(slots=True, eq=False, repr=False)
class Reached(OfAnyObject):
    """What a function and those that it calls change: also what names of other scopes than their own hold (true), or may
    hold, as methods of it are called (false)."""

    names: dict[tuple[Frame, str], bool] = field(default_factory=dict)
    of_classes: set[tuple[Frame, str, str]] = field(default_factory=set)  # as in Changes, and where
    lent_names: set[tuple[Frame, str]] = field(default_factory=set)
    given_names: set[tuple[Frame, str]] = field(default_factory=set)
    elsewhere: Elsewhere = field(default_factory=lambda: NOTHING)  # the same, by files, of functions of others
    _own_elsewhere: bool = False  # whether `elsewhere` is no one else's
    _assigned: set[str] | None = None

    @property
    def assigned_of_classes(self) -> set[str]:
        """The attributes that are assigned of what may be classes."""
        if self._assigned is not None:
            return self._assigned
        return self.elsewhere.of_classes.union([name for _, _, name in self.of_classes])

    def finish(self) -> None:
        """Everything is read."""
        self._assigned = self.assigned_of_classes

    def add(self, other: Reached) -> None:
        self.take(other)
        for place, changed in other.names.items():
            self.names[place] = self.names.get(place, False) or changed
        self.of_classes |= other.of_classes
        self.lent_names |= other.lent_names
        self.given_names |= other.given_names
        self._add_places(other.elsewhere)

    def add_part(self, part: Part, scope: Frame) -> None:
        self.take(part)
        for name, changed in part.names.items():
            self.names[scope, name] = self.names.get((scope, name), False) or changed
        self.of_classes.update([(scope, *each) for each in part.of_classes])
        if scope.parent is None:  # as for most, and there are many
            held = variables(scope.file)
            self.lent_names.update([(scope, name) for name in part.lent_names & held])
            self.given_names.update([(scope, name) for name in part.given_names & held])
        else:
            self.lent_names.update([(scope, name) for name in part.lent_names if _is_variable(scope, name)])
            self.given_names.update([(scope, name) for name in part.given_names if _is_variable(scope, name)])

    def add_elsewhere(self, other: Elsewhere) -> None:
        if other is not NOTHING:
            self.take(other)
            self._add_places(other)

    def _add_places(self, other: Elsewhere) -> None:
        if self.elsewhere is NOTHING:
            self.elsewhere = other
        elif other is not NOTHING and other is not self.elsewhere:
            if not self._own_elsewhere:
                both = Elsewhere()
                both.add(self.elsewhere)
                self.elsewhere, self._own_elsewhere = both, True
            self.elsewhere.add(other)


@dataclass(slots=True, eq=False, repr=False)
class _Step:
    """What one function of the file that is analysed changes, and what it calls."""

    part: Part
    calls: list[Called] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)  # of functions of other files


class Reaching(State):
    """Mixed into the interpreter."""

    __slots__ = ()

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
        places: dict[Place, None] = {}
        while waiting and len(seen) < MOST_FUNCTIONS:
            node, scope = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            top = None if scope.file.own else _module_of(scope)
            if top is not None and self.project is not None:
                other = self.project.other_files.of_function(node, top.file)
                found.add_elsewhere(other)
                waiting += self.methods_called(other.methods)
                continue
            step = self.read(node, scope)
            found.add_part(step.part, scope)
            waiting += step.calls
            for place in step.places:
                if place not in places and self.project is not None:
                    places[place] = None
                    other = self.project.other_files.of_name(*place)
                    found.add_elsewhere(other)
                    waiting += self.methods_called(other.methods)
        if waiting and reshapes(function.scope.file):  # not all of it was read
            found.reshapes = EITHER
        found.finish()
        return found

    def read(self, node: ast.AST, scope: Frame) -> _Step:
        key = "part", node, scope
        known: _Step | None = self.reached.get(key)
        if known is not None:
            return known
        step = self.read_here(node, scope)
        if self.module_frame.finished:
            self.reached[key] = step
        return step

    def read_here(self, node: ast.AST, scope: Frame) -> _Step:
        """A function whose names are looked up as they are."""
        self.unseen -= 10
        changes, part, file = changes_in(node), Part(), scope.file
        step = _Step(part)
        facts = file.facts.scopes.get(node)
        part.add(changes, facts, file, closed=False)
        computed = changes.computed
        for name in changes.functions | changes.handed:
            called = scope.lookup(name)
            while isinstance(called, Partial):
                part.names.setdefault(name, False)
                called = called.function
            if isinstance(called, Imported):
                path = self.file_of(called.module, called.level, called.importer)
                if path is not None:
                    step.places.append((path, called.name or ""))
            elif isinstance(called, (Function, Class, Instance)):
                step.calls += _functions_in(called, _CALLED if isinstance(called, Instance) else INITIALISERS)
                if isinstance(called, Instance) or (
                    isinstance(called, Function) and (called.receiver or called.defaults)
                ):
                    part.names.setdefault(name, False)  # it is called, or given to what is
            elif isinstance(called, Attribute):  # `add = rows.append`, and `add(x)` in a function
                part.names[name] = part.names.get(name, False) or called.name in CHANGES
                step.calls += self.methods_called({called.name})
            elif facts is not None and name in facts.assigned and name in changes.functions:
                computed = True  # `make = TABLE[key]; make(x)`
                part.methods |= _CALLED
        for module, name, level in functions_of_modules(changes, file):
            path = self.file_of(module, level, file.path)
            if path is not None:
                step.places.append((path, name))
        for owner, name in changes.called_of:  # `Box.change(box)`
            cls = self.named_in(scope, owner)
            if isinstance(cls, Class):
                step.calls += _functions_in(cls, (name,))
        for decorator in getattr(node, "decorator_list", ()):
            step.calls += self.run_by_decorator(decorator, scope)
        if computed and reshapes(file):
            part.reshapes |= reshaped_by_any(file)
        step.calls += self.methods_called(changes.methods)
        return step

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
            if not isinstance(found, Imported):
                break
            path = self.file_of(found.module, found.level, found.importer)
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

    def file_of(self, module: str, level: int, importer: str) -> str | None:
        return None if self.project is None else self.project.locate(module, importer=importer, level=level)

    def places_in(self, reached: Reached) -> Iterator[tuple[Frame, str, bool]]:
        """The names of other scopes that are changed, of the modules that are in use."""
        for (scope, name), changed in reached.names.items():
            yield scope, name, changed
        for path, names in reached.elsewhere.names.items():
            module = self.frame_at(path)
            if module is not None:
                for name in self.in_use(module, names):
                    yield module, name, names[name]
            elif any(names.values()):
                self.changed_before_use.setdefault(path, set()).update([name for name in names if names[name]])

    def lent_in(self, reached: Reached) -> Iterator[tuple[Frame, str]]:
        """Likewise, of names whose objects are in other hands."""
        yield from reached.lent_names
        places = [*reached.elsewhere.lent_names.items()]
        if reached.taken:
            yield from reached.given_names - reached.lent_names
            places += reached.elsewhere.given_names.items()
        for path, names in places:
            module = self.frame_at(path)
            if module is None:
                self.changed_before_use.setdefault(path, set()).update(names)
            else:
                for name in self.in_use(module, names):
                    yield module, name

    def in_use(self, module: Frame, names: Iterable[str]) -> Iterator[str]:
        """The names of a module of which something is known, or will be if it is asked for: one in ten, as a rule."""
        env, waiting, shared = module.env, module.waiting or (), self.shared_names
        for name in names:
            value = env.get(name)
            if value is None:
                if name in waiting or name in shared:
                    yield name
            elif value is not UNKNOWN or name in shared:
                yield name

    def frame_at(self, path: str) -> Frame | None:
        """The module of the file, if it is in use."""
        return self.module_frame if path == self.own_file.path else self.modules.get(path)

    def reached_with(self, function: Function, classes: set[Class]) -> Reached:
        """What `reached_from` tells, and what the methods of objects of these classes change that the code calls."""
        found = self.reached_from(function)
        if not classes:
            return found
        key = function.node, function.scope, frozenset(classes)
        known: Reached | None = self.reached.get(key)
        if known is not None:
            return known
        # Of which the code may ask for any.
        properties = [changed for cls in classes if (changed := self.changed_by_any_property(cls))]
        called: list[Reached] = []
        names, seen = found.methods, set(found.methods)
        while names:
            further: set[str] = set()
            for cls in classes:
                for name in names & self.names_of(cls):
                    method = self.find_in_class(cls, name)
                    if isinstance(method, Function):
                        more = self.reached_from(method)
                        called.append(more)
                        further |= more.methods
            names = further - seen
            seen |= further
        whole = found
        if properties or any(more is not found for more in called):
            whole = Reached()
            whole.add(found)
            whole.attributes.update(*properties)
            for more in dict.fromkeys(called):
                whole.add(more)
            whole.finish()
        if self.module_frame.finished:
            self.reached[key] = whole
        return whole

    def changed_by_any_property(self, cls: Class) -> set[str]:
        key = "properties", cls
        known: set[str] | None = self.reached.get(key)
        if known is None:
            known = self.reached[key] = set()
            known |= self.changed_by_properties(cls, None)
        return known

    def names_of(self, cls: Class) -> frozenset[str]:
        """The methods of the class and of those that it derives from, by their names."""
        known: frozenset[str] | None = self.reached.get(cls)
        if known is None:
            bases = [base for base in method_order(cls) if isinstance(base, Class)]
            known = self.reached[cls] = frozenset(name for base in bases for name in base.methods)
        return known

    def methods_called(self, names: set[str]) -> list[Called]:
        """The functions of the file that are called as methods."""
        named = by_name(self.own_file)
        return [(each, self.module_frame) for name in names & named.keys() for each in named[name]]

    def methods_named(self, name: str) -> list[FunctionNode]:
        """The functions of the file of that name: which of them a method call meets is not known."""
        return by_name(self.own_file).get(name, [])


def _waiting_in(module: Frame, name: str) -> Value | None:
    """A function of another module that nobody has asked for yet."""
    statement = None if module.waiting is None else module.waiting.get(name)
    return Function(statement, module) if isinstance(statement, FUNCTIONS) else None


def _functions_in(value: Value | None, names: Container[str] | None = None) -> list[Called]:
    """The function, or the methods (of these names) of the class or object, with the scopes that they see."""
    if isinstance(value, Function):
        return [(value.node, value.scope)]
    cls = value.cls if isinstance(value, Instance) else value
    if not isinstance(cls, Class):
        return []
    return [(each, cls.scope) for each in functions_of(cls) if names is None or each.name in names]


def _module_of(scope: Frame) -> Frame | None:
    """The module that the scope, or the class that is its scope, stands in; None in a function."""
    while scope.is_class and scope.parent is not None:
        scope = scope.parent
    return scope if scope.parent is None else None
