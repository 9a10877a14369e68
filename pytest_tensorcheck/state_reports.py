"""What a leak of global state is called when it is reported: by a test, by a fixture, by importing a module."""

from __future__ import annotations

from types import CodeType
from typing import Any

import pytest

from pytest_tensorcheck.global_state import Change
from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.user_line import UserLine, is_user_file


def last_name(change: Change) -> str:
    return change.name.rpartition(" ")[2]


def facts_of(change: Change) -> dict[str, Any]:
    return {"name": change.name, "old": change.shown_old, "new": change.shown_new, "restored": change.restored}


def left_by(item: pytest.Item, what: str, facts: dict[str, Any], restored: bool = True) -> Observation:
    path, line, name = item.location
    where = UserLine(str(item.config.rootpath / path), (line or 0) + 1, name)
    after = "It was put back for the tests that follow." if restored else "It cannot be put back in this process."
    return Observation(
        check="state",
        message=f"{what}, left by {item.nodeid}",
        where=where,
        detail=f"{item.nodeid} left global state changed: {what}. {after} Change it inside a `with` block or with "
        "monkeypatch, or put it back in the fixture that set it.",
        facts=facts,
    )


def left_by_fixture(fixturedef: pytest.FixtureDef[Any], change: Change) -> Observation:
    code = getattr(fixturedef.func, "__code__", None)
    name, remedy = f"the {fixturedef.scope} fixture {fixturedef.argname}", "after the fixture's `yield`"
    if code is not None and not is_user_file(code.co_filename):
        code, name, remedy = _of_setup_function(fixturedef.func) or (code, name, remedy)
    where = UserLine(code.co_filename, code.co_firstlineno, code.co_qualname) if code is not None else None
    return _left_by_wider(name, remedy, where, change)


def _of_setup_function(fixture: Any) -> tuple[CodeType, str, str] | None:
    """pytest makes fixtures of setup_module, setup_class and setUpClass; their closures hold the user's function."""
    for cell in getattr(fixture, "__closure__", None) or ():
        try:
            function = cell.cell_contents
        except ValueError:  # not assigned
            continue
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if isinstance(code, CodeType) and is_user_file(code.co_filename):
            return (
                code,
                code.co_qualname,
                f"in {code.co_name.replace('setup', 'teardown').replace('setUp', 'tearDown')}",
            )
    return None


def left_by_collector(node: pytest.Collector, change: Change) -> Observation:
    file = node.path / "__init__.py" if node.path.is_dir() else node.path
    return _left_by_wider(f"the setup of {node.nodeid}", "in its teardown", UserLine(str(file), 1), change)


def _left_by_wider(name: str, remedy: str, where: UserLine | None, change: Change) -> Observation:
    return Observation(
        check="state",
        message=f"{change}, left by {name}",
        where=where,
        detail=f"{name} left global state changed: {change}. It was put back for the tests that follow. "
        f"Put it back {remedy}.",
        facts=facts_of(change),
    )


def by_import(module: pytest.Module, change: Change) -> Observation:
    return Observation(
        check="state",
        message=f"{change}, set by importing {module.nodeid}",
        where=UserLine(str(module.path), 1, "<module>"),
        detail=f"importing {module.nodeid} changed global state: {change}. tensorcheck keeps it for this module's "
        "tests and takes it back for all others; without tensorcheck it reaches every test that runs after the "
        "import. Set it in a fixture of the module instead.",
        facts=facts_of(change),
    )
