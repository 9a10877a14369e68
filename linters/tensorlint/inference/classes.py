"""Classes of the analysed files: how they are defined, and what is found in them and in their instances."""

from __future__ import annotations

import ast
import re

from tensorlint.inference import changing_numbers
from tensorlint.inference.aliases import joined, perhaps
from tensorlint.inference.called_functions import AUTOGRAD, apply_of
from tensorlint.inference.changes import NEITHER
from tensorlint.inference.class_order import ANSWERING, functions_of, method_order, values_of
from tensorlint.inference.computed_names import fits_any, patterns_of
from tensorlint.inference.contents import hold_still, one_within, parts_of
from tensorlint.inference.forward_hooks import HELD_AS
from tensorlint.inference.frames import Frame
from tensorlint.inference.inheritance import (
    INITIALISERS,
    Inheritance,
    answers_otherwise,
    changed_by_operators,
    changed_by_torch,
    is_plain,
)
from tensorlint.inference.late_initialisers import attributes_unknown
from tensorlint.inference.late_methods import wait_in
from tensorlint.inference.layer_changes import (
    CHANGED,
    are_changed_elsewhere,
    change_unseen,
    container_of,
    held,
    held_elsewhere,
    set_elsewhere,
)
from tensorlint.inference.module_bases import is_module_whichever
from tensorlint.inference.module_sources import BASES, is_base
from tensorlint.inference.ops import modules
from tensorlint.inference.rebinding import NOTHING, Rebound, perhaps_another_part, rebound
from tensorlint.inference.registering import gives_back, only_wraps
from tensorlint.inference.unseen import changed_by_operators_of
from tensorlint.inference.values import (
    BASE,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Opaque,
    RecordField,
    Sequence,
    Tensor,
    Unknown,
    Value,
    is_none,
    opaque_anew,
)
from tensorlint.inference.variants import stands_for_several
from tensorlint.inference.walking import walk

# Special methods that are followed where they are called, or give nothing.
_FOLLOWED = frozenset(
    ["__init__", "__post_init__", "__call__", "__len__", "__repr__", "__str__", "__hash__", "__bool__"]
)
_RECORDS = frozenset({"dataclasses.dataclass", "typing.NamedTuple", "torch.jit.NamedTuple"})
# Decorators that leave a function callable as it is written.
_TRANSPARENT = (
    "torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.jit.", "torch.fx.wrap", "typing.", "jaxtyping.",
    "beartype.", "functools.wraps",
)  # fmt: skip
# `self.__size` and `def __size`, which Python spells with the class's name.
_PRIVATE = re.compile(r"(?:\.|def |^[ \t]+)(__\w*[^\W_]\w*?_?)\b(?<!__)", re.MULTILINE)
_PRIVATE_USES = tuple(re.compile(rf"{begin}__\w*[^\W_]\w*?_?\b(?<!__)") for begin in (r"\.", "def "))
_SPELLED_OUT = re.compile(r"\b_[^\W_]\w*?(__\w*[^\W_]\w*?_?)\b(?<!__)")
# Methods that give a module a part by its name.
_REGISTERS = frozenset({"add_module", "register_module", "register_buffer", "register_parameter", "set_submodule"})
# What is left of a base's value where branches met that bind its name.
_ONE_OF_SEVERAL = frozenset({Opaque, Unknown})
_HELD_BY_MODULES = HELD_AS | {"_modules"}
_INITIALISER_NAMES = frozenset({*INITIALISERS, "__doc__", "__module__", "__qualname__"})


