"""`tensorlint check`."""

from __future__ import annotations

import argparse
import os
import sys
import tokenize
from collections.abc import Iterable
from pathlib import Path

from tensorlint import baseline
from tensorlint.checking import INTERNAL_ERROR, RULE_FAILED, failure, findings_of, open_source
from tensorlint.config import Config, ConfigError, ConfigFinder, Overrides, check_selectors, split_codes
from tensorlint.discovery import left_out, shown_path
from tensorlint.findings import FileError, RunReport
from tensorlint.formats import SourceLines, View, render
from tensorlint.formats.text import plural, summary
from tensorlint.linter import Linter, renamed
from tensorlint.runner import RunOptions, RunResult, run, sort_report, unified_diff
from tensorlint.source import SourceError, digest_of, write_atomically

STDIN = "-"


def _overrides(arguments: argparse.Namespace) -> Overrides:
    return Overrides(
        split_codes(arguments.select), split_codes(arguments.ignore), arguments.strict, arguments.unsafe_fixes
    )


def refuse_mixed_input(paths: list[str], stdin_filename: str | None) -> None:
    """Raises ConfigError where standard input is not the only input."""
    if STDIN in paths and len(paths) > 1:
        raise ConfigError("`-` (standard input) cannot be read together with files")
    if stdin_filename and paths != [STDIN]:
        raise ConfigError("--stdin-filename needs `-` as the only path")


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Options that cannot be meant together. Raises ConfigError."""
    refuse_mixed_input(arguments.paths, arguments.stdin_filename)
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise ConfigError("--unsafe-fixes does nothing without --fix or --diff")
    if arguments.add_noqa and (arguments.fix or arguments.diff or arguments.paths == [STDIN]):
        raise ConfigError("--add-noqa cannot be combined with --fix, --diff or standard input")
    if arguments.write_baseline and (arguments.fix or arguments.diff or arguments.add_noqa):
        raise ConfigError("--write-baseline cannot be combined with --fix, --diff or --add-noqa")
    for value in (*arguments.select, *arguments.ignore):
        if not split_codes([value]):
            raise ConfigError("--select and --ignore need at least one code, name or prefix")


def _format(arguments: argparse.Namespace, config: Config) -> str:
    name: str = arguments.output_format or config.output_format or "text"
    if arguments.statistics and name not in ("text", "concise", "json"):
        raise ConfigError(f"--statistics is for text, concise and json, not for {name}")
    return name


def coloured(stream: object) -> bool:
    """Colour on a terminal that can show it, unless NO_COLOR is set; FORCE_COLOR asks for it anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty()) and os.environ.get("TERM") != "dumb"


def stdin_path(filename: str | None, data: bytes) -> str:
    """The path that standard input is read as: a notebook is known by what is in it where nobody names it."""
    unnamed = "stdin.ipynb" if data.lstrip()[:1] == b"{" and b'"nbformat"' in data else "stdin.py"
    return os.path.abspath(filename or unnamed)


def _from_stdin(arguments: argparse.Namespace, overrides: Overrides, lines: SourceLines) -> tuple[RunResult, bytes]:
    """The run over standard input, and what it reads after the fixes."""
    name = arguments.stdin_filename or "<stdin>"
    data = sys.stdin.buffer.read()
    finder = ConfigFinder()
    path = stdin_path(arguments.stdin_filename, data)
    check_selectors([finder.of_file(path)], overrides)
    if arguments.force_exclude and arguments.stdin_filename and left_out(path, finder):
        return RunResult(RunReport()), data
    outcome = Linter(overrides, finder).lint(path, data=data, fixing=arguments.fix or arguments.diff, named=True)
    report = renamed(outcome.report, name)
    after = data if outcome.fixed is None else outcome.fixed
    lines.given[name] = after
    result = RunReport(report.findings, report.strict_only, report.errors, report.warnings, 1, dict(outcome.made))
    result.changed = int(outcome.fixed is not None)
    sort_report(result)
    return RunResult(result, unified_diff(name, data, after) if result.changed else ""), after


def error_lines(errors: Iterable[FileError]) -> list[str]:
    """A line for each error; an internal error, or a failing rule, that many files share is said once, with how many others have it."""
    by_message: dict[str, list[FileError]] = {}
    for error in errors:
        key = error.message if error.message.startswith((INTERNAL_ERROR, RULE_FAILED)) else str(error)
        by_message.setdefault(key, []).append(error)
    lines = []
    for first, *others in by_message.values():
        more = f" (the same in {plural(len(others), 'other file')})" if others else ""
        lines.append(f"{first}{more}")
    return lines


def _say_on_stderr(report: RunReport, name: str) -> None:
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if name in ("text", "concise", "json", "gitlab", "sarif"):
        for line in error_lines(report.errors):
            print(f"error: {line}", file=sys.stderr)


