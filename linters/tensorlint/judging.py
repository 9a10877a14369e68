"""From a hazard to a finding: the hazard's own node is read by libcst, a rule judges it and may change it.

Only the node's own text goes through libcst, not the file: a file costs 51 ms per 1,000 lines, a node some
microseconds. libcst is imported by the first hazard, so a run without one never loads it.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from tensorlint.findings import Edit, Evidence, Finding, Fix, Span
from tensorlint.inference.hazards import Hazard
from tensorlint.rules.rule import AnyRule, Rule
from tensorlint.source import Lines, SourceError

if TYPE_CHECKING:
    import libcst


class Source(Protocol):
    """What a plain file and a notebook have in common."""

    @property
    def path(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def lines(self) -> Lines: ...
    @property
    def tree(self) -> ast.Module: ...
    @property
    def broken_cells(self) -> tuple[SourceError, ...]: ...
    def cell_line(self, line: int) -> tuple[int | None, int]: ...
    def margin(self, line: int) -> str: ...
    def with_edits(self, edits: list[Edit]) -> Source: ...
    def to_bytes(self) -> bytes: ...


@dataclass(frozen=True, eq=False, repr=False)
class Segment:
    """A node's text with its libcst node. `render` gives the text of a changed node in the same place.

    `span` is None where the tree's positions are not to be trusted (inside f-strings before Python 3.12); then the
    text is the node unparsed, and nothing can be replaced.
    """

    span: Span | None
    text: str
    node: libcst.CSTNode
    render: Callable[[Any], str]


def _same_tree(text: str, node: ast.expr) -> bool:
    try:
        parsed = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    # A target's context is Store where the same text parses as Load.
    dumped, expected = ast.dump(parsed), ast.dump(node)
    return dumped == expected or re.sub(r"\b(?:Store|Del)\(\)", "Load()", expected) == dumped


def _expression(text: str) -> tuple[libcst.CSTNode, Callable[[Any], str]]:
    import libcst

    wrapped = libcst.parse_expression(f"({text}\n)" if "#" in text.rpartition("\n")[2] else f"({text})")
    node = wrapped.with_changes(lpar=wrapped.lpar[1:], rpar=wrapped.rpar[:-1])
    return node, libcst.Module([]).code_for_node


def _statement(text: str, indent: str) -> tuple[libcst.CSTNode, Callable[[Any], str]]:
    """A statement parsed in a block of its own indentation, so that strings inside keep their text."""
    import libcst

    head = f"if 1:\n{indent}" if indent else ""
    module = libcst.parse_module(head + text)
    line: Any = module.body[0].body.body[0] if indent else module.body[0]  # type: ignore[union-attr]
    node = line.body[0] if isinstance(line, libcst.SimpleStatementLine) else line

    def render(changed: Any) -> str:
        # The old node is found by identity, so the tree is changed and not copied.
        new = (
            module.deep_replace(node, changed) if not isinstance(changed, libcst.FlattenSentinel) else _flatten(changed)
        )
        code: str = new.code  # type: ignore[union-attr]
        code = code.removeprefix(head)
        return code if text.endswith("\n") else code.rstrip("\n")

    def _flatten(changed: Any) -> libcst.CSTNode:
        class Replace(libcst.CSTTransformer):
            def on_leave(self, original: Any, updated: Any) -> Any:
                return changed if original is node else super().on_leave(original, updated)

        return module.visit(Replace())

    return node, render


def segment_of(node: ast.AST, lines: Lines) -> Segment:
    """The libcst node of a node's own text. Raises SourceError where libcst cannot read it."""
    import libcst

    try:
        if isinstance(node, ast.expr):
            span = lines.span(node)
            text = lines.slice(span)
            if not _same_tree(text, node):
                text = ast.unparse(node)
                return Segment(None, text, *_expression(text))
            return Segment(span, text, *_expression(text))
        span = lines.span(node)
        text = lines.slice(span)
        before = lines[span.line][: span.column - 1]
        return Segment(span, text, *_statement(text, before if before.isspace() else ""))
    except (libcst.ParserSyntaxError, libcst.CSTValidationError) as error:
        line = getattr(node, "lineno", 1)
        raise SourceError(
            f"libcst {getattr(libcst, '__version__', '')} cannot read this statement; update it "
            f"(pip install -U libcst): {str(error).splitlines()[0]}",
            line,
        ) from None


