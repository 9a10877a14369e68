"""Assignment: names, unpacking, attributes and items."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import itemgetter

from tensorlint.inference import (
    aliases,
    estimators,
    iterators,
    layer_changes,
    module_containers,
    ranks,
    refinement,
    table_parts,
    table_values,
)
from tensorlint.inference import sizes as S
from tensorlint.inference.changes import NAMESPACES
from tensorlint.inference.class_order import values_of
from tensorlint.inference.computed_names import fits_any, patterns_of
from tensorlint.inference.containers import contained, within
from tensorlint.inference.contents import (
    HOLDING,
    OF_ESTIMATORS,
    ONE_OF,
    any_item_of,
    each_part_of,
    forgotten_members,
    hold_still,
    is_part_of,
    items_of,
    lasts,
    may_be_back,
    one_within,
    parts_of,
    put_unseen,
    tensors_within,
)
from tensorlint.inference.effects import forget_name
from tensorlint.inference.expressions import EndOfShape, ItemKey
from tensorlint.inference.frames import Frame
from tensorlint.inference.one_of_class import symbols_of
from tensorlint.inference.shown import Shown
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    BASE,
    CONTAINERS,
    PLAIN,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    ModuleScope,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Slice,
    Tensor,
    Unknown,
    Value,
    an_integer,
    number,
    tell_item,
)
from tensorlint.inference.variants import freshen

_LAST_LINE = 1 << 30
_end = itemgetter(1)
_MOST_SHARED = 400  # objects that a name has been bound to, and those that they hold
_SIZES = frozenset({Number, Opaque, Scalar})  # what may get the name of a size
# What may be any object; an item of an array of objects is taken for a number.
_NOT_KNOWN = frozenset({Unknown, Opaque, Tensor, Attribute})
_MAY_HOLD = HOLDING | {Opaque, LibraryObject}
_CALLED_LATER = frozenset({Function, Attribute, Partial})
# What may be assigned to a tensor or an array that gives it another shape or layout.
_DECIDES_SHAPE = frozenset({"data", "shape", "dtype", "strides"})


class Assignments(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    def assign(self, target: ast.expr, value: Value, source: ast.expr | None) -> None:
        if type(value) is Sequence and type(target) is not ast.Tuple and type(target) is not ast.List:
            value = iterators.hold(self, value, source)
        if self.vector_numbers and type(value) is Tensor:
            self.note_number_kept(target, value)
        if type(target) is ast.Name:
            self.assign_name(target, value)
        elif type(target) is ast.Tuple or type(target) is ast.List:
            self.unpack(target, value, source)
            self.show_last(target)
        elif type(target) is ast.Attribute:
            receiver = self.eval(target.value)
            instance = _instance_of_class(target.value)
            if instance is not None:
                owner = self.eval(instance)
                if isinstance(owner, Instance):
                    receiver = owner.cls
                    value = UNKNOWN if owner.generic else value  # of a subclass, it may be
                elif not isinstance(owner, (Tensor, Const)):
                    self.forget_in_classes({target.attr})
            elif type(receiver) is Unknown or (type(receiver) is Opaque and not receiver.parts):
                self.forget_in_classes({target.attr})  # a class, it may be
            if (type(value) is Sequence or type(value) is Dictionary) and isinstance(source, ast.Name):
                value.shared = True
            name = target.attr
            self.store_attribute(receiver, name, value)
            self.note_stored(target, target.value, name, receiver, value)
            if name == "data" and isinstance(target.value, ast.Attribute):
                owner = self.eval(target.value.value)  # layer.weight.data = ...
                if isinstance(owner, LibraryObject):
                    self.store_attribute(owner, target.value.attr, value)
        elif isinstance(target, ast.Subscript):
            held = target.value
            if isinstance(held, ast.Attribute) and held.attr in NAMESPACES:
                if isinstance(target.slice, ast.Constant):
                    self.store_attribute(self.eval(held.value), str(target.slice.value), value)
                    return
                if held.attr != "__dict__" and isinstance(owner := self.eval(held.value), Instance):
                    if held.attr == "_modules":
                        self.forget_modules(owner, None)
                    else:
                        self.forget_fields(owner)
                    return
            receiver = self.eval(held)
            if self.left_early and isinstance(held, ast.Attribute) and isinstance(receiver, (Sequence, Dictionary)):
                self.forget_contents(receiver)  # the object that has it may still have it as it was
                self.mutations.append((receiver, None))
                return
            index = self.eval(target.slice)
            if isinstance(receiver, LibraryObject) and receiver.path == table_values.FRAME:
                index = table_parts.label(index, target.slice)
            self.store_item(receiver, index, value)
            if type(receiver) is Tensor:
                self.write_part(receiver, index, target, target)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, Sequence("list"), None)

    def assign_name(self, target: ast.Name, value: Value) -> None:
        frame, name = self.frame, target.id
        if frame.record:
            value = self.related(value, target)
            if type(value) in _SIZES and frame.facts.textual.get(name) == 1 and name not in self.parameters:
                if isinstance(value, (Opaque, Number)):
                    self.name_size(value, target)
                elif isinstance(value, Scalar) and value.kind == "int":
                    value = as_size(value)
                    self.name_size(value, target)
            if self.rounds is not None:
                self.note_round(target, value)
            if self.shows:
                self.binding_frames[target] = frame
                if self.rounds is None and isinstance(value, Tensor):
                    self.note_binding(target, value)
        if type(value) is Sequence:
            if value.kind == "iterator":
                self.iterators_named = True
            elif value.kind == "tuple":
                within(value)
        if name in frame.facts.shared:
            # A function that declares it global or nonlocal may rebind it at any call.
            self.hold_shared([name], [value])
            value = UNKNOWN
        frame.env[name] = value
        if frame.guarded is not None and type(value) in ONE_OF:
            frame.guarded.bound.append((name, value))

    def hold_shared(self, names: Iterable[str], values: Iterable[Value]) -> None:
        """Whoever reads one of the names, which functions may bind anew, may get what the values are or hold."""
        parts: dict[Value, None] = {}
        for value in values:
            self.keep(value)  # a function, which a call of the name may call
            one = one_within([value])
            if isinstance(one, Opaque):
                parts.update(dict.fromkeys(one.parts))
            parts.update((each, None) for each in (value, *parts_of(value)) if isinstance(each, LibraryObject))
        for name in names if parts else ():
            before = self.shared_names.get(name, ())
            self.shared_names[name] = tuple(dict.fromkeys((*before, *parts)))[:_MOST_SHARED]

    def note_round(self, target: Shown, value: Value) -> None:
        """In a loop that is followed round by round: what is shown is true of every round."""
        assert self.rounds is not None
        before = self.rounds.get(target)
        if before is not None:  # a number in one round and a tensor in another is neither in all
            value = (
                aliases.joined(before, value) if isinstance(before, Tensor) is isinstance(value, Tensor) else UNKNOWN
            )
        self.rounds[target] = value
        self.bindings.pop(target, None)
        if isinstance(value, Tensor):
            self.note_binding(target, value, again=before is not None)

    def name_size(self, value: Number | Opaque, target: ast.Name) -> None:
        """The user calls this size by a name: from now on it is shown by it."""
        name = target.id
        if name.startswith("_"):
            return
        opaque = value if isinstance(value, Opaque) else None
        if opaque is not None:
            if opaque.name is not None or opaque.variant:
                return
            if opaque._symbol is None:
                opaque.formula = None  # the name says it
        terms = value.size.terms
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            atom = terms[0][0][0]
            if atom.name is None and not atom.variant and atom.numerator is None:
                atom.name = name
                atom.scope = self.frame.node
                if self.loop_start is not None and atom.serial >= self.loop_start:
                    atom.held = (target.lineno, target.col_offset), self.end_of_block(target)
                elif self.made_in_rounds_before(atom):
                    atom.held = (target.lineno, target.col_offset), _LAST_LINE
                if opaque is not None:
                    opaque.name, opaque.scope = name, self.frame.node
                self.names_given.append((atom, opaque))

    def made_in_rounds_before(self, atom: S.Symbol) -> bool:
        """Whether the size is that of one round of a loop that has ended: the lines of the loop had others, too."""
        found = bisect_left(self.loops_ended, atom.serial, key=_end)
        return found < len(self.loops_ended) and self.loops_ended[found][0] <= atom.serial

    def end_of_block(self, target: ast.Name) -> int:
        """The last line that is reached only from the target's."""
        place = self.places[-1] if self.places else None
        return target.lineno if place is None else place[1][-1].end_lineno or target.lineno

    def take_back_names(self, since: int, holds: Mapping[str, Value] | None = None) -> None:
        """Names that sizes were given in a round of which something else is true than of the others; not those that
        hold the same size in all."""
        left = []  # those that a loop around may yet take back
        for atom, opaque in self.names_given[since:]:
            held = None if holds is None else holds.get(atom.name or "")
            if isinstance(held, (Number, Opaque)) and held.size == S.of_symbol(atom):
                left.append((atom, opaque))
                continue
            atom.name = atom.held = None
            if opaque is not None:
                opaque.name = None
        self.names_given[since:] = left

    def take_back_first(self, since: int, firsts: list[Value]) -> None:
        """Names that the first round gave to sizes of what later rounds find changed: `for i in (q,): q = 1`."""
        sizes = symbols_of(firsts) if len(self.names_given) > since else ()
        kept = []
        for atom, opaque in self.names_given[since:]:
            if atom in sizes or opaque in firsts:
                atom.name = atom.held = None
                if opaque is not None:
                    opaque.name = None
            else:
                kept.append((atom, opaque))
        self.names_given[since:] = kept

    def show_last(self, target: ast.Tuple | ast.List) -> None:
        """`_, _ = pair`: behind the statement a name holds what it was given last."""
        last: dict[str, ast.Name] = {}
        for element in target.elts:
            each = element.value if type(element) is ast.Starred else element
            if type(each) is ast.Name:
                if each.id in last:
                    self.bindings.pop(last[each.id], None)
                last[each.id] = each

    def unpack(self, target: ast.Tuple | ast.List, value: Value, source: ast.expr | None) -> None:
        elements = target.elts
        starred = [position for position, element in enumerate(elements) if type(element) is ast.Starred]
        if isinstance(value, Sequence) and value.shape_of is not None and not starred:
            torch = len(elements) > 1 and self.uses_torch and refinement.asks_torch(source)
            if source is not None:  # which the target of a loop has not: there may be no round
                self.demand(value.shape_of, ranks.exactly(min(len(elements), ranks.MOST)), beside=torch)
            sizes: list[S.Size] = [S.symbol() for _ in elements]
            known = refinement.with_rank(self, value.shape_of, sizes)
            if known is not None and source is not None:
                if torch and known.framework is None:
                    known.framework = "torch"
                refinement.rebind(self, refinement.shape_receiver(source), value.shape_of, known)
                sizes = list(known.shape or ())
            for element, size in zip(elements, sizes, strict=True):
                self.assign(element, number(size), None)
            return
        if (
            source is not None
            and isinstance(value, Sequence)
            and value.kind == "tuple"
            and value.kin is not None
            and not starred
        ):
            # `h, w = x.shape[2:]`: so many axes are left.
            left = Opaque(None)
            left.kin = value.kin
            self.demand(left, ranks.exactly(min(len(elements), ranks.MOST)))
        items = self.iterate(value)
        if starred:
            self.unpack_starred(elements, starred[0], items)
            return
        listed = items.items
        if items.pieces is not None and (source is not None or not isinstance(items.pieces, EndOfShape)):
            listed = items.pieces.listed(len(elements))  # a loop may have no round that relies on there being so many
        if listed is not None:
            if len(listed) == len(elements) and items.kind != "set":
                for element, item in zip(elements, listed, strict=True):
                    lazy = isinstance(item, Sequence) and item.kind in iterators.LAZY
                    self.assign(element, item, source if lazy else None)
                return
            for element in elements:
                self.assign(element, UNKNOWN, None)
            return
        for position, element in enumerate(elements):
            if isinstance(value, Opaque):
                item = one_of_items(value)
                if value.lengths[:1] == (len(elements),):
                    if value.fields is None:
                        value.fields = {}
                    item = value.fields.setdefault(ItemKey(repr(position)), item)
                self.assign(element, item, None)
                if value.lengths and value.name is not None and type(item) is Opaque and item.name is None:
                    item.name, item.scope = f"{value.name}[{position}]", value.scope  # the other name is not its alone
            elif isinstance(value, Number):
                self.assign(element, UNKNOWN, None)
            elif isinstance(value, Instance):
                self.assign(element, freshen(items.element), None)
            else:
                item = freshen(items.element)
                self.assign(element, Opaque(None) if item is UNKNOWN else item, None)

    def unpack_starred(self, elements: list[ast.expr], at: int, items: Sequence) -> None:
        after = len(elements) - at - 1
        if items.items is not None and len(items.items) >= at + after and items.kind != "set":
            values = items.items
            for element, item in zip(elements[:at], values[:at], strict=True):
                self.assign(element, item, None)
            middle = elements[at]
            assert isinstance(middle, ast.Starred)
            rest = values[at : len(values) - after]
            for item in rest:
                within(item)
            self.assign(middle.value, Sequence("list", rest), None)
            for element, item in zip(elements[at + 1 :], values[len(values) - after :], strict=True):
                self.assign(element, item, None)
            return
        for element in elements:
            item = freshen(self.any_item(items))
            if isinstance(element, ast.Starred):
                self.assign(element.value, Sequence("list", None, self.each_of(items)), None)
            else:
                self.assign(element, Opaque(None) if item is UNKNOWN else item, None)

    def store_attribute(self, receiver: Value, name: str, value: Value) -> None:
        if type(value) is Sequence:
            value = contained(value)
        if parts := parts_of(receiver):
            self.touch(receiver, name)
            for part in parts:
                if isinstance(part, Instance) and not part.generic:
                    hold_still(part, [value])
        if type(value) in _CALLED_LATER:
            self.keep(value)
            if name == "forward":
                self.stray_given([value])
        if self.strayed and type(receiver) in _NOT_KNOWN:
            self.change_strayed(name)
        if type(receiver) is Instance:
            if self.shares_namespaces and (name == "__dict__" or self.is_rebound(receiver.cls, name, receiver)):
                if self.strayed:
                    self.change_strayed(None)
                self.stray([value])  # which another object finds under that name, or a dictionary
            if receiver.generic and not self.initialising(receiver):
                return
            if receiver.several and not self.initialising(receiver):
                value = UNKNOWN
            shown = self.find_in_class(receiver.cls, name)
            if shown is not None:
                if isinstance(shown, Function) and (shown.kind == "property" or shown.decorated):
                    # A setter, which may set any attribute.
                    self.forget_fields(receiver)
                    self.not_followed(shown, [receiver, value], {})
                    hold_still(receiver, [value])
                    self.stray([value])
                    return
                if isinstance(shown, Instance) and self.find_in_class(shown.cls, "__set__") is not None:
                    self.forget_fields(receiver)
                    hold_still(receiver, [value])
                    self.stray([value])
                    receiver.fields[name] = UNKNOWN
                    return
                if isinstance(shown, Function) and shown.kind == "cached" and self.perhaps_left:
                    value = UNKNOWN  # elsewhere it is computed
                if isinstance(shown, Opaque) and shown.kind is None and not shown.integer:
                    value = UNKNOWN  # an object that nobody knows, which may decide what is stored
            setter = None if receiver.cls.is_module else self.find_in_class(receiver.cls, "__setattr__")
            if setter is not None:
                if not self.initialising(receiver):
                    self.not_followed(setter, [receiver, value], {})
                hold_still(receiver, [value])
                value = UNKNOWN  # of a dictionary it may be an item, which changes without it
            if shown is UNKNOWN:
                # It may be a property, or an object with a `__set__` of its own.
                hold_still(receiver, [value])
                self.forget_fields(receiver)
                value = UNKNOWN
            if (
                self.frame.record
                and type(value) in _SIZES
                and name not in self.file.facts.unstable_attributes
                and not self.frame.loops
                and self.stored_once(receiver.cls, name)
            ):
                if isinstance(value, Scalar) and value.kind == "int":
                    value = as_size(value)
                if isinstance(value, (Opaque, Number)):
                    self.name_field(receiver, name, value)
            if value is UNKNOWN and receiver.generic and not self.frame.loops and self.stored_once(receiver.cls, name):
                # Nobody knows it, but all methods find the same one.
                value = Opaque(f"{self.frame.first_argument}.{name}")
            if self.file is not self.own_file and not self.initialising(receiver):
                self.changed_by_others(receiver, name)
            # What it is where the line is not reached: its own, or the class's.
            before = receiver.fields.get(name, shown) if self.perhaps_left else None
            if before is not None and before is not value:
                # Of two functions of different names either may be called.
                value = UNKNOWN if isinstance(before, Function) else aliases.joined(before, value)
            fields = receiver.fields
            if name in fields or shown is not None:
                self.overwritten.append((receiver, name, fields.get(name, shown)))
            fields[name] = value
            self.mutations.append((receiver, name))
            if name == "__class__":
                self.forget_fields(receiver)
                fields = receiver.fields
                fields[layer_changes.CHANGED] = UNKNOWN
            base = fields.get(BASE)
            if base is not None and isinstance(base, LibraryObject) and name != BASE:
                self.store_attribute(base, name, value)
        elif isinstance(receiver, LibraryObject):
            if layer_changes.keeps_result(self, receiver, name, value):
                return
            if name == "__class__":
                layer_changes.change_unseen(self, receiver)
                return
            if table_values.is_table(receiver):
                table_parts.store_attribute(self, receiver, name, value)
                return
            if receiver.parts:
                self.touch(receiver, name)
                layer_changes.show(receiver)
            if receiver.path.startswith("torch.nn."):
                self.assigned_to_layers.add(name)
            self.overwritten.append((receiver, name, receiver.fields.get(name)))
            receiver.fields[name] = UNKNOWN if self.perhaps_left or receiver.several else value
            self.mutations.append((receiver, name))
            if receiver.shown:
                layer_changes.forget_shown(self, receiver)
            if receiver.path in CONTAINERS:
                module_containers.name_member(self, receiver, name, value)
        elif isinstance(receiver, Opaque):
            if name in _DECIDES_SHAPE:
                self.reshape(receiver)
            if receiver.name is None:
                self.forget_in_classes({name})  # one of which it may be
            if type(value) in _MAY_HOLD:
                self.stray([value])
            if receiver.fields is None:
                receiver.fields = {}
            elif name in receiver.fields:
                unname(receiver.fields[name])
            receiver.fields[name] = aliases.perhaps(value) if self.perhaps_left else value
            lasts(value)
            aliases.lose(value)
            self.mutations.append((receiver, name))
        elif isinstance(receiver, Function):
            receiver.held = (*receiver.held, value)
            receiver.decorated = receiver.decorated or name in ("__defaults__", "__kwdefaults__", "__code__")
            self.mutations.append((receiver, name))
        elif isinstance(receiver, Class):
            self.class_attributes_assigned.add(name)
            unsure = self.perhaps_left or self.stores_otherwise(receiver)
            self.overwritten.append((receiver, name, receiver.fields.get(name)))
            if unsure:
                hold_still(receiver, [each for each in (receiver.fields.get(name), value) if each is not None])
            receiver.fields[name] = UNKNOWN if unsure else value
            self.mutations.append((receiver, name))
        elif isinstance(receiver, (Tensor, Unknown)) and name in _DECIDES_SHAPE:
            self.reshape(receiver)
        elif isinstance(receiver, Library):
            self.patch_library(name)
            if type(value) in _MAY_HOLD:
                self.stray([value])
        elif type(value) in _MAY_HOLD and isinstance(receiver, (Unknown, Tensor)):
            self.stray([value])
        elif isinstance(receiver, Attribute) and name in _DECIDES_SHAPE:
            self.reshape(receiver.receiver)  # `x.real` is x where x is real
        elif isinstance(receiver, Attribute) and isinstance(held := receiver.receiver, LibraryObject):
            if held.path.startswith(OF_ESTIMATORS):  # `density.dist.pdf = quick`
                self.touch_all(held)
        elif isinstance(receiver, ModuleScope) and self.file is not self.own_file:
            forget_name(receiver.frame, name)

    def set_by_name(self, receiver: Value | None, given: list[Value], node: ast.AST | None = None) -> None:
        """`setattr(receiver, name, value)`; a name that is not known may be any that its text, in the call, allows."""
        if len(given) != 2 or receiver is None:
            return
        name, value = given
        if isinstance(name, Const) and isinstance(name.value, str):
            self.store_attribute(receiver, name.value, value)
            return
        aliases.lose(value)
        if parts := parts_of(receiver):
            self.touch(receiver, None)
            for part in parts:
                if isinstance(part, Instance) and not part.generic:
                    hold_still(part, [value])
        if isinstance(value, (Sequence, Dictionary)):
            self.escape([value], {})
        if isinstance(receiver, (Tensor, Opaque, Unknown)):
            self.reshape(receiver)
        elif isinstance(receiver, (Instance, Class)):
            own = values_of(receiver.cls) if isinstance(receiver, Instance) else ()
            spelled = isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(receiver, Instance)
            patterns = patterns_of(node.args[1], self.frame.node) if spelled and isinstance(node, ast.Call) else None
            changed = [name for name in (*receiver.fields, *own) if fits_any(name, patterns)]
            hold_still(receiver, [receiver.fields[each] for each in changed if each in receiver.fields])
            receiver.fields = {**receiver.fields, **dict.fromkeys(changed, UNKNOWN)}
            self.mutations.append((receiver, None))
            if (container := layer_changes.container_of(receiver)) is not None:
                layer_changes.change_unseen(self, container)
        elif isinstance(receiver, LibraryObject):
            layer_changes.change_unseen(self, receiver)
        elif isinstance(receiver, Library):
            self.patch_library(None)

    def stored_once(self, cls: Class, name: str) -> bool:
        """Whether the initialiser that is followed sets the attribute at one place only: that is what methods find."""
        frame = self.frame
        return (
            frame.record
            and frame.facts.stored.get((frame.first_argument or "self", name)) == 1
            and name not in self.file.facts.unstable_attributes
            and name not in self.file.facts.foreign_attributes
            and not self.is_rebound(cls, name)
        )

    def name_field(self, receiver: Instance, name: str, value: Opaque | Number) -> None:
        """`self.heads = heads`: in the class's methods the size is called `self.heads`."""
        terms = value.size.terms
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            atom = terms[0][0][0]
            if (
                not atom.variant
                and not (atom.name or "").startswith(f"{self.frame.first_argument}.")
                and atom.numerator is None
            ):
                atom.name = f"{self.frame.first_argument or 'self'}.{name}"
                atom.scope = None  # every method calls it so
                place = self.places[-1] if self.made_in_rounds_before(atom) and self.places else None
                if place is not None:
                    atom.held = (place[1][place[2]].lineno, 0), _LAST_LINE

    def store_item(self, receiver: Value, index: Value, value: Value) -> None:
        if type(receiver) is Tensor:
            self.note_unseen(receiver)
        if type(value) is Sequence or type(value) is Dictionary:
            value = contained(value)
            within(value)
            if receiver is UNKNOWN or not isinstance(index, Const):
                self.kept_by_unknown(receiver, value)
        if parts_of(receiver):
            self.touch(receiver, None)
            for part in each_part_of(receiver):
                if isinstance(part, Instance) and not part.generic:
                    hold_still(part, [value])  # `vars(box)["rows"] = rows`
                if (container := layer_changes.container_of(part)) is not None:
                    container.fields["members"] = forgotten_members(container, value)
        if type(value) in _CALLED_LATER:
            self.keep(value)
        if type(receiver) in _NOT_KNOWN:
            if self.strayed:
                self.change_strayed(None)
            if type(value) in _MAY_HOLD:
                self.stray(items_of(value) if type(index) is Slice and type(value) is Sequence else [value])
            elif type(receiver) is Tensor and receiver.framework != "torch":
                aliases.lose(value)  # an item of an array of objects
        if isinstance(receiver, Instance):
            if self.shares_namespaces:
                self.stray([value])  # of a dictionary whose items are its attributes, it may be
            receiver = receiver.fields.get(BASE, UNKNOWN)
        if isinstance(receiver, Dictionary):
            if (
                isinstance(index, Const)
                and receiver.items is not None
                and self.changes_surely(receiver)
                and receiver.alike is None
                and len(receiver.items) < 256
            ):
                try:
                    may_be_back(receiver, receiver.items.get(index.value))
                    receiver.items[index.value] = value
                except TypeError:
                    self.forget_contents(receiver)
                    put_unseen(receiver, value)
                self.mutations.append((receiver, None))
            else:
                self.forget_contents_for_all(receiver)
                put_unseen(receiver, value)
        elif isinstance(receiver, Attribute) and isinstance(receiver.receiver, LibraryObject):
            if receiver.name in NAMESPACES or receiver.receiver.path.startswith(OF_ESTIMATORS):
                self.touch_all(receiver.receiver)
                if (container := layer_changes.container_of(receiver.receiver)) is not None:
                    container.fields["members"] = forgotten_members(container, value)
        elif isinstance(receiver, Sequence):
            if (
                receiver.items is not None
                and isinstance(index, Const)
                and type(index.value) is int
                and self.changes_surely(receiver)
            ):
                if -len(receiver.items) <= index.value < len(receiver.items):
                    receiver.items = list(receiver.items)
                    may_be_back(receiver, receiver.items[index.value])
                    receiver.items[index.value] = value
                    forget_shown(receiver)
                    self.mutations.append((receiver, None))
                    return
            self.forget_contents_for_all(receiver)
            put_unseen(receiver, value)
        elif isinstance(receiver, LibraryObject):
            if receiver.path in CONTAINERS:
                module_containers.set_member(self, receiver, index, value)
            elif receiver.path.startswith("pandas"):
                table_parts.store(self, receiver, index, value)
            elif receiver.path == estimators.BUNCH:
                estimators.forget_data(self, receiver)
            elif receiver.path.startswith("scipy."):
                layer_changes.change_unseen(self, receiver)
        elif isinstance(receiver, Opaque):
            for each in (index, value):
                lasts(each)
                aliases.lose(each)
            # A key of a dictionary, a stretch of a list: that is no tensor, which has as many rows as before.
            is_key = isinstance(index, Const) and isinstance(index.value, str)
            is_stretch = isinstance(index, Slice) and isinstance(value, Sequence)
            self.changed_items(receiver, longer=is_key or is_stretch)
            if isinstance(index, Const) and isinstance(value, (Sequence, Dictionary)):
                receiver.fields = {**(receiver.fields or {}), ItemKey(repr(index.value)): aliases.perhaps(value)}
        elif receiver is UNKNOWN:
            aliases.lose(value)

    def kept_by_unknown(self, receiver: Value, value: Value) -> None:
        """A list or dictionary has another name by which nobody sees it change: an item or attribute of what is not known."""
        if not isinstance(receiver, (Sequence, Dictionary, Instance, Tensor, LibraryObject)):
            self.escape([value], {})

    def changed_items(self, value: Opaque, *, longer: bool) -> None:
        """An object that nobody knows has other items from here on, and may have more or fewer of them."""
        self.items_changed[id(value)] = value
        value.since = 0  # of what it holds
        if value.fields:
            gone = [key for key in value.fields if not (isinstance(key, str) and key.isidentifier())]
            if gone:
                for key in gone:
                    unname(value.fields[key])
                value.fields = {key: field for key, field in value.fields.items() if key not in gone}
                self.mutations.append((value, None))
        if longer and value.axes:
            self.changed_shape(value)

    def forget_contents(self, value: Sequence | Dictionary, seen: set[int] | None = None) -> None:
        """Of the list or dictionary, and of those that it is one of, but for those that have been seen."""
        if isinstance(value, Sequence) and value.parts and value.kind != "tuple":
            self.touch(value, None, seen)
        self.forget_own_contents(value)

    def forget_own_contents(self, value: Sequence | Dictionary) -> None:
        """Likewise, where the caller goes through those that it is one of: a value is one of several that are one of
        several, and who forgets all of them for each of them does not come to an end."""
        aliases.lose(value)
        if isinstance(value, Sequence) and value.kind == "tuple":
            return
        # What it holds may be changed by way of it all the same.
        value.items, value.element = None, any_item_of(value)
        if isinstance(value, Sequence):
            forget_shown(value)
            value.length = value.totals = value.kin = value.some = None
            iterators.spend(self, value)
        else:
            for each in value.alike or ():
                each.items = None

    def forget_contents_for_all(self, value: Sequence | Dictionary) -> None:
        """Forget them, and let the loops around know if anything was known."""
        known = value.items is not None or type(value.element) not in (Unknown, Opaque)
        known = known or (isinstance(value, Sequence) and value.kin is not None)
        if known or (isinstance(value, Dictionary) and value.alike):
            self.mutations.append((value, None))
        self.forget_contents(value)

    def changed_shape(self, value: Value) -> None:
        """The object has another shape from here on: what later lines tell of it is not told of it before."""
        group = aliases.untie(value)
        for other in aliases.others(value, group):
            if isinstance(other, Tensor):
                if _is_known(other):
                    self.forget_tensor(other)
                continue
            other.axes = other.kin = None
            if isinstance(value, Tensor):
                self.reshape_any(other)
        aliases.tie_again(group)  # what a later line tells of one of them changes with the others, too
        if isinstance(value, (Tensor, Opaque)):
            value.axes = value.kin = None
            self.reshaped[id(value)] = value
            self.mutations.append((value, None))

    def reshape(self, value: Value) -> None:
        """The object gets another shape in place."""
        self.changed_shape(value)
        if isinstance(value, Tensor):
            self.forget_tensor(value)
        elif aliases.TIES.on:
            self.reshape_any(value)

    def reshape_any(self, value: Value) -> None:
        """What gets another shape is no tensor as far as is known: it may be any of those that the running functions see;
        not what they were given themselves, which is older than what they know."""
        if self.reshaped_together is not None:
            self.reshaped_together.append(value)
        else:
            self.reshape_any_together([value])

    def reshape_any_together(self, values: list[Value]) -> None:
        """Likewise of several: what the functions see is gone through once for all of them."""
        if not values:
            return
        frames, last = self.frames_seen()
        given = [last.env.get(name, UNKNOWN) for name in self.parameters]
        if all(value is not UNKNOWN and any(is_part_of(value, each) for each in given) for value in values):
            return
        outer, self.reshaped_together = self.reshaped_together, []  # those that are tied to a tensor: all are forgotten
        for other in tensors_within(held for frame in frames for held in frame.env.values()):
            self.forget_tensor(other)
        self.reshaped_together = outer

    def frames_seen(self) -> tuple[list[Frame], Frame]:
        """The scopes whose names the running functions see, and that of the one from which the others were called."""
        found: dict[Frame, None] = {}
        running = self.frame
        while True:
            frame: Frame | None = running
            while frame is not None and frame not in found:
                found[frame] = None
                frame = frame.parent
            if running.caller is None:
                return list(found), running
            running = running.caller

    def forget_tensor(self, tensor: Tensor) -> None:
        self.changed_shape(tensor)
        tensor.shape = tensor.strides = tensor.axes = None
        tensor.dtype = None


