"""Containers of layers that a loop fills: one member stands for all that its rounds have added.

    self.layers = nn.ModuleList()
    for width in widths:
        self.layers.append(nn.Linear(width, width))

What a round adds is known once the loop is followed from what is true of every round; while it is, nothing is known of the
container's members, and what this following of it has added is kept beside them.
"""

from __future__ import annotations

from tensorlint.inference.containers import joined_items
from tensorlint.inference.contents import forgotten_members
from tensorlint.inference.layer_changes import EACH
from tensorlint.inference.state import State
from tensorlint.inference.values import UNKNOWN, LibraryObject, Opaque, Sequence, Value

# The containers whose members can be told by one of them.
FILLED = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential"})
# Of a container: what has been added to it by a line that may run any number of times.
ADDED = "members added"


def note_added(interp: State, receiver: LibraryObject, members: Value | None, layers: list[Value]) -> None:
    """Members were added to a container that held these before."""
    before = receiver.fields.get(ADDED)
    interp.overwritten.append((receiver, ADDED, (members, before)))
    receiver.fields[ADDED] = joined_items(Sequence("list", layers), [] if before is None else [before])
    receiver.fields["members"] = forgotten_members(receiver, *layers)
    receiver.fields.pop(EACH, None)
    interp.mutations.append((receiver, ADDED))


def add_to_any_number(interp: State, receiver: LibraryObject, members: Sequence, layers: list[Value]) -> None:
    """Members are added to a container that holds any number of others."""
    receiver.fields["members"] = forgotten_members(receiver, *layers)
    receiver.fields.pop(EACH, None)
    if not _are_forgotten(members):
        _hold_any_number(receiver, joined_items(members, layers))
    interp.mutations.append((receiver, "members"))


def _hold_any_number(receiver: LibraryObject, one: Value) -> None:
    """Each of the members, of which nobody knows how many there are, is this one."""
    if one is UNKNOWN or _says_nothing(one):
        return
    receiver.fields["members"] = Sequence("list", None, one)
    if receiver.path == "torch.nn.Sequential":
        receiver.fields[EACH] = one


def begin_adding(interp: State, overwritten: int) -> None:
    """A loop is followed anew: nothing has been added by it so far."""
    for owner, (_, added) in _first(interp, overwritten):
        if added is None:
            owner.fields.pop(ADDED, None)
        else:
            owner.fields[ADDED] = added


def keep_added(interp: State, overwritten: int, log: int, start: int) -> None:
    """Behind a loop that had begun when there were so many changes: what it added to containers, however often it ran."""
    filled = _first(interp, overwritten)
    if not filled:
        return
    otherwise = {id(owner) for owner, name in interp.mutations[log:] if name != ADDED}
    for owner, (members, _) in filled:
        added = owner.fields.get(ADDED)
        if added is None or id(owner) in otherwise or owner.several or not isinstance(members, Sequence):
            continue
        if _are_forgotten(members):
            continue
        one = added if members.items == [] else joined_items(members, [added])
        each = interp.settled(Sequence("list", None, one), start)
        if isinstance(each, Sequence):
            _hold_any_number(owner, each.element)


def _are_forgotten(members: Sequence) -> bool:
    """Whether nothing is known of the members but what they may be."""
    element = members.element
    return members.items is None and (element is UNKNOWN or (isinstance(element, Opaque) and element.variant))


def _says_nothing(value: Value) -> bool:
    return isinstance(value, Opaque) and value.kind is None and not value.parts


def _first(interp: State, overwritten: int) -> list[tuple[LibraryObject, tuple[Value, Value | None]]]:
    """What containers held before the first addition since then."""
    found: dict[int, tuple[LibraryObject, tuple[Value, Value | None]]] = {}
    for owner, name, value in interp.overwritten[overwritten:]:
        if name == ADDED:
            found.setdefault(id(owner), (owner, value))
    return list(found.values())
