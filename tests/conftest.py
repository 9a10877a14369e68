"""For all tests: what one oracle does to the process is undone before the next test."""

from __future__ import annotations

import sys

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`torch.testing._internal`, whose samples are an oracle, forbids the process to assign `torch.backends.*` flags."""
    torch = sys.modules.get("torch")
    if hasattr(torch, "backends"):
        # The module in sys.modules wraps the one whose globals these are.
        torch.backends.disable_global_flags.__globals__["__allow_nonbracketed_mutation_flag"] = True
