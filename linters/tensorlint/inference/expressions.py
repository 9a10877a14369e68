"""What each kind of expression is."""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tensorlint.inference import (
    aliases,
    data_loading,
    estimators,
    index_tricks,
    known_axes,
    memoized,
    module_containers,
    one_of_class,
    ops,
    probability,
    ranks,
    table_groups,
    table_parts,
    table_values,
    tables,
)
from tensorlint.inference import sizes as S
from tensorlint.inference.containers import contained, share, within
from tensorlint.inference.contents import one_within
from tensorlint.inference.declared import is_setting
from tensorlint.inference.demands import ALWAYS
from tensorlint.inference.forward_hooks import HELD_AS
from tensorlint.inference.frames import Frame, Inner
from tensorlint.inference.iterators import hold, spend
from tensorlint.inference.kept import kept_with
from tensorlint.inference.layer_changes import CHANGED, change_unseen, changed_anywhere, container_of, held
from tensorlint.inference.module_formats import of_weight
from tensorlint.inference.ops import indexing, modules
from tensorlint.inference.ops.torch.inplace import RESHAPING
from tensorlint.inference.rebinding import NOTHING
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    CONTAINERS,
    KEEPS_SHAPE,
    KEYED,
    LENGTH,
    NONE,
    ONE_CLASS,
    ONE_LAYER,
    ONE_MODULE,
    PLAIN,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Function,
    Imported,
    Instance,
    Library,
    LibraryObject,
    ModuleScope,
    Opaque,
    Partial,
    Sequence,
    Slice,
    Tensor,
    Value,
    copy,
    integer,
    is_none,
    may_be_array,
    moved,
    number,
    opaque_anew,
    size_of,
    tell_item,
)
from tensorlint.inference.variants import any_of, item_at, made_anew
from tensorlint.inference.walking import only_tells

_MAX_ITEMS = 256
# Items of a tuple whose annotation says how many it has.
_MOST_TOLD = 16
_MOST_ROWS = 64  # of a tensor, `[*x]`
_MOST_UNPACKED = 4096  # `[*rows, *rows]` again and again doubles them each time
# Fields of the named tuples that functions of torch and numpy return, by their places. No plain tuple has such an attribute.
_RESULT_FIELDS = {
    "values": 0, "indices": 1, "eigenvalues": 0, "eigenvectors": 1, "sign": 0, "logabsdet": 1, "U": 0, "S": 1, "V": 2, "Vh": 2,
    "Q": 0, "R": 1, "solution": 0, "slope": 0, "intercept": 1,
}  # fmt: skip

# Attributes of any module.
_OF_MODULES = frozenset({"training", "_parameters", "_buffers"})
_PARTS = frozenset({"_modules", "_parameters", "_buffers"})  # the dictionaries in which a module has them
_CALLED_LATER = frozenset({Function, Attribute, Partial})
_DISPLAYS = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}
_HELD = frozenset({Sequence, Dictionary})
# A dictionary with more values is read by none of its keys that nobody knows.
_MOST_VALUES = 16
_ONE_OF_SEVERAL = frozenset({KEEPS_SHAPE, ONE_CLASS, ONE_LAYER, ONE_MODULE})
# Parts of a function that can be changed.
_GLOBAL = re.compile(r"global (\w+(?:, \w+)*)")
_BUILTINS = frozenset(dir(builtins))


def _is_called_otherwise(value: Value, name: str) -> bool:
    """Whether it is a function that was not defined by that name: `len = lambda rows: ...`."""
    if isinstance(value, Function):
        return getattr(value.node, "name", "") != name
    return isinstance(value, (Partial, Attribute))


# Attributes by which the names of functions are found: of frames, of cells.
_OF_FRAMES = frozenset({"f_locals", "f_globals", "cell_contents", "gi_frame", "tb_frame"})
_TOLD_APART = RESHAPING | _OF_FRAMES
_CHANGEABLE = frozenset({"__kwdefaults__", "__closure__", "__globals__", "__dict__"})
# An expression that gives an object which something else holds too.
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)


@lru_cache(1024)
def _builtin(name: str) -> Library:
    return Library("builtins." + name)


