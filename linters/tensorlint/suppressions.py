"""Comments that silence findings: `# noqa: TSR201`, `# tensorlint: ignore[non-contiguous-view]`, `ignore-file`.

A comment counts for the whole statement it stands in: for a compound statement that is its header (decorators
included), not its body. Comments are read by the tokenizer, so that a string that looks like one is none.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tensorlint.findings import Finding
from tensorlint.rules.registry import Registry

# Patterns that are compiled when they are first used: most files have no such comment, and these took a hundredth of a start.
# flake8's own form, which also takes our readable names: codes, or the comment is a blanket one.
_NOQA = r"(?i)# *noqa(?P<colon>:[ \t]?(?P<codes>[A-Z][\w-]*(?:[, \t]+[A-Z][\w-]*)*))?"
_FLAKE8_FILE = r"(?i)# *flake8[:=] *noqa(?P<colon>:[ \t]?(?P<codes>[A-Z]+[0-9]+(?:[, \t]+[A-Z]+[0-9]+)*))? *$"
_OWN = r"(?i)# *tensorlint: *(?P<what>ignore-file|ignore)(?: *\[(?P<rules>[^]]*)\])?(?P<rest>[^#]*)"
_OWN_UNREADABLE = r"(?i)# *tensorlint *:"
_CODE = r"(?i)[A-Z]+[0-9]+$"

DIRECTIVE_MARKS = ("noqa", "tensorlint:")  # a text without these has no directive; compared in lower case


@dataclass(slots=True, eq=False, repr=False)
class Directive:
    """One comment. `codes` is None for a blanket one; `own` is our own form, whose mistakes are worth a warning."""

    line: int
    codes: frozenset[str] | None
    own: bool = False
    used: bool = False

    def covers(self, code: str) -> bool:
        return self.codes is None or code in self.codes


@dataclass(slots=True, eq=False, repr=False)
class Suppressions:
    """The directives of one file."""

    on_lines: dict[int, list[Directive]] = field(default_factory=dict)
    of_file: list[Directive] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.on_lines or self.of_file or self.problems)

    def silence(self, finding: Finding, lines: Iterable[int]) -> bool:
        """Whether a finding whose statement has these lines is silenced; marks the directives that did it."""
        found = [
            directive
            for directive in [*(each for line in lines for each in self.on_lines.get(line, ())), *self.of_file]
            if directive.covers(finding.code)
        ]
        for directive in found:
            directive.used = True
        return bool(found)

    def directives(self) -> list[Directive]:
        return [*(each for line in self.on_lines.values() for each in line), *self.of_file]

    def unused(self, enabled: frozenset[str], *, narrowed: bool) -> Iterator[Directive]:
        """Our own directives that silenced nothing although the rules they name were on.

        A blanket one may silence a rule that is off for this run or file only (`narrowed`); nothing is said of it then.
        """
        for directive in self.directives():
            on = not narrowed if directive.codes is None else directive.codes <= enabled
            if directive.own and not directive.used and on:
                yield directive


def may_have_directives(text: str) -> bool:
    lowered = text.lower()
    return any(mark in lowered for mark in DIRECTIVE_MARKS)


def _named(registry: Registry, words: Iterable[str]) -> tuple[frozenset[str], list[str]]:
    """The codes that words stand for (a prefix stands for all below it), and the words that stand for nothing."""
    codes: set[str] = set()
    unknown = []
    for word in words:
        rule = registry.find(word)
        below = registry.below(word) if rule is None and re.match(_CODE, word + "0") else frozenset()
        if rule is not None:
            codes.add(rule.code)
        elif below:
            codes |= below
        else:
            unknown.append(word)
    return frozenset(codes), unknown


def _read_own(comment: str, line: int, registry: Registry, into: Suppressions) -> None:
    match = re.search(_OWN, comment)
    if match is None or (match["rules"] is None and match["rest"].lstrip().startswith(("[", "-"))):
        into.problems.append(
            (line, "not a directive of tensorlint; write `# tensorlint: ignore[rule]` or `ignore-file`")
        )
        return
    codes: frozenset[str] | None = None
    if match["rules"] is not None:
        codes, unknown = _named(registry, [word for word in re.split(r"[,\s]+", match["rules"]) if word])
        for word in unknown:
            into.problems.append((line, f"unknown rule {word!r} in a suppression{registry.nearest(word)}"))
        if not codes:
            return
    directive = Directive(line, codes, own=True)
    if match["what"].lower() == "ignore-file":
        into.of_file.append(directive)
    else:
        into.on_lines.setdefault(line, []).append(directive)


def _read_noqa(match: re.Match[str], line: int, registry: Registry) -> tuple[Directive | None, list[tuple[int, str]]]:
    """flake8's comment; codes of other tools are none of our business, and a list without a code is a blanket one."""
    if match["codes"] is None:
        return Directive(line, None), []
    words = re.split(r"[,\s]+", match["codes"])
    known, unknown = _named(registry, words)
    problems = [
        (line, f"unknown rule {word!r} in a noqa comment{registry.nearest(word)}")
        for word in unknown
        if word.upper().startswith("TSR") and re.match(_CODE, word)
    ]
    if known:
        return Directive(line, known), problems
    if re.match(_CODE, words[0]):
        return None, problems
    return Directive(line, None), problems


