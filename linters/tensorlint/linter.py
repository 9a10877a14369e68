"""Files to reports: configuration, rules and project put together. The command, flake8 and the pytest plugin use it."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace

from tensorlint.checking import Selection, check_source, failure, findings_of, open_source
from tensorlint.config import Config, ConfigFinder, Overrides, select_rules
from tensorlint.findings import FileReport
from tensorlint.fixes import fix
from tensorlint.garbage import collection_paused
from tensorlint.project import Project
from tensorlint.rules.registry import Registry
from tensorlint.source import PythonSource, SourceError, digest_of, read_bytes


@dataclass(slots=True, eq=False, repr=False)
class FileResult:
    """A file's report, the digest of what was read and, after fixes, what is to be written (None: nothing).

    `parsed` is false where the file was read but, as nothing in it can matter, not parsed.
    """

    path: str
    report: FileReport
    digest: bytes = b""
    fixed: bytes | None = None
    parsed: bool = True
    made: Counter[str] = field(default_factory=Counter)


def renamed(report: FileReport, path: str) -> FileReport:
    """The report under the path that the user knows the file by."""
    if report.path == path:
        return report
    old = report.path
    return FileReport(
        path,
        [replace(finding, path=path) for finding in report.findings],
        [replace(finding, path=path) for finding in report.strict_only],
        [replace(error, path=path) for error in report.errors],
        [path + warning.removeprefix(old) for warning in report.warnings],
    )


class Linter:
    """Lints one file after another; what it learns about the project is shared between them.

    Raises ConfigError where a configuration cannot be used; everything else that goes wrong is in a report.
    """

    def __init__(self, overrides: Overrides | None = None, finder: ConfigFinder | None = None) -> None:
        self.overrides = overrides or Overrides()
        self.finder = finder or ConfigFinder()
        self.project = Project()
        self._selected: tuple[Config, Selection] | None = None

    def selection(self, path: str) -> tuple[Registry, Selection]:
        config = self.finder.of_file(path)
        if config.per_file_ignores:
            return config.registry, select_rules(config, self.overrides, path)
        if self._selected is None or self._selected[0] is not config:  # the files of a folder come one after another
            self._selected = config, select_rules(config, self.overrides, path)
        return config.registry, self._selected[1]

    def unsafe_fixes(self, path: str) -> bool:
        return self.overrides.unsafe_fixes or self.finder.of_file(path).unsafe_fixes

    @collection_paused()
    def lint(
        self,
        path: str,
        *,
        data: bytes | None = None,
        text: str | None = None,
        fixing: bool = False,
        noqa: bool = True,
        named: bool = False,
    ) -> FileResult:
        """The result for a file, for `data` as if it were its contents, or for `text` as if it had been read from it.

        Nothing is written.

        A file without a tensor library has no findings and is not parsed, unless it was asked for by its name
        (`named`): then it is said if it does not parse.
        """
        path = os.path.abspath(path)
        registry, selection = self.selection(path)
        result = FileResult(path, FileReport(path))
        try:
            if text is not None:
                data = text.encode("utf-8", "surrogatepass")
            elif data is None:
                data = read_bytes(path)
            result.digest = self.project.digests[path] = digest_of(data)
            if not self.project.matters(path, data):
                result.parsed = named or b"\0" in data
                if result.parsed:
                    source = open_source(path, data, text)
                    _ = source.tree
                    result.report.errors = [failure(path, error) for error in source.broken_cells]
                return result
            source = open_source(path, data, text)
            if type(source) is PythonSource and (tree := self.project.tree_of(path, source.text)) is not None:
                source.__dict__["tree"] = tree  # a file that another has imported is parsed already
            result.report = check_source(source, registry, selection, self.project, noqa=noqa)
            if type(source) is PythonSource and not result.report.errors:
                self.project.keep(path, source.text, source.tree)
            if fixing and any(finding.fix for finding in result.report.findings):
                fixed = fix(
                    source,
                    lambda changed: findings_of(changed, registry, selection, self.project, noqa=noqa, failures=[])[0],
                    unsafe=self.unsafe_fixes(path),
                )
                if fixed.made:
                    result.fixed, result.made = fixed.source.to_bytes(), fixed.made
                    result.report = check_source(fixed.source, registry, selection, self.project, noqa=noqa)
        except Exception as error:  # a file's failure must not end the run
            result.report.errors.append(failure(path, error))
        return result

    def check_file(self, path: str | os.PathLike[str], *, noqa: bool = True) -> FileReport:
        """The report of a file under the path that was given."""
        return renamed(self.lint(os.fspath(path), noqa=noqa).report, os.fspath(path))

    def check_text(self, text: str, path: str | os.PathLike[str], *, noqa: bool = True) -> FileReport:
        """The report of a program that is not (or not like this) on disk, as if it were this file."""
        return renamed(self.lint(os.fspath(path), text=text, noqa=noqa).report, os.fspath(path))


__all__ = ["FileResult", "Linter", "SourceError", "renamed"]
