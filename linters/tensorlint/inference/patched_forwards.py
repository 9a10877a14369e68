"""Whose `forward` a file replaces: `model.forward = wrapped` says nothing of the modules of other classes."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tensorlint.inference.class_order import method_order
from tensorlint.inference.module_evidence import ModuleEvidence
from tensorlint.inference.source_bindings import FUNCTIONS, assigned, bindings, binds
from tensorlint.inference.values import Class, Instance, Library, LibraryObject, Value

_ASKS = frozenset({"getattr", "hasattr"})
_DEEPEST = 4


class PatchedForwards:
    """The classes of the modules whose `forward` a statement of the file assigns; None stands for one that nobody knows."""

    def __init__(self, evidence: ModuleEvidence) -> None:
        self.evidence = evidence
        self.classes: list[Class | str | None] = []
        for node in evidence.parents:
            if isinstance(node, ast.Attribute) and node.attr == "forward" and isinstance(node.ctx, ast.Store):
                self.classes += self._classes_of(node.value, 0)
            elif isinstance(node, ast.Constant) and node.value == "forward":
                self.classes += self._of_text(node)

    def reach(self, receiver: Value | None) -> bool:
        """Whether the module may be one of those."""
        known: Class | str | None = None
        if isinstance(receiver, Instance):
            known = receiver.cls
        elif isinstance(receiver, LibraryObject):
            known = receiver.path
        return any(_are_related(known, each) for each in self.classes)

    def _of_text(self, node: ast.Constant) -> Iterable[Class | str | None]:
        """`setattr(model, "forward", ...)`; whatever else has the word as an item or an argument may do so too."""
        call = self.evidence.parents.get(node)
        if isinstance(call, (ast.Tuple, ast.List, ast.Set)):
            return [None]
        if not isinstance(call, ast.Call) or node not in call.args:
            return []
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in _ASKS:
            return []
        if name in ("setattr", "object") and call.args[1:2] == [node]:
            return self._classes_of(call.args[0], 0)
        return [None]

    def _classes_of(self, node: ast.expr, depth: int) -> list[Class | str | None]:
        """What the expression may be a module of, or the class that it is."""
        if depth > _DEEPEST:
            return [None]
        if isinstance(node, ast.Call):
            return [self._made_by(node.func)]
        if isinstance(node, ast.Attribute):
            owner = self.evidence.class_of_self(node)
            given = (
                list(assigned(owner, node.value.id, node.attr)) if owner and isinstance(node.value, ast.Name) else []
            )
            return [each for value in given for each in self._classes_of(value, depth + 1)] or [None]
        if isinstance(node, ast.Name):
            return self._of_name(node, depth)
        return [None]

    def _of_name(self, node: ast.Name, depth: int) -> list[Class | str | None]:
        current: ast.AST | None = node
        while current is not None:
            current = self.evidence.parents.get(current)
            found = list(bindings(current, node.id)) if current is not None else []
            # `patched.forward = ...` binds no name.
            found = [each for each in found if not isinstance(each[0], (ast.Attribute, ast.Subscript))]
            if not found:
                continue
            owner = self.evidence.parents.get(current) if current is not None else None
            classes: list[Class | str | None] = []
            for target, value, iterated in found:
                if isinstance(target, ast.ClassDef):
                    classes.append(self._named(node))
                elif isinstance(target, ast.arg) and isinstance(owner, ast.ClassDef) and isinstance(current, FUNCTIONS):
                    first = [*current.args.posonlyargs, *current.args.args][:1]
                    own = first and first[0] is target and not current.decorator_list
                    classes.append(self._class(owner) if own else None)
                elif binds(target, node.id) and value is not None and not iterated:
                    classes += self._classes_of(value, depth + 1)
                else:
                    classes.append(None)
            return classes
        return [None]

    def _class(self, owner: ast.ClassDef) -> Class | None:
        """The class of a definition at the top of the file."""
        if not isinstance(self.evidence.parents.get(owner), ast.Module):
            return None
        value = self.evidence.resolve(ast.copy_location(ast.Name(owner.name, ast.Load()), owner))
        return value if isinstance(value, Class) and value.node is owner else None

    def _named(self, node: ast.Name) -> Class | None:
        value = self.evidence.resolve(node)
        return value if isinstance(value, Class) else None

    def _made_by(self, func: ast.expr) -> Class | str | None:
        if not isinstance(func, (ast.Name, ast.Attribute)):
            return None
        if isinstance(func, ast.Name) and self.evidence.is_local(func):
            return None
        value = self.evidence.resolve(func)
        if isinstance(value, Class):
            return value if value.is_module else None
        if isinstance(value, Library) and value.path.startswith("torch.nn.") and value.path[9:10].isupper():
            return value.path
        return None


def _are_related(one: Class | str | None, other: Class | str | None) -> bool:
    """Whether a module of the one may be a module of the other."""
    if one is None or other is None:
        return True
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    return _derives(one, other) or _derives(other, one)


def _derives(cls: Class | str, base: Class | str) -> bool:
    if isinstance(cls, str):
        return False
    for each in method_order(cls):
        if each is base or (isinstance(each, Library) and each.path == base):
            return True
    return not cls.complete
