"""The text of a gradient report, as the user reads it under a failed test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tensorcheck.gradients.verdicts import Kind, Verdict

if TYPE_CHECKING:
    from pytest_tensorcheck.gradients.verdicts import GradientReport, Problem

_HEADLINE = {
    Verdict.PASSED: "the gradients of {subject} agree with finite differences",
    Verdict.FAILED: "the gradients of {subject} are wrong",
    Verdict.INCONCLUSIVE: "the gradients of {subject} could not be decided",
}

# A headline of its own where "the gradients are wrong" would say too much.
_HEADLINE_BY_KIND = {
    Kind.NOT_DIFFERENTIABLE: "{subject} has no gradient to check",
    Kind.NOT_DETERMINISTIC: "{subject} is not deterministic",
    Kind.BACKWARD_NOT_DETERMINISTIC: "the backward of {subject} is not deterministic",
    Kind.MODIFIED_IN_PLACE: "{subject} modifies its input",
    Kind.FORWARD_RAISED: "{subject} could not be run",
    Kind.BACKWARD_RAISED: "the backward of {subject} raised",
    Kind.MISSING: "gradients of {subject} are missing",
    Kind.LEFT_OUT: "{subject} gives no gradient to some of its inputs, perhaps on purpose",
}


def render(report: GradientReport) -> str:
    """The whole report: headline, one block per problem, the suspects, how it was measured."""
    kinds = {problem.kind for problem in report.problems}
    headline = _HEADLINE[report.verdict]
    if len(kinds) == 1:
        headline = _HEADLINE_BY_KIND.get(next(iter(kinds)), headline)
    subject = report.subject + (f" ({report.defined_at})" if report.defined_at else "")
    lines = ["gradcheck: " + headline.format(subject=subject)]
    for problem in report.problems:
        lines += _problem(problem)
    if report.verdict is Verdict.FAILED:
        wrong = {problem.tensor for problem in report.problems}
        agreeing = [name for name in report.checked if name not in wrong]
        if agreeing and kinds & {Kind.WRONG, Kind.MISSING, Kind.NOT_FINITE, Kind.LOCALLY_CONSTANT}:
            lines.append(f"  no error seen in: {shortened(agreeing)}")
        lines += [f"  suspect: {suspect}" for suspect in report.suspects]
    lines += [f"  note: {note}" for note in report.notes]
    lines.append("  " + _measured(report))
    return "\n".join(lines)


def _problem(problem: Problem) -> list[str]:
    lines = [f"  {problem.message}"] if problem.message else []
    lines += [f"    {element}" for element in problem.elements]
    lines += [f"    {hint}" for hint in problem.hints]
    return lines


def _measured(report: GradientReport) -> str:
    parts = []
    if report.called_at:
        parts.append(f"called at {report.called_at}")
    parts.append(f"{report.evaluations} evaluations in {report.dtype}")
    parts.append(f"seed {report.seed}")
    if report.resolution:
        parts.append(f"an element wrong by {report.resolution:.1g} of its value would show")
    return "; ".join(parts)


def shortened(names: list[str], most: int = 6) -> str:
    """`a, b, c and 12 more`."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join(names[: most - 1]) + f" and {len(names) - most + 1} more"
