"""Findings as JSON values, and back: the contract of `--output-format json`, and what the cache keeps."""

from __future__ import annotations

from typing import Any

from tensorlint.findings import Edit, Evidence, FileError, Finding, Fix, Span


def _edit(edit: Edit) -> dict[str, object]:
    return {**edit.span._asdict(), "text": edit.text}


def _step(step: Evidence) -> dict[str, object]:
    value: dict[str, object] = {"line": step.line, "column": step.column, "message": step.message}
    return value if step.cell is None else {**value, "cell": step.cell}


def finding_to_json(finding: Finding) -> dict[str, object]:
    return {
        "path": finding.path,
        **finding.span._asdict(),
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "cell": finding.cell,
        "evidence": [_step(step) for step in finding.evidence],
        "fix": finding.fix
        and {"applicability": finding.fix.applicability, "edits": [_edit(edit) for edit in finding.fix.edits]},
    }


def error_to_json(error: FileError) -> dict[str, object]:
    value: dict[str, object] = {"path": error.path, "line": error.line, "message": error.message}
    return {**value, "cell": error.cell} if error.cell else value


def _span(value: dict[str, Any]) -> Span:
    return Span(value["line"], value["column"], value["end_line"], value["end_column"])


def finding_from_json(value: dict[str, Any]) -> Finding:
    """The finding that `finding_to_json` wrote. Raises KeyError or TypeError for anything else."""
    fix = value["fix"]
    return Finding(
        path=value["path"],
        span=_span(value),
        code=value["code"],
        name=value["name"],
        message=value["message"],
        severity=value["severity"],
        evidence=tuple(
            Evidence(step["line"], step["column"], step["message"], step.get("cell")) for step in value["evidence"]
        ),
        fix=fix and Fix(fix["applicability"], tuple(Edit(_span(edit), edit["text"]) for edit in fix["edits"])),
        cell=value["cell"],
    )
