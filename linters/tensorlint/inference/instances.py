"""Objects of the program's classes: what makes them, and what calling them and their methods gives."""

from __future__ import annotations

import ast

from tensorlint.inference.class_order import method_order
from tensorlint.inference.contents import given_back, hold_still, one_within
from tensorlint.inference.distant_changes import REPLACED
from tensorlint.inference.following import worth_following
from tensorlint.inference.forward_hooks import FORWARD_HOOKS, hook_given, may_return
from tensorlint.inference.layer_changes import (
    CHANGED,
    SELF_METHODS,
    changed_anywhere,
    held,
    held_elsewhere,
    note_conversion,
)
from tensorlint.inference.module_formats import note_format
from tensorlint.inference.ops import modules
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    NONE,
    OPEN,
    UNKNOWN,
    Class,
    Const,
    Function,
    Instance,
    Library,
    LibraryObject,
    Opaque,
    RecordField,
    Sequence,
    Tensor,
    Value,
    of_class,
)
from tensorlint.inference.walking import walk

# Lines of an initialiser of another file's class, no module, that is still followed: `Accelerator(...)`, of 400 lines and
# with what it calls, took a quarter of the time for accelerate's scripts.
_LONGEST = 200
# Methods of a module that give a part by the names that lead there.
_BY_PATH = frozenset({"get_submodule", "get_parameter", "get_buffer"})

_CONTAINERS = frozenset({"builtins.list", "builtins.dict", "builtins.set", "builtins.tuple"})


