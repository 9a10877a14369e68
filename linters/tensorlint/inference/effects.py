"""What code changes that is not followed: a decorated or recursive function, a callback, one of two objects.

A list, a dictionary or an attribute that such code may change is not known any more. What it may change is read off its
statements, and those of the file's functions that it calls.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tensorlint.inference import aliases, estimators, iterators, layer_changes, own_lists, table_values
from tensorlint.inference.changes import ALL_ATTRIBUTES, CHANGES, EITHER, NEITHER, PUTS, changes_of
from tensorlint.inference.class_order import functions_of, names_among
from tensorlint.inference.contents import (
    HOLDING,
    LASTING,
    forget_field,
    hold_still,
    is_forgotten,
    is_forgotten_itself,
    items_of,
    lasts,
    objects_reached,
    objects_within,
    parts_of,
    reached_by,
    tensors_within,
)
from tensorlint.inference.distant_changes import MEMBERS, NO_LAYERS
from tensorlint.inference.frames import Frame, SourceFile
from tensorlint.inference.late_initialisers import attributes_unknown
from tensorlint.inference.module_tensors import Around
from tensorlint.inference.names import INITIALISERS
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.state import Exhausted, State
from tensorlint.inference.unset import may_be_none
from tensorlint.inference.values import (
    BASE,
    CONTAINERS,
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
from tensorlint.inference.words import places_of

if TYPE_CHECKING:
    from tensorlint.inference.reached import Reached

# Objects that are gone through in the time of about a statement: paid for from the same budget.
_PER_STATEMENT = 4
# Methods of dictionaries and lists that leave them as they are.
READS = frozenset({"items", "keys", "values", "get", "copy", "index", "count"})
_KEEPS = HOLDING | {Tensor, LibraryObject, Class, Opaque, Partial, Attribute}
# What is other objects, or has them in hand, and what changes as it is lent.
_IN_PARTS = frozenset({Opaque, Partial, Attribute})
_LENT = _IN_PARTS | {Sequence, Dictionary, Instance}
# Items of a list that is one of several: what changes with it, and what may have an attribute.
_TOUCHED = frozenset({Sequence, Dictionary, Opaque})
_MAY_HAVE = frozenset({Sequence, Dictionary, Opaque, Instance, LibraryObject})
# `rows[...`, `rows.append(`, `rows +=`: what follows the name
_CHANGING = re.compile(rf"\s*(?:\[|\.(?:{'|'.join(sorted(CHANGES))})\(|[-+*|&]=)")
# `rows = self.`: what goes before the name
_GIVES = re.compile(r"[ \t]+(\w+) = (?:\w+\.)*$")
_GIVES_AT_ALL = re.compile(r"[ \t]*(\w+) = [\w.]*$")
_BEGINS = re.compile(r"\b")


def _names_given(ending: str, text: str, begins: re.Pattern[str]) -> set[str]:
    """What `begins` names, of the lines of which it matches what goes before `ending`."""
    found: set[str] = set()
    for at in places_of(ending, text):
        end = at + len(ending)
        if text[end : end + 1] in ("\n", "") and (line := begins.match(text, text.rfind("\n", 0, at) + 1, at)):
            found.add(line[1])
    return found


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


def _holds_lists(value: Sequence | Dictionary) -> bool:
    """Whether an item is a list or a dictionary, or a tuple of such."""
    waiting, seen = [value], {id(value)}
    for tuples in waiting:  # grows meanwhile
        for item in items_of(tuples):
            if type(item) is Dictionary or (type(item) is Sequence and item.kind != "tuple"):
                return True
            if type(item) is Sequence and id(item) not in seen:
                seen.add(id(item))
                waiting.append(item)
    return False


def _calls_unknown(function: Value | None) -> bool:
    """Whether it is a partial function of one that nobody knows."""
    if not isinstance(function, Partial):
        return False
    while isinstance(function, Partial):
        function = function.function
    return isinstance(function, Opaque) or function is UNKNOWN


def _has_parts(value: Value) -> bool:
    """Whether it is a module that may hold others of the program's own."""
    return type(value) is Instance or (type(value) is LibraryObject and value.path in CONTAINERS)


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
        given = [value for value in given if type(value) in _KEEPS]  # of the others nothing can be changed
        reached = self.reached_with(function, given)
        attributes, reshapes = reached.attributes, reached.reshapes
        forget = self.forget_held if together is None else together.add
        if reached.of_classes or reached.elsewhere.of_classes:
            self.forget_of_classes(reached)
        if reached.shared:
            bound = [*given, *(self.held_by_name(*place) or UNKNOWN for place in reached.given_names)]
            self.hold_shared(reached.shared, bound)
        around: list[Value] = []
        assigned = attributes & self.assigned_to_layers  # while what holds the layers is known
        if assigned:
            layer_changes.forget_assigned(self, given, assigned)
        for scope, name, changed in self.places_in(reached):
            found = self.held_by_name(scope, name)
            if found is not None:
                around.append(found)
                if assigned:
                    layer_changes.forget_assigned(self, [found], assigned)
            if isinstance(found, Instance) and not found.generic:
                # Any of its properties may be asked for.
                forget(found, attributes | self.changed_by_any_property(found.cls), reshapes)
            elif not changed:
                if found is not None and _has_parts(found):
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
                around.append(held)
                if assigned:
                    layer_changes.forget_assigned(self, [held], assigned)
            if held is not None and (type(held) in _LENT or _has_parts(held)):
                forget(held, attributes, NEITHER)
                if isinstance(held, Instance) and lent:
                    self.forget_lent([held], lent)
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
        seen: set[int] = set()
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
        gone_through: dict[tuple[frozenset[str], frozenset[str]], set[int]] = {}
        touched: set[int] = set()
        for value, names, frameworks in together.changed.values():
            attributes, reshapes = frozenset(names), frozenset(frameworks)
            self.forget_held(value, names, reshapes, gone_through.setdefault((attributes, reshapes), set()), touched)
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
        for each in (*aliases.found_again(), *tensors, *tensors_within(values, found, scopes)):
            # Of several functions together another one may reshape what is found but once.
            if together is not None or ("numpy" if each.framework == "numpy" else "torch") in reshapes:
                self.forget_tensor(each)

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
                if isinstance(held, (Sequence, Dictionary, Opaque)):
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
        if name in RESHAPING or name in ("methodcaller", "__set__"):
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

    def forget_held(
        self,
        value: Value,
        attributes: set[str],
        reshapes: frozenset[str],
        seen: set[int] | None = None,
        touched: set[int] | None = None,
    ) -> None:
        """What code that has the object in hand, and assigns these attributes, may have changed of it. Who asks for
        several objects hands on what was `seen`, and which may be one of the lists that were forgotten (`touched`)."""
        kind = type(value)
        if kind not in _KEEPS:
            return
        if seen is None:
            seen = set()
        elif id(value) in seen:
            return
        if touched is None:
            touched = set()
        seen.add(id(value))
        if kind in _IN_PARTS:
            parts: Iterable[Value] = value.parts if kind is Opaque else reached_by(value)  # type: ignore[attr-defined]
            if not parts or seen.issuperset(map(id, parts)):  # as nearly always, where many lists may be one of many
                return
            for part in parts:
                if type(part) in _KEEPS and id(part) not in seen:
                    self.forget_held(part, attributes, reshapes, seen, touched)
        elif isinstance(value, Instance):
            if attributes or reshapes:
                if not value.generic:
                    self.forget_attributes(value, attributes, reshapes, seen)
                for part in value.parts:  # of which it is one
                    self.forget_held(part, attributes, reshapes, seen, touched)
        elif isinstance(value, (Sequence, Dictionary)):
            for item in (value.element,) if value.items is None else items_of(value):
                of_item = type(item)
                if of_item in _KEEPS and of_item is not Class and (of_item is not Instance or attributes or reshapes):
                    if id(item) not in seen:
                        self.forget_held(item, attributes, reshapes, seen, touched)
            if not ((isinstance(value, Sequence) and value.kind == "tuple") or is_forgotten(value)):
                self.forget_contents(value, touched)
                self.mutations.append((value, None))
        elif isinstance(value, Tensor):
            if ("numpy" if value.framework == "numpy" else "torch") in reshapes:
                self.forget_tensor(value)
        elif isinstance(value, LibraryObject) and table_values.is_table(value):
            table_values.forget_table(self, value)
        elif isinstance(value, LibraryObject) and estimators.is_known(value.path):
            estimators.forget_targets(self, value)
        elif isinstance(value, LibraryObject):
            if value.path in CONTAINERS and attributes:
                for part in layer_changes.modules_in(value):
                    self.forget_held(part, attributes, reshapes, seen, touched)
        elif isinstance(value, Class):
            for name in attributes & value.names():
                forget_field(value, name)
                self.mutations.append((value, name))

    def forget_attributes(
        self, value: Instance, names: set[str], reshapes: frozenset[str] = NEITHER, seen: set[int] | None = None
    ) -> None:
        """Attributes of an object and of those it holds that may have changed, and what these hold."""
        containers: list[Value] = []
        # All of them first: nobody finds them once it is forgotten what holds them.
        bare = not value.given and HOLDING.isdisjoint(map(type, value.held.values()))
        for each in (value,) if bare else {value: None, **dict.fromkeys(objects_within([value]))}:
            if each.waiting is not None:
                each.waiting.forgotten |= {*names, MEMBERS}
                each.waiting.reshapes |= reshapes
                continue
            if (container := layer_changes.container_of(each)) is not None:
                layer_changes.change_unseen(self, container)  # of which what is assigned may be a member
            fields = each.held
            if each.cls.is_module:
                containers += [
                    held for held in fields.values() if type(held) is LibraryObject and held.path in CONTAINERS
                ]
            for name in (names & fields.keys()) | names_among(each.cls, names):
                if fields.get(name) is not UNKNOWN:
                    self.forget_attribute(each, name, reshapes)
        if containers:
            seen = set() if seen is None else seen
            for modules in containers:
                self.forget_held(modules, names, reshapes, seen)

    def forget_attribute(self, value: Instance, name: str, reshapes: frozenset[str]) -> None:
        held = value.fields.get(name) or self.find_in_class(value.cls, name)  # which all of its objects have
        if isinstance(held, (Sequence, Dictionary, Tensor, Opaque)):
            self.forget_held(held, set(), reshapes)
        elif isinstance(held, Function) and held.kind in ("property", "cached"):
            self.forget_lent([value], self.changes_in(held.node).given_attributes)
        if type(held) in _MAY_HAVE:
            hold_still(value, [held])
        value.fields[name] = UNKNOWN
        self.mutations.append((value, name))

    def touch(self, value: Value, name: str | None, seen: set[int] | None = None) -> None:
        """One of several objects has the attribute assigned (or anything changed): which, nobody knows."""
        waiting = list(parts_of(value))
        if self.assigned_to_layers and waiting and (name is None or name in self.assigned_to_layers):
            # `for part in model.modules(): part.weight = ...`
            layer_changes.forget_assigned(self, waiting, self.assigned_to_layers if name is None else {name})
        seen = set() if seen is None else seen
        most = len(seen) + 200
        further = _TOUCHED if name is None else _MAY_HAVE
        while waiting:
            part = waiting.pop()
            key = id(part)
            if key in seen:
                continue
            if len(seen) >= most:
                break
            seen.add(key)
            kind = type(part)
            if kind is not Dictionary:
                parts = parts_of(part)
                if not seen.issuperset(map(id, parts)):  # many lists may be one of many
                    waiting += parts
                if kind is Opaque:
                    continue
            if isinstance(part, (Sequence, Dictionary)):
                if part.items is None:  # as nearly always: it was forgotten before
                    if type(part.element) in further:
                        waiting.append(part.element)
                else:
                    waiting += [each for each in items_of(part) if type(each) in further]
                if name is None and not is_forgotten_itself(part):
                    self.forget_own_contents(part)
                    self.mutations.append((part, None))
            elif isinstance(part, Instance):
                if not part.generic:
                    if name is None:
                        waiting += [each for each in part.held.values() if type(each) in _TOUCHED]
                        self.forget_fields(part)
                    else:
                        waiting += filter(_has_parts, part.held.values())
                        self.forget_attributes(part, {name})
            elif isinstance(part, Tensor):
                if name is None and aliases.TIES.on:
                    self.forget_tensor(part)
            elif isinstance(part, LibraryObject) and table_values.is_table(part):
                table_values.forget_table(self, part)
            elif isinstance(part, LibraryObject) and estimators.is_known(part.path):
                estimators.forget_targets(self, part)
            elif isinstance(part, LibraryObject):
                if part.path in CONTAINERS:
                    waiting += [each for each in layer_changes.modules_in(part) if name is None or _has_parts(each)]
                if name is None:
                    layer_changes.change_unseen(self, part)
                else:
                    layer_changes.change_attribute_unseen(self, part, name)
            elif isinstance(part, Class) and name is not None and part.has(name):
                forget_field(part, name)
                self.mutations.append((part, name))

    def touch_all(self, value: LibraryObject) -> None:
        """Anything of the object may be changed from here on: its attributes are in other hands."""
        if table_values.is_table(value):
            table_values.forget_table(self, value)
        else:
            if value.parts:
                self.touch(value, None)
            layer_changes.change_unseen(self, value)

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

    def is_changed_later(self, name: str) -> bool:
        """Whether a function of the file that makes no object changes what is held under that name."""
        known = self.changed_later.get(name)
        if known is None:
            known = self.changed_later[name] = self.is_changed_by_functions(name) or any(
                map(self.is_changed_by_functions, self.other_names(name))
            )
        return known

    def is_changed_by_functions(self, name: str) -> bool:
        lines = self.changing_lines(name, self.own_file)
        return bool(lines) and any(
            any(node.lineno <= line <= (node.end_lineno or 0) for line in lines) and self.changes_name(node, name)
            for node in self.own_file.facts.scopes
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name not in INITIALISERS
        )

    def is_changed_anywhere(self, name: str) -> bool:
        """Whether the attribute's list is changed by a function, or by the statements of the file itself: `a.rows.append(x)`.

        What methods find in an object that stands for any of its class may have been changed so, whichever came first.
        """
        return self.is_changed_later(name) or self.is_changed_by_module(name)

    def is_handed_on(self, name: str, value: Sequence | Dictionary, *, in_functions: bool = False) -> bool:
        """Whether code that has the list, or one that is in it, by another name may change it."""
        deep = _holds_lists(value)
        if not deep and isinstance(value, Sequence) and value.kind == "tuple":
            return False
        key = "handed on", name, deep, in_functions
        known: bool | None = self.memory.get(key)
        if known is None:
            from tensorlint.inference import handed_out

            known = self.memory[key] = handed_out.is_changed(self.own_file, name, deep=deep, in_functions=in_functions)
        return known

    def is_changed_by_module(self, name: str) -> bool:
        key = "changed by module", name
        known: bool | None = self.memory.get(key)
        if known is None:
            from tensorlint.inference import handed_out

            others = self.other_names(name).union(self.given_by(name))
            known = self.memory[key] = (
                self.is_changed_at_top(name, False)
                or any(self.is_changed_at_top(each, True) for each in others)
                or any(map(self.is_changed_by_functions, others))
                or handed_out.is_changed(self.own_file, name)
            )
        return known

    def is_changed_at_top(self, name: str, plain: bool) -> bool:
        """Whether a statement outside of functions changes what an attribute of that name holds, or a plain name."""
        lines = self.changing_lines(name, self.own_file)
        for node in self.own_file.tree.body if lines else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            if any(node.lineno <= line <= (node.end_lineno or 0) for line in lines):
                changes = changes_of(node)
                if name in changes.attributes or (plain and name in changes.names):
                    return True
        return False

    def given_by(self, name: str) -> set[str]:
        """Names that lines as `rows = model.rows` give what any object holds under that name."""
        return _names_given(f".{name}", self.own_file.text, _GIVES_AT_ALL)

    def other_names(self, name: str) -> set[str]:
        """Names that lines of functions as `rows = self.rows` give what is held under that name."""
        return _names_given(name, self.own_file.text, _GIVES) - {name}

    def changes_name(self, code: ast.AST, name: str) -> bool:
        changes = self.changes_in(code)
        return name in changes.attributes or (name in changes.names and not own_lists.holds_only_own(code, name))

    def changing_lines(self, name: str, file: SourceFile) -> list[int]:
        """The lines of the file's text that may change what the name holds: no others are looked for in its tree."""
        key = file.path, name
        known = self.lines_changing.get(key)
        if known is None:
            known = self.lines_changing[key] = []
            text, line, counted = file.text, 1, 0
            for at in places_of(name, text):
                if _CHANGING.match(text, at + len(name)) and _BEGINS.match(text, at):
                    line, counted = line + text.count("\n", counted, at), at
                    known.append(line)
        return known
