"""`nn.Sequential`, `nn.ModuleList`, `nn.ModuleDict`: the modules they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.containers import joined_items
from tensorlint.inference.distant_changes import MEMBERS
from tensorlint.inference.values import (
    CONTAINERS,
    UNKNOWN,
    Const,
    Dictionary,
    LibraryObject,
    Sequence,
    Value,
    integer,
)

if TYPE_CHECKING:
    from tensorlint.inference.state import State


def members_of(interp: State, value: LibraryObject) -> Sequence | Dictionary | None:
    """The modules in a container, in order; None if the object is no container."""
    if value.path not in CONTAINERS:
        return None
    if MEMBERS in interp.file.facts.distant.anywhere:
        return Dictionary(None) if value.path == "torch.nn.ModuleDict" else Sequence("list")
    known = value.fields.get("members")
    if isinstance(known, (Sequence, Dictionary)):
        return known
    given: list[Value] = list(value.positional)
    if not given:
        stored = next(
            (value.arguments[key] for key in ("modules", "args", "values", "parameters") if key in value.arguments),
            None,
        )
        if value.path == "torch.nn.Sequential" and isinstance(stored, Sequence):
            return stored
        if stored is not None:
            given = [stored]
    if value.path == "torch.nn.Sequential":
        if len(given) == 1 and isinstance(given[0], Dictionary):
            items = given[0].items
            return Sequence("list") if items is None else Sequence("list", list(items.values()))
        return Sequence("list", given) if given or value.made is None else Sequence("list")
    if value.path == "torch.nn.ModuleDict":
        return given[0] if given and isinstance(given[0], Dictionary) else Dictionary(None)
    if given and isinstance(given[0], Sequence):
        return given[0]
    if not given and not value.arguments:
        return Sequence("list", [])
    return Sequence("list") if not given else interp.iterate(given[0])


def named_member(interp: State, value: LibraryObject, name: str) -> Value:
    """`self.transformer.wte`: what a ModuleDict holds is an attribute of it too."""
    members = members_of(interp, value)
    if isinstance(members, Dictionary) and members.items is not None:
        return members.items.get(name, UNKNOWN)
    return UNKNOWN


def set_member(interp: State, receiver: LibraryObject, key: Value, module: Value) -> None:
    """`layers["out"] = nn.Linear(4, 2)`."""
    if receiver.parts:
        interp.touch(receiver, None)
    members = members_of(interp, receiver)
    changed: Value = Sequence("list")
    if receiver.path == "torch.nn.ModuleDict":
        changed = Dictionary(None)
        known = members.items if isinstance(members, Dictionary) else None
        if known is not None and isinstance(key, Const) and not (interp.perhaps_left or interp.frame.loops):
            changed = Dictionary({**known, key.value: module})
    elif (
        isinstance(members, Sequence) and members.items is not None and not (interp.perhaps_left or interp.frame.loops)
    ):
        at = integer(key)
        if at is not None and -len(members.items) <= at < len(members.items):
            items = list(members.items)
            items[at] = module
            changed = Sequence("list", items)
    receiver.fields["members"] = changed
    interp.mutations.append((receiver, "members"))


def change_members(interp: State, receiver: LibraryObject, name: str, args: list[Value]) -> Value | None:
    """`layers.append(module)`, `add_module`: the container's members; None if the method is not one of these."""
    if receiver.path not in CONTAINERS or name not in ("append", "extend", "insert", "add_module", "pop", "update"):
        return None
    if receiver.parts:
        interp.touch(receiver, None)
    members = members_of(interp, receiver)
    changed: Value = Sequence("list")
    in_branch = bool(interp.perhaps_left or interp.frame.loops)
    if isinstance(members, Sequence) and members.items is not None and not in_branch:
        if name == "append" and len(args) == 1:
            changed = Sequence("list", [*members.items, args[0]])
        elif name == "add_module" and len(args) == 2:
            changed = Sequence("list", [*members.items, args[1]])
        elif name == "extend" and isinstance(more := args[0] if args else None, Sequence) and more.items is not None:
            changed = Sequence("list", [*members.items, *more.items])
    elif (
        isinstance(members, Sequence)
        and name in ("append", "add_module")
        and args
        and receiver.path == "torch.nn.ModuleList"
    ):
        # Built up in a loop: one member stands for all if they are alike.
        changed = Sequence("list", None, joined_items(members, [args[-1]]) if members.items != [] else args[-1])
    if receiver.path == "torch.nn.ModuleDict":
        changed = Dictionary(None)
    receiver.fields["members"] = changed
    interp.mutations.append((receiver, "members"))
    return receiver if name != "pop" else UNKNOWN