def shown_span(node: ast.AST, lines: Lines) -> Span:
    """Where a finding about the node points: the node, or a definition's first line up to its name."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        column = lines.column(node.lineno, node.col_offset)
        head = re.compile(rf"(?:async\s+def|def|class)\s+{re.escape(node.name)}").match(lines[node.lineno], column - 1)
        end = head.end() + 1 if head else len(lines[node.lineno]) + 1
        return Span(node.lineno, column, node.lineno, end)
    if isinstance(node, ast.Module):
        return Span(1, 1, 1, 1)
    return lines.span(node)


def smallest_edit(span: Span, old: str, new: str) -> Edit:
    """The replacement of `old` by `new`, narrowed to what differs, but never into the middle of a word."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1

    def in_word(text: str, at: int) -> bool:
        return (
            0 < at < len(text)
            and (text[at - 1].isalnum() or text[at - 1] == "_")
            and (text[at].isalnum() or text[at] == "_")
        )

    while start and (in_word(old, start) or in_word(new, start)):
        start -= 1
    while end and (in_word(old, len(old) - end) or in_word(new, len(new) - end)):
        end -= 1
    lines = Lines(old)

    def place(offset: int) -> tuple[int, int]:
        line, column = lines.position(offset)
        return span.line + line - 1, column + (span.column - 1 if line == 1 else 0)

    return Edit(Span(*place(start), *place(len(old) - end)), new[start : len(new) - end])


def import_edit(dotted: str, tree: ast.Module, lines: Lines) -> Edit | None:
    """The edit that imports `typing.TYPE_CHECKING` (or a module without a dot); None if it is imported already."""
    module, _, name = dotted.rpartition(".")
    last_header = 0
    first_import: ast.stmt | None = None
    for index, statement in enumerate(tree.body):
        docstring = index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if docstring or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            last_header = statement.end_lineno or 0
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            first_import = first_import or statement
            bound = {alias.name for alias in statement.names if alias.asname in (None, alias.name)}
            if isinstance(statement, ast.Import):
                if not module and name in bound:
                    return None
            elif statement.module == module and not statement.level:
                if name in bound or "*" in bound:
                    return None
                span = lines.span(statement.names[-1])
                return Edit(Span(*span[2:], *span[2:]), f", {name}")
    text = f"from {module} import {name}" if module else f"import {name}"
    if first_import is not None and first_import.lineno > last_header:
        place = lines.span(first_import)[:2]
        return Edit(Span(*place, *place), f"{text}\n")
    if last_header:
        place = (last_header, len(lines[last_header]) + 1)
        return Edit(Span(*place, *place), f"\n{text}")
    line = 1
    while lines[line].startswith("#"):
        line += 1
    return Edit(Span(line, 1, line, 1), f"{text}\n")


def _fix(rule: AnyRule, hazard: Hazard, source: Source) -> Fix | None:
    if type(rule).fix is Rule.fix or hazard.elsewhere is not None:
        return None
    segment = segment_of(rule.fix_target(hazard), source.lines)
    if segment.span is None:
        return None
    changed = rule.fix(hazard, segment.node)
    if changed is None:
        return None
    text = segment.render(changed)
    if text == segment.text:
        return None
    edits = [smallest_edit(segment.span, segment.text, text)]
    for dotted in rule.imports(hazard):
        edit = import_edit(dotted, source.tree, source.lines)
        if edit is not None:
            edits.append(edit)
    return Fix(rule.applicability(hazard), tuple(sorted(edits, key=lambda edit: edit.span)))


def _in_code_points(evidence: Iterable[Evidence], lines: Lines) -> tuple[Evidence, ...]:
    """The interpreters take columns from the tree, which counts UTF-8 bytes."""
    return tuple(replace(step, column=lines.column(step.line, step.column - 1)) for step in evidence)


def place_of(node: ast.AST, lines: Lines) -> Span | None:
    """Where a finding about the node points; None if the tree's position is not the node's own text (in f-strings)."""
    if isinstance(node, ast.expr) and not _same_tree(lines.slice(lines.span(node)), node):
        return None
    return shown_span(node, lines)


