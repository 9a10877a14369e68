"""A rule's page, made from the rule's file: Markdown for docs/rules and for `tensorlint rule CODE`."""

from __future__ import annotations

import inspect

from tensorlint.rules.rule import AnyRule, Example

_DEFAULT = {
    "on": "on",
    "strict": "only under `--strict`, or when it is selected by its code or name",
    "off": "off; it is selected by its code or name",
}


def fixability(rule: AnyRule) -> str:
    """What `--fix` does, told by the examples that have a result."""
    if not any(example.fixed is not None for example in rule.flagged):
        return "none"
    return "`--fix`" if rule.fix_applicability == "safe" else "`--fix --unsafe-fixes`"


def _code(text: str) -> str:
    return f"```python\n{text.strip()}\n```"


def _example(example: Example) -> list[str]:
    parts = [example.note.strip()] if example.note.strip() else []
    parts.append(_code(example.code))
    if example.raises:
        parts.append(f"Running it raises `{example.raises}`.")
    elif example.shows:
        parts.append(f"After running it, `{example.shows}` is true.")
    if example.fixed is not None:
        parts += ["After `--fix`:", _code(example.fixed)]
    return parts


def page(rule: AnyRule) -> str:
    """The whole page: what, why, what is flagged and what is not, how to silence it."""
    reason = inspect.cleandoc(type(rule).__doc__ or "")
    parts = [
        f"# {rule.code} {rule.name}",
        rule.summary[:1].upper() + rule.summary[1:] + ("" if rule.summary.endswith(".") else "."),
        f"Default: {_DEFAULT[rule.default]}. Severity: {rule.severity}. Fix: {fixability(rule)}.",
        "## Why",
        reason,
    ]
    if rule.flagged:
        parts.append("## Flagged")
        for example in rule.flagged:
            parts += _example(example)
    if rule.silent:
        parts.append("## Not flagged")
        for example in rule.silent:
            parts += _example(example)
    parts += [
        "## Silencing it",
        f"`# noqa: {rule.code}` or `# tensorlint: ignore[{rule.name}]` on any line of the statement.",
    ]
    return "\n\n".join(parts) + "\n"
