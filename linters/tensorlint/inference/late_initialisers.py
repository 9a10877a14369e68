"""Objects whose initialisers are followed when something is first asked of them, if ever.

Most layers that a program makes are handed on and never looked into: `nn.Sequential(*[Block(n) for n in sizes])` in a
network that nobody calls. To follow `Block.__init__` for each would take a sixth of the time of a whole check.

An initialiser may wait where it makes no difference when it is followed: it changes nothing but its object, is given
what cannot change, and reads no name that may hold something else by then. Initialisers that compute with tensors are
followed at once: what they do may be worth a message.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from tensorlint.inference import ops
from tensorlint.inference.class_order import functions_of, method_order, values_of
from tensorlint.inference.effects import CHANGES, lasts
from tensorlint.inference.frames import Frame
from tensorlint.inference.ops import reshaping
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Imported,
    Instance,
    Library,
    ModuleScope,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Value,
)
from tensorlint.inference.variants import varying
from tensorlint.inference.walking import walk

_MOST_FUNCTIONS = 40
_MAX_DEPTH = 12
# Statements and expressions of functions that do more than to make an object, or that run later.
_RULED_OUT = (
    ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda,
    ast.Delete, ast.Import, ast.ImportFrom,
)  # fmt: skip
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
_PLAIN = (Const, Number, Scalar, Library)
# Decorators that leave a method what it is; of the second the first parameter is not the object.
_LEAVE = frozenset({"property", "staticmethod", "classmethod"})
_OTHER_FIRST = frozenset({"staticmethod", "classmethod"})


@dataclass(slots=True)
class Waiting:
    """An initialiser that is to be followed: with which arguments, and where the program was when it was called."""

    maker: Any  # the interpreter
    method: Function
    bound: dict[str, Value]
    node: ast.AST | None
    conditional: int
    left_early: bool
    active: tuple[ast.AST, ...]
    # Attributes that code may have changed meanwhile which is not followed.
    forgotten: set[str]
    reshapes: bool = False
    # The object stands for several: what was made since then is another one in each of them.
    alike_since: int | None = None

    def complete(self, instance: Instance) -> None:
        self.maker.complete(instance, self)


class LateInitialisers(State):
    """Mixed into the interpreter."""

    def may_wait(self, method: Function, cls: Class, bound: dict[str, Value]) -> bool:
        # A function that is given may call those that are kept, which change things.
        if not self.module_frame.finished or self.kept or not self.makes_quietly(cls):
            return False
        _, *given = bound.values()  # the object itself and what it is given
        return all(map(self.is_fixed, given))

    def makes_quietly(self, cls: Class) -> bool:
        known = self.quiet_classes.get(cls)
        if known is None:
            known = self.quiet_classes[cls] = _Reader(self).class_is_quiet(cls)
        return known

    def is_fixed(self, value: Value, depth: int = 0) -> bool:
        """Whether the object is the same and holds the same whenever it is looked at."""
        if isinstance(value, _PLAIN):
            return True
        if isinstance(value, Opaque):
            return not value.parts and not value.fields
        if isinstance(value, Sequence):
            return value.kind == "tuple" and value.items is not None and depth < 3 and all(
                self.is_fixed(item, depth + 1) for item in value.items
            )  # fmt: skip
        if isinstance(value, Dictionary):  # of `**kwargs`: nobody else holds it
            return depth == 0 and value.items is not None and not value.shared and all(
                self.is_fixed(item, 1) for item in value.items.values()
            )  # fmt: skip
        if isinstance(value, Partial):
            return depth < 3 and all(
                self.is_fixed(each, depth + 1) for each in (value.function, *value.positional, *value.keywords.values())
            )
        if isinstance(value, Class):
            return self.makes_quietly(value)
        return False

    def made_later(
        self, instance: Instance, method: Function, bound: dict[str, Value], node: ast.AST | None
    ) -> Instance:
        """The new object, of which nothing is looked at yet."""
        del bound[next(iter(bound))]  # the object itself
        instance.waiting = Waiting(
            self, method, bound, node, self.conditional, self.left_early, tuple(self.active), set()
        )
        self.mutations.append((instance, None))  # another call makes another object
        return instance

    def complete(self, instance: Instance, waiting: Waiting) -> None:
        """Follow the initialiser as it would have been followed where the object was made."""
        if self.depth >= _MAX_DEPTH or self.budget <= 0:
            instance.fields = attributes_unknown(instance.cls)
            return
        outer = (
            self.learnt, self.solved, self.solved_regions, self.hazards, self.bindings, self.names_given, self.rounds,
            self.loop_start, self.first_round, self.conditional, self.left_early, self.active,
            self.possible_exits, self.being_made, self.unsure, self.starred,
        )  # fmt: skip
        mutations, overwritten, steps = len(self.mutations), len(self.overwritten), self.steps
        proven = reshaping.proven()
        self.learnt, self.solved, self.solved_regions = {}, {}, set()
        self.hazards, self.bindings, self.names_given = {}, {}, []
        self.rounds = self.loop_start = self.first_round = None
        self.completing += 1
        self.conditional, self.left_early = waiting.conditional, waiting.left_early
        self.active = list(waiting.active)
        self.being_made = [instance]
        # What it makes is no younger than the object: a loop that has begun since did not make it.
        self.steps = -(1 << 40)
        given = {name: self.as_it_was(value) for name, value in waiting.bound.items()}
        try:
            self.follow(waiting.method, {waiting.method.node.args.args[0].arg: instance, **given}, waiting.node)
        finally:
            used = self.steps + (1 << 40)
            (
                self.learnt, self.solved, self.solved_regions, self.hazards, self.bindings, self.names_given, self.rounds,
                self.loop_start, self.first_round, self.conditional, self.left_early, self.active,
                self.possible_exits, self.being_made, self.unsure, self.starred,
            ) = outer  # fmt: skip
            self.steps = steps + used
            self.completing -= 1
            del self.mutations[mutations:]
            del self.overwritten[overwritten:]
            reshaping.forget(proven)
        if waiting.alike_since is not None:
            varying(instance, waiting.alike_since)
        if waiting.forgotten:
            self.forget_attributes(instance, waiting.forgotten, waiting.reshapes)
            del self.mutations[mutations:]
        if instance.lasting:
            for held in instance.fields.values():
                lasts(held)

    def as_it_was(self, value: Value) -> Value:
        """What the initialiser was given: an object of which nothing is known if it was changed, then or since."""
        return Opaque(None) if (self.reshaped or self.items_changed) and self.is_changed(value, 0) else value

    def is_changed(self, value: Value, depth: int) -> bool:
        if isinstance(value, Opaque):
            if id(value) in self.reshaped or id(value) in self.items_changed:
                return True
            return depth < 3 and any(self.is_changed(held, depth + 1) for held in (value.fields or {}).values())
        if isinstance(value, Sequence):
            return any(self.is_changed(item, depth + 1) for item in value.items or ())
        if isinstance(value, Dictionary):
            return any(self.is_changed(item, depth + 1) for item in (value.items or {}).values())
        return False


def attributes_unknown(cls: Class) -> dict[str, Value]:
    """The attributes that objects of the class may have, none of them known."""
    found: dict[str, Value] = dict.fromkeys(values_of(cls), UNKNOWN)
    for base in method_order(cls):
        if isinstance(base, Class):
            for method in functions_of(base):
                facts = base.scope.file.facts.scopes.get(method)
                found.update((name, UNKNOWN) for _, name in (facts.stored if facts else ()))
    return found


class _Reader:
    """Reads what initialisers do, and the functions that they call."""

    def __init__(self, interp: LateInitialisers) -> None:
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
                if base.scope.parent is not None or _HOOKS & base.fields.keys():
                    return False
                if not all(self.is_plain_method(*each) or self.is_constant(each[1]) for each in base.fields.items()):
                    return False
                # Operators and `with` call methods that the text does not name.
                found += [
                    method for name, method in base.fields.items() if name.startswith("__") and name.endswith("__")
                ]
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
        parameters = {each.arg for each in walk(spec) if isinstance(each, ast.arg)}
        first = spec.args[0].arg if cls is not None and spec.args and not first_is_other else None
        local = parameters | facts.assigned.keys()
        for statement in node.body:
            for part in walk(statement):
                if isinstance(part, _RULED_OUT):
                    return False
                if isinstance(part, ast.Name):
                    if part.id not in local and not self.reads_quietly(part.id, scope):
                        return False
                elif isinstance(part, ast.Attribute):
                    if not self.attribute_is_quiet(part, first, local, parameters, scope, cls):
                        return False
                elif isinstance(part, ast.Call):
                    if self.calls_an_object(part.func, facts.assigned):
                        return False
                elif isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                    root = _root(part)
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
        root = _root(part)
        if part.attr in self.interp.class_attributes_assigned:
            return False
        if not isinstance(part.ctx, ast.Load):
            return root is not None and root == first and not part.attr.startswith("__")
        if part.attr == "__init__" and isinstance(part.value, ast.Call) and _root(part.value.func) == "super":
            return True  # of the bases, which are read themselves
        if part.attr.startswith("__") and part.attr != "__init__":
            return False  # `self.__class__`, `self.__dict__`
        value = None if root is None or root in local else scope.lookup(root)
        if (part.attr in CHANGES or part.attr.endswith("_")) and not isinstance(value, Library):
            if not (root == first or (root in local and root not in parameters) or isinstance(part.value, ast.Call)):
                return False
        if root is None or root in local:
            # A method of the object, or of one that it made.
            if root is not None and root != first and part.attr in scope.file.facts.foreign_attributes:
                return False
            return all(
                self.is_quiet(node, self.interp.module_frame, cls) for node in self.interp.methods_named(part.attr)
            )  # fmt: skip
        if isinstance(value, Library):
            path = _path(part, value.path)
            return path is None or not _computes(path)
        if isinstance(value, (Class, Function)) and part.attr in scope.file.facts.foreign_attributes:
            return False
        return all(self.is_quiet(node, self.interp.module_frame, None) for node in self.interp.methods_named(part.attr))


def _computes(path: str) -> bool:
    """Whether the library's function computes with tensors, or changes what it does for all."""
    if path in _MAKES or path.startswith("torch.nn.init."):
        return False
    return ops.function(path) is not None or path.rpartition(".")[2].startswith(("set_", "manual_seed", "seed"))


def _root(part: ast.expr) -> str | None:
    """`self` of `self.blocks[0].norm`."""
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        part = part.value
    return part.id if isinstance(part, ast.Name) else None


def _path(part: ast.expr, root: str) -> str | None:
    names: list[str] = []
    while isinstance(part, ast.Attribute):
        names.append(part.attr)
        part = part.value
    return ".".join([root, *reversed(names)]) if isinstance(part, ast.Name) else None
