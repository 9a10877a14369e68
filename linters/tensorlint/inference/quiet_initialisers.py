"""Which initialisers change nothing but their object, and read nothing that changes: see `late_initialisers`."""

from __future__ import annotations

import ast
from typing import Any

from tensorlint.inference import ops
from tensorlint.inference.changes import CHANGES
from tensorlint.inference.class_order import method_order
from tensorlint.inference.frames import Frame
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    Class,
    Function,
    Imported,
    Library,
    ModuleScope,
    Opaque,
    Value,
)
from tensorlint.inference.walking import parameters_of, root_name, walk

_MOST_FUNCTIONS = 40
# Statements and expressions of functions that do more than to make an object, or that run later.
_RULED_OUT = frozenset([
    ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda,
    ast.Delete, ast.Import, ast.ImportFrom,
])  # fmt: skip
# Builtins that reach names and attributes which the text does not show.
_REACHING = frozenset(
    ["setattr", "delattr", "exec", "eval", "globals", "locals", "vars", "type", "object", "next", "iter", "input", "open",
     "__import__"]
)  # fmt: skip
# Methods of a class that have a hand in making its objects and their attributes.
_HOOKS = frozenset(
    ["__setattr__", "__getattribute__", "__getattr__", "__new__", "__del__", "__slots__", "__init_subclass__"]
)
# Functions that make a tensor of a size and compute nothing.
_MAKES = frozenset(
    ["torch.zeros", "torch.ones", "torch.empty", "torch.full", "torch.eye", "torch.tensor", "torch.nn.Parameter",
     "torch.nn.parameter.Parameter"]
)  # fmt: skip
# Decorators that leave a method what it is; of the second the first parameter is not the object.
_LEAVE = frozenset({"property", "staticmethod", "classmethod"})
_OTHER_FIRST = frozenset({"staticmethod", "classmethod"})


