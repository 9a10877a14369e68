"""What names of the project's other modules hold, as far as no module in reach changes it: which of them has run when, nobody
follows.

What some code assigns from outside (`settings.width = 3`, `Box.n = 3`, `setattr(settings, "width", 3)`) is not known at any
line, nor what is in a list, a dictionary or an object that code has in hand for more than to read it.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from tensorlint.inference.changes import SHAPED_IN_PLACE
from tensorlint.inference.class_order import functions_of, method_order
from tensorlint.inference.following import gives_nothing
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.import_chains import in_reach
from tensorlint.inference.names import INITIALISERS
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    UNKNOWN,
    Class,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Sequence,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from tensorlint.inference.outside_changes import Assigned

_CHANGED = frozenset([Sequence, Dictionary, Instance, LibraryObject, Tensor])
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class SharedNames(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def modules_in_reach(self) -> list[str]:
        if self.reach is None:
            assert self.project is not None
            self.reach = in_reach(self.project, self.own_file.path, self.own_file.facts)
        return self.reach

    def assigned_in_reach(self) -> Assigned:
        if self.assigned_anywhere is None:
            from tensorlint.inference.outside_changes import assigned_in, together

            assert self.project is not None
            found = [assigned_in(self.project, path) for path in self.modules_in_reach()]
            self.assigned_anywhere = together([self.assigned_in_file(self.own_file), *found])
        return self.assigned_anywhere

    def assigned_in_file(self, file: SourceFile) -> Assigned:
        from tensorlint.inference.outside_changes import assigned_by, assigned_in

        if file.own:
            return assigned_by(file.text, file.facts.imported)
        assert self.project is not None
        return assigned_in(self.project, file.path)

    def names_assigned(self, path: str, waiting: dict[str, ast.stmt]) -> set[str]:
        """Those of the module's names that may be assigned from outside."""
        found = self.assigned_in_reach()
        if _name_of_module(path) in found.any_of:
            return set(waiting)
        return {
            name
            for name in found.names & waiting.keys()
            if name in found.outside or not isinstance(waiting[name], _DEFINITIONS)
        }

    def as_others_leave_it(self, name: str, value: Value) -> Value:
        """What the name of another module holds, as far as it is known whatever has run."""
        kind = type(value)
        if kind is Tensor:
            return UNKNOWN if self.reshapes_in_reach() else value
        if kind is Instance:
            return UNKNOWN if self.object_changes(name, value) else value  # type: ignore[arg-type]
        if kind is Sequence or kind is Dictionary or kind is LibraryObject:
            held = _items_of(value)
            deep = kind is LibraryObject or any(type(each) in _CHANGED for each in held)
            if (deep or kind is Dictionary or value.kind != "tuple") and self.is_out(name, deep):  # type: ignore[attr-defined]
                if deep:
                    return UNKNOWN
                self.forget_contents(value)
            if any(type(each) is Tensor for each in held) and self.reshapes_in_reach():
                return UNKNOWN
        return value

    def forget_shared_attributes(self, cls: Class) -> None:
        """Attributes and methods of a class of another module that code in reach may have assigned, or changed."""
        from tensorlint.inference.outside_changes import COMPUTED

        found = self.assigned_in_reach()
        lost = {
            name
            for owner, name in found.named
            if (owner == cls.name or (owner in COMPUTED and cls.has(name)))
            # What gives nothing is nothing that claims rest on, be it another function for a time.
            and not ((owner, name) in found.put_back and name in cls.methods and gives_nothing(cls.methods[name]))
        }
        if cls.name in found.any_of:
            lost |= cls.names()
        lost |= {
            name
            for name, value in cls.held.items()
            if not isinstance(value, Function)
            and (name in found.names or (type(value) in _CHANGED and self.as_others_leave_it(name, value) is UNKNOWN))
        }
        for name in lost:
            cls.held[name] = UNKNOWN
            cls.methods.pop(name, None)
            if cls.late is not None:
                cls.late.methods.pop(name, None)

    def object_changes(self, name: str, value: Instance) -> bool:
        found = self.assigned_in_reach()
        fields = value.fields
        if not found.names.isdisjoint(fields) or (found.any_of and self.is_out(name, False)):
            return True
        for base in method_order(value.cls):
            if not isinstance(base, Class):
                continue
            if "self" in self.assigned_in_file(base.scope.file).any_of:
                return True
            for method in functions_of(base):
                if method.name not in INITIALISERS and not self.assigned_by(method).isdisjoint(fields):
                    return True
        if value.cls.is_module and self.is_out(name, True):
            return True
        return any(
            type(held) in _CHANGED and self.as_others_leave_it(each, held) is UNKNOWN for each, held in fields.items()
        )

    def is_out(self, name: str, deep: bool) -> bool:
        """Whether code in reach has what goes by that name in hand, or an item of it, for more than to read it."""
        from tensorlint.inference.outside_changes import has_out, module_has_out, uses_in

        key = "out", name, deep
        known: bool | None = self.memory.get(key)
        if known is None:
            assert self.project is not None
            own = self.own_file
            known = name in own.text and has_out(uses_in(own.tree), name, deep)
            known = known or module_has_out(self.project, self.modules_in_reach(), name, deep)
            self.memory[key] = known
        return known

    def reshapes_in_reach(self) -> bool:
        """Whether a module gives tensors another shape in place."""
        from tensorlint.inference.outside_changes import reshapes_in

        project = self.project
        assert project is not None
        return SHAPED_IN_PLACE.search(self.own_file.text) is not None or any(
            reshapes_in(project, path) for path in self.modules_in_reach()
        )


def _name_of_module(path: str) -> str:
    folder, file = os.path.split(path)
    return os.path.basename(folder) if file == "__init__.py" else file[:-3]


def _items_of(value: Value) -> list[Value]:
    if isinstance(value, (Sequence, Dictionary)):
        if value.items is None:
            return [value.element]
        return [*(value.items.values() if isinstance(value.items, dict) else value.items)]
    return []
