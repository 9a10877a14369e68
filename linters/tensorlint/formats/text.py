"""For people: each finding with its line, a caret range under it and the evidence; and one line at the end."""

from __future__ import annotations

from collections import Counter

from tensorlint.findings import Finding, RunReport
from tensorlint.formats import View, counts, place, step_place

_STYLES = {"bold": "1", "red": "1;31", "yellow": "1;33", "blue": "1;34", "cyan": "36", "dim": "2", "green": "32"}
_OF_SEVERITY = {"error": "red", "warning": "yellow", "info": "blue"}


def paint(text: str, style: str, view: View) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if view.colour else text


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _mark(finding: Finding) -> str:
    """`[*]` for what `--fix` repairs, as ruff has it."""
    return " [*]" if finding.fix is not None and finding.fix.applicability == "safe" else ""


def headline(finding: Finding, view: View) -> str:
    where = paint(place(finding), "bold", view)
    code = paint(finding.code, _OF_SEVERITY[finding.severity], view)
    fixable = paint(_mark(finding), "cyan", view)
    return f"{where}: {code}{fixable} {' '.join(finding.message.split())} ({finding.name})"


def _width(text: str) -> int:
    """How many cells of a terminal the text fills; a tab stays a tab."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    narrow = sum(unicodedata.combining(character) != 0 for character in text)
    return len(text) + wide - narrow


def caret_line(line: str, start: int, end: int) -> str:
    """Blanks up to the column `start` (tabs kept), then carets up to `end`; columns from 1, `end` beyond the last."""
    before, marked = line[: start - 1], line[start - 1 : max(end, start + 1) - 1]
    blanks = "".join("\t" if character == "\t" else " " * _width(character) for character in before)
    return blanks + "^" * max(1, _width(marked.rstrip()))


MAX_LINE = 200  # characters of a source line that are shown; of a longer one, what is around the finding
_BEFORE, _AFTER = 60, 120


def shown_part(line: str, start: int, end: int) -> tuple[str, int, int]:
    """(text, start, end) of what is shown of a line, columns from 1: all of it, or what is around the finding."""
    if len(line) <= MAX_LINE:
        return line, start, end
    first = max(0, start - 1 - _BEFORE)
    last = min(len(line), start - 1 + _AFTER)
    head, tail = "…" if first else "", "…" if last < len(line) else ""
    shift = len(head) - first
    return f"{head}{line[first:last]}{tail}", start + shift, min(end, last + 1) + shift


def _snippet(finding: Finding, view: View) -> list[str]:
    span = finding.span
    line = view.lines.line(finding.path, finding.cell, span.line)
    gutter = len(str(span.line))
    bar = paint("|", "dim", view)
    out = []
    if line.strip():
        end = span.end_column if span.end_line == span.line else len(line) + 1
        line, start, end = shown_part(line, span.column, end)
        out.append(f"  {paint(str(span.line).rjust(gutter), 'dim', view)} {bar} {line}")
        carets = paint(caret_line(line, start, end), _OF_SEVERITY[finding.severity], view)
        out.append(f"  {' ' * gutter} {bar} {carets}")
    for step in finding.evidence:
        where = paint(f"{step_place(finding, step)}:", "dim", view)
        out.append(f"  {' ' * gutter} {paint('=', 'dim', view)} {where} {' '.join(step.message.split())}")
    return out


def statistics(report: RunReport, view: View) -> str:
    """A line for each rule: how often, whether it can be fixed, and its name."""
    rows = counts(report)
    width = len(str(rows[0][0])) if rows else 0
    fixable = any(_mark(finding) for finding in report.findings)
    lines = []
    for number, example in rows:
        marks = {_mark(finding) for finding in report.findings if finding.code == example.code}
        mark = "[*] " if " [*]" in marks else "    "
        lines.append(
            f"{number:>{width}}  {paint(example.code, 'bold', view)}  {mark if fixable else ''}{example.name}\n"
        )
    return "".join(lines)


def summary(report: RunReport, *, done: bool = True) -> str:
    """The last line: what was found, what of it can be fixed, what only stricter rules would say.

    `done` is false where fixes were made only to show them.
    """
    parts = []
    if report.fixed:
        made = sum(report.fixed.values())
        parts.append(
            f"{'fixed' if done else 'would fix'} {plural(made, 'finding')} in {plural(report.changed, 'file')}"
        )
    left = " left" if report.fixed else ""
    if report.findings:
        fixable = sum(bool(_mark(finding)) for finding in report.findings)
        unsafe = sum(bool(finding.fix) for finding in report.findings) - fixable
        notes = [f"{fixable} fixable with --fix"] if fixable else []
        notes += [f"{unsafe} with --fix --unsafe-fixes"] if unsafe else []
        files = len({finding.path for finding in report.findings})
        noted = f" ({', '.join(notes)})" if notes else ""
        parts.append(f"{plural(len(report.findings), 'finding')}{left}{noted} in {plural(files, 'file')}")
    else:
        parts.append(f"no findings{left}" if report.files else "no findings: there was no Python file to check")
    if report.strict_only and not report.findings:
        codes = Counter(finding.code for finding in report.strict_only)
        parts.append(f"{len(report.strict_only)} more under --strict: {', '.join(sorted(codes))}")
    if report.known:
        parts.append(f"{report.known} known to the baseline")
    if report.errors:
        files = len({error.path for error in report.errors})
        parts.append(f"{plural(files, 'file')} could not be checked")
    return "; ".join(parts)


def render(report: RunReport, view: View) -> str:
    if view.statistics:
        return f"{statistics(report, view)}{summary(report)}\n"
    blocks = []
    for finding in report.findings:
        blocks.append("\n".join([headline(finding, view), *_snippet(finding, view)]) + "\n\n")
    return f"{''.join(blocks)}{summary(report)}\n"


def render_concise(report: RunReport, view: View) -> str:
    if view.statistics:
        return render(report, view)
    return "".join(f"{headline(finding, view)}\n" for finding in report.findings)
