"""Layers that a program changes after it made them: other weights, other members, hooks that replace what they give."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Any

from tensorlint.inference import aliases
from tensorlint.inference import sizes as S
from tensorlint.inference.class_order import method_order
from tensorlint.inference.contents import forgotten_members, is_forgotten, items_of, parts_of, reached_by
from tensorlint.inference.distant_changes import DATA, MEMBERS, OF_MEMBERS, REPLACED, SHOWN, may_convert
from tensorlint.inference.ops import dtypes, modules
from tensorlint.inference.values import (
    BASE,
    CONTAINERS,
    UNKNOWN,
    Attribute,
    Class,
    Const,
    Dictionary,
    Instance,
    Library,
    LibraryObject,
    Opaque,
    Partial,
    Sequence,
    Tensor,
    Value,
    are_seen,
    copy,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State


# Methods of a module that give the module itself.
SELF_METHODS = frozenset([
    "to", "cuda", "cpu", "xpu", "eval", "train", "half", "float", "double", "bfloat16", "type", "requires_grad_", "apply",
    "share_memory", "to_empty",
])  # fmt: skip


# Methods of a module that give what is in it.
PARTS = frozenset({"modules", "named_modules", "children", "named_children", "get_submodule"})
_MOST_SEEN = 200
# By way of these a container is reached.
_LEADING = frozenset({Instance, LibraryObject, Sequence, Dictionary, Opaque, Class, Partial, Attribute})


def forget_shown(interp: State, receiver: LibraryObject) -> None:
    """The layer has changed: what is known of what may be this layer is not known any more."""
    waiting, seen = [*receiver.shown], {id(receiver)}
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            waiting += each.shown
            _forget_layer(interp, each)


def modules_in(container: LibraryObject) -> list[Value]:
    """The modules in the container, as far as they are known."""
    found: list[Value] = []
    for value in (*container.positional, *container.arguments.values(), *container.fields.values()):
        found += items_of(value) if isinstance(value, (Sequence, Dictionary)) else [value]
    return [each for each in found if type(each) in (Instance, LibraryObject, Opaque)]


def show(either: LibraryObject) -> None:
    """What is assigned to a layer that is one of these is known until one of them changes."""
    for layer in either.parts:
        if isinstance(layer, LibraryObject) and not any(each is either for each in layer.shown):
            layer.shown = (*layer.shown, either)


def change_unseen(interp: State, receiver: LibraryObject) -> None:
    """Anything in the module may have changed: what calling it gives is not known any more."""
    _forget_layer(interp, receiver)
    forget_shown(interp, receiver)


def _forget_layer(interp: State, receiver: LibraryObject) -> None:
    fields = receiver.fields
    known = CHANGED not in fields  # or it was forgotten before, as many times where many may be in hand
    for name in fields:
        if name.isidentifier() and name != "members" and fields[name] is not UNKNOWN:
            fields[name] = UNKNOWN
            known = True
    fields[CHANGED] = UNKNOWN
    if receiver.path in CONTAINERS:
        members = fields.get("members")
        if known or not (isinstance(members, (Sequence, Dictionary)) and is_forgotten(members)):
            fields["members"] = forgotten_members(receiver)
    interp.mutations.append((receiver, CHANGED))


def change_attribute_unseen(interp: State, receiver: LibraryObject, name: str) -> None:
    """Another attribute of that name may have been set: of a container it may be a member."""
    if name in _CHANGE_ALL:
        change_unseen(interp, receiver)
        return
    receiver.fields[name] = UNKNOWN
    interp.mutations.append((receiver, name))
    forget_shown(interp, receiver)
    if receiver.path in CONTAINERS:
        receiver.fields["members"] = forgotten_members(receiver)
        receiver.fields.pop(EACH, None)
        interp.mutations.append((receiver, "members"))


def change_attributes_unseen(interp: State, receiver: LibraryObject, names: Set[str]) -> None:
    """Likewise of several names, for one that may be asked again and again."""
    if not names.isdisjoint(_CHANGE_ALL):
        change_unseen(interp, receiver)
        return
    known = [name for name in names if receiver.fields.get(name) is not UNKNOWN]
    for name in known[1:]:
        receiver.fields[name] = UNKNOWN
        interp.mutations.append((receiver, name))
    if known:
        change_attribute_unseen(interp, receiver, known[0])
    elif receiver.path in CONTAINERS and names:
        members = receiver.fields.get("members")
        if not (isinstance(members, (Sequence, Dictionary)) and is_forgotten(members)):
            change_attribute_unseen(interp, receiver, next(iter(names)))


# Of a parameter that nobody told from the layer, for one.
_CHANGE_ALL = frozenset({"__class__", "data"})


def is_container_class(cls: Class) -> bool:
    """Whether the class derives from one of torch's containers of layers."""
    return cls.is_module and any(isinstance(base, Library) and base.path in CONTAINERS for base in method_order(cls))