class Expressions(State):
    """Mixed into the interpreter: `eval` and what it dispatches to."""

    __slots__ = ()

    # -- names ---------------------------------------------------------------------------------------------------

    def eval_name(self, node: ast.Name) -> Value:
        name = node.id
        frame = self.frame
        value = frame.env.get(name)
        if value is not None:
            if value is not UNKNOWN and type(value) is not Imported:
                return value
            if name in frame.facts.shared:
                return self.held_shared(name)
            if type(value) is Imported:
                return self.resolve(value)
            # Whatever it is, it is one object until the name is bound anew; bound once it is what the name says.
            value = frame.env[name] = Opaque(None) if frame.facts.assigned.get(name) == 1 else opaque_anew()
            return value
        value = frame.lookup_around(name)
        if value is None:
            value = self.awaited(name)
            if value is None:
                if (name in self.patched and "builtins" in self.file.text) or self.is_bound_around(name):
                    return UNKNOWN
                if name in (self.rebound.globals or ()):
                    return UNKNOWN  # `globals()["len"] = ...`
                if name in self.shared_names or name in self.declared_global():
                    return self.held_shared(name)  # which functions alone bind
                return _builtin(name)
        if type(value) is Imported:
            return self.resolve(value)
        if name in _BUILTINS and _is_called_otherwise(value, name) and self.module_binds(name, value):
            return UNKNOWN  # until then it is the builtin, and the function may have been called before
        return self.held_shared(name) if value is UNKNOWN and name in self.shared_names else value

    def module_binds(self, name: str, value: Value) -> bool:
        frame = self.frame
        while frame.parent is not None:
            frame = frame.parent
        return frame is not self.frame and frame.env.get(name) is value

    def declared_global(self) -> set[str]:
        """The names that functions of the file declare global."""
        file = self.file
        return kept_with(
            file.tree, "global", lambda: {name for names in _GLOBAL.findall(file.text) for name in names.split(", ")}
        )

    def is_bound_around(self, name: str) -> bool:
        """Whether a scope binds the name of which nothing is held: an error may have come before."""
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.facts.assigned and not (frame.is_class and frame is not self.frame):
                return True
            frame = frame.parent
        return False

    def held_shared(self, name: str) -> Value:
        """What a name holds that any call may bind anew."""
        return Opaque(None, self.shared_names.get(name, ()))

    def eval_named(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        env, name = self.frame.env, node.target.id
        before = env.get(name)
        self.assign(node.target, share(value), node.value)
        self.named.add(name)
        if type(self.frame.env) is Inner:
            self.named_within.append((name, value))
        if before is not None and self.places and self.places[-1] is None and name not in self.frame.facts.shared:
            env[name] = aliases.joined(before, value)  # in what may not be evaluated: `flag and (x := ...)`
        return value

    def eval_tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        kind: Any = _DISPLAYS[type(node)]
        elements = node.elts
        if len(elements) > _MAX_ITEMS:
            return self.eval_long_literal(node, kind)
        items: list[Value] = []
        for element in elements:
            if type(element) is ast.Starred:
                inner = self.listed_as_told(self.eval(element.value))
                spend(self, inner)
                known = inner.items if isinstance(inner, Sequence) and inner.shape_of is None else None
                if type(inner) is Tensor and inner.shape and type(rows := inner.shape[0]) is int and rows <= _MOST_ROWS:
                    each = self.iterate(inner)
                    known = [self.any_item(each) for _ in range(rows)]  # `(0, *np.cumsum(sizes))`
                if known is not None and len(items) + len(known) <= _MOST_UNPACKED:
                    items.extend(known)
                else:
                    starred = isinstance(inner, Sequence) and inner.kin is not None
                    tail: list[Value] = []
                    for rest in node.elts:
                        if rest is not element:
                            tail.append(self.eval(rest.value if isinstance(rest, ast.Starred) else rest))
                            starred = starred and not isinstance(rest, ast.Starred)
                    made = Sequence(kind, None, one_within([inner, *items, *tail]))
                    behind = node.elts[node.elts.index(element) + 1 :]
                    if kind == "tuple" and behind and not any(isinstance(rest, ast.Starred) for rest in behind):
                        made.tail = tuple(tail[-len(behind) :])
                    if starred and isinstance(inner, Sequence) and inner.kin is not None:
                        made.kin = moved(inner.kin, len(node.elts) - 1)
                    return made
            else:
                item: Value = self.eval(element)
                if type(item) in _HELD:
                    item = share(item) if isinstance(element, _NAMED) else hold(self, item, element)
                    if kind == "list":
                        within(item)
                elif type(item) in _CALLED_LATER:
                    self.keep(item)
                items.append(item)
        whole = Sequence(kind, items)
        whole.born = self.steps
        if kind == "set":
            aliases.lose(whole)
        return whole

    def eval_long_literal(self, node: ast.Tuple | ast.List | ast.Set, kind: Any) -> Value:
        """A literal of many items: the first few stand for all where all are constants of one type."""
        first = type(node.elts[0])
        if first is ast.Constant and all(type(element) is first for element in node.elts):
            types = {type(element.value) for element in node.elts}  # type: ignore[attr-defined]
            if len(types) == 1 and not any(isinstance(element, ast.Starred) for element in node.elts):
                return Sequence(kind, [Const(element.value) for element in node.elts])  # type: ignore[attr-defined]
        return Sequence(kind, None, UNKNOWN, None)

    def eval_dict(self, node: ast.Dict) -> Value:
        items: dict[Any, Value] | None = {}
        held: list[Value] = []
        for key, value in zip(node.keys, node.values, strict=True):
            evaluated: Value = self.eval(value)
            if type(evaluated) in _HELD:
                evaluated = share(evaluated) if isinstance(value, _NAMED) else hold(self, evaluated, value)
                within(evaluated)
            elif type(evaluated) in _CALLED_LATER:
                self.keep(evaluated)
            held.append(evaluated)
            if key is None:
                if isinstance(evaluated, Dictionary) and evaluated.items is not None and items is not None:
                    items.update(evaluated.items)
                else:
                    items = None
                continue
            name = self.eval(key)
            if type(name) is not Const:
                aliases.lose(name)
            if isinstance(name, Const) and items is not None and len(items) < _MAX_ITEMS:
                items[name.value] = evaluated
            else:
                items = None
        whole = Dictionary(items, UNKNOWN if items is not None else one_within(held))
        whole.born = self.steps
        return whole

    def eval_joined_string(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if type(part) is ast.FormattedValue and not only_tells(part):
                self.eval(part.value)
        return UNKNOWN

    def eval_lambda(self, node: ast.Lambda) -> Value:
        self.frames.append(self.frame)
        scope = self.scope_within(node) if type(self.frame.env) is Inner else self.frame
        return Function(node, scope, defaults=self.defaults_of(node.args))

    def eval_starred(self, node: ast.Starred) -> Value:
        self.eval(node.value)
        return UNKNOWN

    def eval_await(self, node: ast.Await) -> Value:
        value = self.eval(node.value)
        return Opaque(None, value.parts) if isinstance(value, Opaque) else UNKNOWN

    def eval_yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        self.frame.facts.is_generator = True
        if node.value is not None:
            value = self.eval(node.value)
            if isinstance(node, ast.Yield):
                if isinstance(node.value, (ast.Dict, ast.DictComp)):
                    one, value = value, made_anew(value, 0)
                    aliases.tie(value, one)
                self.frame.returns.append(value)
            else:
                self.frame.returns.append(self.any_item(self.iterate(value)))
        return UNKNOWN

    # -- attributes ----------------------------------------------------------------------------------------------

    def eval_attribute(self, node: ast.Attribute) -> Value:
        return self.attribute_of(self.eval(node.value), node.attr, node)

    def attribute_of(self, value: Value, name: str, node: ast.AST | None) -> Value:
        if type(value) is Library:
            return self.library_attribute(value.path, name)
        if type(value) is Instance:
            found = self.instance_attribute(value, name, node)
            if value.generic and value.parts:
                found = one_of_class.attribute(self, value, name, found)
            return contained(found) if type(found) is Sequence else found
        if type(value) is Tensor:
            return self.tensor_attribute(value, name, node)
        if type(value) is Opaque:
            if name in _TOLD_APART:
                return self.of_frames() if name in _OF_FRAMES else Attribute(value, name)
            if name == "shape" and value.kind is None and (value.fields is None or "shape" not in value.fields):
                return self.shape_of(value)
            return self.opaque_field(value, name)
        if value is UNKNOWN:
            if name in _TOLD_APART:
                return self.of_frames() if name in _OF_FRAMES else Attribute(value, name)
            return UNKNOWN
        if type(value) is LibraryObject:
            if name in value.fields:
                if isinstance(stored := value.fields[name], Tensor) and modules.known(value.path):
                    held(self, stored)
                return stored
            if modules.known(value.path):
                if name in changed_anywhere(self) or (CHANGED in value.fields and name in ("weight", "bias")):
                    return UNKNOWN
                found = modules.module_attribute(value, name)
                if found is UNKNOWN and name in HELD_AS:
                    change_unseen(self, value)
                if found is UNKNOWN and name in ("__dict__", "_modules"):
                    if name == "__dict__":
                        self.touch_all(value)
                    return Opaque(None, parts=(value,))  # what is put into it is in the module
                if found is UNKNOWN and value.path in KEYED:
                    found = module_containers.named_member(self, value, name)
                if found is UNKNOWN and value.path in CONTAINERS and name not in _OF_MODULES:
                    found = module_containers.perhaps_member(self, value)
                if found is not UNKNOWN:
                    return of_weight(self, value, found) if isinstance(found, Tensor) else found
            elif value.path in data_loading.DATA_LOADERS:
                part = data_loading.attribute(value, name)
                if part is not None:
                    return part
            elif probability.is_distribution(value.path):
                part = probability.attribute(self, value, name)
                if part is not None:
                    return part
            elif table_values.is_table(value):
                part = tables.attribute(self, value, name, node)
                if part is not None:
                    return part
            elif estimators.is_known(value.path):
                part = estimators.attribute(self, value, name, node)
                if part is not None:
                    return part
            if name == "__dict__":
                self.touch_all(value)
            return Attribute(value, name)
        if type(value) is Class:
            return self.class_attribute(value, name)
        if type(value) is ModuleScope:
            return self.module_attribute(value, name)
        if type(value) is Sequence and name in _RESULT_FIELDS:
            field = named_result(value, name)
            if field is not None:
                return field
        if isinstance(value, Partial) and name == "func":
            return value.function
        if isinstance(value, Partial) and name == "args":
            return Sequence("tuple", list(value.positional))
        if isinstance(value, (Sequence, Dictionary, Const, Partial, Function)):
            if name.startswith("__") or name == "keywords":
                given = self.parts_asked_for(value, name)
                self.asked_for_parts(value, name)
                if given is not None:
                    return given
            if isinstance(value, Function) and name == "__self__" and value.receiver is not None:
                return value.receiver
            if isinstance(value, Function) and value.held:
                return one_within([value])
            return Attribute(value, name)
        return self.of_frames() if name in _OF_FRAMES else UNKNOWN

    def parts_asked_for(self, value: Value, name: str) -> Value | None:
        """What `f.__defaults__` holds, `f.__closure__`, `partial.keywords`."""
        if isinstance(value, Partial) and name in ("keywords", "__dict__"):
            return one_within(value.keywords.values())
        if isinstance(value, Function):
            if name in ("__defaults__", "__kwdefaults__"):
                return one_within(value.defaults.values())
            if name == "__dict__":
                return one_within(value.held)
            if name in ("__closure__", "__globals__"):
                held: list[Value] = []
                scope: Frame | None = value.scope
                while scope is not None:
                    if (scope.parent is None) is (name == "__globals__"):
                        held += scope.env.values()
                    scope = scope.parent
                return one_within(held)
        return None

    def of_frames(self) -> Value:
        """What names of running functions stand for, by a frame of which nobody knows whose it is."""
        return one_within([held for frame in self.frames_seen()[0] for held in frame.env.values()])

    def asked_for_parts(self, value: Value, name: str) -> None:
        """What `f.__kwdefaults__` and `partial.keywords` give can be changed, by whatever name it is then called."""
        if isinstance(value, Function) and name in _CHANGEABLE:
            value.decorated = True
            shown = None if value.owner is None else value.owner.own(getattr(value.node, "name", ""))
            if isinstance(shown, Function):
                shown.decorated = True
            self.mutations.append((value, name))
        elif isinstance(value, Partial) and name in ("keywords", "__setstate__", "__dict__"):
            value.function, value.positional, value.keywords = UNKNOWN, (), {}
            self.mutations.append((value, name))

    def opaque_field(self, value: Opaque, name: object) -> Value:
        if name in self.file.facts.unstable_attributes:
            either = aliases.perhaps(value.fields.get(name) if value.fields else None)
            either.parts += value.parts
            return either
        fields = value.fields
        if fields is None:
            fields = value.fields = {}
        found = fields.get(name)
        if self.rebound is not NOTHING and (
            name in self.rebound.attributes
            or (
                found is not None
                and not isinstance(found, Opaque)
                and (self.rebound.everything or self.rebound.part(found, None))
            )
        ):
            return Opaque(None, value.parts)
        if found is None:
            if value.name is None:
                text = None
            elif isinstance(name, str) and not isinstance(name, ItemKey):
                text = f"{value.name}.{name}"
            else:
                text = f"{value.name}[{name!s}]"
            kind = value.kind if value.kind == PLAIN else None
            found = fields[name] = Opaque(text, value.parts, kind)
            found.scope, found.variant = value.scope, value.variant
            if value.numbers and isinstance(name, str) and name in value.numbers:
                found.kind, found.told = PLAIN, value.numbers[name]
            if value.lengths and isinstance(name, ItemKey):
                tell_item(found, value)
            if value.since and is_setting(value.scope, name, self.file.text):
                found.since = value.since
        return found

    def listed_as_told(self, value: Value) -> Value:
        """The tuple or list of numbers that an annotation says the object is, else the object itself."""
        if type(value) is not Opaque or not value.lengths or (value.optional and value not in self.frame.there):
            return value
        length = value.lengths[0]
        if length is not None:
            if length > _MOST_TOLD:
                return value
            return Sequence("tuple", [self.opaque_field(value, ItemKey(repr(at))) for at in range(length)])
        item = Opaque(None, kind=PLAIN, variant=True)
        tell_item(item, value)
        if value.fields is None:
            value.fields = {}
        counted = value.fields.get(LENGTH)
        if counted is None:
            if value.axes is None:
                value.axes = {0: S.of_symbol(S.Symbol(None, plural=True))}  # it may be empty, and then has no type
            counted = value.fields[LENGTH] = self.axis_size(value, 0)
        return Sequence("list", None, item, size_of(counted))

    def index_as_told(self, value: Value) -> Value:
        """Between others in an index a tuple of numbers is what a list is."""
        listed = self.listed_as_told(value)
        if listed is value or not isinstance(listed, Sequence):
            return value
        return Sequence("list", listed.items, listed.element, listed.length)

    def tensor_attribute(self, value: Tensor, name: str, node: ast.AST | None) -> Value:
        if name == "shape":
            return self.shape_of(value)
        if name == "ndim":
            return UNKNOWN if value.shape is None else Const(len(value.shape))
        if name == "size" and value.framework == "numpy":
            return UNKNOWN if value.shape is None else number(S.product(value.shape))
        if name == "dtype":
            return Library(f"{value.framework}.{value.dtype}") if value.dtype and value.framework else UNKNOWN
        if name == "device" and value.device is not None:
            return Const(value.device)
        if name in ("device", "requires_grad", "grad_fn", "is_cuda", "itemsize", "nbytes", "layout", "names"):
            return UNKNOWN
        if name == "__class__":
            return UNKNOWN
        entry = ops.attribute(value.framework, name) if value.framework else None
        if entry is None and value.framework is None and name in ("T", "mT"):
            turned = self.apply(ops.attribute("torch", name), [value], {}, node)
            if isinstance(turned, Tensor) and turned.framework is not None:
                return copy(turned, framework=None, strides=None, axes=turned.axes, kin=turned.kin)  # or an array
            return turned
        if entry is not None:
            return self.apply(entry, [value], {}, node)
        return Attribute(value, name)

    def shape_of(self, value: Tensor | Opaque) -> Value:
        if isinstance(value, Tensor) and value.shape is not None:
            return Sequence("tuple", [number(size) for size in value.shape])
        return Sequence("tuple", None, UNKNOWN, None, shape_of=value, kin=value.kin)

    def axis_size(self, value: Value, axis: int, as_torchs: bool = False) -> Value:
        """The size of one axis; of a tensor whose rank is not known, one size for each axis that is asked for. `as_torchs`
        says that it is asked for by `x.size(0)`: an array's `size` is a number."""
        if isinstance(value, Tensor) and value.shape is not None:
            return number(value.shape[axis]) if -len(value.shape) <= axis < len(value.shape) else UNKNOWN
        if isinstance(value, (Tensor, Opaque)):
            self.demand(value, ranks.at_least(min(axis + 1 if axis >= 0 else -axis, ranks.MOST)), beside=as_torchs)
            if as_torchs:
                self.note_torchs(value)
            if value.axes is None:
                value.axes = {}
            size = value.axes.get(axis)
            if size is None:
                size = value.axes[axis] = S.symbol()
                if any(place is None or place[3] is not ALWAYS for place in self.places[1:]):
                    self.asked_perhaps |= S.symbols(size)
            return number(size)
        return UNKNOWN

    # -- subscripts ----------------------------------------------------------------------------------------------

    def eval_slice(self, node: ast.Slice) -> Value:
        return Slice(
            NONE if node.lower is None else self.eval(node.lower),
            NONE if node.upper is None else self.eval(node.upper),
            NONE if node.step is None else self.eval(node.step),
        )

    def eval_subscript(self, node: ast.Subscript) -> Value:
        held = node.value
        if type(held) is ast.Attribute and held.attr in _PARTS and type(node.slice) is ast.Constant:
            owner = self.eval(held.value)
            if type(owner) is Instance and container_of(owner) is None:
                return self.attribute_of(owner, str(node.slice.value), node)  # `self._modules["layer"]`
            value = self.attribute_of(owner, held.attr, held)
        else:
            value = self.eval(held)
        index = self.eval(node.slice)
        found = self.item(value, index, node)
        if type(held) is ast.Attribute and (found is UNKNOWN or type(found) is Opaque):
            return memoized.item(self, held) or found
        return found

    def item(self, value: Value, index: Value, node: ast.AST) -> Value:
        if value is UNKNOWN:
            return UNKNOWN
        if type(value) is Tensor:
            if type(index) is Sequence and index.kind == "tuple" and index.items is not None:
                if any(type(each) is Opaque and each.lengths for each in index.items):
                    index = Sequence("tuple", [self.index_as_told(each) for each in index.items])
            found = self.with_outer(indexing.getitem(self.call_context("indexing", node), value, index))
            if value.shape is not None:
                return found
            if (
                isinstance(found, Tensor)
                and found.shape is None
                and found.axes is None
                and (value.axes or known_axes.may_choose(index) or known_axes.adds_axis(index))
            ):
                found.axes = known_axes.indexed(known_axes.of(value), index) or None
            if value.kin is None:
                return found
            if isinstance(index, Tensor) and index.dtype == "bool" and index.kin == value.kin:
                return copy(found, shape=(S.counter(),)) if isinstance(found, Tensor) else found  # `x[x > 0]`
            self.demand(value, ranks.of_index(index))
            change = ranks.change_of_index(index)
            return found if change is None else self.keep_rank(found, value, change)
        if type(value) is Sequence:
            return self.sequence_item(value, index)
        if type(value) is Dictionary:
            if isinstance(index, Const) and value.items is not None:
                try:
                    return value.items.get(index.value, UNKNOWN)
                except TypeError:
                    return UNKNOWN
            if value.items is None:
                return any_of(value.element)
            if (one := self.one_value(value)) is not UNKNOWN:
                return one
            parts = tuple(
                each
                for each in value.items.values()
                if isinstance(each, (Instance, Dictionary, LibraryObject, Function))
                or (isinstance(each, Sequence) and each.kind in ("list", "deque"))
            )
            found = Opaque(None, parts)
            found.array = any(map(may_be_array, value.items.values()))
            return found if parts or found.array else UNKNOWN
        if type(value) is Opaque:
            if type(index) is Const and isinstance(index.value, (str, int)) and not isinstance(index.value, bool):
                return self.opaque_field(value, ItemKey(repr(index.value)))
            if value.lengths and type(index) is Slice and isinstance(listed := self.listed_as_told(value), Sequence):
                if listed.items is not None:
                    return self.sequence_item(listed, index)
            cut = Opaque(None, value.parts)
            cut.cut = value.cut
            if known_axes.may_choose(index) or known_axes.adds_axis(index):
                cut.axes = known_axes.indexed(known_axes.of(value), index) or None
                cut.cut = cut.cut or cut.axes is None
            if value.lengths and type(index) is Slice:
                cut.kind, cut.told = PLAIN, value.told
                cut.lengths = (None, *value.lengths[1:])
            return cut
        if isinstance(value, LibraryObject):
            members = self.members(value)
            if members is not None:
                if value.path == "torch.nn.Sequential" and isinstance(index, Slice):
                    part = self.sequence_item(members, index)
                    if isinstance(part, Sequence) and part.items is not None:
                        return LibraryObject(value.path, {}, tuple(part.items))
                    return one_within([value])  # its modules are this one's
                if isinstance(members, Dictionary):
                    return self.item(members, index, node)
                return self.sequence_item(members, index)
            if value.path == "numpy.dtype":  # the type of a field, which may have axes
                return LibraryObject(value.path, positional=(Sequence("tuple"),))
            if table_groups.is_grouped(value):
                return table_groups.item(value, index, node)
            if value.path == "sklearn.Pipeline":
                return estimators.item(value)
            return table_parts.item(self, value, index, node) if value.path.startswith("pandas") else UNKNOWN
        if isinstance(value, Instance):
            fields = self.fields_of_tuple(value)
            if fields is not None:
                return self.item(fields, index, node)
            found = self.call_method(value, "__getitem__", [index], {}, node)
            # A member of a class of containers, which what was put into the object may be.
            return one_within([value]) if found is UNKNOWN and value.cls.is_module else found
        if isinstance(value, Class) and value.is_module and not _has_metaclass(value):
            # A generic module with its type: `Head[Tensor](64)`.
            return value if self.find_in_class(value, "__class_getitem__") is None else UNKNOWN
        if isinstance(value, Class) and isinstance(method := self.find_in_class(value, "__class_getitem__"), Function):
            return self.unseen_result(method, [index], {})
        if isinstance(value, Library):
            if value.path in index_tricks.KNOWN:
                return index_tricks.get(self, value.path, index, node)
            return value if value.path.startswith(("typing.", "jaxtyping.", "builtins.")) else UNKNOWN
        return UNKNOWN

    def one_value(self, value: Dictionary) -> Value:
        """One of the layers, classes of layers or tensors of a dictionary, by a key that nobody knows."""
        values = list((value.items or {}).values())
        if not values or len(values) > _MOST_VALUES:
            return UNKNOWN
        result = values[0]
        for each in values[1:]:
            result = aliases.joined(result, each)
        if isinstance(result, LibraryObject):
            return result if result.path.startswith("torch.nn.") else UNKNOWN
        several = isinstance(result, Opaque) and result.kind in _ONE_OF_SEVERAL
        return result if several or isinstance(result, (Tensor, Library)) else UNKNOWN

    def sequence_item(self, value: Sequence, index: Value) -> Value:
        if value.shape_of is not None:
            axis = integer(index)
            if axis is not None:
                return self.axis_size(value.shape_of, axis)
            return end_of_shape(self, value, index) or part_of_shape(value, index)
        if isinstance(index, Slice) and value.kin is not None:
            return part_of_shape(value, index)
        if isinstance(index, Const) and isinstance(index.value, int):
            item = item_at(value, int(index.value))
            if value.items is None:
                aliases.tie(item, value.element)
            return item
        if isinstance(index, Slice) and value.items is not None:
            bounds = [
                None if part is NONE or (isinstance(part, Const) and part.value is None) else integer(part)
                for part in (index.start, index.stop, index.step)
            ]
            known = [
                bound is not None or (isinstance(part, Const) and part.value is None)
                for bound, part in zip(bounds, (index.start, index.stop, index.step), strict=True)
            ]
            if all(known) and bounds[2] != 0:
                return Sequence(value.kind, value.items[slice(*bounds)])
            return Sequence(value.kind, None, one_within(value.items))
        if isinstance(index, Slice):
            length = None if value.length is None else indexing.slice_length(value.length, index)[0]
            return Sequence(value.kind, None, value.element, length)
        if value.items is not None and value.items and value.kind != "set":
            result = share(value.items[0])
            for item in value.items[1:]:
                result = aliases.joined(result, share(item))
            return result
        item = any_of(value.element)
        aliases.tie(item, value.element)
        return item


def part_of_shape(shape: Sequence, index: Value) -> Value:
    """`x.shape[:-1]` where nobody knows how many axes x has: one less."""
    if not isinstance(index, Slice) or shape.kin is None:
        return UNKNOWN
    start, stop = (0 if is_none(part) else integer(part) for part in (index.start, index.stop))
    if start is None or stop is None or start < 0 or stop > 0 or not is_none(index.step):
        return UNKNOWN
    if stop == 0 and not is_none(index.stop):
        return UNKNOWN
    return Sequence("tuple", None, UNKNOWN, None, kin=moved(shape.kin, stop - start))


@dataclass(slots=True, eq=False, repr=False)
class EndOfShape:
    """The first or the last few sizes of a shape of nobody knows how many, which may be fewer."""

    interpreter: State
    of: Tensor | Opaque
    axes: range

    def listed(self, count: int) -> list[Value] | None:
        """The sizes, where the program relies on there being as many as were asked for."""
        if count != len(self.axes) or id(self.of) in self.interpreter.reshaped:
            return None
        return [self.interpreter.axis_size(self.of, axis) for axis in self.axes]

    def first(self) -> Value | None:
        return self.interpreter.axis_size(self.of, 0) if self.axes.start == 0 else None


def end_of_shape(interpreter: State, shape: Sequence, index: Value) -> Sequence | None:
    """`x.shape[:2]` and `x.shape[-2:]` where nobody knows how many axes x has."""
    if not isinstance(index, Slice) or not is_none(index.step) or not isinstance(shape.shape_of, (Tensor, Opaque)):
        return None
    start, stop = (0 if is_none(part) else integer(part) for part in (index.start, index.stop))
    if start == 0 and stop is not None and 0 < stop <= _MOST_TOLD:
        axes = range(stop)
    elif is_none(index.stop) and start is not None and -_MOST_TOLD <= start < 0:
        axes = range(start, 0)
    else:
        return None
    return Sequence("tuple", pieces=EndOfShape(interpreter, shape.shape_of, axes))


class ItemKey(str):
    """The key of an opaque object's item, told apart from an attribute of the same spelling."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemKey) and str.__eq__(self, other)

    __hash__ = str.__hash__


def named_result(value: Sequence, name: str) -> Value | None:
    """`x.max(1).values`: a field of the tuple that a function of torch or numpy returned."""
    at = _RESULT_FIELDS[name]
    if value.kind != "tuple" or value.items is None or len(value.items) <= at:
        return None
    found = value.items[at]
    return found if isinstance(found, Tensor) else None


def _has_metaclass(cls: Class, depth: int = 0) -> bool:
    """Whether the class or a base of it is given keywords: a metaclass decides what indexing the class means."""
    if getattr(cls.node, "keywords", ()) or depth > 20:
        return True
    return any(isinstance(base, Class) and _has_metaclass(base, depth + 1) for base in cls.bases)
