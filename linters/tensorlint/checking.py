"""One source from text to findings: inference, rules, suppressions. Every front end goes through here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorlint.findings import FileError, FileReport, Finding
from tensorlint.inference.hazards import Hazard, UntypedCallHazard
from tensorlint.judging import RuleFailure, Source, in_cells, judge
from tensorlint.project import Project
from tensorlint.rules.registry import Registry
from tensorlint.rules.rule import AnyRule
from tensorlint.source import PythonSource, SourceError
from tensorlint.suppressions import read_suppressions, statement_lines

if TYPE_CHECKING:
    from tensorlint.notebook import NotebookSource

# The interpreter recurses over expressions; the default of 1,000 frames is less than a long chain of calls needs.
RECURSION_LIMIT = 6_000
INTERNAL_ERROR = "internal error of tensorlint"
RULE_FAILED = "a rule of your own failed:"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection:
    """The codes that are reported, and those that only `--strict` would report.

    `narrowed`: the command line or `per-file-ignores` have taken rules away that the project otherwise has on.
    """

    enabled: frozenset[str]
    strict_only: frozenset[str] = frozenset()
    narrowed: bool = False


def open_source(path: str, data: bytes, text: str | None = None) -> PythonSource | NotebookSource:
    """The source of a file's bytes, by its name; of `text` where someone has read it. Raises SourceError."""
    if path.endswith(".ipynb"):
        from tensorlint.notebook import NotebookSource

        return NotebookSource.of_bytes(path, data)
    # A text that has been read is no longer in the encoding that its coding comment names.
    return PythonSource.of_bytes(path, data) if text is None else PythonSource(path, text)


def hazards_of(
    source: Source, project: Project | None, rules: Iterable[AnyRule], failures: list[Exception] | None = None
) -> list[Hazard]:
    """What the interpreters saw that one of the rules may judge; `failures` takes up what went wrong with parts of it.

    They are imported here, so that a warm cache or a triggerless run does without.
    """
    from tensorlint.inference.analysis import analyse
    from tensorlint.inference.fingerprints import find_hazards

    if sys.getrecursionlimit() < RECURSION_LIMIT:
        sys.setrecursionlimit(RECURSION_LIMIT)
    if project is not None:
        project.begin(source.path)
    found = analyse(source.tree, source.text, path=source.path, project=project, failures=failures, shapes=False)
    hazards = list(found.hazards)
    hazards += find_hazards(source.tree, source.text, path=source.path, project=project)
    if any(rule.hazard is UntypedCallHazard for rule in rules):
        from tensorlint.inference.typed_calls import find_untyped_calls

        hazards += find_untyped_calls(source.tree, source.text)
    return hazards


def _unsuppressed(
    findings: Iterable[Finding], source: Source, registry: Registry, selection: Selection, *, noqa: bool
) -> tuple[list[Finding], list[str]]:
    """The findings that no comment silences, and the warnings about comments."""
    findings = list(findings)
    directives = read_suppressions(source.text, registry, noqa=noqa, to_silence=bool(findings))
    if not directives:
        return findings, []
    kept = [
        finding
        for finding in findings
        if not directives.silence(finding, statement_lines(source.tree, finding.span.line))
    ]
    problems = list(directives.problems)
    for directive in directives.unused(selection.enabled, narrowed=selection.narrowed):
        rules = "" if directive.codes is None else f" of {', '.join(sorted(directive.codes))}"
        problems.append((directive.line, f"unused suppression{rules}: nothing to silence here; remove it"))
    warnings = []
    for line, message in sorted(problems):
        cell, inner = source.cell_line(line)
        warnings.append(f"{source.path}:{f'cell {cell}:' if cell else ''}{inner}: {message}")
    return kept, warnings


def findings_of(
    source: Source,
    registry: Registry,
    selection: Selection,
    project: Project | None,
    *,
    noqa: bool = True,
    failures: list[Exception] | None = None,
) -> tuple[list[Finding], list[Finding], list[str]]:
    """(shown, strict only, warnings), in the source's own lines. Raises SourceError; see `hazards_of` for `failures`."""
    wanted = selection.enabled | selection.strict_only
    rules = [rule for rule in registry if rule.code in wanted]
    hazards = hazards_of(source, project, rules, failures) if rules else []
    findings = judge(hazards, rules, source, selection.enabled, failures)
    kept, warnings = _unsuppressed(findings, source, registry, selection, noqa=noqa)
    shown = sorted((each for each in kept if each.code in selection.enabled), key=lambda each: each.sort_key)
    strict = sorted((each for each in kept if each.code not in selection.enabled), key=lambda each: each.sort_key)
    return shown, strict, warnings


def failure(path: str, error: Exception, what: str = "") -> FileError:
    """What went wrong with one file, as one line; the other files go on. `what` came of it, where that is not everything."""
    if isinstance(error, SourceError):
        return FileError(path, error.line, error.message, error.cell)
    if isinstance(error, RecursionError):
        return FileError(path, 0, "an expression is nested too deeply to be analysed")
    if isinstance(error, MemoryError):
        return FileError(path, 0, "not enough memory to analyse it")
    if os.environ.get("TENSORLINT_DEBUG"):
        raise error
    if isinstance(error, RuleFailure) and not error.own:
        return FileError(path, 0, f"{RULE_FAILED} {error.message} (TENSORLINT_DEBUG=1 shows the traceback)")
    if isinstance(error, RuleFailure) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    return FileError(
        path,
        0,
        f"{INTERNAL_ERROR}{where}: {type(error).__name__}: {error}; {what}please report it "
        "(TENSORLINT_DEBUG=1 shows the traceback)",
    )


def check_source(
    source: Source, registry: Registry, selection: Selection, project: Project | None = None, *, noqa: bool = True
) -> FileReport:
    """The report of one source; whatever goes wrong becomes an error in it."""
    report = FileReport(source.path)
    parts: list[Exception] = []
    try:
        shown, strict, report.warnings = findings_of(source, registry, selection, project, noqa=noqa, failures=parts)
        report.findings = [in_cells(finding, source) for finding in shown]
        report.strict_only = [in_cells(finding, source) for finding in strict]
        report.errors = [failure(source.path, error) for error in source.broken_cells]
        # One of them tells enough; of rules, one of each.
        by_cause = {str(error) if isinstance(error, RuleFailure) else "": error for error in reversed(parts)}
        report.errors += [
            failure(source.path, error, "a part of the file was left out, ") for error in reversed(by_cause.values())
        ]
    except Exception as error:  # one file's failure must not end the run
        report.errors.append(failure(source.path, error))
    return report
