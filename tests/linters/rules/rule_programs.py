"""What the default rules say of a program, and what Python makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.rules.registry import load
from tensorlint.source import PythonSource


def findings(code: str) -> list[Finding]:
    """By all rules that are on without being asked for."""
    defaults = frozenset(rule.code for rule in load() if rule.default == "on")
    return findings_of(PythonSource("case.py", code), load(), Selection(defaults), None)[0]


def codes(code: str) -> list[str]:
    return [each.code for each in findings(code)]


def run(code: str, *libraries: str) -> dict[str, Any]:
    """The names of the program that has run; the test is skipped where a library (torch, if none is named) is missing."""
    for library in libraries or ("torch",):
        pytest.importorskip(library, reason="the programs are run")
    scope: dict[str, Any] = {"__name__": "case"}
    exec(code, scope)
    return scope