def container_of(value: Value) -> LibraryObject | None:
    """The container of layers that the value is, or that an object of a class which derives from one is."""
    if isinstance(value, Instance):
        base = value.fields.get(BASE) if is_container_class(value.cls) else None
        value = base if base is not None else value
    return value if isinstance(value, LibraryObject) and value.path in CONTAINERS else None


def forget_assigned(interp: State, values: Iterable[Value], names: Set[str]) -> None:
    """Code that is not followed has these in hand, and assigns such attributes: to layers that they hold, it may be, to which
    the program has assigned them before."""
    waiting, seen = [each for each in values if type(each) in _LEADING], set[int]()
    for each in waiting:  # grows meanwhile
        if id(each) in seen:
            continue
        seen.add(id(each))
        held: Iterable[Value]
        if isinstance(each, Instance):
            holds = each.held if each.waiting is None else each.waiting.bound
            held = () if each.generic else (*holds.values(), *each.given)
        elif isinstance(each, LibraryObject):
            held = (*each.positional, *each.fields.values(), *each.shown)
            for name in names & each.fields.keys() if each.path.startswith("torch.nn.") else ():
                if each.fields[name] is not UNKNOWN:
                    each.fields[name] = UNKNOWN
                    interp.mutations.append((each, name))
        elif isinstance(each, (Sequence, Dictionary)):
            held = items_of(each)
        else:
            held = () if isinstance(each, Opaque) else reached_by(each)
        waiting += [one for one in (*held, *parts_of(each)) if type(one) in _LEADING]
        if len(seen) > _MOST_SEEN:
            break


def forget_members(interp: State, values: Iterable[Value]) -> int:
    """Code that is not followed has these in hand, and puts something somewhere: any container that they hold may have other
    members now, and one whose object's initialiser waits will have. Gives how many values were looked at."""
    waiting: list[Any] = []
    seen: set[int] = set()
    held: Iterable[Value] = values
    looked_at = -1
    while True:
        looked_at += 1
        for one in held:
            if (key := id(one)) not in seen:
                seen.add(key)
                if type(one) in _LEADING:
                    waiting.append(one)
        if not waiting:
            return looked_at
        each = waiting.pop()
        kind = type(each)
        held = parts = parts_of(each)
        if parts and are_seen(parts, seen):
            held = ()
        if kind is Instance:
            if each.waiting is not None:
                each.waiting.forgotten |= {MEMBERS}
            elif not each.generic:
                held = (*held, *each.held.values())
        elif kind is LibraryObject:
            held = (*held, *each.positional, *each.fields.values())
            if each.path in CONTAINERS:
                change_unseen(interp, each)
        elif kind is Sequence or kind is Dictionary:
            held = (*held, *items_of(each))
        elif kind is not Opaque:
            held = (*held, *reached_by(each))


def keeps_result(interp: State, receiver: LibraryObject, name: str, value: Value) -> bool:
    """Whether a parameter that is assigned to a layer has the shape of the one before, as tied weights have. In another
    layout it leaves none of a parameter known."""
    if name not in ("weight", "bias") or not modules.known(receiver.path):
        return False
    before = modules.module_attribute(receiver, name)
    if not isinstance(before, Tensor) or not isinstance(value, Tensor) or before.shape is None:
        return False
    if before.shape != value.shape or before.dtype != value.dtype:
        return False
    if before.strides != value.strides:
        for file in (interp.file, interp.own_file):
            file.parameter_layouts = False
            file.module_layouts = file.module_layouts and value.rank not in (4, 5)
    return True


_KEEPS_SIZES = re.compile(r"Norm|PReLU")


def after_assignment(receiver: LibraryObject, result: Value) -> Value:
    """What the layer gives now that another weight was assigned to it: as many axes, of sizes nobody knows."""
    if ("weight" in receiver.fields or "bias" in receiver.fields) and isinstance(result, Tensor):
        if _KEEPS_SIZES.search(receiver.path):
            return result
        if result.shape is None:
            return copy(result, dtype=None, kin=result.kin)
        shape = result.shape
        if receiver.path in ("torch.nn.Linear", "torch.nn.Embedding") and shape:
            return copy(result, shape=(*shape[:-1], S.symbol()), strides=None, dtype=None)
        return copy(result, shape=tuple(S.symbol() for _ in shape), strides=None, dtype=None)
    return result


