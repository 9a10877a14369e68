"""tensorlint as a flake8 plugin: the same configuration, the same findings.

flake8 counts columns from 0 and filters `# noqa` itself; our own `# tensorlint: ignore[...]` counts as well.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from typing import ClassVar

from tensorlint import version
from tensorlint.config import ConfigError
from tensorlint.discovery import left_out
from tensorlint.linter import Linter

Result = tuple[int, int, str, type]


class TensorlintPlugin:
    """One file of a flake8 run."""

    name = "tensorlint"
    version = version()
    _linter: ClassVar[Linter | None] = None

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self.filename = "stdin.py" if filename in ("-", "stdin") else filename
        self.text = "".join(lines)

    def run(self) -> Iterator[Result]:
        """(line, column from 0, text, type) of each finding; what goes wrong is reported as TSR000."""
        cls = type(self)
        if cls._linter is None:
            cls._linter = Linter()
        path = os.path.abspath(self.filename)
        try:
            if left_out(path, cls._linter.finder):  # flake8 names each file, whether or not the user did
                return
            report = cls._linter.check_text(self.text, path, noqa=False)
        except ConfigError as error:
            yield 1, 0, f"TSR000 {error}", cls
            return
        for finding in report.findings:
            yield finding.span.line, finding.span.column - 1, f"{finding.code} {finding.message}", cls
        for failure in report.errors:
            yield failure.line or 1, 0, f"TSR000 {failure.message}", cls