def _emit(output: str | bytes, file: str | None) -> None:
    """Text as the terminal can show it; bytes as they are."""
    if file is not None:
        write_atomically(file, output if isinstance(output, bytes) else output.encode("utf-8", "backslashreplace"))
    elif isinstance(output, str):
        sys.stdout.write(output)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(output)


def _add_noqa(report: RunReport, overrides: Overrides) -> int:
    """Silences the findings of a report; exit code 2 where a file could not be changed."""
    linter = Linter(overrides)
    added, files = 0, 0
    shown = {(each.path, each.cell, each.span, each.code) for each in report.findings}
    for path in sorted({finding.path for finding in report.findings}):
        absolute = os.path.abspath(path)
        try:
            data = Path(absolute).read_bytes()
            source = open_source(absolute, data)
            found = findings_of(source, *linter.selection(absolute), linter.project)[0]
            from tensorlint.judging import in_cells
            from tensorlint.noqa import noqa_edits

            chosen = []
            for finding in found:
                placed = in_cells(finding, source)
                if (path, placed.cell, placed.span, placed.code) in shown:
                    chosen.append(finding)
            changed = source.with_edits(noqa_edits(source, chosen))
            _ = changed.tree
            write_atomically(absolute, changed.to_bytes(), expected=digest_of(data))
        except (SourceError, OSError, tokenize.TokenError, UnicodeEncodeError) as error:
            message = failure(path, error if isinstance(error, SourceError) else SourceError(str(error)))
            report.errors.append(FileError(path, 0, f"no comment added: {message.message}"))
            continue
        added += len(chosen)
        files += 1
    print(f"silenced {plural(added, 'finding')} in {plural(files, 'file')}")
    _say_on_stderr(RunReport(errors=report.errors), "text")
    return 2 if report.errors else 0


def _apply_baseline(arguments: argparse.Namespace, config: Config, report: RunReport, lines: SourceLines) -> bool:
    """Leaves known findings out, or writes them down; whether they were written."""
    name = arguments.baseline
    if name is None and config.baseline:
        name = str(config.root / config.baseline)
    if name is None:
        if arguments.write_baseline:
            raise ConfigError("--write-baseline needs --baseline FILE")
        return False
    file = Path(name)
    if arguments.write_baseline:
        others = baseline.write(file, report, lines, arguments.paths or ["."])
        kept = f", and kept {others} of files that were not checked" if others else ""
        print(
            f"wrote {plural(len(report.findings), 'finding')} to {shown_path(str(file.absolute()), os.getcwd())}{kept}"
        )
        return True
    gone = baseline.leave_out_known(file, report, lines)
    if gone and set(arguments.paths or ["."]) == {"."}:
        gone_entries = "1 entry no longer occurs" if gone == 1 else f"{gone} entries no longer occur"
        report.warnings.append(f"{name}: {gone_entries}; --write-baseline drops what is gone")
    return False


def check(arguments: argparse.Namespace) -> int:
    """Runs the command and prints; returns the exit code. Raises ConfigError and SourceError for the caller to say."""
    _refuse_contradictions(arguments)
    overrides = _overrides(arguments)
    config = ConfigFinder().of_folder(os.getcwd())
    name = _format(arguments, config)
    lines = SourceLines()
    fixing = arguments.fix or arguments.diff
    from_stdin = arguments.paths == [STDIN]
    if from_stdin:
        result, after = _from_stdin(arguments, overrides, lines)
    else:
        options = RunOptions(
            tuple(arguments.paths or ["."]),
            overrides,
            fixing,
            writing=arguments.fix and not arguments.diff,
            jobs=arguments.jobs,
            cache=not arguments.no_cache,
            force_exclude=arguments.force_exclude,
        )
        result, after = run(options), b""
    report = result.report
    if _apply_baseline(arguments, config, report, lines):
        _say_on_stderr(report, name)
        return 2 if report.errors else 0
    if arguments.add_noqa:
        return _add_noqa(report, overrides)
    _say_on_stderr(report, name)
    if arguments.diff:
        _emit(result.diff.encode("utf-8", "surrogateescape"), arguments.output_file)
        print(summary(report, done=False), file=sys.stderr)
        return report.exit_code or int(bool(report.changed))
    if from_stdin and arguments.fix:
        sys.stdout.flush()
        sys.stdout.buffer.write(after)
    stream = sys.stderr if from_stdin and arguments.fix else sys.stdout
    view = View(lines, coloured(stream) and not arguments.output_file, arguments.statistics, config.registry.rules)
    text = render(name, report, view)
    if from_stdin and arguments.fix and not arguments.output_file:
        sys.stderr.write(text)
    else:
        _emit(text, arguments.output_file)
    return report.exit_code
