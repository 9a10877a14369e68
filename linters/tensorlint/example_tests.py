"""The examples in a rule's file, run as its tests: `tensorlint rule --test FILE`, and our own test-suite."""

from __future__ import annotations

from tensorlint.checking import Selection, findings_of
from tensorlint.findings import Finding
from tensorlint.fixes import fix
from tensorlint.judging import RuleFailure
from tensorlint.rules.registry import Registry
from tensorlint.rules.rule import AnyRule, Example
from tensorlint.source import PythonSource, SourceError


def _findings(source: PythonSource, rule: AnyRule, registry: Registry, beside: frozenset[str]) -> list[Finding]:
    return findings_of(source, registry, Selection(beside | {rule.code}), None)[0]


def flagged_failure(
    rule: AnyRule, example: Example, registry: Registry, beside: frozenset[str] = frozenset()
) -> str | None:
    """Why a flagged example is no proof: not flagged, a rule of `beside` speaks, or the fix gives something else."""
    source = PythonSource("example.py", example.code)
    try:
        codes = {finding.code for finding in _findings(source, rule, registry, beside)}
        if codes != {rule.code}:
            return f"should be flagged by {rule.code} alone; it is flagged by {', '.join(sorted(codes)) or 'none'}"
        fixed = fix(
            source,
            lambda changed: findings_of(changed, registry, Selection(frozenset((rule.code,))), None)[0],
            unsafe=True,
        )
    except SourceError as error:
        return f"line {error.line}: {error.message}"
    except RuleFailure as error:
        return error.message
    if example.fixed is None:
        return None
    if fixed.source.text.strip() != example.fixed.strip():
        return f"the fix gives:\n{fixed.source.text}"
    return None


def silent_failure(
    rule: AnyRule, example: Example, registry: Registry, beside: frozenset[str] = frozenset()
) -> str | None:
    """Why a silent example is none: the rule (or one of `beside`) speaks."""
    source = PythonSource("example.py", example.code)
    try:
        findings = _findings(source, rule, registry, beside)
    except SourceError as error:
        return f"line {error.line}: {error.message}"
    except RuleFailure as error:
        return error.message
    if findings:
        first = findings[0]
        return f"should be silent; line {first.span.line} is flagged by {first.code}: {first.message}"
    return None


def failures(rule: AnyRule, registry: Registry) -> list[str]:
    """Everything that is wrong with a rule's examples, each as text that shows the example."""
    found = []
    for kind, examples, failure in (
        ("flagged", rule.flagged, flagged_failure),
        ("silent", rule.silent, silent_failure),
    ):
        for number, example in enumerate(examples, 1):
            why = failure(rule, example, registry)
            if why is not None:
                code = "\n".join("    " + line for line in example.code.strip().splitlines())
                found.append(f"{rule.code} {kind} example {number}: {why}\n{code}")
    if not rule.flagged:
        found.append(f"{rule.code} has no flagged example")
    return found
