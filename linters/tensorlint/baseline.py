"""A file of findings that are known and not reported, so that a large project can begin with the new ones.

An entry is a rule and the text of the line it spoke about, so that it survives the lines above it moving.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tensorlint.config import ConfigError
from tensorlint.findings import Finding, RunReport
from tensorlint.formats import SourceLines
from tensorlint.source import SourceError, write_atomically

FORMAT = 1
Entry = tuple[str, str, str]


def _entry(finding: Finding, file: Path, lines: SourceLines) -> Entry:
    path = os.path.relpath(os.path.abspath(finding.path), file.absolute().parent).replace(os.sep, "/")
    return path, finding.code, lines.line(finding.path, finding.cell, finding.span.line).strip()


def read(file: Path) -> Counter[Entry]:
    """How often each entry is known. Raises ConfigError."""
    try:
        document = json.loads(file.read_bytes())
        if document["version"] != FORMAT:
            raise ConfigError(
                f"baseline {file} is of version {document['version']!r}; --write-baseline makes a new one"
            )
        return Counter(
            {(each["path"], each["code"], each["text"]): int(each["count"]) for each in document["findings"]}
        )
    except FileNotFoundError:
        raise ConfigError(
            f"baseline {file} does not exist; --write-baseline makes it from the current findings"
        ) from None
    except OSError as error:
        raise ConfigError(f"baseline {file} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(
            f"baseline {file} is not a baseline of tensorlint; --write-baseline makes a new one"
        ) from None


def write(file: Path, report: RunReport, lines: SourceLines, checked: Sequence[str]) -> int:
    """Makes every finding of the report a known one; how many it keeps of files that were not `checked`, which are files
    and folders. Raises ConfigError."""
    counts = Counter(_entry(finding, file, lines) for finding in report.findings)
    others = _of_other_files(file, report, checked)
    counts |= others
    entries = [
        {"path": path, "code": code, "text": text, "count": n} for (path, code, text), n in sorted(counts.items())
    ]
    document = {"version": FORMAT, "findings": entries}
    try:
        write_atomically(file, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
    except SourceError as error:
        raise ConfigError(f"baseline {file} {error.message}") from None
    return sum(others.values())


def _of_other_files(file: Path, report: RunReport, checked: Sequence[str]) -> Counter[Entry]:
    """What the baseline knows of files that are still there and were not checked, or could not be."""
    try:
        known = read(file)
    except ConfigError:  # there is none yet, or it is to be replaced
        return Counter()
    failed = {os.path.abspath(error.path) for error in report.errors}
    places = [Path(os.path.abspath(path)) for path in (*checked, *(finding.path for finding in report.findings))]
    found: Counter[Entry] = Counter()
    for entry, count in known.items():
        path = Path(os.path.normpath(file.absolute().parent / entry[0]))
        if path.exists() and (str(path) in failed or not any(path.is_relative_to(place) for place in places)):
            found[entry] = count
    return found


def leave_out_known(file: Path, report: RunReport, lines: SourceLines) -> int:
    """Takes what the baseline knows out of the report; how many entries no longer occur in the files of the run."""
    known = read(file)
    kept = []
    for finding in report.findings:
        entry = _entry(finding, file, lines)
        if known[entry]:
            known[entry] -= 1
            report.known += 1
        else:
            kept.append(finding)
    report.findings = kept
    return sum(known.values())
