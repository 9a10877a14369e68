"""Functions that run where no call of them is written: properties that a pattern asks for, functions that are kept for later."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tensorlint.inference import aliases, declared, estimators, layer_changes, table_values
from tensorlint.inference.class_order import method_order
from tensorlint.inference.contents import HOLDING, data_of, each_part_of, lasts, link, objects_within, tensors_within
from tensorlint.inference.effects import Together
from tensorlint.inference.forgetting import GoneThrough
from tensorlint.inference.frames import Frame
from tensorlint.inference.kept import kept_with
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    LENGTH,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from tensorlint.inference.walking import parameters_of, walk

_DEEPEST = 4
_MOST_KEPT = 20


# What unknown code that is given one may call, now or later.
_CALLABLE = (Function, Partial, Attribute)
CALLED = frozenset({*_CALLABLE, Library})
_METHODS = frozenset({Attribute, Library, Partial})
_HELD = frozenset({Sequence, Dictionary})
_LAYERS = frozenset({LibraryObject, Partial})
_ESCAPING = _HELD | {Instance, LibraryObject}
_NAMED = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Tuple, ast.List, ast.Dict, ast.Call)
_OF_ONE = frozenset([ast.Attribute, ast.Subscript, ast.Starred, ast.Await, ast.NamedExpr])
# Holds nothing, and nothing of it can be changed.
_BARE = frozenset({Opaque, Unknown, Const, Number, Scalar})
_CHANGED = frozenset({Sequence, Dictionary, Opaque, Instance, LibraryObject})
_WATCHED = CALLED | _CHANGED


def may_change(value: Value) -> bool:
    """Whether it is a function that may change what it is called with."""
    if isinstance(value, Library):
        return value.path.rpartition(".")[2] in RESHAPING or value.path.startswith(("operator.", "builtins."))
    return isinstance(value, _CALLABLE)


class ImplicitCalls(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def runs_unseen(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        """The function is called with these, and not followed: what it changes of them, and of what they hold, is not known."""
        given = self.in_other_hands([*args, *kwargs.values()])
        self.escape(args, kwargs)
        self.not_followed(function, given, {})
        if isinstance(function, Function):
            self.change_items_given(function, args, kwargs)
            objects = [*args, *kwargs.values(), *(() if function.receiver is None else (function.receiver,))]
            link(objects)
            lent = self.lent_to_kept(function, objects)
            if lent is not None:
                self.run_kept([*args, *lent], kwargs)

    def runs_any_unseen(self, methods: list[Function], given_objects: list[bool], args: list[Value]) -> None:
        """Each of the methods may be called; `given_objects` says which of them are given these, the others nothing."""
        given: list[Value] = []
        if any(given_objects):
            given = self.in_other_hands(args)
            self.escape(args, {})
        together = Together()
        for method, takes in zip(methods, given_objects, strict=True):
            self.not_followed(method, given if takes else [], {}, together=together)
        self.forget_together(together)
        run: list[Value] | None = None
        linked: set[tuple[int, bool]] = set()
        for method, takes in zip(methods, given_objects, strict=True):
            own = args if takes else []
            receiver = method.receiver or UNKNOWN
            objects = [*own, receiver]
            self.change_items_given(method, own, {})
            if (id(receiver), takes) not in linked:
                linked.add((id(receiver), takes))
                link(objects)
            if (lent := self.lent_to_kept(method, objects)) is not None:
                run = [*(run or ()), *lent]
        if run is not None:
            self.run_kept([*(args if any(given_objects) else ()), *run], {})

    def in_other_hands(self, values: list[Value]) -> list[Value]:
        """All that code that is given the values has in hand; of functions that it may call, a note is made."""
        given = [item for value in values if type(value) not in _BARE for item in held_by(value)]
        if given:
            given += data_of(given)
            given += objects_within(given)  # which nobody finds once it is forgotten what holds them
            for value in given:
                if isinstance(value, _CALLABLE):
                    self.keep(value)
        return given

    def lent_to_kept(self, function: Function, objects: list[Value]) -> list[Value] | None:
        """What the functions that are kept find by names, if the function may call them; None where it does not."""
        if not self.kept or not (reached := self.reached_from(function)).anything:
            return None
        # A function of another file has what is kept here by way of an object, as a rule.
        if not (function.scope.file.own or any(map(_was_given_functions, objects))):
            return None
        # Names of the functions around it: what those of modules hold is known to live on.
        return [
            self.held_by_name(scope, name) or UNKNOWN for scope, name in reached.lent_names if scope.parent is not None
        ]

    def unseen_result(self, function: Function, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """Call a function that is not followed: what it gives may be a list that something else holds, or a tensor."""
        found = self.lists_given(function, args, kwargs, modules=True)
        self.runs_unseen(function, args, kwargs)
        if not (found or aliases.TIES.on):
            return UNKNOWN if function.decorated else declared.given_by(function.node)
        result = Opaque(None, parts=tuple(found))
        if aliases.TIES.on:
            for value in (function.receiver, *args, *kwargs.values()):
                if isinstance(value, (Tensor, Opaque)):
                    aliases.tie(result, value)
                elif value is not None:
                    aliases.lose(value)
        return result

    def lists_given(
        self, function: Function, args: list[Value], kwargs: dict[str, Value], *, modules: bool = False
    ) -> list[Value]:
        """The lists and dictionaries that the function may give: what its names stand for, and attributes of objects."""
        code = function.node
        names, attributes = kept_with(code, "held given", lambda: _held_given(code))
        if not (names or attributes):
            return []
        back = kept_with(code, "parameters given", lambda: _parameters_given(code))
        reached = self.reached_from(function)
        attributes = attributes | reached.given
        found: list[Value] = [self.held_by_name(scope, name) or UNKNOWN for scope, name in reached.given_names]
        scope: Frame | None = function.scope
        while scope is not None:
            found += [scope.env[name] for name in names & scope.env.keys()]
            scope = scope.parent
        given = [*args, *kwargs.values()] if function.receiver is None else [function.receiver, *args, *kwargs.values()]
        for value in (*given, *found) if attributes else ():
            if isinstance(value, Instance) and not value.generic and value.waiting is None:
                found += [value.held[name] for name in attributes & value.held.keys()]
        if back:
            found += given  # whichever of them it gives back
        for each in found:  # grows meanwhile
            if type(each) is Instance and each.generic:
                found += [
                    part for part in each.parts if all(part is not other for other in found)
                ]  # it is one of these
        return [
            each
            for each in found
            if type(each) in _HELD
            or (modules and (type(each) in _LAYERS or (type(each) is Opaque and each.parts)))
            or (isinstance(each, Instance) and not each.generic and (modules or not each.cls.is_module))
        ][:_MOST_KEPT]

    def escape(self, args: list[Value], kwargs: dict[str, Value], *, reads_tables: bool = False) -> None:
        """The values went into code that is not known: lists, dictionaries and objects may have changed, functions may
        have been called, and may be later. Tables have changed unless the code is a library's that only reads them."""
        values = [*args, *kwargs.values()] if kwargs else args
        if not values:
            return
        if self.outcomes:
            self.note_unseen(*values)
        tied = aliases.TIES.on
        for value in values:
            kind = type(value)
            if tied or (kind in _WATCHED and (kind is not Opaque or value.parts or value.fields)):  # type: ignore[attr-defined]
                break
        else:
            return  # as for most calls: numbers, texts, tensors, and what nobody knows
        for value in values:
            if type(value) not in CALLED:
                if type(value) is Opaque and value.parts:
                    for each in each_part_of(value):  # one of two methods: `submit(x.t_ if wide else x.numpy)`
                        if type(each) in _METHODS and _is_method(each) and may_change(each):
                            self.not_followed(
                                each, [item for other in values for item in held_by(other)], {}, later=True
                            )
                continue
            if type(value) is Function:
                self.stray_given([value])
                if type(value.node) is ast.Lambda:
                    self.saw_handed_lambda(value)
            if may_change(value):
                self.not_followed(value, [item for each in values for item in held_by(each)], {}, later=True)
                if aliases.TIES.on and type(value) is Function and self.reached_from(value).reshapes:
                    self.keep(value)  # it may be called when there are other tensors
        if self.assigned_to_layers and (assigned := self.assigned_to_layers & self.file.facts.unstable_attributes):
            layer_changes.forget_assigned(self, values, assigned)
        gone = GoneThrough()
        gone.read = reads_tables
        outer, self.reshaped_together = self.reshaped_together, (reshaped := list[Value]())
        for value in values:
            if tied:
                aliases.lose(value)
            if type(value) is Opaque:
                if value.parts or value.fields:
                    self.escape_value(value, 0, gone)
            elif type(value) in _CHANGED:
                if type(value) is LibraryObject and value.path in CONTAINERS:
                    self.stray([value])  # something else may hold it from here on
                if not reads_tables:
                    self.forget_tables(value)
                self.escape_value(value, 0, gone)
        self.reshaped_together = outer
        if reshaped:
            self.reshape_any_together(reshaped)

    def escape_value(self, value: Value, depth: int, gone: GoneThrough) -> None:
        if depth == _DEEPEST and id(value) in gone.escaped:
            return
        gone.escaped.add(id(value))
        if isinstance(value, Opaque):
            if value.parts:
                self.touch(value, None, gone.touched)
            if value.fields:
                self.escape_fields(value, depth)
        elif isinstance(value, (Sequence, Dictionary)):
            for item in _items(value) if depth < _DEEPEST else ():
                if type(item) in _ESCAPING:
                    self.escape_value(item, depth + 1, gone)
                elif isinstance(item, Opaque):
                    for part in item.parts:
                        if not isinstance(part, Opaque):
                            self.escape_value(part, _DEEPEST, gone)
            if not (isinstance(value, Sequence) and value.kind == "tuple"):
                self.forget_contents(value, gone.touched)
                self.mutations.append((value, None))
        elif isinstance(value, LibraryObject) and estimators.is_known(value.path):
            (estimators.forget_targets if gone.read else estimators.forget_estimator)(self, value)
        elif isinstance(value, Instance):
            if not value.generic:
                file = value.cls.scope.file
                of_file = gone.of(file)
                if id(value) not in of_file.objects:
                    self.forget_attributes(value, file.facts.unstable_attributes, seen=of_file)
                lasts(value)
            for part in value.parts if depth < _DEEPEST else ():
                self.escape_value(part, depth + 1, gone)

    def change_items_given(self, function: Function, args: list[Value], kwargs: dict[str, Value]) -> None:
        """`set_width(options, 3)`: the function stores items in what it is given, of which nothing is known."""
        if not any(type(value) is Opaque and value.fields for value in (*args, *kwargs.values())):
            return
        changed = self.changes_in(function.node).names
        parameters = function.node.args
        named = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
        if function.receiver is not None and not (args and args[0] is function.receiver):
            del named[:1]
        for name, value in (*zip(named, args, strict=False), *kwargs.items()):
            if name in changed and type(value) is Opaque and value.fields:
                self.changed_items(value, longer=True)

    def sent(self, values: list[Value]) -> None:
        """A generator of the program's own goes on with these, of which nobody knows what it does with them."""
        self.escape(values, {})
        for each in objects_within(values):
            self.forget_fields(each)
        if aliases.TIES.on:
            for tensor in tensors_within(values):
                self.forget_tensor(tensor)

    def escape_fields(self, value: Opaque, depth: int) -> None:
        """An object that nobody knows may hold other tensors and lists from here on; if it is a list, more or fewer items.
        Its numbers are taken to be options, which stay as they are."""
        assert value.fields is not None
        if LENGTH in value.fields and value.axes is not None and value.axes.keys() == {0}:
            self.changed_items(value, longer=True)  # nothing was asked of it that a list does not answer
        gone: list[object] = [LENGTH] if LENGTH in value.fields else []
        for name, held in value.fields.items():
            if isinstance(held, Opaque) and (held.axes or held.fields or held.kin is not None):
                if held.fields and depth < _DEEPEST:
                    self.escape_fields(held, depth + 1)
                gone.append(name)
        if gone:
            value.fields = {name: held for name, held in value.fields.items() if name not in gone}
            value.since = 0
            self.mutations.append((value, None))

    def forget_tables(self, value: Value) -> None:
        """The table, and those in a list or a dictionary."""
        if isinstance(value, LibraryObject) and table_values.is_table(value):
            table_values.forget_table(self, value)
        elif isinstance(value, (Sequence, Dictionary)):
            held = value.items.values() if isinstance(value, Dictionary) and value.items else value.items
            for item in [*list(held or ())[:16], value.element]:
                if isinstance(item, LibraryObject):
                    self.forget_tables(item)

    def changed_by_base(self, value: Instance) -> list[Value]:
        """The object, where a method of a base that nobody knows may change it: it may call any of the class's own."""
        return [] if value.cls.is_module or self.initialising(value) else [value]

    def keep(self, value: Value) -> None:
        """The function is held by a list, a dictionary or an object: a call of something that nobody knows may call it."""
        self.unseen -= 1
        if isinstance(value, Partial):
            self.keep(value.function)
        elif isinstance(value, Attribute) or (isinstance(value, Function) and self.does_something(value)):
            if any(_is_same(value, each) for each in self.kept):
                return
            if len(self.kept) < _MOST_KEPT:
                self.kept.append(value)
                return
            if isinstance(value, Function) and not any(self.reshapes_the_same(value, each) for each in self.kept):
                self.kept.append(value)
            if not any(_is_same(value, each) for each in self.not_kept):  # it is being called already
                self.not_kept.append(value)
                self.not_followed(value, [], {}, later=True)
                self.not_kept.pop()

    def reshapes_the_same(self, function: Function, other: Value) -> bool:
        """Whether all tensors to which a function may give another shape are within the other's reach as well."""
        reshapes = self.reached_from(function).reshapes
        if not (reshapes and aliases.TIES.on):
            return True
        return (
            isinstance(other, Function)
            and other.scope is function.scope
            and other.receiver is function.receiver
            and all(type(value) in _BARE for value in function.defaults.values())
            and reshapes <= self.reached_from(other).reshapes
        )

    def does_something(self, function: Function, own: str | None = None) -> bool:
        """Whether the function, or one that it calls, may change anything that is known of others. Methods are called of
        what is named `own`, all of which were looked at."""
        reached = self.reached_from(function)
        named = any(changed or name != own for (_, name), changed in reached.names.items())
        if named or reached.lent_names or (function.receiver is not None and reached.attributes):
            return True
        if reached.reshapes and aliases.TIES.on:
            return True  # of a tensor that it finds by a name, or in a list
        if any(type(value) in HOLDING for value in function.defaults.values()):
            return True
        elsewhere = reached.elsewhere
        if any(self.frame_at(path) is not None for path in elsewhere.lent_names):
            return True
        if any(any(names.values()) and self.frame_at(path) is not None for path, names in elsewhere.names.items()):
            return True
        return not self.held_by_classes().isdisjoint(reached.assigned_of_classes)

    def run_kept(self, args: list[Value], kwargs: dict[str, Value]) -> None:
        """Something is called of which nobody knows what it is."""
        if self.kept:
            self.not_followed_together(self.kept, args, kwargs)

    def asked_by_patterns(self, subject: Value, cases: list[ast.match_case]) -> None:
        """`case Point(x=0)` asks for the attribute x, which may be a property that changes the object."""
        patterns = [part for case in cases for part in walk(case.pattern) if isinstance(part, ast.MatchClass)]
        if not patterns:
            return
        named = {name for pattern in patterns for name in pattern.kwd_attrs}
        anything = any(pattern.patterns for pattern in patterns)
        for each in held_by(subject):
            if isinstance(each, Instance) and not each.generic:
                self.forget_attributes(each, self.changed_by_properties(each.cls, None if anything else named))

    def changed_by_properties(self, cls: Class, names: set[str] | None) -> set[str]:
        """The attributes that the class's properties of these names change; all of its properties, if None."""
        found: set[str] = set()
        for base in method_order(cls):
            if not isinstance(base, Class):
                continue
            for name in base.names() if names is None else base.names() & names:
                value = base.own(name)
                if isinstance(value, Function) and value.kind in ("property", "cached"):
                    found |= self.reached_from(value).attributes
                elif isinstance(value, Function) and value.decorated:
                    for node in _accessors(base, name):
                        each = Function(node, value.scope, value.owner, None, {}, "function", False)
                        found |= self.reached_from(each).attributes
        return found


