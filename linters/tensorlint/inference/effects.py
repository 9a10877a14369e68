"""What code changes that is not followed: a decorated or recursive function, a callback, one of two objects.

A list, a dictionary or an attribute that such code may change is not known any more. What it may change is read off its
statements, and those of the file's functions that it calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tensorlint.inference import aliases, iterators, layer_changes
from tensorlint.inference.changes import ALL_ATTRIBUTES, CHANGES, EITHER, NEITHER, PUTS
from tensorlint.inference.class_order import functions_of
from tensorlint.inference.contents import (
    LASTING,
    classes_of,
    forget_field,
    is_changed_by_methods,
    lasts,
    objects_reached,
    objects_within,
    tensors_within,
)
from tensorlint.inference.distant_changes import NO_LAYERS
from tensorlint.inference.forgetting import IN_PARTS, KEEPS, GoneThrough, has_parts
from tensorlint.inference.frames import Frame
from tensorlint.inference.late_initialisers import attributes_unknown
from tensorlint.inference.module_tensors import Around
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.state import Exhausted, State
from tensorlint.inference.unset import may_be_none
from tensorlint.inference.values import (
    BASE,
    UNKNOWN,
    Attribute,
    Class,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    ModuleScope,
    Opaque,
    Partial,
    Sequence,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from tensorlint.inference.reached import Reached

# Objects that are gone through in the time of about a statement: paid for from the same budget.
_PER_STATEMENT = 4
# Methods of dictionaries and lists that leave them as they are.
READS = frozenset({"items", "keys", "values", "get", "copy", "index", "count"})
_LENT = IN_PARTS | {Sequence, Dictionary, Instance}


def forget_name(module: Frame, name: str) -> None:
    """A name of another module holds something else from here on."""
    if module.waiting is not None:
        module.waiting.pop(name, None)
    module.env[name] = UNKNOWN


def changed_unseen(scope: Frame, name: str, of: tuple[type[ast.stmt], ...] = (ast.stmt,)) -> None:
    """A name of another module that nobody has asked for yet: what it will hold by then is not what its statement gives."""
    frame = scope
    while frame.parent is not None:
        frame = frame.parent
    if frame.waiting is not None and isinstance(frame.waiting.get(name), of):
        del frame.waiting[name]
        frame.env[name] = UNKNOWN


def each_once(changes: list[tuple[Any, str | None]]) -> Iterable[tuple[Any, str | None]]:
    """Objects, each with what of it has changed: a loop changes the same again and again."""
    return {(id(owner), name): (owner, name) for owner, name in changes}.values() if len(changes) > 1 else changes


def _calls_unknown(function: Value | None) -> bool:
    """Whether it is a partial function of one that nobody knows."""
    if not isinstance(function, Partial):
        return False
    while isinstance(function, Partial):
        function = function.function
    return isinstance(function, Opaque) or function is UNKNOWN


class Together:
    """Several functions any of which may be called, and all that they may have changed: it is gone through once for all of
    them, for they may have much in hand."""

    def __init__(self) -> None:
        self.changed: dict[int, tuple[Value, set[str], set[str]]] = {}
        # What was gone through for tensors that get another shape.
        self.reached: dict[int, Value] = {}
        self.scopes: dict[int, Frame] = {}
        # What may hold a container that has other members now.
        self.holders: list[Value] = []
        # The classes of the objects within each of the values that the functions have in hand.
        self.classes: dict[int, set[Class]] = {}

    def classes_of(self, given: list[Value]) -> set[Class]:
        found: set[Class] = set()
        for value in given:
            classes = self.classes.get(id(value))
            if classes is None:
                classes = self.classes[id(value)] = classes_of([value])
            found |= classes
        return found

    def add(self, value: Value, attributes: set[str], reshapes: frozenset[str]) -> None:
        # What a shared name has held is told anew for each function: only its parts are of interest.
        key = id(value.parts if isinstance(value, Opaque) else value)
        _, names, frameworks = self.changed.setdefault(key, (value, set(), set()))
        names |= attributes
        frameworks |= reshapes


class Effects(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def not_followed(
        self,
        function: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        *,
        later: bool = False,
        together: Together | None = None,
    ) -> None:
        """The function is called, and what it does is not looked at; `later` says that it may be called again. What
        it has in hand `together` with others is not forgotten yet."""
        self.calls_made.append((len(self.mutations), self.steps))
        self.unseen -= 4
        if self.unseen < 0:
            raise Exhausted
        given = [*args, *kwargs.values()]
        while isinstance(function, Partial):
            given += [*function.positional, *function.keywords.values()]
            function = function.function
        if not isinstance(function, Function):
            self.library_function_not_followed(function, given)
            return
        if function.receiver is not None:
            given.append(function.receiver)
        for default in function.defaults.values():
            given.append(default)
            if isinstance(default, (Function, Partial, Attribute)):
                self.not_followed(default, given, {}, later=later)
        given = [value for value in given if type(value) in KEEPS]  # of the others nothing can be changed
        reached = self.reached_with(function, classes_of(given) if together is None else together.classes_of(given))
        attributes, reshapes = reached.attributes, reached.reshapes
        forget = self.forget_held if together is None else together.add
        if reached.of_classes or reached.elsewhere.of_classes:
            self.forget_of_classes(reached)
        if reached.shared:
            bound = [*given, *(self.held_by_name(*place) or UNKNOWN for place in reached.given_names)]
            self.hold_shared(reached.shared, bound)
        for place in reached.lent_names:
            found = self.held_by_name(*place)
            if type(found) is Instance and not found.generic:
                self.stray([found])  # something else may hold it from here on
        if self.strayed and not later and (reached.names or reached.lent_names or attributes):
            self.change_strayed(None, *sorted(attributes))  # of something that nobody knows, it may be
        around: list[Value] = []
        assigned = attributes & self.assigned_to_layers  # while what holds the layers is known
        if assigned:
            layer_changes.forget_assigned(self, given, assigned)
        for scope, name, changed in self.places_in(reached):
            found = self.held_by_name(scope, name)
            if (not changed) if found is None else type(found) not in KEEPS:
                continue  # as most are: modules, numbers, names of libraries
            if found is not None:
                around.append(found)
                if assigned:
                    layer_changes.forget_assigned(self, [found], assigned)
            if isinstance(found, Instance) and not found.generic:
                # Any of its properties may be asked for.
                forget(found, attributes | self.changed_by_any_property(found.cls), reshapes)
            elif not changed:
                if found is not None and has_parts(found):
                    forget(found, attributes, reshapes)
                unknown = _calls_unknown(found)
                for each in () if found is None else objects_reached(found):
                    if unknown:
                        self.forget_fields(each)
                    more = self.changed_by_any_property(each.cls)
                    forget(each, attributes | more if more else attributes, reshapes)
            elif found is None:
                changed_unseen(scope, name)
            else:
                forget(found, attributes, reshapes)
            if later and found is not None:
                lasts(found)
        if self.iterators_named:
            self.spend_around(function.scope)
        lent = reached.lent | reached.given if reached.taken else reached.lent
        if lent:
            self.forget_lent(given, lent)
        for scope, name in self.lent_in(reached):
            held = self.held_by_name(scope, name)
            if held is not None:
                if type(held) not in KEEPS:
                    continue
                around.append(held)
                if assigned:
                    layer_changes.forget_assigned(self, [held], assigned)
            if held is not None and (type(held) in _LENT or has_parts(held) or is_changed_by_methods(held)):
                if isinstance(held, Instance) and not held.generic:  # any of its properties may be set
                    forget(held, attributes | self.changed_by_any_property(held.cls), NEITHER)
                else:
                    forget(held, attributes, NEITHER)
                if lent and isinstance(held, (Instance, Sequence, Dictionary)):
                    self.forget_lent([held], lent)  # `rows = BY_NAME["first"].rows`
            elif isinstance(held, Function) and reached.taken:
                for place in self.reached_from(held).given_names:
                    forget(self.held_by_name(*place) or UNKNOWN, attributes, NEITHER)
            elif isinstance(held, Class):
                for name in [*held.held] if ALL_ATTRIBUTES in lent else lent & held.held.keys():
                    forget(held.held[name], attributes, NEITHER)
            elif held is None and not scope.file.own:
                changed_unseen(scope, name, of=(ast.Assign, ast.AnnAssign))
        if reshapes and aliases.TIES.on:
            self.reshape_unseen(function, given, reshapes, together)
        seen = GoneThrough()
        for value in given:
            if not function.scope.file.own and isinstance(value, Instance):
                names = (value.held if value.waiting is None else attributes_unknown(value.cls)).keys()
                for name in attributes & names:
                    self.changed_by_others(value, name)
            if together is None:
                self.forget_held(value, attributes, reshapes, seen)
            else:
                together.add(value, attributes, reshapes)
            if isinstance(value, Instance) and BASE in value.held and "__init__" in reached.methods:
                value.fields[BASE] = UNKNOWN
                self.mutations.append((value, BASE))
            if later:
                lasts(value)
        looked_at = len(seen)
        if self.uses_torch and not (attributes <= NO_LAYERS and reached.methods.isdisjoint(PUTS)):
            if together is None:
                looked_at += layer_changes.forget_members(self, [*given, *around])
            else:
                together.holders += [*given, *around]
        self.budget -= looked_at // _PER_STATEMENT

    def not_followed_together(self, functions: list[Value], args: list[Value], kwargs: dict[str, Value]) -> None:
        """All of the functions may be called."""
        together = Together()
        for function in functions:
            self.not_followed(function, args, kwargs, together=together)
        self.forget_together(together)

    def forget_together(self, together: Together) -> None:
        """What each of several functions may have changed, each object gone through once."""
        gone_through: dict[tuple[frozenset[str], frozenset[str]], GoneThrough] = {}
        touched: set[int] = set()
        for value, names, frameworks in together.changed.values():
            attributes, reshapes = frozenset(names), frozenset(frameworks)
            self.forget_held(
                value, names, reshapes, gone_through.setdefault((attributes, reshapes), GoneThrough()), touched
            )
        looked_at = sum(map(len, gone_through.values())) + layer_changes.forget_members(self, together.holders)
        self.budget -= looked_at // _PER_STATEMENT

    def reshape_unseen(
        self, function: Function, given: list[Value], reshapes: frozenset[str], together: Together | None
    ) -> None:
        """The function gives tensors another shape: any that it finds by what it is given, or by the names around it."""
        own = function.scope.file.own
        # Code of another file that has a module in hand changes it by the names of its attributes.
        values = [each for each in given if own or not (isinstance(each, Instance) and each.cls.is_module)]
        found, scopes = ({}, {}) if together is None else (together.reached, together.scopes)
        scope: Frame | None = function.scope
        tensors: list[Tensor] = []
        while scope is not None and id(scope) not in scopes:
            scopes[id(scope)] = scope
            if scope.parent is None and scope.finished:
                tensors = self.tensors_around(scope)
            else:
                values += scope.env.values()
            scope = scope.parent
        outer, self.reshaped_together = self.reshaped_together, (reshaped := list[Value]())
        for each in (*aliases.found_again(), *tensors, *tensors_within(values, found, scopes)):
            # Of several functions together another one may reshape what is found but once.
            if together is not None or ("numpy" if each.framework == "numpy" else "torch") in reshapes:
                self.forget_tensor(each)
        self.reshaped_together = outer
        if reshaped:
            self.reshape_any_together(reshaped)

    def tensors_around(self, module: Frame) -> list[Tensor]:
        """Those that can be reached by the names of the module."""
        around = self.around.get(id(module))
        if around is None or not around.holds(module, self.mutations):
            around = self.around[id(module)] = Around(module, len(self.mutations))
        return around.tensors

    def held_by_name(self, scope: Frame, name: str) -> Value | None:
        """What code finds under a name that it sees; what the name has held, if functions bind it anew."""
        self.unseen -= 1
        found = scope.lookup(name)
        return Opaque(None, parts=held) if (held := self.shared_names.get(name)) else found

    def spend_around(self, scope: Frame | None) -> None:
        """A function may go through any iterator that it sees by a name."""
        while scope is not None:
            for value in scope.env.values():
                if type(value) is Sequence:
                    iterators.spend(self, value)
            scope = scope.parent

    def forget_lent(self, given: list[Value], names: set[str]) -> None:
        """The lists and dictionaries that the objects hold under these names are in other hands."""
        every = ALL_ATTRIBUTES in names
        for each in objects_within(given):
            if each.waiting is not None and not every:
                each.waiting.forgotten |= names
                continue
            for name in [*each.fields] if every else names & each.held.keys():
                held = each.held[name]
                if isinstance(held, (Sequence, Dictionary, Opaque)) or is_changed_by_methods(held):
                    self.forget_held(held, set(), NEITHER)
            for held in each.given:
                if is_changed_by_methods(held):
                    self.forget_held(held, set(), NEITHER)

    def forget_of_classes(self, reached: Reached) -> None:
        """Code that is not followed assigns these of objects of which nobody knows whether they are classes, or modules."""
        for scope, owner, name in reached.of_classes:
            if owner in scope.file.facts.imported:
                self.forget_in_module(scope, owner, name)
        for path, owner, name in reached.elsewhere.of_imported:
            module = self.frame_at(path) or self.scope_of(path)
            if module is not None:
                self.forget_in_module(module, owner, name)
        self.forget_in_classes(reached.assigned_of_classes)

    def forget_in_classes(self, assigned: set[str]) -> None:
        """The attributes are assigned of objects that may be classes."""
        self.set_on_classes |= assigned
        names = self.held_by_classes() & assigned
        for cls in self.classes if names else ():
            for name in names & cls.held.keys():
                if not isinstance(cls.held[name], Function) and cls.held[name] is not UNKNOWN:
                    forget_field(cls, name)
                    self.class_attributes_assigned.add(name)
                    self.mutations.append((cls, name))

    def forget_in_module(self, scope: Frame, owner: str, name: str) -> None:
        """`owner.name = ...`, where the owner is imported."""
        module = self.named_in(scope, owner)
        if isinstance(module, ModuleScope):
            forget_name(module.frame, name)
        elif module is None:
            self.patched |= {name}  # of a module, it may be, that nothing has asked for yet

    def held_by_classes(self) -> set[str]:
        """The names of all that the classes have."""
        held = [cls.held for cls in self.classes]
        size = sum(map(len, held))
        if size != self.class_names[0]:
            self.class_names = size, set().union(*held)
        return self.class_names[1]

    def library_function_not_followed(self, function: Value, given: list[Value]) -> None:
        """`xs.append`, `x.unsqueeze_` and `torch.Tensor.t_`, which other code calls."""
        if isinstance(function, Attribute):
            name, given = function.name, [function.receiver]
        elif isinstance(function, Library):
            name = function.path.rpartition(".")[2]
        else:
            return
        if isinstance(function, Attribute) and is_changed_by_methods(function.receiver):
            self.forget_held(function.receiver, set(), NEITHER)  # `map(model.fit, xs, ys)`
        elif name in RESHAPING or name in ("methodcaller", "__set__"):
            for value in given:
                self.forget_held(value, set(), EITHER)
        elif name in ("setattr", "delattr"):
            for value in given:
                if isinstance(value, Instance) and not value.generic:
                    self.forget_fields(value)
        elif name in CHANGES or name in ("__setitem__", "__delitem__", "__iadd__", "setitem", "delitem"):
            for value in given:
                if isinstance(value, LibraryObject):
                    layer_changes.change_unseen(self, value)
                elif isinstance(value, (Sequence, Dictionary)):
                    self.forget_held(value, set(), NEITHER)

    def may_be_none(self, name: str) -> bool:
        """Whether what is called so in the file that is followed may be None, as far as that file says."""
        key = self.file.path, name
        known: bool | None = self.unset.get(key)
        if known is None:
            known = self.unset[key] = may_be_none(name, self.file.text) or (
                self.file is not self.own_file and may_be_none(name, self.own_file.text)
            )
        return known

    def outlives(self, name: str, value: Value, *, of_file: bool = False) -> None:
        """The object is kept, by a module or by an object, under that name: any function may have changed it meanwhile.
        `of_file` says that it is a name of the file that is analysed, or of the body of one of its classes."""
        if type(value) not in LASTING:
            return
        lasts(value)
        if isinstance(value, (Sequence, Dictionary)):
            if self.is_changed_later(name) or (of_file and self.is_handed_on(name, value, in_functions=True)):
                self.forget_held(value, set(), NEITHER)
        if name in self.file.facts.distant.of_names or self.may_grow(value):
            layer_changes.forget_members(self, [value])

    def forget_class_attributes(self) -> None:
        """The attributes of classes that functions assign: which of them have run when another one does, nobody knows."""
        facts = self.own_file.facts
        stored = {place for scope in facts.scopes.values() for place in scope.stored}
        self.attributes_stored = {attribute for _, attribute in stored}
        assigned = facts.foreign_attributes | {attribute for owner, attribute in stored if owner == "cls"}
        assigned |= self.assigned_by_decorators()
        for cls in self.classes:
            for name in assigned & cls.held.keys():
                if not isinstance(cls.held[name], Function):
                    forget_field(cls, name)
                    self.class_attributes_assigned.add(name)
            if cls.scope.file is self.own_file:
                for name, value in cls.held.items():
                    if type(value) in LASTING:
                        self.outlives(name, value, of_file=True)

    def assigned_by_decorators(self) -> set[str]:
        """The attributes that decorators of other files assign when the methods here are called."""
        assigned: set[str] = set()
        for cls in self.classes:
            if cls.scope.file is not self.own_file:
                continue
            for method in functions_of(cls):
                for decorator in method.decorator_list:
                    for node, scope in self.run_by_decorator(decorator, cls.scope):
                        if scope.file is not self.own_file:
                            assigned |= self.assigned_by(node)
        if assigned:
            self.rebound = replace(self.rebound, attributes=self.rebound.attributes | assigned)
        return assigned

    def changed_by_others(self, value: Value, name: str) -> None:
        """A function of another file assigns or changes an attribute of an object that a class of this file made."""
        if isinstance(value, Instance) and value.cls.scope.file is self.own_file and not self.initialising(value):
            if name not in self.rebound.attributes:
                self.rebound = replace(self.rebound, attributes=self.rebound.attributes | {name})

    def note_changed_by_call(self, since: int, begun: int) -> None:
        """What a call at the top of the file has changed of older objects was otherwise for the calls before it."""
        for owner, name in self.mutations[since:]:
            if isinstance(owner, Class) or (0 < getattr(owner, "born", 0) < begun and owner not in self.being_made):
                self.changed_by_calls.append((owner, name))

    def forget_changed_between_calls(self, frame: Frame, since: int, called: int) -> None:
        """What the statements of a scope have changed of objects that are older than a call: functions within find either."""
        if len(self.calls_made) == called:
            return
        calls = iter([*self.calls_made[called:], (len(self.mutations), 0)])
        last, (before, step) = -1, next(calls)
        seen: set[int] = set()
        for at, (owner, name) in enumerate(self.mutations[since:], since):
            while before <= at:
                last, (before, step) = step, next(calls)
            if getattr(owner, "born", 0) < last:
                self.forget_change(owner, name, seen)
        for name in frame.lists_changed:
            value = frame.env.get(name)
            if isinstance(value, Sequence):
                self.forget_contents(value)

    def note_changed_list(self, name: str, changed: Sequence) -> None:
        """Likewise of a list of which the name holds a changed one from here on."""
        if self.calls_made and changed.born < self.calls_made[-1][1]:
            self.frame.lists_changed = self.frame.lists_changed | {name}
        if name in self.frame.lists_read:
            self.mutations.append((self, None))  # what functions within have given does not hold any more

    def forget_what_function_changed(self, since: int, begun: int) -> None:
        """What a function that may run at any time has made of older objects is nothing that another one meets."""
        seen: set[int] = set()
        for owner, name in each_once(self.mutations[since:]):
            if isinstance(owner, Class):
                if name is not None:
                    forget_field(owner, name)
            elif owner not in self.being_made and getattr(owner, "born", 0) <= begun:
                if not self.being_made or getattr(owner, "born", 0) > 0:
                    self.forget_change(owner, name, seen)
