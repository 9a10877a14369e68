"""Lists, dictionaries and objects that the program keeps where nobody looks for them: in arrays of objects, under attributes
of libraries, in namespaces. Whatever is changed of which nobody knows what it is may be one of these.
"""

from __future__ import annotations

from collections.abc import Iterable

from tensorlint.inference import layer_changes
from tensorlint.inference.contents import everything_within, is_forgotten_itself, one_within
from tensorlint.inference.implicit_calls import may_give
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    Const,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Sequence,
    Value,
)

_MOST = 200
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
            if isinstance(each, Function) and may_give(each.node) and len(self.strayed) < _MOST:
                self.strayed[id(each.node)] = each

    def change_strayed(self, name: str | None) -> None:
        """Something that nobody knows has other items from here on, or another attribute of that name."""
        strays = list(self.strayed.values())
        givers = [each for each in strays if isinstance(each, Function)]
        now = len(self.mutations), self.steps if givers else len(strays), name
        if now == self.strays_changed:
            return  # as by the line before
        for each in everything_within(self.all_strayed(strays)):
            if isinstance(each, (Sequence, Dictionary)):
                if name is None and not is_forgotten_itself(each):
                    self.forget_own_contents(each)
                    self.mutations.append((each, None))
            elif isinstance(each, Instance):
                if name is not None and not each.generic:
                    self.forget_attributes(each, {name})
            elif isinstance(each, LibraryObject) and each.path.startswith("torch.nn."):
                if name is not None:
                    layer_changes.change_attribute_unseen(self, each, name)
                elif each.path in CONTAINERS:
                    layer_changes.change_unseen(self, each)
        self.strays_changed = len(self.mutations), self.steps if givers else len(strays), name

    def all_strayed(self, strays: list[Value]) -> list[Value]:
        """The strays, and what the functions among them give now."""
        found: list[Value] = []
        for each in strays:
            found += self.lists_given(each, [], {}, modules=True) if isinstance(each, Function) else [each]
        return found

    def call_strayed(self, name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
        """A method is called of something that nobody knows, which may be one of the strays."""
        if name in _SETTERS:
            self.change_strayed(str(args[0].value) if args and isinstance(args[0], Const) else None)
        elif name in layer_changes.FORWARD_HOOKS and layer_changes.may_return(args[:1]):
            self.change_strayed(layer_changes.CHANGED)
        if not any(cls.has(name) for cls in self.classes):
            return
        for each in everything_within(self.all_strayed(list(self.strayed.values()))):
            if isinstance(each, Instance) and not each.generic:
                method = self.find_in_class(each.cls, name)
                if isinstance(method, Function):
                    bound = Function(method.node, method.scope, method.owner, each, method.defaults, "function")
                    self.runs_unseen(bound, args, kwargs)
