"""Activations: the names of one running scope, and what its control flow has done so far."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress
from operator import is_not

from tensorlint.inference.aliases import joined
from tensorlint.inference.kept import kept_with
from tensorlint.inference.names import FileFacts, ScopeFacts
from tensorlint.inference.rebinding import Rebound
from tensorlint.inference.sizes import Size, Symbol, symbols
from tensorlint.inference.values import UNKNOWN, Class, Sequence, Value
from tensorlint.inference.walking import parameters_of, walk

Environment = dict[str, Value]


class Inner(Environment):
    """The names that a comprehension sees. It binds its own, by its `targets`, and changes what the others hold for those
    around it too."""

    targets: tuple[ast.expr, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class SourceFile:
    """The file a scope belongs to. `own` is false for other files of the project, where nothing is reported."""

    path: str
    text: str
    tree: ast.Module
    facts: FileFacts
    own: bool = True
    default_dtype: str | None = "float32"
    module_dtypes: bool = True
    autocast: bool = False
    module_layouts: bool = True
    parameter_layouts: bool = True
    default_device: str | None = "cpu"
    rebound: Rebound | None = None
    star_imports: list[str] = field(default_factory=list)


# Scopes that still run, and those of their names that may yet be rebound and that functions within have read: what such
# a function gives is right only while they hold what they held.
READ_EARLY: dict[Frame, set[str]] = {}


@dataclass(slots=True, eq=False, repr=False)
class Guarded:
    """What names have held within a block whose errors may be caught: all of them where statements were `left` behind, and
    the lists and other objects that single ones were `bound` to, whatever they hold later."""

    left: list[Environment] = field(default_factory=list)
    bound: list[tuple[str, Value]] = field(default_factory=list)

    def extend(self, inner: Guarded) -> None:
        self.left += inner.left
        self.bound += inner.bound


@dataclass(slots=True, eq=False, repr=False)
class Frame:
    """One activation of a module, class body or function.

    `record` is true where what is seen holds for every execution: assignments are then shown and sizes take the
    user's names. `dead` is true after return, raise, break or continue.
    """

    node: ast.AST
    file: SourceFile
    parent: Frame | None
    env: Environment = field(default_factory=dict)
    facts: ScopeFacts = field(default_factory=ScopeFacts)
    record: bool = False
    finished: bool = False
    dead: bool = False
    returns: list[Value] = field(default_factory=list)
    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)
    # What is remembered of a block whose errors may be caught, within one.
    guarded: Guarded | None = None
    loops: int = 0
    owner: Class | None = None
    first_argument: str | None = None
    is_class: bool = False
    # What the tests say to be equal under which the current statement runs, and under which each value was returned.
    under: dict[Symbol, Size] = field(default_factory=dict)
    returned_under: dict[int, dict[Symbol, Size]] = field(default_factory=dict)
    # Sizes that a test has found to be 1.
    ones: frozenset[Symbol] = frozenset()
    # What is not None in the branch that is followed, as its test says.
    there: frozenset[Value] = frozenset()
    # Objects that are numbers, for this function's own lines have used them as sizes.
    counted: set[Value] = field(default_factory=set)
    # Of a function that is followed at a call: where that stands.
    caller: Frame | None = None
    # The names of lists that functions within have read, and of those that they may have found otherwise.
    lists_read: frozenset[str] = frozenset()
    lists_changed: frozenset[str] = frozenset()
    # Of another module: the statements that bind its names, followed when a name is first asked for.
    waiting: dict[str, ast.stmt] | None = None

    def leave(self) -> None:
        """The statements that follow are not run: an error is raised, or the function or round left."""
        if self.guarded is not None:
            self.guarded.left.append(self.env)
        self.dead = True

    def is_stable(self, name: str) -> bool:
        """Whether functions within find the same object under the name whenever they run."""
        facts = self.facts
        times = facts.assigned.get(name)
        if times is None:
            return name not in facts.shared
        if times > 1 or name in facts.shared:
            return False
        return self.parent is None or name not in _given_anew(self.node)

    def is_bound_before(self, name: str, inner: ast.AST) -> bool:
        """Whether a parameter has got the object that it holds in the end before there was the function that reads it."""
        return self.facts.is_stable(name) and _given_anew(self.node)[name] < getattr(inner, "lineno", 0)

    def lookup(self, name: str) -> Value | None:
        """The value of a name as Python's scopes give it; None if no scope binds it."""
        value = self.env.get(name)
        return self.lookup_around(name) if value is None else value

    def lookup_around(self, name: str) -> Value | None:
        """Likewise, of a name that the scope itself does not bind."""
        frame = self.parent
        while frame is not None:
            if not frame.is_class:
                value = frame.env.get(name)
                if value is not None:
                    if not frame.is_stable(name):
                        if frame.finished and not frame.is_bound_before(name, self.node):
                            return UNKNOWN
                        READ_EARLY.setdefault(frame, set()).add(name)
                    elif type(value) is Sequence and not frame.finished:
                        frame.lists_read = frame.lists_read | {name}
                    return value
            frame = frame.parent
        return None


def found_ones(frame: Frame | None, sizes: Iterable[Size]) -> dict[Symbol, Size]:
    """The sizes among these that a test in the function, or in one that called it, has found to be 1."""
    ones: frozenset[Symbol] = frozenset()
    while frame is not None:
        ones |= frame.ones
        frame = frame.caller
    return {atom: 1 for size in sizes for atom in symbols(size) & ones} if ones else {}


def _given_anew(node: ast.AST) -> dict[str, int]:
    """The parameters that a function binds itself, with the last line of those that do."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return _NONE_ANEW
    return kept_with(node, "given anew", lambda: _found_anew(node))


def _found_anew(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, int]:
    given = parameters_of(node.args)
    found: dict[str, int] = {}
    for statement in node.body:
        for part in walk(statement):
            if isinstance(part, ast.Name) and part.id in given and not isinstance(part.ctx, ast.Load):
                found[part.id] = max(found.get(part.id, 0), part.lineno)
    return found


_NONE_ANEW: dict[str, int] = {}


def read_early() -> tuple[tuple[Value | None, ...], ...]:
    """What the names of READ_EARLY hold now."""
    if not READ_EARLY:
        return ()
    return tuple(tuple(map(frame.env.get, names)) for frame, names in READ_EARLY.items() if not frame.finished)


def merge(a: Environment, b: Environment, changed: Iterable[str] | None = None) -> Environment:
    """The names after two branches met; `changed` are those that differ, where that is known. A name that one branch did
    not bind keeps the other's value: a program that reads it came through there."""
    if a is b:
        return a
    merged = dict(a)
    for name in differing(a, b) if changed is None else changed:
        value = b[name]
        other = merged.get(name)
        merged[name] = value if other is None else joined(other, value)
    return merged


def differing(a: Environment, b: Environment) -> Iterator[str]:
    """The names of the second that hold another object in the first, or none. Most hold the same in both: no step of the
    interpreter is made for each of these."""
    return compress(b, map(is_not, b.values(), map(a.get, b)))