class QuietInitialisers:
    """Reads what the initialisers of one class do, and the functions that they call."""

    def __init__(self, interp: State) -> None:
        self.interp = interp
        self.seen: set[ast.AST] = set()

    def class_is_quiet(self, cls: Class) -> bool:
        """Whether making an object of the class changes nothing else, and depends on nothing that changes."""
        if cls.node in self.seen:
            return True
        self.seen.add(cls.node)
        if cls.made_otherwise or cls.generated:
            return False
        found = []
        for base in method_order(cls):
            if isinstance(base, Class):
                if base.scope.parent is not None or _HOOKS & base.names():
                    return False
                # Those that are not made yet are plain.
                if not all(self.is_plain_method(*each) or self.is_constant(each[1]) for each in base.held.items()):
                    return False
                # Operators and `with` call methods that the text does not name.
                found += [base.own(name) for name in base.names() if name.startswith("__") and name.endswith("__")]
        return all(self.is_quiet(method.node, method.scope, cls) for method in found if isinstance(method, Function))

    def is_plain_method(self, name: str, value: Value) -> bool:
        """Whether it is a function that has no other name, and no setter."""
        if not isinstance(value, Function) or getattr(value.node, "name", None) != name:
            return False
        decorators = getattr(value.node, "decorator_list", ())
        return not any(isinstance(each, ast.Attribute) and each.attr == "setter" for each in decorators)

    def is_constant(self, value: Value) -> bool:
        return isinstance(value, (Class, Imported)) or self.interp.is_fixed(value)

    def is_quiet(self, node: ast.AST, scope: Frame, cls: Class | None) -> bool:
        if node in self.seen:
            return True
        self.seen.add(node)
        scope = scope.parent if scope.is_class and scope.parent is not None else scope
        if len(self.seen) > _MOST_FUNCTIONS or isinstance(node, ast.Lambda) or scope.parent is not None:
            return False
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        facts = scope.file.facts.scopes.get(node)
        if facts is None:
            return False
        first_is_other = False
        for decorator in node.decorator_list:
            name = decorator.id if isinstance(decorator, ast.Name) else None
            if name not in _LEAVE or scope.lookup(name) is not None:
                return False
            first_is_other = first_is_other or name in _OTHER_FIRST
        spec = node.args
        parameters = parameters_of(spec)
        first = spec.args[0].arg if cls is not None and spec.args and not first_is_other else None
        local = parameters | facts.assigned.keys()
        for statement in node.body:
            part: Any
            for part in walk(statement):
                kind = type(part)
                if kind is ast.Name:
                    if part.id not in local and not self.reads_quietly(part.id, scope):
                        return False
                elif kind is ast.Constant:
                    continue
                elif kind in _RULED_OUT:
                    return False
                elif kind is ast.Attribute:
                    if not self.attribute_is_quiet(part, first, local, parameters, scope, cls):
                        return False
                elif kind is ast.Call:
                    if self.calls_an_object(part.func, facts.assigned):
                        return False
                elif kind is ast.Subscript and type(part.ctx) is not ast.Load:
                    root = root_name(part)
                    if not (root == first or (root in local and root not in parameters)):
                        return False
        return True

    def calls_an_object(self, func: ast.expr, assigned: dict[str, int]) -> bool:
        """Whether it is no function, method, class or parameter that is called, but what a name or an attribute holds."""
        if isinstance(func, ast.Name):
            return func.id in assigned
        return not isinstance(func, ast.Attribute) or func.attr in self.interp.attributes_stored

    def reads_quietly(self, name: str, scope: Frame) -> bool:
        """A name of the file, a library's or a builtin."""
        value = scope.lookup(name)
        if value is None:
            return name not in _REACHING
        if isinstance(value, Function):
            return not value.decorated and self.is_quiet(value.node, value.scope, None)
        if isinstance(value, Class):
            return self.class_is_quiet(value)
        if isinstance(value, Library):
            return not _computes(value.path)
        if isinstance(value, Opaque):
            return False  # what it holds may change
        return isinstance(value, (Imported, ModuleScope)) or self.interp.is_fixed(value)

    def attribute_is_quiet(
        self,
        part: ast.Attribute,
        first: str | None,
        local: set[str],
        parameters: set[str],
        scope: Frame,
        cls: Class | None,
    ) -> bool:
        root, name = root_name(part), part.attr
        if name in self.interp.class_attributes_assigned:
            return False
        if type(part.ctx) is not ast.Load:
            return root is not None and root == first and not name.startswith("__")
        if name[:2] == "__":
            if name != "__init__":
                return False  # `self.__class__`, `self.__dict__`
            if isinstance(part.value, ast.Call) and root_name(part.value.func) == "super":
                return True  # of the bases, which are read themselves
        value = None if root is None or root in local else scope.lookup(root)
        if (name[-1] == "_" or name in CHANGES) and not isinstance(value, Library):
            if not (root == first or (root in local and root not in parameters) or isinstance(part.value, ast.Call)):
                return False
        if root is None or root in local:
            # A method of the object, or of one that it made.
            if root is not None and root != first and name in scope.file.facts.foreign_attributes:
                return False
            return self.methods_are_quiet(name, cls)
        if isinstance(value, Library):
            path = _path(part, value.path)
            return path is None or not _computes(path)
        if isinstance(value, (Class, Function)) and name in scope.file.facts.foreign_attributes:
            return False
        return self.methods_are_quiet(name, None)

    def methods_are_quiet(self, name: str, cls: Class | None) -> bool:
        """Whether all functions of the file are that have the name."""
        methods = self.interp.methods_named(name)
        return not methods or all(self.is_quiet(node, self.interp.module_frame, cls) for node in methods)


def _computes(path: str) -> bool:
    """Whether the library's function computes with tensors, or changes what it does for all."""
    if path in _MAKES or path.startswith("torch.nn.init."):
        return False
    return ops.function(path) is not None or path.rpartition(".")[2].startswith(("set_", "manual_seed", "seed"))


def _path(part: ast.expr, root: str) -> str | None:
    names: list[str] = []
    while isinstance(part, ast.Attribute):
        names.append(part.attr)
        part = part.value
    return ".".join([root, *reversed(names)]) if isinstance(part, ast.Name) else None
