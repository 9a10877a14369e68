"""How a run is printed: one module for each format, each with `render(report, view) -> str`."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorlint.findings import Evidence, Finding, RunReport
from tensorlint.source import Lines, SourceError, read_bytes

if TYPE_CHECKING:
    from tensorlint.rules.rule import AnyRule


@dataclass(slots=True, eq=False, repr=False)
class SourceLines:
    """Lines of the files that have findings, read once each; of standard input from what was read."""

    given: dict[str, bytes] = field(default_factory=dict)
    _files: dict[tuple[str, int], Lines] = field(default_factory=dict)

    def line(self, path: str, cell: int | None, line: int) -> str:
        """The text of a line, of a cell where the file is a notebook; empty if it cannot be read any more."""
        key = (path, cell or 0)
        if key not in self._files:
            self._files[key] = Lines(self._text(path, cell))
        return self._files[key][line]

    def _text(self, path: str, cell: int | None) -> str:
        from tensorlint.checking import open_source
        from tensorlint.notebook import NotebookSource

        try:
            data = self.given[path] if path in self.given else read_bytes(path)
            source = open_source(path if cell is None else "x.ipynb", data)
            if isinstance(source, NotebookSource):
                return next((each.text for each in source.cells if each.number == cell), "")
            return source.text
        except SourceError:
            return ""


@dataclass(slots=True, eq=False, repr=False)
class View:
    """What a format needs beside the report."""

    lines: SourceLines = field(default_factory=SourceLines)
    colour: bool = False
    statistics: bool = False
    rules: Mapping[str, AnyRule] = field(default_factory=dict)


def place(finding: Finding) -> str:
    """`path:line:column`, or `path:cell N:line:column` in a notebook."""
    cell = f"cell {finding.cell}:" if finding.cell is not None else ""
    return f"{finding.path}:{cell}{finding.span.line}:{finding.span.column}"


def step_place(finding: Finding, step: Evidence) -> str:
    """`line 3`, with the cell where it is another than the finding's."""
    cell = f"cell {step.cell}, " if step.cell is not None and step.cell != finding.cell else ""
    return f"{cell}line {step.line}"


def counts(report: RunReport) -> list[tuple[int, Finding]]:
    """How often each rule spoke, most often first, each with one of its findings."""
    number = Counter(finding.code for finding in report.findings)
    first: dict[str, Finding] = {}
    for finding in report.findings:
        first.setdefault(finding.code, finding)
    return [(number[code], first[code]) for code in sorted(number, key=lambda code: (-number[code], code))]


def render(name: str, report: RunReport, view: View) -> str:
    """The whole output in a format of `config.FORMATS`; ends with a line end unless it is empty."""
    module = importlib.import_module(f"tensorlint.formats.{'text' if name == 'concise' else name}")
    text: str = module.render_concise(report, view) if name == "concise" else module.render(report, view)
    return text
