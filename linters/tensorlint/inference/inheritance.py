"""What a class has of its bases: the order they are looked in, `super()`, and the layers that classes derive from.

The order is Python's: https://docs.python.org/3/howto/mro.html
"""

from __future__ import annotations

import ast
from functools import partial
from types import NoneType

from tensorlint.inference import layer_changes, module_containers
from tensorlint.inference.changes import CHANGES, PUTS, is_namespace
from tensorlint.inference.class_order import functions_of, method_order
from tensorlint.inference.contents import forget_field, hold_still, one_within
from tensorlint.inference.distant_changes import SHOWN
from tensorlint.inference.frames import Frame
from tensorlint.inference.joins import join
from tensorlint.inference.kept import kept_with
from tensorlint.inference.ops import modules
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    BASE,
    CONTAINERS,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Sequence,
    Tensor,
    Value,
)
from tensorlint.inference.walking import walk

INITIALISERS = ("__init__", "__post_init__")
# Classes of these modules give a module no method that is followed.
_PLAIN = frozenset({"abc", "builtins", "collections", "enum", "typing", "typing_extensions"})


def is_plain(base: Value) -> bool:
    """Whether it is a class of the standard library that overrides no method of a module."""
    return isinstance(base, Library) and base.path.partition(".")[0] in _PLAIN


class _Everything(frozenset[str]):
    """Every attribute."""

    def __contains__(self, name: object) -> bool:
        return True


_EVERYTHING = _Everything()


def _answers_otherwise(cls: Class) -> bool:
    """Whether a method of the class's own decides what every attribute is."""
    if cls.has("__getattribute__") or not isinstance(cls.own("__setattr__"), (Function, NoneType)):
        return True
    # A module keeps its layers where Python asks this method for them; as a rule it asks nn.Module's own first.
    method = cls.methods.get("__getattr__") if cls.is_module else None
    if method is None:
        return False
    first = next((each for each in method.body if not isinstance(each, ast.Expr)), method)
    asked = first.body[0] if isinstance(first, ast.Try) else first
    given = asked.value if isinstance(asked, (ast.Return, ast.Assign)) else None
    return not (
        isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "__getattr__"
    )


def answers_otherwise(cls: Class) -> bool:
    """Whether a method of the class's own, or of a base's, decides what every attribute is."""
    return changed_by_operators(cls) is _EVERYTHING


def changed_by_operators(cls: Class) -> frozenset[str]:
    """Attributes of self that change when Python calls a method by itself: for an operator, a comparison, `in`, `str()`.

    Such calls are not followed, so nothing is known of these attributes at any line.
    """
    if cls.changed_by_operators is None:
        names: set[str] = set()
        if _answers_otherwise(cls):
            cls.changed_by_operators = _EVERYTHING
            return _EVERYTHING
        for base in cls.bases:
            if isinstance(base, Class):
                if changed_by_operators(base) is _EVERYTHING:
                    cls.changed_by_operators = _EVERYTHING
                    return _EVERYTHING
                names |= changed_by_operators(base)
        implicit = [name for name in cls.methods if name.startswith("__") and name not in _FOLLOWED]
        if any(
            kept_with(cls.methods[name], "stores any", partial(_stores_any, cls.methods[name])) for name in implicit
        ):
            cls.changed_by_operators = _EVERYTHING
            return _EVERYTHING
        cls.changed_by_operators = frozenset(names | _changed_by(cls, implicit))
    return cls.changed_by_operators


def changed_by_torch(cls: Class) -> frozenset[str]:
    """Attributes of self that change when nn.Module calls one of the module's methods, for `model.eval()`,
    `model.to(device)` or `model.load_state_dict(state)`; these calls are not followed either."""
    if cls.changed_by_torch is None:
        implicit = [name for name in cls.methods if name in _CALLED_BACK] if cls.is_module else []
        above = [changed_by_torch(base) for base in cls.bases if isinstance(base, Class)]
        cls.changed_by_torch = frozenset(_changed_by(cls, implicit)).union(*above)
    return cls.changed_by_torch


def _changed_by(cls: Class, methods: list[str]) -> set[str]:
    """Attributes of self that the methods change, and those of the class's own that they call."""
    names: set[str] = set()
    reached: set[str] = set()
    while methods:
        name = methods.pop()
        method = cls.methods.get(name)
        if method is None or name in reached or not method.args.args:
            continue
        reached.add(name)
        changed, called = kept_with(method, "changes of self", partial(_changes_of_self, method))
        names |= changed
        methods += called
    return names


# What the interpreter calls where Python does, and what runs before or after all that is asked of an instance.
_FOLLOWED = frozenset(
    ["__init__", "__post_init__", "__new__", "__call__", "__enter__", "__init_subclass__", "__class_getitem__",
     "__set_name__", "__del__"]
)  # fmt: skip


