"""Lists, dictionaries and objects that the program keeps where nobody looks for them: in arrays of objects, under attributes
of libraries, in namespaces. Whatever is changed of which nobody knows what it is may be one of these.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from tensorlint.inference import forward_hooks, layer_changes
from tensorlint.inference.changes import LEARNS, NEITHER
from tensorlint.inference.contents import everything_within, is_changed_by_methods, is_forgotten_itself, one_within
from tensorlint.inference.forgetting import GoneThrough
from tensorlint.inference.frames import Frame
from tensorlint.inference.implicit_calls import names_given
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    ModuleScope,
    Opaque,
    Sequence,
    Value,
)

_MOST = 200
_MOST_GIVING = 32
_DEEPEST = 4  # functions that call one another
_BUILTINS = frozenset(dir(builtins))
# Stands for what an estimator learns: no attribute has that name.
LEARNED = "<learned>"
_NO_VARIABLES = (Class, Library, ModuleScope)
# Methods that give a module a part, or an object an attribute, by a name.
_SETTERS = frozenset(
    [
        "add_module",
        "register_module",
        "register_buffer",
        "register_parameter",
        "set_submodule",
        "__setattr__",
        "__delattr__",
    ]
)


class Strays(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def stray(self, values: Iterable[Value]) -> None:
        """These, and what they hold, are found again in ways that nobody follows."""
        one = one_within(values)
        if isinstance(one, Opaque) and len(self.strayed) < _MOST:
            for each in one.parts:
                self.strayed[id(each)] = each

    def stray_given(self, functions: Iterable[Value]) -> None:
        """What the functions give is found by calling something else: a module whose hook, or `forward`, one of them is, an
        operator, a class that a metaclass makes. What that is depends on what their names hold by then."""
        for each in functions:
            if isinstance(each, Function) and len(self.strayed) < _MOST_GIVING and self.gives_by_name(each):
                self.strayed[id(each.node)] = each

    def gives_by_name(self, function: Function, asked: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether the function may give what a variable around it holds, or a function that it calls."""
        code = function.node
        if code in asked:
            return False
        names = names_given(code)
        facts = function.scope.file.facts
        own = facts.scopes.get(code)
        if own is not None:
            names = names - own.assigned.keys()
        for name in names - facts.imported:
            value = function.scope.lookup(name)
            if isinstance(value, _NO_VARIABLES) or (value is None and name in _BUILTINS):
                continue
            if isinstance(value, Function) and len(asked) < _DEEPEST and _is_bound_once(value.scope, name):
                if not self.gives_by_name(value, asked | {code}):
                    continue
            return True
        return False

    def change_strayed(self, *names: str | None) -> None:
        """Something that nobody knows has other items from here on (None), or another attribute of one of these names."""
        strays = list(self.strayed.values())
        changing = not all(map(_is_settled, strays))  # what they give depends on what has been followed
        now = len(self.mutations), self.steps if changing else len(strays), names
        if now == self.strays_changed:
            return  # as by the line before
        attributes = {name for name in names if name is not None}
        gone = GoneThrough()
        for each in everything_within(self.all_strayed(strays)):
            if isinstance(each, (Sequence, Dictionary)):
                if None in names and not (_is_tuple(each) or is_forgotten_itself(each)):
                    self.forget_own_contents(each)
                    self.mutations.append((each, None))
            elif isinstance(each, Instance):
                if attributes and not each.generic and id(each) not in gone.objects:
                    self.forget_attributes(each, attributes, seen=gone)
            elif isinstance(each, LibraryObject) and each.path.startswith("torch.nn."):
                layer_changes.change_attributes_unseen(self, each, attributes)
                if each.path in CONTAINERS and None in names:
                    layer_changes.change_unseen(self, each)
            elif is_changed_by_methods(each) and not (names == (LEARNED,) and each.path.startswith("pandas.")):
                self.forget_held(each, set(), NEITHER)
        self.strays_changed = len(self.mutations), self.steps if changing else len(self.strayed), names

    def all_strayed(self, strays: list[Value]) -> list[Value]:
        """The strays, and what the functions among them give now."""
        found: list[Value] = []
        for each in strays:
            if not isinstance(each, Function):
                found.append(each)
                continue
            settled = _is_settled(each)
            given = self.given_by_strays.get(each.node) if settled else None
            if given is None:
                given = self.lists_given(each, [], {}, modules=True)
                if settled:
                    self.given_by_strays[each.node] = given
            if settled and not given:
                # As most of those that a package registers. To look at it may have followed a file, and that asked here, too.
                self.strayed.pop(id(each.node), None)
            found += given
        return found

    def call_strayed(self, name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
        """A method is called of something that nobody knows, which may be one of the strays."""
        if name in _SETTERS:
            self.change_strayed(str(args[0].value) if args and isinstance(args[0], Const) else None)
        elif name in forward_hooks.FORWARD_HOOKS and forward_hooks.may_return(args, kwargs):
            self.change_strayed(layer_changes.CHANGED)
        elif name in LEARNS or "inplace" in kwargs:
            self.change_strayed(LEARNED if name in LEARNS else None)
        if not any(cls.has(name) for cls in self.classes):
            return
        for each in everything_within(self.all_strayed(list(self.strayed.values()))):
            if isinstance(each, Instance) and not each.generic:
                method = self.find_in_class(each.cls, name)
                if isinstance(method, Function):
                    bound = Function(method.node, method.scope, method.owner, each, method.defaults, "function")
                    self.runs_unseen(bound, args, kwargs)


def _is_bound_once(scope: Frame, name: str) -> bool:
    return scope.facts.textual.get(name) == 1


def _is_settled(value: Value) -> bool:
    """Whether it is no function, or one whose names hold what they hold: the module has been followed."""
    if not isinstance(value, Function):
        return True
    scope = value.scope
    while scope.is_class and scope.parent is not None:
        scope = scope.parent
    return scope.parent is None and scope.finished


def _is_tuple(value: Sequence | Dictionary) -> bool:
    return isinstance(value, Sequence) and value.kind == "tuple"
