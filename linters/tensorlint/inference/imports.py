"""Names that imports bind: of libraries, by their canonical paths, and of the project's other files, followed when asked for."""

from __future__ import annotations

import ast
import math
import re
from functools import lru_cache, partial

from tensorlint.inference import ops
from tensorlint.inference.changes import CHANGES, changes_of
from tensorlint.inference.demands import ALWAYS, CAUGHT
from tensorlint.inference.devices import default_device
from tensorlint.inference.elsewhere import runs_text
from tensorlint.inference.frames import Frame, SourceFile
from tensorlint.inference.import_chains import may_bind
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import collect
from tensorlint.inference.operators import decided_by_classes
from tensorlint.inference.ops import modules
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    Imported,
    Library,
    ModuleScope,
    Opaque,
    Sequence,
    Value,
)
from tensorlint.inference.words import places_of

_LIBRARIES = frozenset({"torch", "numpy", "einops", "jaxtyping", "typing", "math", "functools", "copy", "dataclasses"})
# Modules whose names are the same objects under a shorter path.
_CHANGED = re.compile(rf"\s*(?:\[[^\n]*\]\s*=|\.(?:{'|'.join(sorted(CHANGES))})\(|[-+*|&]=)")
_CANONICAL = {
    "torch.nn.modules.activation": "torch.nn",
    "torch.functional": "torch",
    "torch.nn.modules": "torch.nn",
    "torch.nn.modules.module": "torch.nn",
    "torch.autograd.variable": "torch.autograd",
    "numpy.core": "numpy",
    "jax.numpy": "jax.numpy",
    "torch.torch": "torch",
}
_NO_NAMES: frozenset[str] = frozenset()


@lru_cache(4096)
def _of_library(path: str, name: str) -> Value:
    base = _CANONICAL.get(path, path)
    if base in ("math", "numpy", "torch") and name in ("pi", "e", "inf", "tau", "nan"):
        return Const(getattr(math, name))
    if base == "numpy" and name == "newaxis":
        return NONE
    if base in ("typing", "typing_extensions") and name == "TYPE_CHECKING":
        return Const(False)
    if base.startswith("torch.nn.modules.") and name[:1].isupper():
        base = "torch.nn"
    return Library(f"{base}.{name}")


