"""Annotations of GitHub Actions: workflow commands on standard output, shown at the line in a pull request."""

from __future__ import annotations

from tensorlint.findings import FileError, Finding, RunReport
from tensorlint.formats import View, place, step_place

_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _finding(finding: Finding) -> str:
    span = finding.span
    where = {"file": finding.path}
    # GitHub knows the lines of the file only: a notebook's place is said in the message.
    if finding.cell is None:
        where |= {"line": str(span.line), "endLine": str(span.end_line)}
        if span.line == span.end_line:  # else GitHub refuses columns
            where |= {"col": str(span.column), "endColumn": str(span.end_column)}
    else:
        where |= {"line": "1"}
    title = f"{finding.code} {finding.name}"
    properties = ",".join(f"{key}={_property(value)}" for key, value in {"title": title, **where}.items())
    steps = "".join(f"\n{step_place(finding, step)}: {step.message}" for step in finding.evidence)
    return f"::{_COMMAND[finding.severity]} {properties}::{_data(f'{place(finding)}: {finding.message}{steps}')}\n"


def _error(error: FileError) -> str:
    line = f",line={error.line}" if error.line and not error.cell else ""
    return f"::error title=tensorlint,file={_property(error.path)}{line}::{_data(str(error))}\n"


def render(report: RunReport, view: View) -> str:
    return "".join([*map(_finding, report.findings), *map(_error, report.errors)])
