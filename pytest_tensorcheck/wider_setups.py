"""What is set up for more than one test: fixtures of a class, module, package or session, and collectors' own setup.

It draws numbers of its own, so that they do not depend on which test comes first, and state that it sets stays set until
its teardown, which must put it back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_tensorcheck.global_state import Change, GlobalState, Snapshot
from pytest_tensorcheck.seeding import Seeder


class WiderSetups:
    """Each owner (a fixture's definition, a collector) goes through `begin`, `begin_teardown` and `end`."""

    def __init__(self, seeder: Seeder, state: GlobalState) -> None:
        self._seeder = seeder
        self._state = state
        self._set_by: dict[int, list[Change]] = {}
        self._open_teardowns: dict[int, tuple[Any, Snapshot]] = {}

    @contextmanager
    def begin(self, owner: object, seed: int) -> Iterator[None]:
        """Around the setup."""
        before = self._state.snapshot()
        try:
            with self._seeder.undisturbed(seed):
                yield
        finally:
            after = self._state.snapshot()
            changes = self._state.changes(before, after)
            for change in changes:
                self._state.expect(change, change.new)
            if changes and isinstance(owner, pytest.Package):
                changes = [left for change in changes if (left := _without_pytests_own(change, owner)) is not None]
            self._set_by[id(owner)] = changes

    def set_by(self, owner: object) -> list[Change]:
        """What its setup has changed."""
        return self._set_by.get(id(owner), [])

    def begin_teardown(self, owner: object, seed: int) -> None:
        undisturbed = self._seeder.undisturbed(seed)
        undisturbed.__enter__()
        self._open_teardowns[id(owner)] = undisturbed, self._state.snapshot()

    def end(self, owner: object) -> list[Change]:
        """After the teardown: what the setup had changed and the teardown left so, and what the teardown itself left.

        It is put back here.
        """
        state = self._state
        undisturbed, before = self._open_teardowns.pop(id(owner), (None, None))
        if undisturbed is not None:
            undisturbed.__exit__(None, None, None)
        left = []
        set_by_setup = self._set_by.pop(id(owner), [])
        for change in set_by_setup:
            now = state.current(change)
            if now == change.new:
                left.append(change)
            else:
                state.expect(change, now)
        if before is not None and (after := state.snapshot()) != before:
            known = {(change.row, change.key) for change in set_by_setup}
            moved = {(change.row, change.key) for change in state.changes(before, after)} - known
            left += [change for change in state.changes(state.expected, after) if (change.row, change.key) in moved]
        restored = state.put_back(left)
        for change in restored:
            state.expect(change, state.current(change))
        return restored


class CollectorSetups:
    """Collectors with a setup: packages, whose `__init__.py` may hold setup_module, and those of plugins and conftests."""

    def __init__(
        self,
        wider: WiderSetups,
        seed_of: Callable[[str, str], int],
        left: Callable[[pytest.Collector, list[Change]], None],
    ) -> None:
        self._wider = wider
        self._seed_of = seed_of
        self._left = left
        self._seen: set[pytest.Collector] = set()

    def guard(self, items: Iterable[pytest.Item]) -> None:
        """pytest calls `node.setup()` and `node.teardown()`: these are ours from now on, and call the node's."""
        for item in items:
            node: Any = item.parent
            while node is not None and node not in self._seen:
                self._seen.add(node)
                if _sets_up(node):
                    self._guard(node)
                node = node.parent

    def _guard(self, node: Any) -> None:
        node_setup, node_teardown = node.setup, node.teardown

        def setup() -> None:
            __tracebackhide__ = True
            try:
                with self._wider.begin(node, self._seed_of("setup", node.nodeid)):
                    node_setup()
            finally:  # added last, so it is the first finalizer of the setup to run
                node.addfinalizer(lambda: self._wider.begin_teardown(node, self._seed_of("teardown", node.nodeid)))

        def teardown() -> None:
            __tracebackhide__ = True
            try:
                node_teardown()
            finally:
                self._left(node, self._wider.end(node))

        node.setup, node.teardown = setup, teardown


def _without_pytests_own(change: Change, package: pytest.Package) -> Change | None:
    """The change without the folder that pytest put into `sys.path` to import the package, if there is more to it.

    pytest does so before the package's setup function runs, and leaves it there.
    """
    if change.item.name != "sys.path":
        return change
    added = Counter(change.new) - Counter(change.old)
    own = next((folder for folder in _import_folders(package) if added[folder]), None)
    if own is None:
        return change
    at_end = package.config.getoption("importmode") == "append"
    old = [*change.old, own] if at_end else [own, *change.old]
    return None if old == change.new else change._replace(old=old)


def _import_folders(package: pytest.Package) -> list[str]:
    """The folders that pytest may import the package from, the first the one that it takes by default."""
    folders = [folder for folder in package.path.parents if not (folder / "__init__.py").is_file()]
    try:
        further = bool(package.config.getini("consider_namespace_packages"))
    except (KeyError, ValueError):  # pytest 8.0
        further = False
    return [str(folder) for folder in (folders if further else folders[:1])]


def _sets_up(node: Any) -> bool:
    plain = pytest.Collector
    kind = type(node)
    return (
        kind.setup is not plain.setup
        or kind.teardown is not plain.teardown
        or not vars(node).keys().isdisjoint(("setup", "teardown"))
    )
