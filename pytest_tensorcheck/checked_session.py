"""A session with the checks on: puts the hooks together, and takes everything back at the end."""

from __future__ import annotations

import pytest

from pytest_tensorcheck.devices import require_device
from pytest_tensorcheck.report_hooks import ReportHooks, XdistHooks
from pytest_tensorcheck.run_hooks import RunHooks
from pytest_tensorcheck.settings import Settings


class CheckedSession:
    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.run_hooks = RunHooks(config, settings)

    @property
    def base_seed(self) -> int:
        """The base seed of the run of a test that is under way (a sweep has several)."""
        return self.run_hooks.base_seed

    def start(self) -> None:
        self.run_hooks.start()

    def register(self) -> None:
        """Called when the command line is complete: other plugins are known, and errors are shown in one line."""
        require_device(self.settings)
        plugins = self.config.pluginmanager
        plugins.register(self.run_hooks, "tensorcheck-run")
        report = ReportHooks(self.config, self.settings, self.run_hooks)
        plugins.register(report, "tensorcheck-report")
        plugins.register(XdistHooks(report), "tensorcheck-xdist")
        if self.settings.seeds:
            from pytest_tensorcheck.seed_sweep import SeedSweep

            plugins.register(SeedSweep(self.settings.seeds, self.run_hooks, report.complete), "tensorcheck-seeds")
        if self.settings.record or self.settings.compare:
            from pytest_tensorcheck.determinism.log_hooks import OperationLogs

            plugins.register(OperationLogs(self.config, self.settings), "tensorcheck-logs")
        if self.settings.lint:
            from pytest_tensorcheck.lint_items import LintHooks

            lint = LintHooks(self.config)
            lint.check_configuration()
            plugins.register(lint, "tensorcheck-lint")

    def stop(self) -> None:
        self.run_hooks.stop()