# What nn.Module calls of a module's own methods, and of its children's, where other methods of it are called.
_CALLED_BACK = frozenset(
    ["train", "_apply", "apply", "requires_grad_", "zero_grad", "load_state_dict", "_load_from_state_dict", "state_dict",
     "_save_to_state_dict", "get_extra_state", "set_extra_state", "extra_repr", "parameters", "named_parameters", "buffers",
     "named_buffers", "modules", "named_modules", "children", "named_children", "_named_members", "_get_name", "_call_impl",
     "_wrapped_call_impl", "_slow_forward", "register_buffer", "register_parameter", "add_module", "register_module",
     "get_submodule", "get_parameter", "get_buffer", "_replicate_for_data_parallel"]
)  # fmt: skip


def _changes_of_self(method: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[set[str], list[str]]:
    """(attributes that the method assigns or changes in place, names of its own methods that it calls)."""
    own = method.args.args[0].arg
    changed: set[str] = set()
    called: list[str] = []
    for node in walk(method):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if (name := _first_attribute(node, own)) is not None:
                changed.add(name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == own:
                called.append(node.func.attr)
            elif node.func.attr in CHANGES or (node.func.attr.endswith("_") and not node.func.attr.startswith("_")):
                if (name := _first_attribute(node.func.value, own)) is not None:
                    changed.add(name)
    return changed, called


def _stores_any(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """`vars(self)[name] = value`, with a name that is computed."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and not isinstance(node.slice, ast.Constant)
        and is_namespace(node.value)
        for node in walk(method)
    )


def _decorates(maker: Function, cls: Class) -> bool:
    """Whether the function is called as a decorator of the class, by its name."""
    name = getattr(maker.node, "name", None)
    called = [each.func if isinstance(each, ast.Call) else each for each in cls.node.decorator_list]
    return name in [each.id if isinstance(each, ast.Name) else getattr(each, "attr", None) for each in called]


def _first_attribute(node: ast.expr, own: str) -> str | None:
    """`a` of `self.a.b[0]`."""
    name = None
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        name = node.attr if isinstance(node, ast.Attribute) else name
        node = node.value
    return name if isinstance(node, ast.Name) and node.id == own else None


class Inheritance(State):
    """Mixed into the interpreter, with `Classes`."""

    __slots__ = ()

    def changed_by_makers(self, cls: Class, makers: list[Function]) -> None:
        """What decorators, and `__init_subclass__` of a base, assign to the class when it is made, or to its bases."""
        above = [base for base in method_order(cls)[1:] if isinstance(base, Class)]
        for maker in makers:
            for name in self.assigned_by(maker.node):
                if self.find_in_class(cls, name) is not None:
                    forget_field(cls, name)
            if above or maker.decorated or maker.scope.file is not self.file or not _decorates(maker, cls):
                self.not_followed(maker, [cls, *above], {})  # the others are followed where they are called

    def change_base(self, value: Instance, name: str, args: list[Value]) -> Value | None:
        """`self.append(layer)` of a subclass of nn.Sequential; None if the method changes no members."""
        base = value.fields.get(BASE)
        return module_containers.change_members(self, base, name, args) if isinstance(base, LibraryObject) else None

    def call_base_module(
        self, path: str, value: Instance, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        """A subclass of nn.Linear, nn.Sequential, ... that keeps its forward: known if its constructor call was seen."""
        base = value.fields.get(BASE)
        facts = self.file.facts
        if not isinstance(base, LibraryObject):
            return UNKNOWN
        if value.generic and (value.cls.unstable | facts.foreign_attributes) & {*base.arguments, "weight"}:
            return UNKNOWN
        if value.generic and base.path in CONTAINERS:
            # Whoever has made an object of the class may have given it other members.
            if facts.distant.fills or facts.foreign_members or self.may_grow(value):
                return UNKNOWN
        return self.call_library_object(base, args, kwargs, node)

    def may_grow(self, value: Value) -> bool:
        """Whether the value is a container of layers, of a class of which another method than the initialiser may add to it."""
        if not (isinstance(value, Instance) and layer_changes.is_container_class(value.cls)):
            return False
        methods = [
            each
            for base in method_order(value.cls)
            if isinstance(base, Class)
            for each in functions_of(base)
            if each.name not in INITIALISERS
        ]
        changes = [self.changes_in(each) for each in methods]
        return any(each.attributes or not each.methods.isdisjoint(PUTS) for each in changes)

    def call_super(self, node: ast.Call, name: str) -> Value:
        """`super().name(...)`: the method after this class's own, with this frame's instance."""
        for argument in node.func.value.args:  # type: ignore[attr-defined]
            self.eval(argument)
        arguments = self.arguments(node)
        frame: Frame | None = self.frame
        while frame is not None and frame.owner is None:
            frame = frame.parent
        owner = frame.owner if frame is not None else None
        if name == "__setattr__" and arguments is not None:
            self.set_by_name(self.frame.env.get(self.frame.first_argument or "self"), arguments[0])
            return NONE
        receiver = self.frame.env.get(self.frame.first_argument or "self")
        given = node.func.value.args  # type: ignore[attr-defined]
        named = self.eval(given[0]) if given else owner
        if not isinstance(named, Class) or not isinstance(receiver, Instance):
            return UNKNOWN
        if arguments is None and self.open_call is not None:
            above = self.next_in_order(receiver.cls, named, name)
            if isinstance(above, Class) and isinstance(above.own(name), Function):
                arguments = self.open_call
            elif isinstance(above, Library) and name == "__init__" and above.path not in CONTAINERS:
                arguments = self.open_call
        if arguments is None:
            above = self.next_in_order(receiver.cls, named, name)
            self.super_not_followed(receiver, above, name)
            if isinstance(above, Library) and name == "__init__" and above.path not in CONTAINERS:
                self.make_base(receiver, LibraryObject(above.path, {}, (), {}, node))  # of nobody knows what
            return UNKNOWN
        base = self.next_in_order(receiver.cls, named, name)
        if receiver.generic and name not in INITIALISERS:
            for other in self.classes:
                # In an instance of a class with several bases a sibling of this one may come next.
                if len(other.bases) > 1 and receiver.cls in method_order(other)[1:]:
                    if self.next_in_order(other, named, name) is not base:
                        return UNKNOWN
        if isinstance(base, Class):
            found = base.own(name)
            if isinstance(found, Function):
                return self.call_function(
                    Function(
                        found.node, found.scope, found.owner, receiver, found.defaults, "function", found.decorated
                    ),
                    arguments[0],
                    arguments[1],
                    node,
                )
        elif isinstance(base, Library) and name == "__init__":
            self.make_base(receiver, modules.construct(self.call_context(base.path, node), base.path, *arguments))
        elif isinstance(base, Library) and name == "forward":
            return self.call_base_module(base.path, receiver, arguments[0], arguments[1], node)
        elif name == "__getattribute__":
            return self.call_library("builtins.getattr", [receiver, *arguments[0]], {}, node)
        elif not receiver.generic and not isinstance(base, Class):
            # `super().__init__(rows)`, `super().__getitem__(key)` of a list or a dictionary: it holds what it is given.
            hold_still(receiver, [*arguments[0], *arguments[1].values()])
            return UNKNOWN if name in INITIALISERS else one_within([receiver])
        return UNKNOWN

    def make_base(self, receiver: Instance, made: LibraryObject) -> None:
        """What `super().__init__(...)` makes of a subclass of a layer."""
        before = receiver.fields.get(BASE)
        receiver.fields[BASE] = join(before, made) if self.perhaps_left and before is not None else made
        if self.frame.record and not (self.perhaps_left or self.frame.loops):
            for name, value in made.arguments.items():
                if name in SHOWN and name not in self.file.facts.unstable_attributes:
                    if (
                        isinstance(value, (Opaque, Number))
                        and (self.frame.first_argument, name) not in self.frame.facts.stored
                    ):
                        self.name_field(receiver, name, value)

    def attribute_of_base(self, value: Instance, name: str, node: ast.AST | None) -> Value | None:
        """`self.weight` in a subclass of a layer; None where the layer does not tell."""
        base = value.fields.get(BASE)
        facts = self.file.facts
        if not isinstance(base, LibraryObject) or name in facts.unstable_attributes or name in facts.foreign_attributes:
            return None
        if base.path in CONTAINERS or name in value.cls.unstable or not modules.known(base.path):
            return None
        found = self.attribute_of(base, name, node)
        if isinstance(found, (Tensor, Number)) or (isinstance(found, Sequence) and found.kind == "tuple"):
            return found
        return found if isinstance(found, Const) and type(found.value) is int else None

    def super_not_followed(self, receiver: Instance, base: Value | None, name: str) -> None:
        """`super().__init__(**rest)`, of which nobody knows what it is given: it assigns what it has, after this class did."""
        found = base.own(name) if isinstance(base, Class) else None
        if isinstance(found, Function):
            self.not_followed(Function(found.node, found.scope, found.owner, receiver), *self.unsure)
            for each in self.assigned_by(found.node) & receiver.fields.keys():
                receiver.fields[each] = UNKNOWN
                self.mutations.append((receiver, each))

    def next_in_order(self, cls: Class, owner: Class, name: str) -> Class | Library | None:
        """The base after `owner` that has the method, as `super()` finds it in an instance of `cls`: None if unknown."""
        order = method_order(cls)
        for base in order[order.index(owner) + 1 :] if owner in order else ():
            if isinstance(base, Class):
                if base.has(name):
                    return base
            elif isinstance(base, Library) and modules.known(base.path) and name in ("__init__", "forward"):
                return base
            elif not (self.is_known_base(base) or is_plain(base)) and name not in INITIALISERS:
                return None
        return None