class Instances(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def made_for_field(self, field: RecordField, node: ast.AST | None) -> Value | None:
        """What the field's `default_factory` gives, which is called for each object."""
        made = self.call(field.factory or UNKNOWN, [], {}, node)
        return field.default if made is UNKNOWN else made

    def construct(self, cls: Class, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if cls.made_otherwise:
            self.escape(args, kwargs)
            gives: list[Value] = []
            for name in ("__new__", "__init__"):
                method = self.find_in_class(cls, name)
                self.not_followed(method or UNKNOWN, [cls, *args], kwargs)
                if isinstance(method, Function):
                    gives += self.lists_given(method, [cls, *args], kwargs, modules=True)
            return Opaque(None, tuple(gives))
        instance = Instance(cls, made=node, born=self.steps)
        record = _generated_from(cls)
        if record is not None:
            given = dict(zip((each.name for each in record if each.taken and each.positional), args, strict=False))
            given.update(kwargs)
            is_open = given.pop(OPEN, None) is not None
            passed: list[Value] = []  # on to `__post_init__`
            for each in record:
                value: Value | None
                if each.taken and (each.name in given or is_open):
                    value = given.get(each.name, UNKNOWN)
                else:
                    value = each.default if each.factory is None else self.made_for_field(each, node)
                if not each.kept:
                    passed.append(UNKNOWN if value is None else value)
                elif value is not None or each.taken:
                    shadowed = isinstance(self.find_in_class(cls, each.name), Function)  # by a property of a subclass
                    instance.fields[each.name] = UNKNOWN if value is None or shadowed else value
            post = self.find_in_class(cls, "__post_init__")
            if isinstance(post, Function):
                self.call_function(
                    Function(post.node, post.scope, post.owner, instance, post.defaults), passed, {}, node
                )
            return instance
        method = self.find_in_class(cls, "__init__")
        if isinstance(method, Function):
            if not cls.scope.file.own and (
                not worth_following(args, kwargs) or (not cls.is_module and _is_long(method.node))
            ):
                self.runs_unseen(method, args, kwargs)
                return instance
            if self.depth >= 12 or self.budget <= 0 or self.active.count(method.node) > 0 or method.decorated:
                self.escape(args, kwargs)
                self.not_followed(method, args, kwargs)
                return of_class(cls.generic) if cls.generic is not None else UNKNOWN
            bound = self.bind_parameters(
                Function(method.node, method.scope, method.owner, instance, method.defaults), [instance, *args], kwargs
            )
            if bound is None:
                return UNKNOWN
            if self.may_wait(method, cls, bound):
                return self.made_later(instance, method, bound, node)
            self.being_made.append(instance)
            self.follow(method, bound, node)
            self.being_made.pop()
            return instance
        if cls.is_module:
            # A layer's own constructor: `class Scaled(nn.Linear)` that has a forward only.
            base = self.next_in_order(cls, cls, "__init__")
            if isinstance(base, Library) and modules.known(base.path) and self.find_in_class(cls, "__new__") is None:
                made = modules.construct(self.call_context(base.path, node), base.path, args, kwargs)
                set_later = {
                    part.attr
                    for part in walk(cls.node)
                    if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
                }
                if not set_later & {*made.arguments, "weight", "bias"}:  # by a method that may not be followed
                    self.make_base(instance, made)
        elif not cls.complete:
            self.escape(args, kwargs)
        return instance

    def call_instance(
        self, value: Instance, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        own = self.find_in_class(value.cls, "__call__")
        if isinstance(own, Function):
            if value.generic and "__call__" in value.cls.overridden:
                return self.call(self.instance_attribute(value, "__call__", node), args, kwargs, node)
            # Python looks in the class: what the object has under that name is not called.
            method = Function(own.node, own.scope, own.owner, value, own.defaults, "function", own.decorated)
            return self.call(method, args, kwargs, node)
        if value.cls.is_module:
            replaced = "__call__" in self.own_file.facts.foreign_attributes or "__call__" in self.rebound.attributes
            if replaced or "forward" in value.fields or CHANGED in value.fields or changed_anywhere(self) & REPLACED:
                self.escape(args, kwargs)
                return UNKNOWN
            return self.call_instance_method(value, "forward", args, kwargs, node)
        self.escape(args, kwargs)
        return UNKNOWN

    def call_instance_method(
        self, value: Instance, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        if name == "__getattribute__" and self.find_in_class(value.cls, name) is None:
            return self.call_library("builtins.getattr", [value, *args], {}, node)
        if (value.generic and name in value.cls.overridden) or (
            (value.generic or (value.lasting and not self.initialising(value))) and name in value.fields
        ):
            return self.call(self.instance_attribute(value, name, node), args, kwargs, node)
        if self.decided_elsewhere(value, name):
            self.escape(args, kwargs)
            return one_within([value]) if name == "__getattribute__" else UNKNOWN
        own = value.fields.get(name)
        if own is not None:
            if isinstance(own, (LibraryObject, Instance)) and not self.initialising(value):
                own = held_elsewhere(self, name, own, value.generic or value.lasting)
            return self.call(own, args, kwargs, node)
        found = self.find_in_class(value.cls, name)
        # Classes and layers that a class body holds, `net_class = Encoder`, are called without the object.
        if isinstance(found, (Function, Class, Instance, LibraryObject)) or (
            isinstance(found, Library) and modules.known(found.path)
        ):
            return self.call(self.instance_attribute(value, name, node), args, kwargs, node)
        if value.cls.is_module:
            if name in SELF_METHODS:
                if name == "to":
                    note_conversion(self, args, kwargs, node)
                    note_format(self, value, kwargs)
                elif name == "apply" and args:
                    self.not_followed(args[0], [value], {})
                if self.initialising(value):
                    for field in value.fields.values():
                        if isinstance(field, Tensor):
                            held(self, field)
                return value
            if name in ("modules", "children"):
                return Sequence("iterator", None, Opaque(None, parts=(value,)))
            if name in ("named_modules", "named_children"):
                return Sequence("iterator", None, Sequence("tuple", [UNKNOWN, Opaque(None, parts=(value,))]))
            if name in _BY_PATH:
                return self.part_by_path(value, args[0] if args else UNKNOWN, node)
            if name in FORWARD_HOOKS:
                self.escape(args, kwargs)
                if may_return(args, kwargs):
                    self.stray_given(hook_given(args, kwargs))
                    self.store_attribute(value, CHANGED, UNKNOWN)
                return UNKNOWN
            if name == "register_buffer" and len(args) >= 2 and isinstance(args[0], Const):
                self.store_attribute(value, args[0].value, args[1])
                self.note_registered(node, value, args)
                return NONE
            if (
                name in ("register_parameter", "add_module", "register_module")
                and len(args) >= 2
                and isinstance(args[0], Const)
            ):
                self.store_attribute(value, args[0].value, args[1])
                self.note_registered(node, value, args)
                if name == "add_module":
                    self.change_base(value, name, args)
                return NONE
            if name in ("register_module", "set_submodule", "register_buffer", "register_parameter"):
                self.forget_fields(value)
                self.store_attribute(value, CHANGED, UNKNOWN)
            if name == "add_module":
                self.forget_modules(value, node)
            if name in ("__setattr__", "__delattr__") and args:
                self.set_by_name(value, [args[0], args[1] if len(args) > 1 else UNKNOWN])
                return NONE
            if self.change_base(value, name, args) is not None:
                return value if name != "pop" else UNKNOWN
            if name == "forward":
                for base in value.cls.bases:
                    if isinstance(base, Library) and modules.known(base.path):
                        return self.call_base_module(base.path, value, args, kwargs, node)
        given = given_back((value, *args, *kwargs.values()))
        if not value.generic and _has_items(value.cls):
            hold_still(value, [*args, *kwargs.values()])
            given = one_within([value, *args, *kwargs.values()])
        self.escape([*args, *self.changed_by_base(value)], kwargs)
        return given

    def part_by_path(self, value: Instance, path: Value, node: ast.AST | None) -> Value:
        """`model.get_submodule("blocks.0.norm")`: where it is not known what that is, it may be anything in the module."""
        found: Value = value
        if isinstance(path, Const) and isinstance(path.value, str) and path.value:
            for name in path.value.split("."):
                if name.isdigit() and isinstance(found, LibraryObject):
                    found = self.item(found, Const(int(name)), node)
                else:
                    found = self.attribute_of(found, name, node)
        return Opaque(None, parts=(value,)) if found is UNKNOWN or found is value else found


def _is_long(code: ast.AST) -> bool:
    """Whether an initialiser sets up a whole program, of which the file that calls it asks for next to nothing."""
    return (getattr(code, "end_lineno", None) or 0) - getattr(code, "lineno", 0) > _LONGEST


def _generated_from(cls: Class) -> tuple[RecordField, ...] | None:
    """The fields that the class's initialiser takes, if the class or a base has one made from fields."""
    for base in method_order(cls):
        if isinstance(base, Class):
            if base.generated:
                return base.record
            if base.has("__init__"):
                return None
    return None


def _has_items(cls: Class) -> bool:
    """Whether the class derives from a list, a dictionary or the like."""
    return any(
        isinstance(base, Library) and (base.path in _CONTAINERS or base.path.startswith("collections."))
        for base in method_order(cls)
    )
