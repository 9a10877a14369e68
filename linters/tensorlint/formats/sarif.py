"""SARIF 2.1.0 (OASIS), for code scanning: rules, results with regions, evidence as related locations, and fixes."""

from __future__ import annotations

import inspect
import json
import urllib.parse
from collections.abc import Mapping

from tensorlint import version
from tensorlint.findings import Edit, Finding, RunReport, Severity, Span
from tensorlint.formats import View
from tensorlint.formats.fingerprints import identified

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


def _artifact(path: str) -> dict[str, object]:
    absolute = path.startswith("/") or path[1:2] == ":"
    uri = urllib.parse.quote(path)
    return (
        {"uri": f"file://{'' if path.startswith('/') else '/'}{uri}"}
        if absolute
        else {"uri": uri, "uriBaseId": "%SRCROOT%"}
    )


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}


def _location(finding: Finding, span: Span, message: str = "") -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": _artifact(finding.path)}
    if finding.cell is None:  # a region would count the lines of the JSON, and we count those of the cell
        physical["region"] = _region(span)
    location: dict[str, object] = {"physicalLocation": physical}
    return {**location, "message": {"text": message}} if message else location


def _replacement(edit: Edit) -> dict[str, object]:
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}


def _result(finding: Finding, fingerprint: str, indices: Mapping[str, int]) -> dict[str, object]:
    cell = "" if finding.cell is None else f" (cell {finding.cell}, line {finding.span.line})"
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": indices[finding.code],
        "level": _LEVEL[finding.severity],
        "message": {"text": finding.message + cell},
        "locations": [_location(finding, finding.span)],
        "partialFingerprints": {"tensorlint/v1": fingerprint},
    }
    if finding.evidence:
        result["relatedLocations"] = [
            _location(finding, Span(step.line, step.column, step.line, step.column), step.message)
            for step in finding.evidence
        ]
    if finding.fix is not None and finding.cell is None:
        changes = [
            {"artifactLocation": _artifact(finding.path), "replacements": [_replacement(e) for e in finding.fix.edits]}
        ]
        result["fixes"] = [{"description": {"text": f"{finding.fix.applicability} fix"}, "artifactChanges": changes}]
    return result


def render(report: RunReport, view: View) -> str:
    examples = {finding.code: finding for finding in report.findings}
    codes = sorted(examples)
    rules: list[dict[str, object]] = []
    for code in codes:
        rule = view.rules.get(code)
        rules.append({
            "id": code,
            "name": examples[code].name,
            "shortDescription": {"text": rule.summary if rule else examples[code].name},
            "fullDescription": {"text": inspect.cleandoc(rule.__doc__ or rule.summary) if rule else code},
            "defaultConfiguration": {"level": _LEVEL[examples[code].severity]},
        })  # fmt: skip
    notifications = [
        {
            "level": "error",
            "message": {"text": str(error)},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(error.path)}}],
        }
        for error in report.errors
    ]
    indices = {code: index for index, code in enumerate(codes)}
    run: dict[str, object] = {
        "tool": {"driver": {"name": "tensorlint", "version": version(), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not report.errors, "toolExecutionNotifications": notifications}],
        "results": [
            _result(finding, fingerprint, indices) for finding, fingerprint in identified(report.findings, view.lines)
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"
