"""`nn.Sequential`, `nn.ModuleList`, `nn.ModuleDict`: the modules they hold."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from tensorlint.inference import aliases, built_containers
from tensorlint.inference import sizes as S
from tensorlint.inference.containers import call_method
from tensorlint.inference.contents import forgotten_members
from tensorlint.inference.distant_changes import MEMBERS
from tensorlint.inference.joins import join, join_all
from tensorlint.inference.layer_changes import EACH, changed_anywhere, forget_shown, held
from tensorlint.inference.ops import modules
from tensorlint.inference.rebinding import NOTHING
from tensorlint.inference.values import (
    CONTAINERS,
    KEYED,
    NONE,
    PLAIN,
    SCALAR,
    UNKNOWN,
    Class,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Tensor,
    Value,
    integer,
    is_none,
)
from tensorlint.inference.variants import any_of, covers, freshen, varying

if TYPE_CHECKING:
    from tensorlint.inference.state import State


_GIVEN = ("modules", "args", "values", "parameters")
_OF_PARAMETERS = frozenset({"torch.nn.ParameterList", "torch.nn.ParameterDict"})
_NAMES = "<names>"  # a field that no program can set: what the members were called that were added by names
_NO_MODULES = (Const, Number, Scalar, Tensor, Sequence, Dictionary, Range, Function, Class)
_LISTS = frozenset({"items", "values", "keys", "children", "named_children"})
_CHANGES = frozenset(
    ["append", "extend", "insert", "update", "add_module", "pop", "popitem", "clear", "setdefault", "register_module", "set_submodule",
     "__setitem__", "__delitem__", "__iadd__", "__delattr__"])  # fmt: skip


def members_of(interp: State, value: LibraryObject) -> Sequence | Dictionary | None:
    """The modules in a container, in order; None if the object is no container."""
    if value.path not in CONTAINERS:
        return None
    if MEMBERS in changed_anywhere(interp):
        return forgotten_members(value)
    if "members" in value.fields:
        known = value.fields["members"]
        found = known if isinstance(known, (Sequence, Dictionary)) else forgotten_members(value)
    else:
        found = _made_with(interp, value)
    if _replaced_by_name(interp, value, found):
        return forgotten_members(value, found)
    return _parameters(interp, found) if value.path in _OF_PARAMETERS else found


def _replaced_by_name(interp: State, value: LibraryObject, members: Sequence | Dictionary) -> bool:
    """Whether some statement of the file may put another module in the place of one that the container holds, by its name:
    `model.stem.proj = nn.Conv2d(3, 8, 1)`, `setattr(model.blocks, "0", block)`."""
    files = (interp.file,) if interp.file is interp.own_file else (interp.file, interp.own_file)
    names: Collection[str] = ()
    for file in files:
        rebound = interp.rebound if file.own else file.rebound or NOTHING
        foreign = file.facts.foreign_members
        if not foreign and rebound is NOTHING:
            continue
        if not isinstance(value.fields.get(_NAMES, NONE), Const):
            return True  # it is one of two whose members have other names
        names = names or _names_of(value, members)
        if not foreign.isdisjoint(names) or (rebound is not NOTHING and names and rebound.member(names)):
            return True
    return False


def _names_of(value: LibraryObject, members: Sequence | Dictionary) -> Collection[str]:
    """What the modules are called that the container holds, as far as that is known: `"0"`, `"1"`, ... where nobody named them."""
    if isinstance(members, Dictionary):
        return [str(name) for name in members.items or ()]
    given = value.fields.get(_NAMES)
    if isinstance(given, Const):
        return frozenset(given.value)
    tables = [each for each in value.positional if isinstance(each, Dictionary)]
    if tables:
        return [str(name) for name in tables[0].items or ()]
    return [str(at) for at in range(len(members.items) if members.items is not None else 1)]


def _made_with(interp: State, value: LibraryObject) -> Sequence | Dictionary:
    given: list[Value] = list(value.positional)
    if not given:
        stored = next((value.arguments[key] for key in _GIVEN if key in value.arguments), None)
        if value.path == "torch.nn.Sequential" and isinstance(stored, Sequence):
            return stored
        if stored is not None and not isinstance(stored, list):  # a star's place that nothing was given for
            given = [stored]
    if value.path == "torch.nn.Sequential":
        if len(given) == 1 and isinstance(given[0], Dictionary):
            items = given[0].items
            return Sequence("list") if items is None else Sequence("list", list(items.values()))
        return Sequence("list", given) if given or value.made is None or _is_bare(value.made) else Sequence("list")
    if (not given and not value.arguments) or (given and is_none(given[0])):
        return Dictionary({}) if value.path in KEYED else Sequence("list", [])
    if value.path in KEYED:
        return given[0] if given and isinstance(given[0], Dictionary) else Dictionary(None)
    if given and isinstance(given[0], Sequence):
        return given[0]
    return Sequence("list") if not given else interp.iterate(given[0])


def _is_bare(node: ast.AST) -> bool:
    """`nn.Sequential()`, to which layers are added later, or `super().__init__()` in a subclass of it."""
    name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
    return name in ("Sequential", "__init__") and not node.args and not node.keywords  # type: ignore[attr-defined]


def _parameters(interp: State, members: Sequence | Dictionary) -> Sequence | Dictionary:
    """The tensors as the program finds them: their module may have been converted since."""

    def now(value: Value) -> Value:
        return held(interp, value) if isinstance(value, Tensor) else value

    if isinstance(members, Dictionary):
        entries = None if members.items is None else {key: now(each) for key, each in members.items.items()}
        return Dictionary(entries, now(members.element))
    items = None if members.items is None else [now(each) for each in members.items]
    return Sequence(members.kind, items, now(members.element), members.length)


def hold_stars(made: LibraryObject, starred: Sequence | None, unsure: tuple[list[Value], dict[str, Value]]) -> None:
    """What `nn.Sequential(*blocks)` holds, for when it is called: loops that go through it would be followed at length."""
    args, kwargs = unsure
    if made.path == "torch.nn.Sequential" and starred is not None and starred.element is not UNKNOWN and not kwargs:
        made.fields[EACH] = _any_of([*args[:-1], starred.element]) if len(args) > 1 else starred.element


def repeated(interp: State, value: LibraryObject, given: Value, node: ast.AST | None) -> Value:
    """What any number of like modules give, one after the other: what is true of the tensor before and behind each."""
    each = value.fields.get(EACH, UNKNOWN)
    if each is UNKNOWN or not isinstance(given, Tensor) or given.shape is None or aliases.TIES.on:
        return UNKNOWN
    if value.made in interp.tells_nothing or MEMBERS in changed_anywhere(interp):
        return UNKNOWN
    if _replaced_by_name(interp, value, Sequence("list")):
        return UNKNOWN
    log, start = len(interp.mutations), S.symbol_serial()
    found: Value = given
    for _ in range(2):
        free = S.symbol_serial()
        entry = found if found is given else freshen(varying(found, start))
        found = join(entry, interp.call(any_of(each), [entry], {}, node))
        if not isinstance(found, Tensor) or found.shape is None:
            break
        if found.shape == given.shape or covers(entry, found, free):
            interp.forget_since(log)
            return Tensor("torch", found.shape, None, found.dtype, found.device, node)
    interp.forget_since(log)  # how often each of them is called, nobody knows
    if value.made is not None:
        interp.tells_nothing.add(value.made)
    return UNKNOWN


def listed(interp: State, receiver: LibraryObject, name: str, args: list[Value]) -> Value | None:
    """`heads.items()`, `layers.children()`: the members one after the other; None if the method gives no such thing."""
    if name not in _LISTS or args or (members := members_of(interp, receiver)) is None:
        return None
    if isinstance(members, Dictionary) and not name.endswith("children"):
        return call_method(interp, members, name, [], {})
    if receiver.path in _OF_PARAMETERS or not name.endswith("children"):
        return None
    # A module that is there twice is given once.
    values = list(members.items.values()) if isinstance(members.items, dict) else members.items
    child = members.element if values is None else _any_of(values) if values else UNKNOWN
    return Sequence("iterator", None, child if name == "children" else Sequence("tuple", [UNKNOWN, child]))


def named_member(interp: State, value: LibraryObject, name: str) -> Value:
    """`self.transformer.wte`: what a ModuleDict holds is an attribute of it too."""
    members = members_of(interp, value)
    if isinstance(members, Dictionary) and members.items is not None:
        return members.items.get(name, UNKNOWN)
    return UNKNOWN


def perhaps_member(interp: State, value: LibraryObject) -> Value:
    """What an attribute of a container gives that is one of its members, of which nobody knows any more which they are."""
    members = members_of(interp, value)
    return UNKNOWN if members is None or members.items is not None else any_of(members.element)


def _any_of(values: list[Value]) -> Value:
    found = join_all(values)
    aliases.tie(found, *values)
    return found


def set_member(interp: State, receiver: LibraryObject, key: Value, module: Value) -> None:
    """`layers["out"] = nn.Linear(4, 2)`."""
    if receiver.parts:
        interp.touch(receiver, None)
    members = members_of(interp, receiver)
    changed = forgotten_members(receiver, module)
    if isinstance(members, Dictionary):
        if members.items is not None and isinstance(key, Const) and not _perhaps(interp, receiver):
            changed = Dictionary({**members.items, key.value: module})
        else:
            before = [members.element] if members.items is None else list(members.items.values())
            changed = Dictionary(None, _any_of([*before, module]))
    elif isinstance(members, Sequence) and members.items is not None and not _perhaps(interp, receiver):
        at = integer(key)
        if at is not None and -len(members.items) <= at < len(members.items):
            items = list(members.items)
            items[at] = module
            changed = Sequence("list", items)
    receiver.fields["members"] = forgotten_members(receiver, module) if receiver.several else changed
    receiver.fields.pop(EACH, None)
    interp.mutations.append((receiver, "members"))
    forget_shown(interp, receiver)


def name_member(interp: State, receiver: LibraryObject, name: str, value: Value) -> None:
    """`self.conv = nn.Conv2d(3, 8, 1)` in a subclass of nn.Sequential: a module that is assigned to an attribute is one of
    the container's; what is no module is not (`torch.nn.Module.__setattr__`)."""
    registers = True if receiver.path in _OF_PARAMETERS else _is_module(value)
    members = members_of(interp, receiver)
    if registers is False and (members is None or name not in _names_of(receiver, members)):
        return
    if registers and isinstance(members, Sequence) and receiver.path not in _OF_PARAMETERS:
        change_members(interp, receiver, "add_module", [Const(name), value])
    else:
        set_member(interp, receiver, Const(name) if registers else UNKNOWN, value)