class Classes(Inheritance):
    """Mixed into the interpreter."""

    __slots__ = ()

    def define_class(self, node: ast.ClassDef) -> Value:
        bases = tuple(self.eval(base) for base in node.bases)
        keywords = {keyword.arg: self.eval(keyword.value) for keyword in node.keywords}
        if keywords:  # which `__init_subclass__` and metaclasses are given
            self.stray(keywords.values())
        cls = Class(node, self.frame, bases)
        meta = keywords.get("metaclass")
        # What a metaclass of the program makes of a call, nobody follows.
        cls.made_otherwise = any(isinstance(base, Class) and base.made_otherwise for base in bases) or (
            isinstance(meta, Class) and self.find_in_class(meta, "__call__") is not None
        )
        for each in node.body:
            # Nor what a `__new__` gives, which may be an object that was made before.
            if type(each) is ast.FunctionDef and each.name == "__new__":
                cls.made_otherwise = True
        self.classes.append(cls)
        cls.is_module = any(self.is_module_base(base) for base in bases) or self.has_one_of_several_bases(node, bases)
        cls.complete = all(self.is_known_base(base) for base in bases)
        decorators = [self.eval(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list]
        if any(isinstance(each, Library) and each.path in _RECORDS for each in (*decorators, *bases)):
            cls.record = ()
        frame = Frame(
            node, self.file, self.frame, {}, self.file.facts.scopes.get(node, self.frame.facts), self.frame.record
        )
        frame.is_class, frame.owner = True, cls
        prepared = bool(bases or keywords) and self.prepares_names(cls, meta or UNKNOWN)
        frame.record = frame.record and not prepared
        self.frames.append(frame)
        outer = self.frame
        self.frame = frame
        body = self.body_of(node)
        self.block(body.now)
        for name, statement in body.tables.items():
            if name in self.own_file.text:
                self.block([statement])
            else:
                frame.env[name] = UNKNOWN
        if cls.record is not None:
            self.read_record(cls)
        self.frame = outer
        frame.finished = True
        for name, value in frame.env.items():
            if (
                isinstance(value, Function)
                and value.owner is cls
                and isinstance(value.node, (ast.FunctionDef, ast.AsyncFunctionDef))
            ):
                cls.methods[name] = value.node
            cls.held[name] = value
        if body.late:
            wait_in(self, cls, frame, body.late)
        if any(isinstance(base, Library) and base.path.startswith("enum.") for base in bases):
            # Its attributes are members, which hold the values.
            cls.fields.update((name, UNKNOWN) for name, value in frame.env.items() if not isinstance(value, Function))
        makers = [each for each in decorators if isinstance(each, Function)]
        for base in method_order(cls)[1:]:
            hook = base.own("__init_subclass__") if isinstance(base, Class) else None
            makers += [hook] if isinstance(hook, Function) else []
        for value in frame.env.values():
            hook = self.find_in_class(value.cls, "__set_name__") if isinstance(value, Instance) else None
            makers += [hook] if isinstance(hook, Function) else []
        makes = any(isinstance(base, Library) and base.path == "builtins.type" for base in method_order(cls))
        self.stray_given(
            value
            for name, value in frame.env.items()
            if makes or ((name[:2] == "__" and name not in _FOLLOWED) and isinstance(value, Function))
        )
        self.forget_what_metaclass_changes(cls, meta or UNKNOWN)
        self.changed_by_makers(cls, makers)
        for name in self.set_on_classes & cls.held.keys() if not cls.scope.file.own else ():
            # Code that ran before anybody asked for the class may have set it.
            if not isinstance(cls.held[name], Function):
                cls.held[name] = UNKNOWN
        if not cls.scope.file.own:
            self.forget_shared_attributes(cls)
        cls.generated = cls.generated and not cls.has("__init__")
        if decorators and cls.record is None and not all(isinstance(each, Library) for each in decorators):
            cls.complete = False
        return cls

    def read_record(self, cls: Class) -> None:
        """The fields of a dataclass or named tuple, its bases' first, while the frame is still that of its body."""
        options: dict[str | None, Value] = {}
        for decorator in cls.node.decorator_list:
            if isinstance(decorator, ast.Call):
                options.update((word.arg, self.eval(word.value)) for word in decorator.keywords)
        init, by_keyword = options.get("init", Const(True)), options.get("kw_only", Const(False))
        if None in options or not (isinstance(init, Const) and isinstance(by_keyword, Const)):
            cls.made_otherwise = True
            return
        cls.generated = bool(init.value)
        found: dict[str, RecordField] = {}
        for base in reversed(method_order(cls)[1:]):
            if isinstance(base, Class):
                found.update((each.name, each) for each in base.record or ())
        positional = not by_keyword.value
        env = self.frame.env
        for statement in cls.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            name, said = statement.target.id, _words_of(statement.annotation)
            if any("ClassVar" in word for word in said):
                continue
            if "KW_ONLY" in said:
                positional = False
                continue
            value = env.get(name)
            words = self.field_options(statement.value)
            stated = self.annotation(statement.annotation)
            declared = stated if isinstance(stated, Tensor) else None
            default = None if statement.value is None else value
            if is_none((default if words is None else words.get("default")) or UNKNOWN):
                declared = None
            if words is None:
                found[name] = RecordField(
                    name, default, declared, True, positional, not any("InitVar" in word for word in said)
                )
                continue
            taken, alone = words.get("init", Const(True)), words.get("kw_only", Const(not positional))
            if None in words or not (isinstance(taken, Const) and isinstance(alone, Const)):
                cls.made_otherwise = True
                return
            default = words.get("default")
            if default is None:
                env.pop(name, None)  # which the decorator deletes
                default = (UNKNOWN if declared is None else declared) if "default_factory" in words else None
            else:
                env[name] = default
            found[name] = RecordField(
                name,
                default,
                declared,
                bool(taken.value),
                not alone.value,
                not any("InitVar" in word for word in said),
                words.get("default_factory"),
            )
        cls.record = tuple(found.values())

    def field_options(self, value: ast.expr | None) -> dict[str | None, Value] | None:
        """The keywords of `dataclasses.field(...)`; None if the default is something else."""
        if isinstance(value, ast.Call) and self.is_field(value):
            return {word.arg: self.eval(word.value) for word in value.keywords}
        return None

    def is_field(self, value: ast.Call) -> bool:
        function = self.eval(value.func)
        return isinstance(function, Library) and function.path == "dataclasses.field"

    def is_module_base(self, base: Value) -> bool:
        if isinstance(base, Class):
            return base.is_module
        if isinstance(base, Library):
            return is_base(base.path) or modules.known(base.path)
        return False

    def has_one_of_several_bases(self, node: ast.ClassDef, bases: tuple[Value, ...]) -> bool:
        """Whether a base that another import or branch gave another value is a module's class in any case."""
        return isinstance(self.frame.node, ast.Module) and any(
            type(value) in _ONE_OF_SEVERAL and is_module_whichever(self.file.tree, base)
            for base, value in zip(node.bases, bases, strict=False)
        )

    def is_known_base(self, base: Value) -> bool:
        if isinstance(base, Class):
            return base.complete
        return isinstance(base, Library) and (
            base.path in BASES
            or base.path in _RECORDS
            or base.path
            in ("builtins.object", "abc.ABC", "torch.utils.data.Dataset", "typing.Generic", "typing.Protocol")
        )

    def decorate(self, function: Function) -> None:
        """What the decorators make of a function: known ones leave it callable as it is written."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            value = self.eval(target)
            path = value.path if isinstance(value, Library) else None
            if path == "builtins.staticmethod":
                function.kind = "static"
            elif path == "builtins.classmethod":
                function.kind = "class"
            elif path in ("builtins.property", "functools.cached_property"):
                function.kind = "property" if path == "builtins.property" else "cached"
            elif path is not None and (
                path.startswith(_TRANSPARENT)
                or path in ("torch.compile", "functools.lru_cache", "functools.cache", "abc.abstractmethod")
                or "autocast" in path
            ):
                continue
            else:
                if gives_back(value, target is not decorator):
                    function.registered = True
                else:
                    function.decorated = True
                    self.stray_given([function])
                if isinstance(value, Function) and not only_wraps(value.node, 1 + (target is not decorator)):
                    if not self.is_decorator_of_file(decorator):  # or it is followed, see `made_by_decorators`
                        self.not_followed(value, [], {})

    def made_by_decorators(self, function: Function) -> Function:
        """What the function's name stands for: the function that a decorator of the file gives for it, as one that takes
        the time does, and the function itself where that is not followed. Decorators run where the function is defined."""
        node = function.node
        if isinstance(node, ast.Lambda) or not (function.decorated or function.registered):
            return function
        others = [each for each in node.decorator_list if not self.leaves_as_it_is(each)]
        # What a method is bound to, its class is not made yet.
        plain = Function(node, function.scope, function.owner, None, function.defaults, function.kind)
        replaces = function.decorated and not self.frame.is_class
        made: Value = plain if replaces else function
        for decorator in reversed(others):
            maker = self.eval(decorator) if self.is_decorator_of_file(decorator) else UNKNOWN
            result = UNKNOWN if maker is UNKNOWN else self.call(maker, [made], {}, decorator)
            made = result if replaces and made is not function and isinstance(result, Function) else function
        if not isinstance(made, Function) or made.decorated or made is plain or made.receiver is not None:
            return function
        return made if isinstance(made.node, ast.FunctionDef) else function

    def is_decorator_of_file(self, decorator: ast.expr) -> bool:
        """`@timed`, `@register("name")`, `@app.route("/")`, `@partial(register, name="x")`."""
        value = self.decorator_named(decorator)
        if isinstance(value, Library):
            return value.path == "functools.partial"
        return self.is_of_file(value)

    def leaves_as_it_is(self, decorator: ast.expr) -> bool:
        value = self.decorator_named(decorator)
        return isinstance(value, Library) and value.path.startswith(_TRANSPARENT)

    def decorator_named(self, decorator: ast.expr) -> Value:
        """What the decorator, or its factory, is by its name."""
        named = decorator.func if isinstance(decorator, ast.Call) else decorator
        # What a call gives that stands there has been made already, and is not made again.
        return UNKNOWN if any(isinstance(each, (ast.Call, ast.NamedExpr)) for each in walk(named)) else self.eval(named)

    # -- look-up -------------------------------------------------------------------------------------------------

    def find_in_class(self, cls: Class, name: str) -> Value | None:
        """A class attribute in the method resolution order; None if no known base has it."""
        found = cls.held.get(name)
        if found is None and cls.late is not None:
            found = cls.own(name)
        if found is not None or not cls.bases:
            return found
        order = method_order(cls)
        for base in order[1:]:
            if type(base) is Class:
                found = base.held.get(name)
                if found is None and base.late is not None:
                    found = base.own(name)
                if found is not None:
                    # Of a base that nobody knows and that comes first, it may be another one.
                    hidden = name not in INITIALISERS and any(map(self.may_have_anything, order[: order.index(base)]))
                    return UNKNOWN if hidden else found
        return None

    def may_have_anything(self, base: Value) -> bool:
        """Whether nobody knows what the class, which is none of the program's, has."""
        return type(base) is not Class and not (self.is_known_base(base) or is_plain(base))

    def decided_elsewhere(self, value: Instance, name: str) -> bool:
        """Whether the attribute is something else than assignments show: the initialiser's own count while it is followed."""
        if value not in self.being_made:
            return self.is_rebound(value.cls, name, value)
        return answers_otherwise(value.cls) or "__getattribute__" in value.cls.scope.file.facts.foreign_attributes

    def is_rebound(self, cls: Class, name: str, of: Instance | None = None) -> bool:
        """Whether the attribute, perhaps `of` an object, is changed where no assignment shows it: by `setattr` with a name
        that is computed, or by a method that an operator calls."""
        changed = cls.changed_by_operators
        if name in (changed_by_operators(cls) if changed is None else changed):
            return True
        if cls.is_module and not (of is not None and of.generic):  # of any instance each method may have run
            changed = cls.changed_by_torch
            if name in (changed_by_torch(cls) if changed is None else changed):
                return True
        if name[:1] == "_" and name in self.private_names():
            return True
        if self.rebound is not NOTHING and self.changed_in(self.rebound, cls, name, of):
            return True
        file = cls.scope.file
        if file is self.own_file:
            return False
        if file.rebound is None:
            file.rebound = changed_by_operators_of(rebound(file.tree, file.text), file)
        return file.rebound is not NOTHING and self.changed_in(file.rebound, cls, name, of)

    def changed_in(self, found: Rebound, cls: Class, name: str, of: Instance | None) -> bool:
        if found.attribute(name, cls.node):
            return True
        if of is None or not (found.modules or found.tensors) or not (cls.is_module or not cls.complete):
            return False
        held = of.fields.get(name)
        if held is None and self.find_in_class(cls, name) is not None:
            return False
        return found.part(held, cls.node)

    def private_names(self) -> set[str]:
        """Names as `__size` that more than one class of the file uses: Python keeps them apart by their class. And those
        that are also spelled `_Box__size`, as Python does, in both spellings."""
        if self.private is None:
            self.private = set()
            if any(pattern.search(self.own_file.text) for pattern in _PRIVATE_USES):
                seen: set[str] = set()
                for node in walk(self.own_file.tree):
                    if isinstance(node, ast.ClassDef):
                        own = set(_PRIVATE.findall("\n".join(self.lines[node.lineno - 1 : node.end_lineno])))
                        self.private |= own & seen
                        seen |= own
                for spelled in _SPELLED_OUT.finditer(self.own_file.text):
                    self.private.update(spelled.group(0, 1))
        return self.private

    def class_attribute(self, cls: Class, name: str) -> Value:
        found = self.find_in_class(cls, name)
        if self.is_rebound(cls, name):
            return self.given_to_classes(cls, perhaps(found).parts)
        if found is UNKNOWN:
            return self.given_to_classes(cls)
        if isinstance(found, Function) and found.kind == "class":
            return Function(found.node, found.scope, found.owner, cls, found.defaults, "function", found.decorated)
        if found is None:
            applies = name == "apply" and any(
                isinstance(base, Library) and base.path == AUTOGRAD for base in method_order(cls)
            )
            if applies:
                return apply_of(cls)
            if name == "__dict__" or any(isinstance(base, Class) and base.node.keywords for base in method_order(cls)):
                return one_within(cls.held.values())  # of which a property of the metaclass gives one
            return UNKNOWN
        return self.held_by_class(name, found)

    def held_by_class(self, name: str, found: Value) -> Value:
        """What a class holds for all of its objects: a list of which code changes what any object holds under that name may be
        in as many hands as there are of them."""
        if (type(found) is Sequence and found.kind != "tuple") or type(found) is Dictionary:
            if self.is_changed_anywhere(name) or self.is_handed_on(name, found):
                self.forget_held(found, set(), NEITHER)
        return held_elsewhere(self, name, found, True) if type(found) is Tensor else found

    def given_to_classes(self, cls: Class, given: tuple[Value, ...] = ()) -> Value:
        """What an attribute holds of which nothing is known any more."""
        for base in method_order(cls):
            if isinstance(base, Class) and base.given:
                given += base.given
        return Opaque(None, given) if given else UNKNOWN

    def instance_attribute(self, value: Instance, name: str, node: ast.AST | None) -> Value:
        if name == "__dict__" and (not value.generic or self.initialising(value)):
            self.forget_fields(value)
            return one_within([value])
        if name in _HELD_BY_MODULES and value.cls.is_module and (not value.generic or self.initialising(value)):
            if name in HELD_AS:
                self.store_attribute(value, CHANGED, UNKNOWN)
                return UNKNOWN
            if (container := container_of(value)) is not None:
                change_unseen(self, container)  # whose members these are, for whoever changes them
            return Opaque(None, parts=(value,))
        if self.decided_elsewhere(value, name):
            return self.perhaps_its_own(value, name)
        cls, generic = value.cls, value.generic
        if generic and name in cls.overridden and (name not in value.fields or not self.initialising(value)):
            made = value.overridden_fields.get(name)
            if made is None:
                stable = name not in cls.unstable and name not in self.file.facts.unstable_attributes
                made = value.overridden_fields[name] = Opaque(f"self.{name}" if stable else None)
            return made
        if value.lasting and not self.initialising(value):
            facts = cls.scope.file.facts
            if name in facts.foreign_attributes or (
                name in facts.unstable_attributes and name in self.set_in_methods(cls)
            ):
                return perhaps(value.fields.get(name))
        found = value.fields.get(name)
        if found is not None:
            if found is UNKNOWN:
                return opaque_anew(value.given)
            if generic:
                if name in cls.unstable:
                    return changing_numbers.whenever(self, cls, name, found) or perhaps(found)
                if name in self.file.facts.foreign_attributes and not self.initialising(value):
                    return perhaps(value.fields.get(name))
            if type(found) is Tensor and cls.is_module and not self.initialising(value):
                held(self, found)
            if value.several:
                self.one_of_several(name, found)
            elif (type(found) is Sequence or type(found) is Dictionary) and value.lasting | generic:
                changes = self.is_changed_anywhere if generic else self.is_changed_later
                if not self.initialising(value) and (
                    changes(name)
                    or set_elsewhere(self, name)
                    or self.is_handed_on(name, found, in_functions=not generic)
                ):
                    self.forget_held(found, set(), NEITHER)  # between the calls of functions
            elif type(found) is Sequence or type(found) is Dictionary:
                if not self.initialising(value) and are_changed_elsewhere(self, name, found):
                    self.forget_held(found, set(), NEITHER)
            if type(found) is Tensor or type(found) is LibraryObject or type(found) is Instance:
                if not self.initialising(value):
                    if generic or value.lasting:
                        self.change_held_object(name, found, in_functions=not generic)
                    return held_elsewhere(self, name, found, generic or value.lasting)
            return found
        found = self.find_in_class(cls, name)
        if found is not None:
            if generic and name in self.file.facts.foreign_attributes and not self.initialising(value):
                return Opaque(None)
            if isinstance(found, Function):
                if found.kind in ("property", "cached"):
                    result = self.call_function(
                        Function(
                            found.node, found.scope, found.owner, value, found.defaults, "function", found.decorated
                        ),
                        [],
                        {},
                        node,
                    )
                    if found.kind == "cached" and (not value.generic or self.initialising(value)):
                        # The instance keeps it from here on, if this line is reached.
                        if name in value.perhaps_kept:
                            result = joined(value.perhaps_kept[name], result)
                        if self.perhaps_left or self.frame.loops:
                            value.perhaps_kept[name] = result
                        else:
                            value.fields[name] = result
                            self.mutations.append((value, name))
                    return result
                if found.decorated and shows_with_setter(found):
                    asked = [
                        Function(each, found.scope, found.owner, value)
                        for each in functions_of(found.owner or value.cls)
                        if each.name == name
                    ]
                    given = one_within([value, *(each for one in asked for each in self.lists_given(one, [], {}))])
                    for each in asked:
                        self.not_followed(each, [], {})
                    return given
                if value.generic and name in value.cls.unstable and not self.initialising(value):
                    return Opaque(None)  # `self.make = ...` in a method
                if found.kind == "static":
                    return found
                receiver: Value = value.cls if found.kind == "class" else value
                if found.kind == "class" and value.generic and value.cls.overridden:
                    receiver = Opaque(None)  # a subclass with other attributes, it may be
                return Function(
                    found.node, found.scope, found.owner, receiver, found.defaults, "function", found.decorated
                )
            if value.generic and (name in value.cls.unstable or name in self.file.facts.unstable_attributes):
                return Opaque(None)
            if isinstance(found, Instance) and isinstance(get := self.find_in_class(found.cls, "__get__"), Function):
                bound = Function(get.node, get.scope, get.owner, found, get.defaults, "function", get.decorated)
                return self.unseen_result(bound, [value], {})
            if found is UNKNOWN:
                return self.given_to_classes(cls, value.given)
            return self.held_by_class(name, found)
        if BASE in value.fields and (found := self.attribute_of_base(value, name, node)) is not None:
            return found
        if value.generic and not self.initialising(value):
            if name in self.file.facts.unstable_attributes or name in value.cls.unstable:
                return Opaque(None)
            made = value.fields[name] = Opaque(f"self.{name}")
            return made
        if name in _REGISTERS and value.cls.is_module:  # in other hands: `add = self.add_module`
            self.forget_fields(value)
        answers = [each for each in (self.find_in_class(cls, name) for name in ANSWERING) if each is not None]
        if answers:
            gives = [
                one
                for each in answers
                if isinstance(each, Function)
                for one in self.lists_given(each, [], {}, modules=True)
            ]
            return one_within([value, *gives])
        return Opaque(None, value.given) if value.given else UNKNOWN  # what was put into its dictionary

    def perhaps_its_own(self, value: Instance, name: str) -> Value:
        """What an object has under a name that something else may have bound anew."""
        found = value.fields.get(name) or self.find_in_class(value.cls, name)
        if not isinstance(found, Function):
            either = perhaps(found)
            either.parts += (
                value.given if found is not None else parts_of(one_within([value]))
            )  # `__getattr__` gives it
            if isinstance(found, Opaque) and found.kind is None and not self.is_rebound(value.cls, name):
                return perhaps_another_part(found, either)
            return either
        bound = Function(found.node, found.scope, found.owner, value, found.defaults, "function", found.decorated)
        if found.kind in ("property", "cached"):
            return self.unseen_result(bound, [], {})
        return Opaque(None, parts=(bound,))

    def one_of_several(self, name: str, held: Value) -> None:
        """What an object holds that stands for several: each of them has its own."""
        if isinstance(held, (Instance, LibraryObject)):
            stands_for_several(held)
        elif isinstance(held, (Sequence, Dictionary)) and self.is_changed_later(name):
            self.forget_held(held, set(), NEITHER)

    def forget_fields(self, value: Instance) -> None:
        """Any of its attributes may have changed."""
        if value.waiting is not None:
            value.fields = attributes_unknown(value.cls)
        hold_still(value, value.held.values())
        value.fields = dict.fromkeys([*value.fields, *values_of(value.cls)], UNKNOWN)
        self.mutations.append((value, None))

    def forget_modules(self, value: Instance, node: ast.AST | None) -> None:
        """A module gets a part by a name that is computed: only another part may have had that name before."""
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        patterns = None if given is None else patterns_of(given, self.frame.node)
        for name, part in value.fields.items():
            if isinstance(part, (LibraryObject, Instance)) and fits_any(name, patterns):
                value.fields[name] = UNKNOWN
                self.mutations.append((value, name))
        if (container := container_of(value)) is not None:
            change_unseen(self, container)

    def initialising(self, value: Instance) -> bool:
        """Whether the class's own initialiser is being followed for this instance."""
        return value in self.being_made

    def generic_instance(self, cls: Class) -> Instance:
        """An instance of the class as its methods may meet it: made by its initialiser from unknown arguments."""
        if cls.generic is not None:
            return cls.generic
        instance = cls.generic = Instance(cls, generic=True)
        cls.unstable = self.attributes_set_elsewhere(cls)
        cls.overridden = self.overridden_in_subclasses(cls)
        for each in cls.record or ():  # before `__post_init__`, which finds them
            if each.kept:
                field = Opaque(f"self.{each.name}")
                field.optional = is_none(each.default or UNKNOWN)
                instance.fields[each.name] = each.declared or field
        for name in INITIALISERS:
            method = self.find_in_class(cls, name)
            if isinstance(method, Function) and not isinstance(method.node, ast.Lambda):
                self.being_made.append(instance)
                self.analyse_function(method, instance)
                self.being_made.pop()
        for name, value in instance.fields.items():
            self.outlives(name, value)
        return instance

    def overridden_in_subclasses(self, cls: Class) -> frozenset[str]:
        """Methods and attributes that the file's own subclasses of the class define anew."""
        if self.overrides is None or not self.module_frame.finished:
            # Once for the file, so that the time does not grow with the square of its classes.
            self.overrides = {}
            for derived, body in self.derived:
                for base in self.classes if derived is None else method_order(derived):
                    if isinstance(base, Class):
                        names = _defined_in(base) if body.items is None else self.names_of_body(body)
                        self.overrides.setdefault(base.node, set()).update(names)
            for other in self.classes:
                if other.scope.file is self.own_file:
                    before: set[str] = set()
                    for base in method_order(other):
                        if isinstance(base, Class):
                            # Those before it in the order, of which it need not be a base.
                            self.overrides.setdefault(base.node, set()).update(before)
                            before |= _defined_in(base)
                    if any(
                        self.may_be_own(base, node) for base, node in zip(other.bases, other.node.bases, strict=True)
                    ):
                        # Which class it derives from is computed.
                        for base in self.classes:
                            if base is not other:
                                self.overrides.setdefault(base.node, set()).update(_defined_in(other))
        return frozenset(self.overrides.get(cls.node, ())) - _INITIALISER_NAMES

    def set_in_methods(self, cls: Class) -> frozenset[str]:
        """Attributes that other methods of the class than its initialiser assign, looked up once."""
        if cls.set_in_methods is None:
            cls.set_in_methods = self.attributes_set_elsewhere(cls)
        return cls.set_in_methods

    def attributes_set_elsewhere(self, cls: Class) -> frozenset[str]:
        """Attributes of self that other methods than the initialiser assign, or functions within it."""
        names: set[str] = set()
        for method in functions_of(cls):
            facts = cls.scope.file.facts.scopes.get(method)
            if method.args.args and facts is not None:
                first = method.args.args[0].arg
                # What is within an initialiser runs when it is called, if it is.
                stored = facts.stored_within if method.name in INITIALISERS else facts.stored
                names |= {attribute for owner, attribute in stored if owner == first}
        for base in cls.bases:
            if isinstance(base, Class):
                names |= self.attributes_set_elsewhere(base)
        return frozenset(names)


def shows_with_setter(function: Function) -> bool:
    """Whether it is a property's setter or deleter: the getter has the same name, and goes before it."""
    decorators = getattr(function.node, "decorator_list", ())
    return any(isinstance(each, ast.Attribute) and each.attr in ("setter", "deleter", "getter") for each in decorators)


def _words_of(annotation: ast.expr) -> set[str]:
    """The names and strings in it."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else str(part.value)
        for part in walk(annotation)
        if isinstance(part, (ast.Name, ast.Attribute, ast.Constant))
    }


def _defined_in(cls: Class) -> set[str]:
    """The names that a class's body binds and the attributes its methods assign."""
    names = cls.names()
    for method in cls.methods.values():
        facts = cls.scope.file.facts.scopes.get(method)
        if facts is not None and method.args.args:
            first = method.args.args[0].arg
            names.update(attribute for owner, attribute in facts.stored if owner == first)
            names |= facts.changed
    return names
