"""What a leak of global state is called when it is reported: by a test, by a fixture, by importing a module."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tensorcheck.global_state import Change
from pytest_tensorcheck.observations import Observation
from pytest_tensorcheck.user_line import UserLine


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
    where = UserLine(code.co_filename, code.co_firstlineno, code.co_qualname) if code is not None else None
    name = f"the {fixturedef.scope} fixture {fixturedef.argname}"
    return Observation(
        check="state",
        message=f"{change}, left by {name}",
        where=where,
        detail=f"{name} left global state changed: {change}. It was put back for the tests that follow. "
        "Put it back after the fixture's `yield`.",
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