def _accessors(cls: Class, name: str) -> list[ast.FunctionDef]:
    """The getter, the setter and the deleter of a property."""
    named = (each for each in cls.node.body if isinstance(each, ast.FunctionDef) and each.name == name)
    return [each for each in named if any(map(_is_accessor, each.decorator_list))]


def _is_accessor(decorator: ast.expr) -> bool:
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name in ("property", "setter", "deleter", "getter")


def held_by(value: Value, depth: int = 0) -> list[Value]:
    """The value, and what it holds should it be a list, a tuple or a dictionary."""
    found = [value]
    if depth < _DEEPEST and isinstance(value, (Sequence, Dictionary)):
        for item in _items(value):
            if not isinstance(item, Const):
                found += held_by(item, depth + 1)
    return found


def _items(value: Sequence | Dictionary) -> Iterable[Value]:
    if value.items is None:
        return (value.element,)
    return value.items.values() if isinstance(value.items, dict) else value.items


def _was_given_functions(value: Value) -> bool:
    return isinstance(value, Instance) and any(isinstance(each, _CALLABLE) for each in value.given)


def _is_same(function: Value, other: Value) -> bool:
    """Whether the same function is bound to the same object."""
    if not isinstance(function, Function) or not isinstance(other, Function):
        return function is other
    return function.node is other.node and function.scope is other.scope and function.receiver is other.receiver


