"""The functions of Python's `operator` that look into an object or change it: what the statement they stand for does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlint.inference.contents import given_by_operators
from tensorlint.inference.values import NONE, UNKNOWN, Const, Dictionary, Library, Partial, Sequence, Value

if TYPE_CHECKING:
    import ast

    from tensorlint.inference.state import State

# A path that no import has: what `operator.methodcaller(...)` and its like make, which is then called with an object.
_MADE = "operator.<made>."
_MAKERS = frozenset({"attrgetter", "itemgetter", "methodcaller"})


def call(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """None for a function that is not known here."""
    if path.startswith(_MADE):
        return _ask(interp, path[len(_MADE) :], args, kwargs, node)
    name = path[len("operator.") :]
    if name in _MAKERS and args:
        return Partial(Library(_MADE + name), (Sequence("tuple", list(args)),), kwargs)
    if name == "getitem" and len(args) == 2 and node is not None:
        return interp.item(args[0], args[1], node)
    if name in ("setitem", "delitem") and len(args) >= 2:
        interp.store_item(args[0], args[1], args[2] if len(args) > 2 else UNKNOWN)
        interp.escape(args[:1], {})
        return NONE
    if name in ("iadd", "iconcat", "ior") and len(args) == 2 and isinstance(args[0], (Sequence, Dictionary)):
        return interp.call_method(args[0], "__iadd__" if name != "ior" else "update", args[1:], {}, node)
    given = given_by_operators(args)
    if given is UNKNOWN:
        return None
    interp.escape(args, kwargs)
    return given


def _ask(interp: State, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
    """`args` are what the maker was given, as a tuple, and the object."""
    if len(args) != 2 or not isinstance(args[0], Sequence) or args[0].items is None:
        return UNKNOWN
    given, subject = args[0].items, args[1]
    if name == "methodcaller":
        if isinstance(given[0], Const):
            return interp.call_method(subject, str(given[0].value), given[1:], kwargs, None)
        interp.escape([subject, *given], kwargs)
        return UNKNOWN
    found = [_part(interp, name, subject, each, node) for each in given]
    return found[0] if len(found) == 1 else Sequence("tuple", found)


def _part(interp: State, name: str, subject: Value, key: Value, node: ast.AST | None) -> Value:
    if name == "itemgetter":
        return UNKNOWN if node is None else interp.item(subject, key, node)
    if not isinstance(key, Const):
        interp.escape([subject], {})
        return UNKNOWN
    for attribute in str(key.value).split("."):
        subject = interp.attribute_of(subject, attribute, node)
    return subject
