"""What is not known any more of objects, and of all that they hold, once they may have changed."""

from __future__ import annotations

from collections.abc import Iterable

from tensorlint.inference import aliases, estimators, layer_changes, table_values
from tensorlint.inference.changes import NEITHER
from tensorlint.inference.class_order import names_among
from tensorlint.inference.contents import (
    HOLDING,
    forget_field,
    hold_still,
    is_changed_by_methods,
    is_forgotten,
    is_forgotten_itself,
    items_of,
    objects_within,
    parts_of,
    reached_by,
)
from tensorlint.inference.distant_changes import MEMBERS
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    UNKNOWN,
    Attribute,
    Class,
    Dictionary,
    Function,
    Instance,
    LibraryObject,
    Opaque,
    Partial,
    Sequence,
    Tensor,
    Value,
    are_seen,
)

# What may be changed, or hold what may be.
KEEPS = HOLDING | {Tensor, LibraryObject, Class, Opaque, Partial, Attribute}
_OBJECTS = HOLDING | {Opaque}
# What is other objects, or has them in hand, and what changes as it is lent.
IN_PARTS = frozenset({Opaque, Partial, Attribute})
# Items of a list that is one of several: what changes with it, and what may have an attribute.
_TOUCHED = frozenset({Sequence, Dictionary, Opaque})
_OF_OBJECTS = _TOUCHED | {Instance}
_MAY_HAVE = frozenset({Sequence, Dictionary, Opaque, Instance, LibraryObject})


class GoneThrough(set[int]):
    """The ids of the values that were gone through for the same attributes, and of the `objects` that were with all that they
    hold: by way of another one each would find the others again. `touched`: of those that any of these is one of.
    `escaped`: of those that code has in hand of which nobody knows what it does, but, if `read`, that it is a library's that
    changes no table. `others`: the same of other files, for whose attributes the values are gone through once more."""

    __slots__ = ("escaped", "objects", "others", "read", "touched")

    def __init__(self) -> None:
        self.objects: set[int] = set()
        self.touched: set[int] = set()
        self.escaped: set[int] = set()
        self.read = False
        self.others: dict[str, GoneThrough] = {}

    def of(self, file: SourceFile) -> GoneThrough:
        """The ones of the file."""
        if file.own:
            return self
        found = self.others.get(file.path)
        if found is None:
            found = self.others[file.path] = GoneThrough()
        return found


def has_parts(value: Value) -> bool:
    """Whether it is a module that may hold others of the program's own."""
    return type(value) is Instance or (type(value) is LibraryObject and value.path in CONTAINERS)


