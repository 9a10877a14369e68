"""GitLab's code quality report (`artifacts: reports: codequality`)."""

from __future__ import annotations

import json

from tensorlint.findings import RunReport, Severity
from tensorlint.formats import View
from tensorlint.formats.fingerprints import identified

_SEVERITY: dict[Severity, str] = {"error": "major", "warning": "minor", "info": "info"}


def render(report: RunReport, view: View) -> str:
    entries: list[dict[str, object]] = []
    for finding, fingerprint in identified(report.findings, view.lines):
        span = finding.span
        # Of a notebook GitLab knows the file only; the cell is said in the description.
        first, last = (span.line, span.end_line) if finding.cell is None else (1, 1)
        cell = "" if finding.cell is None else f" (cell {finding.cell}, line {span.line})"
        entries.append({
            "description": f"{finding.code}: {finding.message}{cell}",
            "check_name": f"tensorlint/{finding.name}",
            "fingerprint": fingerprint,
            "severity": _SEVERITY[finding.severity],
            "location": {"path": finding.path, "lines": {"begin": first, "end": last}},
        })  # fmt: skip
    for number, error in enumerate(report.errors):
        entries.append({
            "description": f"{error.message} (cell {error.cell}, line {error.line})" if error.cell else error.message,
            "check_name": "tensorlint/error",
            "fingerprint": f"error-{number}-{error.path}",
            "severity": "blocker",
            "location": {"path": error.path, "lines": {"begin": 1 if error.cell else error.line or 1}},
        })  # fmt: skip
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
