"""The pytest plugin: options, the marker, hooks and fixtures. Imports neither torch nor numpy."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tensorcheck", "checks for tensor code")
    group.addoption("--tensorcheck", action="store_true", default=None, help="Switch the checks of tensorcheck on")