def _is_known(tensor: Tensor) -> bool:
    """Whether anything is known of the tensor that another shape or type would make wrong."""
    told = (tensor.shape, tensor.strides, tensor.dtype, tensor.axes, tensor.kin)
    return any(each is not None for each in told)


def as_size(value: Scalar) -> Opaque:
    """An int whose value is not known, as one that may get a name."""
    made = an_integer()
    if value.numbers:
        made._symbol = S.counter(numbers=True, signed=True)
    return made


def unname(value: Value) -> None:
    """What the code writes for the value, `options["width"]`, is something else from here on."""
    if type(value) is Opaque and value.name is not None:
        value.name = None
        if value._symbol is not None and (atom := S.single(value._symbol)) is not None:
            atom.name = atom.held = None
        for each in (value.fields or {}).values():
            unname(each)


def forget_shown(value: Sequence) -> None:
    """The list has changed: what was known of what may be this list is not known any more."""
    shown, value.shown = value.shown, ()
    for each in shown:
        each.items, each.element = None, any_item_of(each)
        each.length = each.totals = each.kin = each.some = None
        forget_shown(each)


def one_of_items(value: Opaque) -> Opaque:
    """An item of what nobody knows; of a container of numbers it is a number."""
    item = Opaque(None, parts_of(value), PLAIN if value.kind == PLAIN else None)
    if value.lengths:
        tell_item(item, value)
    return item


def _instance_of_class(node: ast.expr) -> ast.expr | None:
    """`x` of `type(x)` and `x.__class__`."""
    if type(node) is ast.Name:
        return None
    if isinstance(node, ast.Call):
        plain = isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) == 1
        return node.args[0] if plain else None
    return node.value if isinstance(node, ast.Attribute) and node.attr == "__class__" else None
