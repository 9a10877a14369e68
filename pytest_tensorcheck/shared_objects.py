"""Objects that outlive a test, and which tests have changed them: a failure after that may be gone when the test runs alone.
So it may be where a wider fixture, which the test does not ask for, keeps global state set.

They are what fixtures of a class, module, package or session give, and what a test module or a test class holds. Nothing is
reported where nothing fails: to change a shared object may well be meant.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar

import pytest

from pytest_tensorcheck.object_contents import Contents, changed_parts, contents, looking
from pytest_tensorcheck.object_kinds import is_constant, is_users_class, may_change
from pytest_tensorcheck.user_line import is_user_file

_SHOWN = 3  # parts of an object, and tests, named in one line
_AROUND = ("setUp", "setup_method", "tearDown")


@dataclass(slots=True, eq=False)
class Shared:
    """One object: `title` is what a message calls it, `node` the collector that it lives for."""

    title: str
    name: str
    node: object
    value: Any
    contents: Contents
    changed_by: dict[str, list[str]] = field(default_factory=dict)  # node id of a test -> the parts that it changed

    def look(self, nodeid: str) -> bool:
        """After the test: whether it has changed the object. Inside `looking()`."""
        if self.contents.same(self.value):
            return False
        now = contents(self.value, self.contents)
        if now is None:
            return False
        before, after = self.contents.parts(), now.parts()
        changed = changed_parts(before, after)
        if changed:
            self.changed_by[nodeid] = changed
        if changed or before == after:  # else its numbers cannot be read now, and those that were known stand
            self.contents = now
        return bool(changed)

    def said(self, tests: Sequence[str]) -> str:
        changed = dict.fromkeys(part for test in tests for part in self.changed_by[test])
        parts = [_part(self.name, part) for part in changed if not _said_by_another(part, changed)]
        shown = ", ".join(parts[:_SHOWN]) + (f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else "")
        names = ", ".join(tests[:_SHOWN])
        if (others := len(tests) - _SHOWN) > 0:
            names += f" and {others} other test{'s' if others > 1 else ''}"
        detail = f" ({shown})" if parts and parts != [self.name] else ""
        return f"{self.title} was changed by {names}{detail}; alone, this test starts without that"


def _said_by_another(path: str, parts: Collection[str]) -> bool:
    """The gradient of a parameter that has changed too, and the container of what has changed in it."""
    if path.endswith(".grad") and path.removesuffix(".grad") in parts:
        return True
    return any(other.startswith((f"{path}[", f"{path}.")) and other != f"{path}.grad" for other in parts)


def _part(name: str, path: str) -> str:
    below, comma, what = path.partition(", its ")
    return f"the {what} of {name}{below}" if comma else f"{name}{path}"


@dataclass(slots=True, eq=False)
class _Unseen:
    """What a fixture gives, where its contents cannot be compared. `used`: by how many tests that have ended."""

    title: str
    name: str
    node: object
    used: int = 0

    def said(self) -> str:
        by = f"{self.used} tests" if self.used > 1 else "a test"
        return f"{self.title} was in use by {by} before, and whether that changed it cannot be seen here"


_Kept = TypeVar("_Kept", Shared, _Unseen)


class _StateOfFixture(NamedTuple):
    """Global state that a fixture keeps set, also for tests that do not ask for it. `nodeid`: of the first that did."""

    title: str
    name: str
    node: object
    changes: list[str]
    nodeid: str

    def said(self) -> str:
        more = f" and {len(self.changes) - _SHOWN} more" if len(self.changes) > _SHOWN else ""
        return (
            f"{self.title}, which this test does not ask for and {self.nodeid} does, keeps set: "
            f"{'; '.join(self.changes[:_SHOWN])}{more}; alone, this test starts without that"
        )


class SharedObjects:
    def __init__(self) -> None:
        self._of_fixtures: dict[int, Shared] = {}
        self._of_nodes: dict[object, list[Shared]] = {}
        self._known_parent: object = None
        self._any = False  # whether there is an object to look at, in the run so far
        self._unseen: dict[int, _Unseen] = {}
        self._set: dict[int, _StateOfFixture] = {}
        self._mattered: dict[str, None] = {}  # node ids of tests that left something to others, as they ran

    def fixture_made(self, fixturedef: pytest.FixtureDef[Any], node: object, value: object) -> None:
        if is_constant(value):
            return
        title = f"the {fixturedef.scope} fixture {fixturedef.argname}"
        if may_change(value) and (held := contents(value)) is not None:
            if not held.fixed:
                self._of_fixtures[id(fixturedef)] = Shared(title, fixturedef.argname, node, value, held)
                self._any = True
        elif is_user_file(getattr(getattr(fixturedef.func, "__code__", None), "co_filename", "<frozen")):
            self._unseen[id(fixturedef)] = _Unseen(
                f"{title} (of type {type(value).__name__})", fixturedef.argname, node
            )
            self._any = True

    def fixture_gone(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        self._of_fixtures.pop(id(fixturedef), None)
        self._unseen.pop(id(fixturedef), None)
        self._set.pop(id(fixturedef), None)

    def fixture_set(self, fixturedef: pytest.FixtureDef[Any], node: object, changes: list[str], nodeid: str) -> None:
        """Global state that a fixture keeps set, from the first test that asks for it on."""
        title = f"the {fixturedef.scope} fixture {fixturedef.argname}"
        self._set[id(fixturedef)] = _StateOfFixture(title, fixturedef.argname, node, changes, nodeid)
        self._mattered[nodeid] = None

    def wider_setup_done(self, item: pytest.Item) -> None:
        """When module and class are set up, and nothing is yet that belongs to the test alone."""
        if item.parent is self._known_parent:  # nearly always
            return
        self._known_parent = item.parent
        module, kind = getattr(item, "module", None), getattr(item, "cls", None)
        if module is not None and module not in self._of_nodes:
            self._of_nodes[module] = list(_held_by(module, "of the test module"))
            self._any = self._any or bool(self._of_nodes[module])
        if kind is not None and kind not in self._of_nodes:
            self._of_nodes[kind] = list(_held_by(kind, f"of {kind.__name__}"))
            self._any = self._any or bool(self._of_nodes[kind])

    def _in_use(self, item: pytest.Item) -> Iterable[Shared]:
        for holder in (getattr(item, "module", None), getattr(item, "cls", None)):
            yield from self._of_nodes.get(holder, ())
        yield from self._in_reach(item, self._of_fixtures.values())

    def _in_reach(self, item: pytest.Item, of_fixtures: Collection[_Kept]) -> Iterable[_Kept]:
        """Those that the test asks for, directly or by way of another fixture."""
        if of_fixtures:
            names, chain = _fixtures_of(item), item.listchain()
            for each in of_fixtures:
                if each.name in names and each.node in chain:
                    yield each

    def look(self, item: pytest.Item) -> None:
        """After the teardown of a test: what it has changed."""
        if not self._any:
            return
        with looking():
            for shared in self._in_use(item):
                if shared.look(item.nodeid):
                    self._mattered[item.nodeid] = None
        for unseen in self._in_reach(item, self._unseen.values()):
            unseen.used += 1

    def changed_before(self, item: pytest.Item) -> tuple[list[str], list[str]]:
        """A line for each object in use that other tests have changed, and the node ids of these tests in their order."""
        if not self._mattered and not self._unseen:
            return [], []
        lines, tests, named = [], set(), _names_in(item)
        for shared in self._in_use(item):
            others = [nodeid for nodeid in shared.changed_by if nodeid != item.nodeid]
            if others and (isinstance(shared.node, pytest.Collector) or shared.name in named):
                lines.append(shared.said(others))
                tests.update(others)
        lines += [unseen.said() for unseen in self._in_reach(item, self._unseen.values()) if unseen.used]
        if self._set:
            asked, chain = _fixtures_of(item), item.listchain()
            for state in self._set.values():
                if state.name not in asked and state.node in chain and state.nodeid != item.nodeid:
                    lines.append(state.said())
                    tests.add(state.nodeid)
        return lines, [nodeid for nodeid in self._mattered if nodeid in tests]


def _fixtures_of(item: pytest.Item) -> set[str]:
    """By name, with those that were asked for by `request.getfixturevalue`."""
    dynamic = getattr(getattr(item, "_request", None), "fixturenames", ())
    return {*getattr(item, "fixturenames", ()), *dynamic}


def _names_in(item: pytest.Item) -> set[str]:
    """The names that the test's code has in it, with those of the functions and fixtures of its module that it uses."""
    names: set[str] = set()
    known = vars(getattr(item, "module", None) or object)
    todo = [getattr(item, "function", None), *map(known.get, getattr(item, "fixturenames", ()))]
    todo += [getattr(getattr(item, "cls", None), name, None) for name in _AROUND]
    while todo:
        function = todo.pop()
        function = getattr(function, "_fixture_function", function)  # seen in pytest 8.4 to 9.2
        codes = [getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)]
        while codes:
            code = codes.pop()
            if isinstance(code, CodeType):
                new = {*code.co_names} - names
                names |= new
                codes += code.co_consts
                todo += [known[name] for name in new if isinstance(known.get(name), FunctionType)]
    return names


def _held_by(holder: Any, whose: str) -> Iterable[Shared]:
    """The objects that a test module, or a test class with the classes above it, has under a name."""
    names: dict[str, Any] = {}
    for kind in filter(is_users_class, holder.__mro__) if isinstance(holder, type) else (holder,):
        names = {**vars(kind), **names}
    for name, value in names.items():
        if not name.startswith("__") and name != "pytestmark" and may_change(value):
            held = contents(value)
            if held is not None and not held.fixed:
                yield Shared(f"{name} {whose}", name, holder, value, held)