def changed_anywhere(interp: State) -> set[str]:
    """What code changes of layers that it reaches in ways nobody follows: that of the file whose lines are followed, which may
    be another's class, and of the one that is analysed."""
    file, own = interp.file.facts.distant.anywhere, interp.own_file.facts.distant.anywhere
    return file if file is own else file | own


def held(interp: State, tensor: Tensor) -> Tensor:
    """A parameter or buffer as the program finds it, whose module may have been converted or moved since it was made."""
    file = interp.file
    tensor.device = None
    if DATA in changed_anywhere(interp):
        tensor.shape = tensor.strides = tensor.axes = None
    if not file.module_dtypes or (tensor.dtype in _NARROWED and ".float(" in file.text):
        tensor.dtype = None
    if not file.parameter_layouts or (not file.module_layouts and tensor.rank in (4, 5)):
        tensor.strides = None
    return tensor


# What `.float()` changes of parameters and buffers, should they come from arrays.
_NARROWED = frozenset({"float16", "bfloat16", "float64"})


def note_conversion(interp: State, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> None:
    """`model.to(...)`: from here on no dtype of a module is known, unless it only went to a device."""
    for value in (*args, *kwargs.values()):
        dtype = value.dtype if isinstance(value, Tensor) else dtypes.named(value, "torch")
        if dtype == "float32" or (isinstance(value, Const) and dtype is None):
            continue
        if dtype is not None or not isinstance(node, ast.Call) or may_convert(node):
            interp.file.module_dtypes = interp.own_file.module_dtypes = False


def changed_elsewhere(interp: State, receiver: LibraryObject) -> Value:
    """The layer as a call of it meets it, should any layer of the file have other settings: UNKNOWN if that may be."""
    settings = changed_anywhere(interp)
    if receiver.path in CONTAINERS:
        return UNKNOWN if MEMBERS in settings or settings & REPLACED else receiver
    return _with_settings(receiver, settings)


def set_elsewhere(interp: State, name: str, generic: bool = True) -> set[str]:
    """What other code than the class's gave other values, of what objects of the class hold under that name."""
    settings = interp.file.facts.distant.settings(name, generic)
    if interp.file is not interp.own_file:
        settings = settings | interp.own_file.facts.distant.settings(name, generic)
    return settings


def are_changed_elsewhere(interp: State, name: str, layers: Sequence | Dictionary) -> bool:
    """Whether other code than the class's gave settings to layers that stand in the list which an attribute holds."""
    settings = set_elsewhere(interp, name, False) - OF_MEMBERS
    return bool(settings) and any(isinstance(each, LibraryObject) for each in items_of(layers))


def held_elsewhere(interp: State, name: str, layer: LibraryObject | Instance | Tensor, generic: bool) -> Value:
    """The layer or tensor that an attribute of a module holds, with the settings that other code than the class's gave it."""
    settings = set_elsewhere(interp, name, generic)
    if isinstance(layer, Tensor):
        if "shape" not in settings:
            return layer
        either = Tensor(layer.framework, marks=layer.marks & {"optional"})  # it may be None still
        aliases.tie(either, layer)
        return either
    if isinstance(layer, Instance):
        changed = settings & REPLACED or (MEMBERS in settings and container_of(layer) is not None)
        return Opaque(None, (layer,)) if changed else layer
    if layer.path in CONTAINERS:
        return Opaque(None, (layer,)) if settings else layer
    found = _with_settings(layer, settings)
    return Opaque(None, (layer,)) if found is UNKNOWN else found


def _with_settings(layer: LibraryObject, settings: set[str]) -> Value:
    changed = settings & modules.settings(layer.path)
    if DATA in settings and "weight" in modules.settings(layer.path):
        changed.add("weight")
    if not changed <= {"weight"}:
        return UNKNOWN
    changed |= settings & SHOWN
    if not changed:
        return layer
    fields = {**layer.fields, **dict.fromkeys(changed, UNKNOWN)}
    # What is assigned to it is assigned to the layer itself.
    return LibraryObject(layer.path, layer.arguments, layer.positional, fields, layer.made, parts=(layer,))


# Methods by which a model of torchvision or timm gets another head.
HEAD_METHODS = frozenset(
    {"reset_classifier", "add_module", "register_module", "set_submodule", "set_distilled_training"}
)
# A field that no program can set: calling the module may give anything.
CHANGED = "<changed>"
# The field of a Sequential of which nobody knows how many modules it holds: a module that is as each of them is.
EACH = "<each>"
