"""`--tensorcheck-lint`: each Python file of the project is one item, `src/model.py::tensorlint`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tensorcheck.observations import TensorcheckFailure

if TYPE_CHECKING:
    from tensorlint.findings import FileReport
    from tensorlint.linter import Linter

ITEM_NAME = "tensorlint"


class LintFindings(TensorcheckFailure):
    """What tensorlint found in one file, as its command would print it."""


class LintHooks:
    """Collects what `tensorlint check` would read: its exclusions and its configuration hold here too."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @cached_property
    def linter(self) -> Linter:
        from tensorlint.linter import Linter

        return Linter()

    def check_configuration(self) -> None:
        """Raises pytest.UsageError for a configuration of tensorlint that cannot be used, before anything runs."""
        _ = self.files

    @cached_property
    def files(self) -> dict[Path, None]:
        from tensorlint.config import ConfigError
        from tensorlint.discovery import discover

        named = [arg.partition("::")[0] for arg in self.config.args]
        paths = [str(self.config.rootpath), *(path for path in named if os.path.isfile(path))]
        try:
            found = discover(paths, self.linter.finder).files
            for path in found:
                self.linter.selection(path)
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from None
        return dict.fromkeys(map(Path, found))

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        return LintFile.of(parent, file_path, self.linter) if file_path in self.files else None

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """`pytest src/model.py::tensorlint` asks for the lint item: the file is read, not imported."""
        asked = [arg.partition("::")[2] for arg in self.config.args if _names(arg, module_path)]
        if asked and all(name == ITEM_NAME for name in asked):
            module: pytest.Module = NotImported.from_parent(parent, path=module_path)
            return module
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """With `testpaths`, pytest looks at the tests only; the rest of the project is linted all the same."""
        if self.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
            return
        collected = {item.path for item in items if isinstance(item, LintItem)}
        for path in self.files:
            if path not in collected:
                items.extend(LintFile.of(session, path, self.linter).collect())


class NotImported(pytest.Module):
    """Stands for a module of which only the lint item was asked for."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        return []


class LintFile(pytest.File):
    linter: Linter

    @classmethod
    def of(cls, parent: Any, path: Path, linter: Linter) -> LintFile:
        node: LintFile = cls.from_parent(parent, path=path)
        node.linter = linter
        return node

    def collect(self) -> Iterator[LintItem]:
        yield LintItem.from_parent(self, name=ITEM_NAME)


class LintItem(pytest.Item):
    parent: LintFile
    tensorcheck_exempt = True  # nothing runs here that could draw numbers or set state

    def runtest(self) -> None:
        __tracebackhide__ = True
        report = self.parent.linter.check_file(_shown(self.path))
        for warning in report.warnings:
            self.warn(pytest.PytestWarning(warning))
        if report.findings or report.errors:
            raise LintFindings(_rendered(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, LintFindings):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{ITEM_NAME} {_shown(self.path)}"


def _names(argument: str, path: Path) -> bool:
    file = argument.partition("::")[0]
    return bool(file) and Path(os.path.abspath(file)) == path


def _shown(path: Path) -> str:
    from tensorlint.discovery import shown_path

    return shown_path(str(path), str(Path.cwd()))


def _rendered(report: FileReport) -> str:
    from tensorlint.findings import RunReport
    from tensorlint.formats import View
    from tensorlint.formats.text import render

    lines = [f"{error.path}:{error.line}: {error.message}" for error in report.errors]
    if report.findings:
        lines.append(render(RunReport(findings=report.findings, files=1), View()).rstrip())
    return "\n".join(lines)