def read_comment(comment: str, line: int, registry: Registry, into: Suppressions) -> None:
    """What one comment silences."""
    if re.search(_OWN_UNREADABLE, comment):
        _read_own(comment, line, registry, into)
    if match := re.search(_FLAKE8_FILE, comment):
        directive, _ = _read_noqa(match, line, registry)
        if directive is not None:
            into.of_file.append(directive)
    elif match := re.search(_NOQA, comment):
        directive, problems = _read_noqa(match, line, registry)
        into.problems += problems
        if directive is not None:
            into.on_lines.setdefault(line, []).append(directive)


def _says_something(text: str, registry: Registry, *, to_silence: bool) -> bool:
    """Whether any text behind a `#` would be a directive, were it a comment: `# noqa: F401` is none of our business.

    Nor is a bare `# noqa` where there is nothing `to_silence`. To know comments from strings takes ten times as long
    as this.
    """
    found = Suppressions()
    for line in text.split("\n"):
        if "#" in line and may_have_directives(line):
            start = line.find("#")
            while start >= 0:
                read_comment(line[start:], 1, registry, found)
                start = line.find("#", start + 1)
    return bool(found) if to_silence else bool(found.problems or any(each.own for each in found.directives()))


def read_suppressions(text: str, registry: Registry, *, noqa: bool = True, to_silence: bool = True) -> Suppressions:
    """The directives of a program. Without `noqa` only our own form counts (under flake8, which does its own).

    Without anything `to_silence` those that could only silence are not read: who needs what is unused or unreadable.
    """
    found = Suppressions()
    if not (may_have_directives(text) and _says_something(text, registry, to_silence=to_silence)):
        return found
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and (noqa or re.search(_OWN_UNREADABLE, token.string)):
                read_comment(token.string, token.start[0], registry, found)
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser has accepted the text; the comments up to here count
    return found


def header_end(statement: ast.stmt | ast.ExceptHandler | ast.match_case) -> int:
    """The last line of a statement, or of its header if it has a body."""
    inner = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not inner:
        return statement.end_lineno  # type: ignore[union-attr, return-value]
    first = inner[0]
    if isinstance(first, ast.match_case):
        first = first.pattern
    begins = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    start = statement.pattern.lineno if isinstance(statement, ast.match_case) else statement.lineno
    return max(start, begins - 1) if begins > start else start


def statement_lines(tree: ast.Module, line: int) -> range:
    """The lines of the innermost statement (or header) that has this line."""
    best = range(line, line + 1)
    pending: list[ast.AST] = list(tree.body)
    while pending:
        statement = pending.pop()
        decorators = getattr(statement, "decorator_list", ())
        if isinstance(statement, ast.match_case):
            first, last = statement.pattern.lineno, statement.body[-1].end_lineno
        else:
            first, last = statement.lineno, statement.end_lineno  # type: ignore[attr-defined]
        first = min([first, *(each.lineno for each in decorators)])
        if not first <= line <= (last or first):
            continue
        end = header_end(statement)  # type: ignore[arg-type]
        if line <= end:
            best = range(first, end + 1)
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += [child for child in getattr(statement, name, ()) if isinstance(child, ast.AST)]
    return best
