"""Calls whose result changes from run to run: the clock, the operating system's entropy, unseeded generators, unordered
collections.

A call in the user's text is recognised by the object its name resolves to in the running frame, so `from time import
time as now` and a generator kept in `self.rng` are seen for what they are. Tables name objects by module and attribute;
nothing is imported.
"""

from __future__ import annotations

import ast
import builtins
import random
import sys
from collections import deque
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from pytest_tensorcheck.determinism.causes import Cause
from pytest_tensorcheck.determinism.statements import dotted_name, statements

_CLOCKS = ("time", "perf_counter", "monotonic", "process_time")
_CLOCK = (*_CLOCKS, *(f"{name}_ns" for name in _CLOCKS), "ctime", "localtime", "strftime")
# (module, attribute) -> (cause, what it does)
_ALWAYS: dict[tuple[str, str], tuple[Cause, str]] = {
    **{("time", name): (Cause.PYTHON, "reads the clock") for name in _CLOCK},
    ("os", "urandom"): (Cause.GENERATOR, "draws from the operating system, which nothing seeds"),
    ("os", "getpid"): (Cause.PYTHON, "is the number of the process"),
    ("uuid", "uuid1"): (Cause.PYTHON, "is new at every call"),
    ("uuid", "uuid4"): (Cause.GENERATOR, "draws from the operating system, which nothing seeds"),
    **{
        ("secrets", name): (Cause.GENERATOR, "draws from the operating system, which nothing seeds")
        for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice")
    },
    ("random", "SystemRandom"): (Cause.GENERATOR, "draws from the operating system, which nothing seeds"),
    ("torch", "seed"): (Cause.GENERATOR, "seeds torch with a number from the operating system"),
    ("torch.random", "seed"): (Cause.GENERATOR, "seeds torch with a number from the operating system"),
    ("tempfile", "mkdtemp"): (Cause.PYTHON, "is a new name at every call"),
    ("tempfile", "mkstemp"): (Cause.PYTHON, "is a new name at every call"),
    ("builtins", "id"): (Cause.PYTHON, "is an address, another one in every run"),
    ("os", "listdir"): (Cause.ORDER, "lists in the order of the file system"),
    ("os", "scandir"): (Cause.ORDER, "lists in the order of the file system"),
    ("os", "walk"): (Cause.ORDER, "lists in the order of the file system"),
    ("glob", "glob"): (Cause.ORDER, "lists in the order of the file system"),
    ("glob", "iglob"): (Cause.ORDER, "lists in the order of the file system"),
    ("concurrent.futures", "as_completed"): (Cause.ORDER, "yields in the order in which the work is done"),
    ("concurrent.futures._base", "as_completed"): (Cause.ORDER, "yields in the order in which the work is done"),
}
# The same, when called without a seed.
_UNSEEDED: dict[tuple[str, str], tuple[Cause, str]] = {
    **{
        ("numpy.random", name): (Cause.GENERATOR, "is seeded by the operating system: no seed is given")
        for name in ("default_rng", "seed", "RandomState", "SeedSequence", "PCG64", "MT19937", "Philox", "SFC64")
    },
    ("random", "seed"): (Cause.GENERATOR, "is seeded by the operating system: no seed is given"),
    ("random", "Random"): (Cause.GENERATOR, "is seeded by the operating system: no seed is given"),
}
_UNORDERED_METHODS = {"iterdir", "glob", "rglob", "imap_unordered"}
_CHANGING_METHODS = {
    "append",
    "extend",
    "insert",
    "pop",
    "popitem",
    "add",
    "update",
    "setdefault",
    "appendleft",
    "popleft",
    "remove",
}
CONTAINERS = (list, dict, set, deque)
_PASS_ORDER_ON = ("list", "tuple", "iter", "enumerate", "next", "stack", "cat", "tensor", "sum", "zip", "map")
_ORDERLESS = {("sorted",), ("len",), ("min",), ("max",), ("set",), ("frozenset",), ("any",), ("all",)}
_STRENGTH = {Cause.GENERATOR: 3, Cause.CARRIED_GENERATOR: 3, Cause.ORDER: 2, Cause.PYTHON: 2}


@dataclass(frozen=True, slots=True)
class Source:
    """A call or iteration that brings in something that changes. `weak` for state that merely may outlive a run."""

    file: str
    line: int
    text: str
    cause: Cause
    why: str
    weak: bool = False


_MISSING = object()


def generator_types() -> tuple[type, ...]:
    """The classes of generators whose state lives in the object."""
    numpy = sys.modules.get("numpy")
    return (random.Random,) if numpy is None else (random.Random, numpy.random.Generator, numpy.random.RandomState)


class Scope:
    """The names a piece of the user's code sees: a running frame's, or a function's globals."""

    def __init__(self, names: dict[str, Any], global_names: dict[str, Any], code: CodeType | None = None) -> None:
        self.names, self.global_names, self.code = names, global_names, code

    @classmethod
    def of_frame(cls, frame: FrameType) -> Scope:
        return cls(frame.f_locals, frame.f_globals, frame.f_code)

    def resolve(self, dotted: tuple[str, ...]) -> Any:
        """The object, or `_MISSING`. Only plain attributes are followed: no property of the user's runs."""
        first = dotted[0]
        value = self.names.get(first, self.global_names.get(first, getattr(builtins, first, _MISSING)))
        for name in dotted[1:]:
            if value is _MISSING:
                break
            if isinstance(value, (ModuleType, type)):
                value = getattr(value, name, _MISSING)
            else:
                value = getattr(value, "__dict__", {}).get(name, _MISSING)
        return value

    def outlives_the_call(self, name: str) -> bool:
        """Whether a name is a global, a closure variable or an attribute of `self`."""
        return name in ("self", "cls") or self.code is None or name not in self.code.co_varnames


