"""For programs: the contract is in docs/tensorlint.md, and grows only by new keys."""

from __future__ import annotations

import json

from tensorlint.findings import RunReport
from tensorlint.formats import View, counts
from tensorlint.formats.wire import error_to_json, finding_to_json


def render(report: RunReport, view: View) -> str:
    document: dict[str, object] = {
        "version": 1,
        "findings": [finding_to_json(finding) for finding in report.findings],
        "errors": [error_to_json(error) for error in report.errors],
        "files": report.files,
    }
    if view.statistics:
        document["statistics"] = [
            {"code": finding.code, "name": finding.name, "count": number} for number, finding in counts(report)
        ]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
