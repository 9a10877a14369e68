"""What runs around a test besides the test: pytest alone, or somebody who may draw numbers and set state there.

Where it is pytest alone, two savings are exact. What a test leaves is what the next one finds, so global state is read
once for each test and not twice. And a function without fixtures has an empty setup and teardown, which need no seeds.
"""

from __future__ import annotations

from typing import Any

import pytest

# Every hook that runs between the teardown of one test and the call of the next, or may add to a test's teardown.
_AROUND_TESTS = (
    "pytest_runtestloop",
    "pytest_runtest_protocol",
    "pytest_runtest_logstart",
    "pytest_runtest_setup",
    "pytest_runtest_call",  # a wrapper of it begins before the call is seeded
    "pytest_pyfunc_call",
    "pytest_runtest_teardown",
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_runtest_logfinish",
    "pytest_report_teststatus",
    "pytest_exception_interact",
    "pytest_warning_recorded",
)
# Whose implementations of them neither draw from global generators nor leave state changed.
_HARMLESS = ("_pytest", "pytest_tensorcheck")
_PUT_ON_ITEMS = ("setup", "teardown")


class Surroundings:
    """Asked before every test; looked up again only when a plugin or a conftest has come."""

    def __init__(self, config: pytest.Config) -> None:
        self._hooks = config.hook
        self.alone: bool | None = None  # whether it is pytest alone; None: not known since the last plugin came
        self._parent: Any = None
        self._plain_parents = False

    def look_again(self) -> None:
        self.alone = None

    def _look(self) -> bool:
        self.alone = all(
            _home_of(implementation.plugin) in _HARMLESS
            for name in _AROUND_TESTS
            for implementation in getattr(self._hooks, name).get_hookimpls()
        )
        return self.alone

    def empty_setup(self, item: pytest.Item) -> bool:
        """Whether nothing of the user's runs before and after the item's function."""
        if not (self._look() if self.alone is None else self.alone):
            return False
        if type(item) is not pytest.Function or item.fixturenames or item.own_markers:
            return False  # a marker: the condition of a skipif may be the user's expression
        if not vars(item).keys().isdisjoint(_PUT_ON_ITEMS):
            return False
        if item.parent is not self._parent:
            self._parent = item.parent
            # A collector of somebody else's may have a setup of its own.
            self._plain_parents = all(
                type(node).__module__.startswith("_pytest.") and not node.own_markers for node in item.listchain()[:-1]
            )
        return self._plain_parents

    def empty_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """The same at its end, of an item whose setup was empty: unless modules or classes end there, whose finalizers may
        be anybody's."""
        return nextitem is not None and nextitem.parent is item.parent and bool(self.alone)


def _home_of(plugin: object) -> str:
    """The package in which a plugin is defined, be it a module or an object."""
    name = getattr(plugin, "__name__", None) or type(plugin).__module__
    return str(name).partition(".")[0]