def find_sources(file: str, line: int, scope: Scope, outlived: set[int]) -> list[Source]:
    """The sources in the statement at a line. `outlived` holds the ids of the generators that were alive before the
    run."""
    statement = statements(file).get(line)
    if statement is None:
        return []
    found: list[Source] = []
    unordered = _where_order_is_nothing(statement.nodes)
    for node in statement.nodes:
        if isinstance(node, ast.Call):
            known = _call(node, scope, outlived)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            known = _iteration(node.iter, scope)
        elif isinstance(node, ast.AugAssign):
            known = _state(node, scope)
        else:
            known = None
        if known is not None and not (known[0] is Cause.ORDER and id(node) in unordered):
            text = ast.unparse(node.iter if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) else node)
            cause, why, weak = known
            at = node.iter.lineno if isinstance(node, ast.comprehension) else int(getattr(node, "lineno", line))
            found.append(Source(file, at, text if len(text) < 60 else text[:57] + "…", cause, why, weak))
    return found


def _where_order_is_nothing(nodes: list[ast.AST]) -> set[int]:
    """The ids of the nodes inside `sorted(…)` and the like, whose result the order does not reach."""
    inside: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and dotted_name(node.func) in _ORDERLESS:
            for argument in node.args:
                inside.update(id(part) for part in (argument, *getattr(argument, "generators", ())))
    return inside


def _call(node: ast.Call, scope: Scope, outlived: set[int]) -> tuple[Cause, str, bool] | None:
    dotted = dotted_name(node.func)
    if dotted is None:
        return None
    target = scope.resolve(dotted)
    seeded = [a for a in node.args if not (isinstance(a, ast.Constant) and a.value is None)] or node.keywords
    if target is not _MISSING:
        for table, applies in ((_ALWAYS, True), (_UNSEEDED, not seeded)):
            if applies and (known := _named(target, table)) is not None:
                return (*known, dotted == ("id",))
        if getattr(target, "__name__", "") in ("now", "utcnow", "today") and _is_date(
            getattr(target, "__self__", None)
        ):
            return Cause.PYTHON, "reads the clock", False
        if target is builtins.next:
            return Cause.PYTHON, "goes on where the run before stopped, if the iterator lives that long", True
        if getattr(target, "__name__", "") in _PASS_ORDER_ON and node.args:
            return _iteration(node.args[0], scope)
    if len(dotted) > 1:
        return _method(dotted, scope, outlived)
    return None


def _method(dotted: tuple[str, ...], scope: Scope, outlived: set[int]) -> tuple[Cause, str, bool] | None:
    owner = scope.resolve(dotted[:-1])
    if owner is _MISSING or isinstance(owner, ModuleType):
        return None
    torch = sys.modules.get("torch")
    if isinstance(owner, random.SystemRandom):
        return Cause.GENERATOR, "draws from the operating system, which nothing seeds", False
    if torch is not None and isinstance(owner, torch.Generator):
        if dotted[-1] == "seed":
            return Cause.GENERATOR, "seeds it with a number from the operating system", False
        return None
    if id(owner) in outlived and isinstance(owner, generator_types()) and dotted[-1] != "seed":
        return (
            Cause.CARRIED_GENERATOR,
            "draws from a generator that was made before and goes on where the run before stopped",
            False,
        )
    if isinstance(owner, (set, frozenset)) and dotted[-1] == "pop":
        return Cause.ORDER, "takes whichever element of the set comes first", False
    if dotted[-1] in _CHANGING_METHODS and id(owner) in outlived and isinstance(owner, CONTAINERS):
        return Cause.PYTHON, "changes a container that outlives the run", True
    if dotted[-1] in _UNORDERED_METHODS:
        return Cause.ORDER, "yields in an order that nothing fixes", False
    return None


def _iteration(node: ast.AST, scope: Scope) -> tuple[Cause, str, bool] | None:
    if isinstance(node, (ast.Set, ast.SetComp)):
        return Cause.ORDER, "is a set: its order depends on addresses and on PYTHONHASHSEED", False
    if isinstance(node, ast.Call):
        dotted = dotted_name(node.func)
        target = scope.resolve(dotted) if dotted else _MISSING
        if target in (set, frozenset):
            return Cause.ORDER, "is a set: its order depends on addresses and on PYTHONHASHSEED", False
        if target in (list, tuple, enumerate, iter, zip, reversed) and node.args:
            return _iteration(node.args[0], scope)
        return None
    dotted = dotted_name(node)
    value = scope.resolve(dotted) if dotted else _MISSING
    if isinstance(value, (set, frozenset)):
        return Cause.ORDER, "is a set: its order depends on addresses and on PYTHONHASHSEED", False
    return None


def _state(node: ast.AugAssign, scope: Scope) -> tuple[Cause, str, bool] | None:
    target = node.target
    while isinstance(target, ast.Subscript):
        target = target.value  # type: ignore[assignment]
    dotted = dotted_name(target)
    if dotted is None or not (len(dotted) > 1 or scope.outlives_the_call(dotted[0])):
        return None
    return Cause.PYTHON, "changes state that outlives the run", True


def _named(target: Any, table: dict[tuple[str, str], tuple[Cause, str]]) -> tuple[Cause, str] | None:
    for (module_name, name), known in table.items():
        module = sys.modules.get(module_name)
        if module is not None and getattr(module, name, _MISSING) is target:
            return known
    return None


def _is_date(owner: Any) -> bool:
    datetime = sys.modules.get("datetime")
    return datetime is not None and isinstance(owner, type) and issubclass(owner, datetime.date)


def strength(source: Source) -> int:
    return 1 if source.weak else _STRENGTH.get(source.cause, 0)