def _is_module(value: Value) -> bool | None:
    """Whether the value is an object of nn.Module; None if it may be."""
    if isinstance(value, LibraryObject):
        return True if value.path in CONTAINERS or modules.known(value.path) else None
    if isinstance(value, Instance):
        return True if value.cls.is_module else (None if not value.cls.complete or value.cls.made_otherwise else False)
    if isinstance(value, Opaque):
        return False if value.integer or value.told is not None or value.kind in (PLAIN, SCALAR) else None
    if isinstance(value, Library):  # a function or a class of theirs
        return False if value.path.startswith(("torch.", "builtins.", "numpy.")) else None
    return False if isinstance(value, _NO_MODULES) else None


def _perhaps(interp: State, receiver: LibraryObject) -> bool:
    """Whether the current line may not run, or may run more than once, for this container."""
    if (interp.perhaps_left or interp.loop_start is not None) and not interp.is_of_this_part(receiver):
        return True
    frames = [interp.frame, *(place[0] for place in interp.places if place is not None)]
    return any(frame.loops > 1 or frame.breaks or frame.continues for frame in frames)


def _with_member(receiver: LibraryObject, members: list[Value], key: Value, member: Value) -> list[Value] | None:
    """The members once this one is added by its name, whose place it takes should there be one; None if that is not known."""
    given = receiver.fields.get(_NAMES)
    if not (isinstance(key, Const) and isinstance(key.value, str)):
        return None
    if isinstance(given, Const):
        names = list(given.value)
    elif given is not None:
        return None
    else:
        tables = [each for each in receiver.positional if isinstance(each, Dictionary)]
        names = [*map(str, tables[0].items or ())] if tables else [*map(str, range(len(members)))]
    if len(names) != len(members):
        return None
    if key.value in names:
        at = names.index(key.value)
        return [*members[:at], member, *members[at + 1 :]]
    receiver.fields[_NAMES] = Const((*names, key.value))
    return [*members, member]