class RuleFailure(Exception):
    """A rule raised an exception, which is the cause of this one."""

    def __init__(self, rule: AnyRule, error: Exception) -> None:
        super().__init__(rule.code)
        self.own = type(rule).__module__.startswith("tensorlint.")  # else its author is the one to be told
        import traceback

        file = getattr(sys.modules.get(type(rule).__module__), "__file__", None) or ""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        where = f" at {os.path.basename(file)}:{frames[-1].lineno}" if frames else ""
        self.message = f"{rule.code} raised {type(error).__name__}{where}: {error}"


def _judged(
    rule: AnyRule,
    hazard: Hazard,
    source: Source,
    span: Span,
    known: Container[tuple[Span, str, str]],
    *,
    with_fix: bool,
) -> Finding | None:
    """What one rule says of one hazard, if it is not `known`. Raises RuleFailure, and SourceError (see segment_of)."""
    try:
        node: Any = segment_of(hazard.node, source.lines).node if rule.reads_node else None
        message = rule.judge(hazard, node)
        if message is None or (span, rule.code, message) in known:
            return None
        return Finding(
            path=source.path,
            span=span,
            code=rule.code,
            name=rule.name,
            message=f"{hazard.within}: {message}" if hazard.within else message,
            severity=rule.severity,
            evidence=_in_code_points(hazard.evidence, source.lines),
            fix=_fix(rule, hazard, source) if with_fix else None,
        )
    except (SourceError, RecursionError, MemoryError):  # what the file did
        raise
    except Exception as error:
        raise RuleFailure(rule, error) from error


def judge(
    hazards: Iterable[Hazard],
    rules: Iterable[AnyRule],
    source: Source,
    shown: Container[str] | None = None,
    failures: list[Exception] | None = None,
) -> list[Finding]:
    """The findings of these rules over a program's hazards, in no order. Raises SourceError (see segment_of).

    Fixes are made for the codes in `shown` only (None: all): nobody sees the others'. libcst is loaded by the first
    rule that reads a node or fixes one. A rule that raises goes into `failures`, and the other rules go on; without
    that list it is raised, as RuleFailure.
    """
    by_hazard: dict[type[Hazard] | tuple[type[Hazard], ...], list[AnyRule]] = {}
    for rule in rules:
        by_hazard.setdefault(rule.hazard, []).append(rule)
    findings: dict[tuple[Span, str, str], Finding] = {}
    at_calls: set[Span] = set()
    for hazard in hazards:
        interested = [rule for kind, of_kind in by_hazard.items() if isinstance(hazard, kind) for rule in of_kind]
        if not interested:
            continue
        span = place_of(hazard.node, source.lines)
        if span is None:
            line = hazard.node.lineno  # type: ignore[attr-defined]
            text = source.lines[line]
            span = Span(line, len(text) - len(text.lstrip()) + 1, line, len(text) + 1)
        if hazard.elsewhere is not None and span in at_calls:
            continue  # what the call gives goes wrong in one statement after another: the first tells what to change
        for rule in interested:
            with_fix = shown is None or rule.code in shown
            try:
                finding = _judged(rule, hazard, source, span, findings, with_fix=with_fix)
            except RuleFailure as failure:
                if failures is None:
                    raise
                failures.append(failure)
                continue
            if finding is not None:
                findings[span, rule.code, finding.message] = finding
                if hazard.elsewhere is not None:
                    at_calls.add(span)
    return list(findings.values())


def in_cells(finding: Finding, source: Source) -> Finding:
    """The finding with the lines of its notebook cell; the finding itself in a plain file."""
    cell = source.cell_line(finding.span.line)[0]
    if cell is None:
        return finding

    def moved(span: Span) -> Span:
        first = source.cell_line(span.line)[1]
        last = first + span.end_line - span.line
        margin, end_margin = source.margin(span.line), source.margin(span.end_line)
        return Span(first, span.column + len(margin), last, span.end_column + len(end_margin))

    evidence = []
    for step in finding.evidence:
        step_cell, step_line = source.cell_line(step.line)
        evidence.append(Evidence(step_line, step.column + len(source.margin(step.line)), step.message, step_cell))
    fix = finding.fix and Fix(
        finding.fix.applicability,
        tuple(
            Edit(moved(edit.span), edit.text.replace("\n", "\n" + source.margin(edit.span.line)))
            for edit in finding.fix.edits
        ),
    )
    return Finding(
        finding.path,
        moved(finding.span),
        finding.code,
        finding.name,
        finding.message,
        finding.severity,
        tuple(evidence),
        fix,
        cell,
    )