class Imports(State):
    """Mixed into the interpreter: what an imported name is, and what another file's module has."""

    __slots__ = ()

    def library_attribute(self, path: str, name: str) -> Value:
        return UNKNOWN if name in self.patched or self.patches_any else _of_library(path, name)

    def patch_library(self, name: str | None) -> None:
        """The program gives a library another function of that name, or of one that nobody knows."""
        if name is None:
            self.patches_any = True
        elif name not in self.patched:
            self.patched |= {name}
            self.patched_signs = decided_by_classes(self.patched)
            if ops.function(f"torch.nn.functional.{name}") or ops.function(f"torch.{name}"):
                self.patched_in_layers |= {name}

    def import_module(self, name: str, level: int) -> Value:
        if self.project is not None and not _is_library(name) and self.is_first_party(name, level):
            return Imported(name, None, level, self.file.path)
        return Library(_CANONICAL.get(name, name))

    def import_name(self, module: str, name: str, level: int) -> Value:
        if level == 0 and _is_library(module):
            return self.library_attribute(module, name)
        if self.project is not None and self.is_first_party(module, level):
            return Imported(module, name, level, self.file.path)
        return self.library_attribute(module, name) if level == 0 else UNKNOWN

    def is_first_party(self, module: str, level: int) -> bool:
        if self.project is None:
            return False
        return self.project.locate(module, importer=self.file.path, level=level) is not None

    def import_star(self, module: str, level: int) -> None:
        if level == 0 and _is_library(module):
            self.frame.file.star_imports.append(module)
            env = self.frame.env
            for name in env:
                if _has(module, name):
                    env[name] = (
                        UNKNOWN if self.conditional or self.places[-1][3] is CAUGHT else Library(f"{module}.{name}")
                    )
        elif self.project is not None and self.is_first_party(module, level):
            path = self.project.locate(module, importer=self.file.path, level=level)
            env = self.frame.env
            for name, value in env.items():
                imported = isinstance(value, (Library, Imported))
                if path and not name.startswith("_") and may_bind(self.project, path, name, imported):
                    env[name] = UNKNOWN  # the module's, or this one's: `__all__` says which
                    self.frame.facts.shared.add(name)  # which code there may change

    def awaited(self, name: str) -> Value | None:
        """A name of another module that has not been made yet, or one that a star import brings."""
        if self.file is not self.own_file:
            frame = self.frame
            while frame.parent is not None:
                frame = frame.parent
            statement = frame.waiting.pop(name, None) if frame.waiting else None
            if statement is not None:
                self.follow_in(frame, statement)
                return frame.env.get(name)
        if not self.file.star_imports:
            return None
        found = [module for module in self.file.star_imports if _has(module, name)]
        if not found:
            return None
        # One that comes later may have a function of that name which no table has.
        return Library(f"{found[-1]}.{name}") if found[-1] == self.file.star_imports[-1] else Opaque(None)

    def follow_in(self, frame: Frame, statement: ast.stmt) -> None:
        """One top-level statement of another module, quietly."""
        if self.depth > 12 or self.budget <= 0:
            return
        outer = (self.frame, self.file, self.conditional)
        self.frame, self.file, self.conditional = frame, frame.file, 0
        self.depth += 1
        before = self.steps
        known = dict(frame.env)
        try:
            self.block([statement], ALWAYS)
            for name in frame.env.keys() - known.keys():
                value = frame.env[name]
                if isinstance(value, Opaque) and any(frame.env[each] is value for each in known):
                    frame.env[name] = UNKNOWN  # another name for what may change
                else:
                    frame.env[name] = self.as_others_leave_it(name, value)
            # A statement for several names leaves those as they are that code in reach assigns.
            frame.env.update(known)
        finally:
            self.depth -= 1
            self.budget -= self.steps - before
            self.frame, self.file, self.conditional = outer

    def module_scope(self, imported: Imported) -> Frame | None:
        if self.project is None:
            return None
        path = self.project.locate(imported.module, importer=imported.importer, level=imported.level)
        return None if path is None else self.scope_of(path)

    def is_read(self, imported: Imported) -> bool:
        """Whether the file that the name comes from was looked at before."""
        if self.project is None:
            return False
        path = self.project.locate(imported.module, importer=imported.importer, level=imported.level)
        return path is not None and self.modules.get(path) is not None

    def scope_of(self, path: str) -> Frame | None:
        if path in self.modules:
            return self.modules[path]
        self.modules[path] = None
        if self.project is None or path == self.own_file.path:
            return None
        module = self.project.parsed(path)
        if module is None:
            return None
        if runs_text(module.tree, module.source):
            return None
        facts = collect(module.tree, module.source)
        file = SourceFile(
            path,
            module.source,
            module.tree,
            facts,
            own=False,
            default_dtype=self.own_file.default_dtype,
            module_dtypes=self.own_file.module_dtypes,
            module_layouts=self.own_file.module_layouts,
            parameter_layouts=self.own_file.parameter_layouts,
            default_device=self.own_file.default_device
            and kept_with(module.tree, "device", lambda: default_device(module.source, facts)),
            autocast=self.own_file.autocast,
        )
        frame = Frame(module.tree, file, None, facts=file.facts.scopes[module.tree])
        frame.finished = True
        frame.waiting = dict(kept_with(module.tree, "index", lambda: _indexed(module.tree)))
        changed = self.changed_before_use.get(path, _NO_NAMES) | self.patched  # `settings.width = 3`
        for name in (changed & frame.waiting.keys()) | self.names_assigned(path, frame.waiting):
            del frame.waiting[name]
            frame.env[name] = UNKNOWN
        self.modules[path] = frame
        return frame

    def resolve(self, imported: Imported) -> Value:
        """What an imported name of the project is."""
        scope = self.module_scope(imported)
        if imported.name is None:
            return UNKNOWN if scope is None else ModuleScope(scope)
        if scope is not None:
            found = self.name_in(scope, imported.name)
            if found is not None:
                return found
        # A submodule: `from . import model`.
        inner = Imported(
            f"{imported.module}.{imported.name}" if imported.module else imported.name,
            None,
            imported.level,
            imported.importer,
        )
        scope = self.module_scope(inner)
        return UNKNOWN if scope is None else ModuleScope(scope)

    def name_in(self, scope: Frame, name: str, depth: int = 0) -> Value | None:
        value = scope.env.get(name)
        if value is None and scope.waiting is not None:
            statement = scope.waiting.pop(name, None)
            if statement is not None:
                self.follow_in(scope, statement)
                value = scope.env.get(name)
                if isinstance(value, (Sequence, Dictionary)) and changed_within(scope.file, name):
                    self.forget_contents(value)
        if type(value) is Imported and depth < 8:
            inner = self.module_scope(value)
            if value.name is None:
                return None if inner is None else ModuleScope(inner)
            if inner is not None:
                found = self.name_in(inner, value.name, depth + 1)
                if found is not None:
                    return found
            return UNKNOWN
        if value is not None and not scope.facts.is_stable(name) and not isinstance(value, Library):
            return UNKNOWN
        return value

    def module_attribute(self, module: ModuleScope, name: str) -> Value:
        found = self.name_in(module.frame, name)
        return UNKNOWN if found is None else found


def changed_within(file: SourceFile, name: str) -> bool:
    """Whether a statement of another module changes the list or dictionary that its name holds: who ran it, nobody knows."""
    text = file.text
    if not any(
        _CHANGED.match(text, at + len(name)) or text.startswith("del ", max(at - 4, 0)) for at in places_of(name, text)
    ):
        return False
    return any(name in kept_with(node, "changes", partial(changes_of, node)).names for node in file.tree.body)


def _has(module: str, name: str) -> bool:
    """Whether `from module import *` of a library binds the name, as far as it is known."""
    if module == "math":
        return not name.startswith("_") and hasattr(math, name)
    path = f"{module}.{name}"
    return ops.function(path) is not None or modules.known(path)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def _indexed(tree: ast.Module) -> dict[str, ast.stmt]:
    """The statements that bind the module's names."""
    found: dict[str, ast.stmt] = {}
    _index(tree.body, found)
    return found


def _index(body: list[ast.stmt], found: dict[str, ast.stmt]) -> None:
    """The statements that bind a module's names; of several, the first."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(statement.name, statement)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                if alias.name != "*":
                    found.setdefault(alias.asname or alias.name.partition(".")[0], statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, statement)
                elif isinstance(target, (ast.Tuple, ast.List)):
                    for element in target.elts:
                        if isinstance(element, ast.Name):
                            found.setdefault(element.id, statement)
        elif isinstance(statement, ast.If):
            _index(statement.body, found)
            _index(statement.orelse, found)
        elif isinstance(statement, ast.Try):
            _index(statement.body, found)
            for handler in statement.handlers:
                _index(handler.body, found)