def change_members(interp: State, receiver: LibraryObject, name: str, args: list[Value]) -> Value | None:
    """`layers.append(module)`, `add_module`: the container's members; None if the method is not one of these."""
    if receiver.path not in CONTAINERS or name not in _CHANGES:
        return None
    if receiver.parts:
        interp.touch(receiver, None)
    forget_shown(interp, receiver)
    gives_itself = name in ("append", "extend") or (name == "insert" and receiver.path == "torch.nn.Sequential")
    members = members_of(interp, receiver)
    changed = forgotten_members(receiver, *args)
    if isinstance(members, Sequence) and members.items is not None and not _perhaps(interp, receiver):
        added: list[Value] | None = None
        if name == "append" and len(args) == 1:
            added = [*members.items, args[0]]
            if _NAMES in receiver.fields:  # its name is how many there are, which another one may have
                added = _with_member(receiver, members.items, Const(str(len(members.items))), args[0])
        elif name == "add_module" and len(args) == 2:
            added = _with_member(receiver, members.items, *args)
        elif name == "extend" and isinstance(more := args[0] if args else None, Sequence) and more.items is not None:
            added = None if _NAMES in receiver.fields else [*members.items, *more.items]
        if added is not None:
            changed = Sequence("list", added)
        elif (
            name == "add_module"
            and len(args) == 2
            and receiver.path in built_containers.FILLED
            and not receiver.several
        ):
            built_containers.add_to_any_number(interp, receiver, members, args[-1:])  # by a name that is computed
            return UNKNOWN
    elif receiver.path in built_containers.FILLED and args:
        more = args[0] if name == "extend" else None
        added = args[-1:] if name in ("append", "add_module") else more.items if isinstance(more, Sequence) else None
        if added:
            if isinstance(members, Sequence) and not (_perhaps(interp, receiver) or receiver.several):
                built_containers.add_to_any_number(interp, receiver, members, added)
            else:
                built_containers.note_added(interp, receiver, members, added)
            return receiver if gives_itself else UNKNOWN
    receiver.fields["members"] = forgotten_members(receiver, *args) if receiver.several else changed
    receiver.fields.pop(EACH, None)
    interp.mutations.append((receiver, "members"))
    return receiver if gives_itself else UNKNOWN
