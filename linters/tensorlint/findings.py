"""What the linter says: a finding, the evidence behind it and the edit that would repair it.

Lines and columns count from 1; columns count code points; an end column is one past the last character.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Applicability = Literal["safe", "unsafe"]
Severity = Literal["error", "warning", "info"]


class Span(NamedTuple):
    """A range of source text; sorts by where it starts."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """One step of the trail that led to a finding: `pred was made (4, 1) by nn.Linear(8, 1)`.

    `cell` is the notebook cell the line is counted in, None in a plain file.
    """

    line: int
    column: int
    message: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `text`; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all of them are made or none is.

    `safe` keeps what the program computes; `unsafe` may change it and needs `--unsafe-fixes`.
    """

    applicability: Applicability
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One report of one rule. `cell` is the notebook cell (from 1), None in a plain file."""

    path: str
    span: Span
    code: str
    name: str
    message: str
    severity: Severity = "warning"
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    cell: int | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        return (self.path, self.cell or 0, self.span.line, self.span.column, self.code, self.message)


@dataclass(frozen=True, slots=True, order=True)
class FileError:
    """A file that could not be read or parsed; the other files go on. `cell` as in `Finding`."""

    path: str
    line: int
    message: str
    cell: int = 0

    def __str__(self) -> str:
        where = f"cell {self.cell}:{self.line}" if self.cell else str(self.line)
        return f"{self.path}:{where}: {self.message}" if self.line else f"{self.path}: {self.message}"


@dataclass(slots=True, eq=False, repr=False)
class FileReport:
    """Everything one file gave: findings that are shown, findings only stricter rules would show, errors.

    `warnings` are for standard error: a suppression that names no rule, or that suppresses nothing.
    """

    path: str
    findings: list[Finding] = field(default_factory=list)
    strict_only: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class RunReport:
    """Everything a run gave, sorted. `fixed` counts the fixes made of each code, `changed` the files they were in.

    `known` counts findings that the baseline holds; they are in no list.
    """

    findings: list[Finding] = field(default_factory=list)
    strict_only: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: int = 0
    fixed: dict[str, int] = field(default_factory=dict)
    changed: int = 0
    known: int = 0

    @property
    def exit_code(self) -> int:
        """2 where something could not be checked, else 1 where something was found."""
        return 2 if self.errors else 1 if self.findings else 0
