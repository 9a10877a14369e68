"""Lists, tuples, dicts and strings: their methods, and what a method that changes a list leaves in it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tensorlint.inference import aliases
from tensorlint.inference import sizes as S
from tensorlint.inference.contents import any_item_of, may_be_back, one_within, parts_of, put_unseen
from tensorlint.inference.frames import Inner
from tensorlint.inference.joins import join_all
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    Instance,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    any_key,
    has_some,
    integer,
    is_numbering,
    number,
    size_of,
)
from tensorlint.inference.variants import varying
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.state import State

_MAX_ITEMS = 256
_TAKE = frozenset({"get", "pop", "popitem", "setdefault"})
_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers"})
ADDED_TO = "+"  # how a list was changed in place that got one item more and is otherwise what it was
# How many items longer a method makes a list.
_ADDED = {"append": 1, "insert": 1, "pop": -1, "remove": -1, "sort": 0, "reverse": 0}


def mutate(
    interp: State, receiver: Sequence, name: str, args: list[Value], kwargs: dict[str, Value], target: ast.expr
) -> Value | None:
    """A list method that changes the list, called on a name or an attribute: the name gets a new value.

    None if the method is not one of these.
    """
    if receiver.kind == "deque":
        return _queue(interp, receiver, name, args, target)
    if receiver.kind != "list" or name not in (
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "sort",
        "reverse",
    ):
        return None
    if receiver.parts:
        interp.touch(receiver, None)
    if interp.file is not interp.own_file and isinstance(target, ast.Attribute):
        interp.changed_by_others(interp.eval(target.value), target.attr)
    before = receiver.items
    if name == "append" and len(args) == 1 and isinstance(target, ast.Name):
        interp.appended[target] = interp.frame, args[0]
    if name in ("append", "insert") and args and type(args[-1]) in (Sequence, Dictionary):
        within(args[-1])
    taken: Value = NONE
    length = None if receiver.shared else interp.length_of(receiver)
    added: S.Size | None = _ADDED.get(name)
    more: Sequence | None = None
    if name == "sort":
        interp.ask_each(kwargs.get("key", NONE), interp.iterate(receiver), target)
    for arg in args:
        share(arg)
        interp.keep(arg)
    if name == "extend" and len(args) == 1:
        more = interp.iterate(args[0])
        added, args = interp.length_of(more), [more.element] if more.items is None else more.items
        if isinstance(target, ast.Name):
            interp.appended[target] = interp.frame, added
    if interp.loop_start is not None:
        # What one round puts in stands for that of all: a size of this round is another one in the next.
        args = [varying(arg, interp.loop_start) if isinstance(arg, Tensor) else arg for arg in args]
    if name == "append" and len(args) == 1:
        if before is not None and len(before) < _MAX_ITEMS and not receiver.shared:
            changed = Sequence("list", [*before, args[0]])
        else:
            changed = Sequence("list", None, joined_items(receiver, [args[0]]), some=True)
    elif name == "insert" and len(args) == 2:
        changed = Sequence("list", None, joined_items(receiver, [args[1]]), some=True)
    elif name == "extend" and more is not None and not receiver.shared:
        if before is not None and more.items is not None and len(before) + len(args) < _MAX_ITEMS:
            changed = Sequence("list", [*before, *args])
        else:
            some = has_some(receiver) or (has_some(more) and more.kind != "iterator") or None
            changed = Sequence("list", None, joined_items(receiver, args), some=some)
    elif name == "pop":
        at = integer(args[0]) if args else -1
        if before is not None and at is not None and -len(before) <= at < len(before) and not receiver.shared:
            at %= len(before)
            taken, changed = before[at], Sequence("list", [*before[:at], *before[at + 1 :]])
        else:
            taken = interp.any_item(Sequence("list", None, joined_items(receiver, [])))
            kept = isinstance(taken, Tensor) or (isinstance(taken, (Instance, Opaque)) and parts_of(taken))
            taken = taken if kept else one_within([receiver])
            changed = Sequence("list", None, _left(receiver))
    elif name == "clear":
        changed = Sequence("list", [])
    else:
        changed = Sequence("list", None, _left(receiver))
    if changed.items is None and length is not None and added is not None:
        changed.length = S.add(length, added)
    if receiver.shared or not _only_here(interp, receiver, target):
        # Other names may hold the same list.
        element = changed.element
        if changed.items is not None:
            element = joined_items(changed, []) if changed.items else UNKNOWN
        interp.forget_contents(receiver)
        if name in ("append", "insert"):
            receiver.element = element
        else:
            put_unseen(receiver, *args)
        interp.mutations.append((receiver, ADDED_TO if name in ("append", "insert") else None))
        return taken
    assert isinstance(target, ast.Name)
    changed.born = receiver.born
    interp.note_changed_list(target.id, changed)
    interp.frame.env[target.id] = changed
    return taken


def extend(interp: State, receiver: Sequence, more: Sequence, target: ast.Name) -> bool:
    """`names += [name]`, which is `names.append(name)`: False where other names may hold the list, too."""
    if receiver.kind != "list" or more.kind not in ("list", "tuple"):
        return False
    if receiver.shared or receiver.parts or not _only_here(interp, receiver, target):
        return False
    if more.items is not None and len(more.items) == 1:
        mutate(interp, receiver, "append", more.items, {}, target)
    else:
        mutate(interp, receiver, "extend", [more], {}, target)
    return True


def _left(receiver: Sequence) -> Value:
    """What an item is, whichever is left and wherever it stands."""
    held = receiver.items if receiver.items is not None else [receiver.element]
    plain = all(isinstance(item, (Tensor, Const, Number, Scalar)) for item in held)
    return joined_items(receiver, []) if plain else any_item_of(receiver)


def _only_here(interp: State, receiver: Sequence, target: ast.expr) -> bool:
    """Whether only the name holds the list, and can be bound to a changed one: not in what may not be evaluated."""
    env = interp.frame.env
    if not isinstance(target, ast.Name) or env.get(target.id) is not receiver or isinstance(env, Inner):
        return False
    if not interp.places:
        return True
    place = interp.places[-1]
    return place is not None and place[0] is interp.frame and not _is_in_hand(place[1][place[2]], target)


def _is_in_hand(statement: ast.stmt, target: ast.Name) -> bool:
    """Whether the statement has read the list before it changes it, and uses it behind that: `rows + [rows.pop()]`."""
    value = getattr(statement, "value", None)
    if type(value) is ast.Call and type(statement) is not ast.AugAssign:
        if type(value.func) is ast.Attribute and value.func.value is target:
            return False  # `x = rows.pop()`: as most are
    waiting = [
        part
        for name, found in ast.iter_fields(statement)
        if name not in _BLOCKS
        for part in (found if isinstance(found, list) else [found])
        if isinstance(part, ast.AST)
    ]
    part: Any
    for part in waiting:  # grows meanwhile
        kind = type(part)
        if kind is ast.Name:
            if part.id == target.id and part is not target:
                return True
        elif kind is ast.match_case:
            waiting += [part.pattern, *([part.guard] if part.guard is not None else [])]
        elif kind is ast.Subscript or kind is ast.Call:
            reads, more = _read_at_once(part)
            if type(reads) is not ast.Name or any(each is target for other in more for each in walk(other)):
                more = list(ast.iter_child_nodes(part))
            waiting += more
        else:
            waiting += ast.iter_child_nodes(part)
    return False


def _read_at_once(part: ast.Subscript | ast.Call) -> tuple[ast.expr | None, list[ast.AST]]:
    """What is asked for something that is not itself, and what else there is: `rows[0]`, `rows.pop()`, `len(rows)`."""
    if isinstance(part, ast.Subscript):
        return part.value, [part.slice]
    if isinstance(part.func, ast.Attribute):
        return part.func.value, [*part.args, *part.keywords]
    if isinstance(part.func, ast.Name) and part.func.id == "len" and len(part.args) == 1:
        return part.args[0], []
    return None, []


def _queue(interp: State, receiver: Sequence, name: str, args: list[Value], target: ast.expr) -> Value | None:
    """A deque drops items at its other end: what its items have in common is known, and not how many there are."""
    if name not in ("append", "appendleft") or len(args) != 1:
        return None
    if receiver.parts:
        interp.touch(receiver, None)
    item = args[0] if interp.loop_start is None else varying(args[0], interp.loop_start)
    if receiver.shared or not _only_here(interp, receiver, target):
        if type(args[0]) in (Sequence, Dictionary):
            within(args[0])
        share(args[0])
        interp.keep(args[0])
        element = joined_items(receiver, [item])
        interp.forget_contents(receiver)
        receiver.element = element
        interp.mutations.append((receiver, ADDED_TO))
        return NONE
    assert isinstance(target, ast.Name)
    changed = Sequence("deque", None, joined_items(receiver, [item]), born=receiver.born)
    interp.note_changed_list(target.id, changed)
    interp.frame.env[target.id] = changed
    return NONE


def joined_items(receiver: Sequence, more: list[Value]) -> Value:
    values = [*(receiver.items if receiver.items is not None else [receiver.element]), *more]
    if not values:
        return UNKNOWN
    result = join_all(values)
    aliases.tie(result, *values)
    if isinstance(result, Opaque) and not result.parts:
        if result.told == "real" and not result.optional:
            return Scalar("real")
        return Scalar("int", is_numbering(result)) if result.integer else UNKNOWN
    return result


def call_method(interp: State, receiver: Value, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if name == "__getitem__" and len(args) == 1 and isinstance(receiver, (Dictionary, Sequence)):
        return interp.item(receiver, args[0], ast.Constant(None))
    if isinstance(receiver, Dictionary):
        if name in ("get", "pop", "setdefault") and args and isinstance(args[0], Const) and receiver.items is not None:
            try:
                found = receiver.items.get(args[0].value)
            except TypeError:
                return UNKNOWN
            if found is not None and name == "setdefault":
                return found  # and nothing is changed
            if name == "setdefault":
                made = args[1] if len(args) > 1 else NONE
                interp.store_item(receiver, args[0], made)
                return made
            if name == "pop" and found is not None and _only_loses(interp, receiver):
                may_be_back(receiver, found)
                del receiver.items[args[0].value]
                interp.mutations.append((receiver, None))
                return found
            if name == "pop" and found is None:
                return args[1] if len(args) > 1 else UNKNOWN  # and nothing is changed
            if name != "get":
                interp.forget_contents(receiver)
                put_unseen(receiver, *args[1:])
                interp.mutations.append((receiver, None))
            if found is not None:
                return found
            return args[1] if len(args) > 1 else NONE
        if name in ("items", "values", "keys"):
            return _view(receiver, name)
        if name == "update" and receiver.items is not None and all(_is_known(arg) for arg in args):
            for given in (*(arg.items or {} for arg in args if isinstance(arg, Dictionary)), kwargs):
                for key, value in given.items():
                    interp.store_item(receiver, Const(key), value)
            return NONE
        if name == "copy":
            return Dictionary(None if receiver.items is None else dict(receiver.items), receiver.element)
        taken = one_within([receiver, *(args[1:] if name in _TAKE else ())])
        interp.forget_contents(receiver)
        put_unseen(receiver, *args, *kwargs.values())
        interp.mutations.append((receiver, None))
        return taken if name in _TAKE else UNKNOWN
    if isinstance(receiver, Sequence):
        if name == "copy" and receiver.kind == "list":
            return Sequence(
                "list",
                None if receiver.items is None else list(receiver.items),
                receiver.element,
                receiver.length,
                some=receiver.some,
            )
        if name == "numel" and receiver.items is not None:
            sizes = [size_of(item) for item in receiver.items]
            if all(size is not None for size in sizes):
                return number(S.product([size for size in sizes if size is not None]))
            return UNKNOWN
        if name in ("index", "count"):
            return Scalar("int", numbers=name == "index")  # a place may be 0 as well as 1
        if name == "sort":
            interp.ask_each(kwargs.get("key", NONE), interp.iterate(receiver), None)
        if receiver.kind in ("list", "deque"):
            taken = one_within([receiver, *(args if name == "__add__" else ())])
            interp.forget_contents(receiver)
            put_unseen(receiver, *args)
            interp.mutations.append((receiver, None))
            return taken if name in ("pop", "popleft", "__iadd__", "__add__", "__mul__") else UNKNOWN
        if receiver.kind == "iterator" and name in ("send", "asend"):
            interp.sent(args)
        if receiver.kind == "set":
            for arg in args:
                aliases.lose(arg)
        return one_within([receiver])
    if isinstance(receiver, Const) and isinstance(receiver.value, str):
        if name == "split" and not kwargs and all(isinstance(arg, Const) for arg in args):
            try:
                return Sequence("list", [Const(part) for part in receiver.value.split(*(arg.value for arg in args))])  # type: ignore[attr-defined]
            except (TypeError, ValueError):
                return UNKNOWN
        if name in ("lower", "upper", "strip") and not args:
            return Const(getattr(receiver.value, name)())
    return UNKNOWN


def _only_loses(interp: State, receiver: Dictionary) -> bool:
    """Whether a dictionary that loses an entry keeps the others, for all that may hold it."""
    return interp.changes_surely(receiver) and receiver.alike is None


def _is_known(value: Value) -> bool:
    return isinstance(value, Dictionary) and value.items is not None


def _view(dictionary: Dictionary, name: str) -> Sequence:
    """`rows.items()`, which shows what the dictionary holds whenever somebody looks."""
    held, element = dictionary.items, dictionary.element
    if held is None:
        unknown = {"items": Sequence("tuple", [any_key(), element]), "values": element}
        return Sequence("dict_items", None, unknown.get(name) or any_key())
    items: list[Value]
    if name == "items":
        items = [Sequence("tuple", [Const(key), value]) for key, value in held.items()]
    else:
        items = list(held.values()) if name == "values" else [Const(key) for key in held]
    return Sequence("dict_items", items, element if name == "values" else UNKNOWN, view_of=(dictionary, dict(held)))


def share(value: Value) -> Value:
    """The list or dictionary, or what a tuple holds of them, is in two hands from here on: the name that had it is not
    its only one."""
    if type(value) is Dictionary:
        value.shared = True
    elif type(value) is Sequence:
        value.shared = True
        if value.kind == "iterator":
            _forget_progress(value)
        elif value.kind == "tuple":
            within(value)
    return value


def _forget_progress(iterator: Sequence) -> None:
    """Something holds the iterator: how far it has been gone through whenever it is reached, nobody knows."""
    if iterator.items is not None:
        iterator.element = joined_items(iterator, [])
        iterator.items = None
    iterator.length = iterator.totals = iterator.some = None


def within(value: Value) -> None:
    """A container holds the value, and the lists and dictionaries of a tuple: a name they get is not their only one."""
    waiting, seen = [value], {id(value)}
    for value in waiting:  # grows meanwhile
        if isinstance(value, Dictionary) or (isinstance(value, Sequence) and value.kind in ("list", "deque")):
            value.shared = True
        elif isinstance(value, Sequence) and value.kind == "tuple":
            for item in value.items or ():
                if (type(item) is Sequence or type(item) is Dictionary) and id(item) not in seen:
                    seen.add(id(item))
                    waiting.append(item)


def contained(value: Value) -> Value:
    """What a container holds of an iterator that nothing else holds; anything else as it is."""
    return share(value) if isinstance(value, Sequence) and value.kind == "iterator" else value