_NOTHING: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()


def _is_method(function: Value) -> bool:
    """Of a value or of a library, perhaps with arguments that it was given before; functions of the program are seen otherwise."""
    while type(function) is Partial:
        function = function.function
    return type(function) is Attribute or type(function) is Library


def names_given(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The names in a function that are none of its parameters, if it may give what one of them holds."""
    names = kept_with(code, "held given", lambda: _held_given(code))[0]
    return names - parameters_of(code.args) if names else names


def _parameters_given(code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The parameters that the function may give back, by themselves or in a tuple, or something that they hold."""
    parameters = parameters_of(code.args)
    given: list[ast.expr | None] = [code.body] if isinstance(code, ast.Lambda) else []
    assigned: dict[str, list[ast.expr | None]] = {}
    part: Any
    for part in walk(code):
        kind = type(part)
        if kind is ast.Return or kind is ast.Yield or kind is ast.YieldFrom:
            given.append(part.value)
        elif kind is ast.Assign:
            for target in part.targets:
                if type(target) is ast.Name:
                    assigned.setdefault(target.id, []).append(part.value)
        elif kind is ast.For and type(part.target) is ast.Name:
            assigned.setdefault(part.target.id, []).append(part.iter)
    found: set[str] = set()
    for part in given:  # grows meanwhile
        kind = type(part)
        if kind is ast.Name:
            found.add(part.id)
            given += assigned.pop(part.id, ())
        elif kind in _OF_ONE:
            given.append(part.value)
        elif kind is ast.IfExp:
            given += [part.body, part.orelse]
        elif kind is ast.BoolOp or kind is ast.Dict:
            given += part.values
        elif kind is ast.Tuple or kind is ast.List or kind is ast.Set:
            given += part.elts
    return frozenset(found & parameters)


def _held_given(code: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """Names and attributes that stand in a function, if it may give what one of them holds."""
    gives = isinstance(code, ast.Lambda) and isinstance(code.body, _NAMED)
    names: set[str] = set()
    attributes: set[str] = set()
    part: Any
    for part in walk(code):
        kind = type(part)
        if kind is ast.Name:
            names.add(part.id)
        elif kind is ast.Attribute:
            attributes.add(part.attr)
        elif kind is ast.Return or kind is ast.Yield or kind is ast.YieldFrom:
            gives = gives or (isinstance(part.value, _NAMED) and not isinstance(code, ast.Lambda))
    return (frozenset(names), frozenset(attributes)) if gives else _NOTHING
