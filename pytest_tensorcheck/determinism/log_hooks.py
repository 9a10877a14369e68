"""`--tensorcheck-record F` and `--tensorcheck-compare F`: each test's operations to a file, or against one from elsewhere."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_tensorcheck.frameworks import loaded, require
from pytest_tensorcheck.settings import Settings
from pytest_tensorcheck.test_run import at_test


class OperationLogs:
    """Registered where one of the two options is given."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        option = "--tensorcheck-record" if settings.record else "--tensorcheck-compare"
        if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
            raise pytest.UsageError(f"{option} writes and reads one log in one process: run without -n")
        try:
            require("torch", option)
        except ImportError as error:
            raise pytest.UsageError(str(error)) from None
        from pytest_tensorcheck.determinism import LogChecker, LogWriter
        from pytest_tensorcheck.determinism.logs import LogError

        try:
            # A sweep has no one base seed.
            seed = None if settings.seeds else settings.seed
            self.writer = LogWriter(settings.record, seed) if settings.record else None
            self.checker = LogChecker(settings.compare) if settings.compare else None
        except (OSError, LogError) as error:
            raise pytest.UsageError(f"{option}: {error}") from None
        recorded = self.checker.log.base_seed if self.checker is not None else None
        if None not in (recorded, seed) and recorded != seed:
            raise pytest.UsageError(
                f"{option}: {settings.compare} was recorded with base seed {recorded}, and this run has {seed}: "
                f"pass --tensorcheck-seed {recorded}"
            )
        self.missing: list[str] = []
        self.varying: list[str] = []

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        if loaded("torch") is None or getattr(item, "tensorcheck_exempt", False):
            return (yield)
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            self.varying.append(item.nodeid)
            return (yield)
        if self.writer is not None:
            with self.writer.recording(item.nodeid):
                return (yield)
        assert self.checker is not None
        if self.checker.missing(item.nodeid):
            self.missing.append(item.nodeid)
            return (yield)
        from pytest_tensorcheck.determinism import DivergenceError

        try:
            with self.checker.checking(item.nodeid):
                return (yield)
        except DivergenceError as error:
            raise at_test(error, item) from None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for nodeids, why in (
            (self.missing, "are not in the log and were compared with nothing"),
            (self.varying, "get other examples from hypothesis each time and were left out"),
        ):
            if nodeids:
                terminalreporter.write_line(f"tensorcheck: {len(nodeids)} tests {why}: " + ", ".join(nodeids[:5]))

    def pytest_unconfigure(self) -> None:
        if self.writer is not None:
            self.writer.close()
