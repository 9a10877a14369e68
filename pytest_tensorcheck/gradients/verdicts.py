"""What a gradient check concluded: the verdicts, the wrong elements with their two numbers, the report.

Nothing here imports torch: a report can be pickled, printed and compared where torch is not.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from pytest_tensorcheck.observations import TensorcheckFailure


class GradcheckError(TensorcheckFailure):
    """A gradient is wrong, missing, or could not be computed. The text is the whole report."""


class GradcheckWarning(UserWarning):
    """The gradients could neither be confirmed nor refuted; the text says with which resolution."""


class OpcheckError(TensorcheckFailure):
    """A custom operator broke its contract with autograd, FakeTensor or torch.compile."""


class GradientFlowError(TensorcheckFailure):
    """After a backward pass some parameters have no gradient, or zeros, NaN or Inf."""


class Verdict(enum.StrEnum):
    """`INCONCLUSIVE` is neither: the numbers are too coarse here (low precision inside, a kink) to decide, or nobody said
    whether an input without a gradient should have one."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class Kind(enum.Enum):
    """Why a check failed or could not decide; the value is stable and appears in `GradientReport.kinds`."""

    WRONG = "wrong-gradient"
    MISSING = "missing-gradient"
    NOT_FINITE = "gradient-not-finite"
    LOCALLY_CONSTANT = "locally-constant"
    NOT_DIFFERENTIABLE = "no-differentiable-output"
    NOT_DETERMINISTIC = "not-deterministic"
    BACKWARD_NOT_DETERMINISTIC = "backward-not-deterministic"
    MODIFIED_IN_PLACE = "input-modified-in-place"
    WRONG_SHAPE = "gradient-of-wrong-shape"
    WRONG_DTYPE = "gradient-of-wrong-dtype"
    BACKWARD_RAISED = "backward-raised"
    FORWARD_RAISED = "forward-raised"
    UNDEFINED_GRADIENT = "undefined-output-gradient"
    FORWARD_MODE = "forward-mode"
    BATCHED = "batched-gradient"
    BATCHED_FORWARD = "batched-forward-gradient"
    KINK = "kink"
    SURROGATE = "surrogate-gradient"
    LOW_RESOLUTION = "low-resolution"
    LEFT_OUT = "missing-gradient-of-unmarked-input"


# What leaves a check undecided; every other kind is a failure.
DOUBTS = frozenset({Kind.KINK, Kind.SURROGATE, Kind.LOW_RESOLUTION, Kind.LEFT_OUT})


@dataclass(frozen=True, slots=True)
class WrongElement:
    """One entry of a Jacobian: the derivative of `output` with respect to `name`, by autograd and by differences."""

    name: str  # "weight[3, 5]", with ".imag" where a complex input moved along the imaginary axis
    analytic: float
    numeric: float
    output: str = ""  # "out[2]"; empty where the output is a single number

    @property
    def relative(self) -> float:
        """|analytic - numeric| over the numeric value (over the analytic one where the numeric is 0)."""
        scale = abs(self.numeric) or abs(self.analytic) or 1.0
        return abs(self.analytic - self.numeric) / scale

    def __str__(self) -> str:
        digits = 4
        while digits < 16 and f"{self.analytic:.{digits}g}" == f"{self.numeric:.{digits}g}":
            digits += 2
        digits = max(digits, 4)
        of = f", derivative of {self.output}" if self.output else ""
        return (
            f"{self.name}: analytic {self.analytic:.{digits}g}, numeric {self.numeric:.{digits}g} "
            f"(relative {self.relative:.2g}){of}"
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong (or undecided), in a sentence, with the elements that show it."""

    kind: Kind
    message: str
    tensor: str = ""
    elements: tuple[WrongElement, ...] = ()
    hints: tuple[str, ...] = ()


@dataclass(slots=True)
class GradientReport:
    """Verdict and evidence of one check.

    resolution: the smallest error of one typical Jacobian-vector contribution the check could have seen, relative
        to a typical contribution (1e-6: an element wrong by one part in a million shows). 0 when nothing was measured.
    evaluations: how often the function was run. directions: how many random directions were measured.
    checked: the names of the tensors whose gradients were compared.
    """

    subject: str = ""
    defined_at: str = ""
    called_at: str = ""
    verdict: Verdict = Verdict.PASSED
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    suspects: list[str] = field(default_factory=list)
    resolution: float = 0.0
    evaluations: int = 0
    directions: int = 0
    seed: int = 0
    dtype: str = "float64"

    def __bool__(self) -> bool:
        """True unless something is wrong: an inconclusive check is no failure."""
        return self.verdict is not Verdict.FAILED

    @property
    def kinds(self) -> list[str]:
        return [problem.kind.value for problem in self.problems]

    @property
    def elements(self) -> list[WrongElement]:
        return [element for problem in self.problems for element in problem.elements]

    def fail(self, problem: Problem) -> None:
        self.verdict = Verdict.FAILED
        self.problems.append(problem)

    def doubt(self, problem: Problem) -> None:
        """Record what could not be decided; a failure found elsewhere stays a failure."""
        if self.verdict is Verdict.PASSED:
            self.verdict = Verdict.INCONCLUSIVE
        self.problems.append(problem)

    def withdraw(self, first: int, dtypes: str) -> None:
        """Turn wrong gradients among the problems from number `first` on into doubts: parts run in low precision."""
        accused, self.problems[first:] = self.problems[first:], []
        failed = any(problem.kind not in DOUBTS for problem in self.problems)
        self.verdict = Verdict.FAILED if failed else Verdict.INCONCLUSIVE if self.problems else Verdict.PASSED
        for problem in accused:
            if problem.kind not in (Kind.WRONG, Kind.LOCALLY_CONSTANT):
                (self.doubt if problem.kind in DOUBTS else self.fail)(problem)
                continue
            message = (
                f"{problem.tensor}: differences and gradient disagree, but parts of it run in {dtypes}, whose rounding "
                "could explain that, and computed in float64 they are another function"
            )
            self.doubt(Problem(Kind.LOW_RESOLUTION, message, problem.tensor, problem.elements))

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def __str__(self) -> str:
        from pytest_tensorcheck.gradients.messages import render

        return render(self)
