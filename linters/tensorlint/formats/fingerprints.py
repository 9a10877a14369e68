"""A name for a finding that survives the lines above it moving: for GitLab, SARIF and the baseline."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from tensorlint.findings import Finding
from tensorlint.formats import SourceLines


def identified(findings: Iterable[Finding], lines: SourceLines) -> Iterator[tuple[Finding, str]]:
    """Each finding with a digest of file, rule and line text; equal ones are told apart by their order."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for finding in findings:
        text = lines.line(finding.path, finding.cell, finding.span.line).strip()
        key = (finding.path, finding.code, text)
        seen[key] += 1
        yield finding, hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "replace")).hexdigest()[:32]