class Forgetting(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def forget_held(
        self,
        value: Value,
        attributes: set[str],
        reshapes: frozenset[str],
        seen: GoneThrough | None = None,
        touched: set[int] | None = None,
    ) -> None:
        """What code that has the object in hand, and assigns these attributes, may have changed of it. Who asks for
        several objects hands on what was `seen`, and which may be one of the lists that were forgotten (`touched`)."""
        kind = type(value)
        if kind not in KEEPS:
            return
        if seen is None:
            seen = GoneThrough()
        elif id(value) in seen:
            return
        if touched is None:
            touched = set()
        seen.add(id(value))
        if kind in IN_PARTS:
            parts: tuple[Value, ...] = value.parts if kind is Opaque else (*reached_by(value),)  # type: ignore[attr-defined]
            if not parts or are_seen(parts, seen):  # as nearly always, where many lists may be one of many
                return
            for part in parts:
                if type(part) in KEEPS and id(part) not in seen:
                    self.forget_held(part, attributes, reshapes, seen, touched)
        elif isinstance(value, Instance):
            if attributes or reshapes:
                if not value.generic and id(value) not in seen.objects:
                    self.forget_attributes(value, attributes, reshapes, seen)
                for part in value.parts:  # of which it is one
                    self.forget_held(part, attributes, reshapes, seen, touched)
        elif isinstance(value, (Sequence, Dictionary)):
            for item in (value.element,) if value.items is None else items_of(value):
                of_item = type(item)
                if of_item in KEEPS and of_item is not Class and (of_item is not Instance or attributes or reshapes):
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
            estimators.forget_estimator(self, value)
        elif isinstance(value, LibraryObject):
            if value.path.startswith("scipy."):
                layer_changes.change_unseen(self, value)
            if value.path in CONTAINERS and attributes:
                for part in layer_changes.modules_in(value):
                    self.forget_held(part, attributes, reshapes, seen, touched)
        elif isinstance(value, Class):
            for name in attributes & value.names():
                forget_field(value, name)
                self.mutations.append((value, name))

    def forget_attributes(
        self, value: Instance, names: set[str], reshapes: frozenset[str] = NEITHER, seen: GoneThrough | None = None
    ) -> None:
        """Attributes of an object and of those it holds that may have changed, and what these hold."""
        containers: list[Value] = []
        # All of them first: nobody finds them once it is forgotten what holds them.
        bare = not value.given and _OBJECTS.isdisjoint(map(type, value.held.values()))
        objects: Iterable[Instance] = (value,) if bare else {value: None, **dict.fromkeys(objects_within([value]))}
        if seen is not None:
            objects = [each for each in objects if id(each) not in seen.objects]
            seen.objects.update(map(id, objects))
        for each in objects:
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
            seen = GoneThrough() if seen is None else seen
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

    def touch(self, value: Value, name: str | None, seen: set[int] | None = None, *, deep: bool = True) -> None:
        """One of several objects has the attribute assigned (or anything changed, of what it holds too if `deep`): which, nobody
        knows."""
        waiting = list(parts_of(value))
        if self.assigned_to_layers and waiting and (name is None or name in self.assigned_to_layers):
            # `for part in model.modules(): part.weight = ...`
            layer_changes.forget_assigned(self, waiting, self.assigned_to_layers if name is None else {name})
        seen = set() if seen is None else seen
        most = len(seen) + 200
        further = _TOUCHED if name is None else _MAY_HAVE

        def goes_on(held: Value) -> bool:
            return type(held) in further or is_changed_by_methods(held)

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
                if not are_seen(parts, seen):  # many lists may be one of many
                    waiting += parts
                if kind is Opaque:
                    continue
            if isinstance(part, (Sequence, Dictionary)):
                if part.items is None:  # as nearly always: it was forgotten before
                    if goes_on(part.element):
                        waiting.append(part.element)
                else:
                    waiting += filter(goes_on, items_of(part))
                if name is None and not is_forgotten_itself(part):
                    self.forget_own_contents(part)
                    self.mutations.append((part, None))
            elif isinstance(part, Instance):
                if not part.generic:
                    if name is None:
                        kinds = _OF_OBJECTS if deep else _TOUCHED
                        waiting += [
                            each for each in part.held.values() if type(each) in kinds or is_changed_by_methods(each)
                        ]
                        self.forget_fields(part)
                    else:
                        waiting += [
                            each for each in part.held.values() if has_parts(each) or is_changed_by_methods(each)
                        ]
                        self.forget_attributes(part, {name})
            elif isinstance(part, Tensor):
                if name is None and aliases.TIES.on:
                    self.forget_tensor(part)
            elif isinstance(part, LibraryObject) and table_values.is_table(part):
                table_values.forget_table(self, part)
            elif isinstance(part, LibraryObject) and estimators.is_known(part.path):
                estimators.forget_estimator(self, part)
            elif isinstance(part, LibraryObject):
                if part.path in CONTAINERS:
                    waiting += [each for each in layer_changes.modules_in(part) if name is None or has_parts(each)]
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
        elif estimators.is_known(value.path):
            estimators.forget_estimator(self, value)
            layer_changes.change_unseen(self, value)
        else:
            if value.parts:
                self.touch(value, None)
            layer_changes.change_unseen(self, value)
