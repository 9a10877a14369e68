"""`--add-noqa`: a comment for each finding."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

from tensorlint.findings import Edit, Finding, Span
from tensorlint.judging import Source
from tensorlint.suppressions import statement_lines

# A comment's list of codes and names, up to where the person's own words begin.
_WORD = r"(?:[A-Z]+[0-9]+|[A-Z]+(?:-[A-Z]+)+)\b"
_EXISTING = re.compile(rf"# *noqa:[ \t]?{_WORD}(?:[, \t]+{_WORD})*", re.IGNORECASE)


def _line_ends(text: str) -> dict[int, tuple[int, str]]:
    """(column from 1, text) of the comment of each line that may have one; a line without one has an empty text.

    A line that ends inside a string or in a backslash may have none.
    """
    ends: dict[int, tuple[int, str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            ends[token.start[0]] = (token.start[1] + 1, token.string)
        elif token.type in (tokenize.NL, tokenize.NEWLINE):
            ends.setdefault(token.start[0], (0, ""))
    return ends


def _last_code_line(source: Source, lines: range) -> int:
    """The last line of a statement or header that has code on it (a header may end in comments and blank lines)."""
    for line in reversed(lines):
        text = source.lines[line].strip()
        if text and not text.startswith("#"):
            return line
    return lines[0]


def noqa_edits(source: Source, findings: Iterable[Finding]) -> list[Edit]:
    """The edits that silence these findings (lines as in `source.text`). Raises tokenize.TokenError.

    The comment goes on the finding's own line, where flake8 looks for it, or else at the statement's end.
    """
    ends = _line_ends(source.text)
    codes: dict[int, set[str]] = {}
    for finding in findings:
        line = finding.span.line
        if line not in ends:
            line = _last_code_line(source, statement_lines(source.tree, line))
        codes.setdefault(line, set()).add(finding.code)
    edits = []
    for line, of_line in sorted(codes.items()):
        added = ", ".join(sorted(of_line))
        column, comment = ends.get(line, (0, ""))
        if existing := _EXISTING.search(comment):
            at = column + existing.end()
            edits.append(Edit(Span(line, at, line, at), f", {added}"))
            continue
        at = len(source.lines[line].rstrip()) + 1
        edits.append(Edit(Span(line, at, line, len(source.lines[line]) + 1), f"  # noqa: {added}"))
    return edits
