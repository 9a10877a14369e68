"""Errors of the interpreter are let out in these tests; for a user they cost one piece of a file."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _let_errors_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORLINT_DEBUG", "1")
